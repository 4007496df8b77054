"""Diffusion policy's Zarr: all episodes one after the other below `data`, ends in `meta`."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.episode.facts import RATE
from corporeal.episode.recording import MAX_PIXELS, Dataset, Recording
from corporeal.errors import EpisodeError
from corporeal.exchange.description import (
    MODE,
    NAME,
    TIMES,
    DatasetDescription,
    check_labels,
    describe_dataset,
    describe_episode,
    read_description,
)
from corporeal.exchange.foreign_stream import EpisodeReading, described_reading
from corporeal.exchange.format import (
    Consumer,
    ExportContext,
    Format,
    TableWriter,
    WrittenEpisode,
    dataset_of,
)
from corporeal.exchange.json_text import write_json
from corporeal.exchange.layout import IMAGES, lane_key
from corporeal.exchange.movie.pictures import pictures_of
from corporeal.exchange.stored_samples import StoredPictures
from corporeal.exchange.table import BLOCK_ROWS, EpisodeTable
from corporeal.exchange.zarr_store import (
    StoredArray,
    ZarrFolderStore,
    ZarrStore,
    ZipStore,
    open_array,
    packer,
    read_json,
)
from corporeal.files import link_or_copy

RATE_HZ = 10.0
_ENDS = "meta/episode_ends"
MAX_ROWS = 1 << 24
_MAX_EPISODES = 1 << 24


def recognises(path: Path) -> bool:
    """Whether there is meta/episode_ends, in the folder, a .zarr in it, or the ZIP file."""
    if path.is_dir():
        return (_folder(path) / _ENDS / ".zarray").is_file()
    return path.suffix == ".zip" and _zip_prefix(path) is not None


def read(path: Path, *, robot: Embodiment | None = None, rate_hz: float | None = None) -> Dataset:
    """The episodes in order; the rate is 10 Hz where neither dataset nor `rate_hz` states one."""
    store = _store(path)
    ends = _ends(store)
    arrays = {name: open_array(store, f"data/{name}") for name in store.arrays("data")}
    for name, array in arrays.items():
        if len(array) != ends[-1]:
            raise EpisodeError(
                f"{path}: data/{name} has {len(array)} rows; expected {ends[-1]}, where the last "
                "episode ends. Replace the dataset."
            )
    note = read_json(store, ".zattrs").get(NAME)
    description = read_description(note, str(path), part="the note")
    return dataset_of(
        path,
        "zarr",
        list(pairwise((0, *ends.tolist()))),
        partial(_open, path, arrays, description, robot, rate_hz),
        facts={
            "rate_hz": description.rate_hz if description is not None else rate_hz or RATE_HZ,
            "rate_stated": description is not None,
        },
        lanes=lambda: description.lanes if description is not None else (),
    )


def _open(
    path: Path,
    arrays: dict[str, StoredArray],
    description: DatasetDescription | None,
    robot: Embodiment | None,
    rate_hz: float | None,
    rows: tuple[int, int],
    index: int,
) -> Recording:
    first, stop = rows
    stamps = _stamps(arrays, first, stop)
    if description is None:
        stated_hz = rate_hz or _stated_rate(stamps)
        reading = EpisodeReading(index, stated_hz or RATE_HZ, robot)
        if stated_hz is None:
            reading.assumed[RATE] = f"{RATE_HZ:g} Hz: the dataset states none"
        left_out = set()
    else:
        reading = described_reading(description, index, robot)
        left_out = {label(lane_key(lane)) for lane in description.lanes}
    if stamps is not None:
        left_out |= {TIMES, "timestamp"}
    times = reading.row_stamps(stop - first, stamps)
    for name, array in arrays.items():
        if name in left_out:
            continue
        is_column = description is not None and name in description.streams
        if _holds_pictures(array) and not is_column:
            pictures = StoredPictures(len(times), partial(_read_pictures, array, first))
            reading.take_pictures(name, pictures, times, size=array.shape[1:3])
        elif len(array.shape) <= 3 or is_column:
            reading.take_numbers(name, array.rows(first, stop), times)
        else:
            reason = f"neither numbers nor colour pictures: {len(array.shape)} axes"
            reading.leave_out(name, reason, samples=len(times), lost=True)
    for name in left_out & arrays.keys():
        is_time = name in (TIMES, "timestamp")
        reading.account(name, "stamps" if is_time else "labels", samples=len(times))
    return reading.to_recording(
        f"{path.name.partition('.')[0]}_{index}",
        path,
        {"fps": reading.rate_hz},
        described=description.episode(index) if description is not None else None,
        time_ns=times,
        regridded=stamps is None,
    )


def _read_pictures(
    array: StoredArray, first: int, numbers: Iterable[int]
) -> Iterator[NDArray[np.uint8]]:
    """Pictures of an episode from row `first` on; shares of 1 and floats become bytes."""
    for row in (first + number for number in numbers):
        picture = array.rows(row, row + 1)[0]
        if picture.dtype.kind == "f":
            scale = 255.0 if np.nanmax(picture, initial=0.0) <= 1.0 else 1.0
            picture = np.rint(np.clip(np.nan_to_num(picture) * scale, 0, 255))
        yield picture.astype(np.uint8, copy=False)


def _holds_pictures(array: StoredArray) -> bool:
    shape = array.shape
    if len(shape) != 4 or shape[3] != 3 or not 1 < shape[1] * shape[2] <= MAX_PIXELS:
        return False
    return bool(array.dtype == np.uint8 or array.dtype.kind == "f")


def _stamps(arrays: Mapping[str, StoredArray], first: int, stop: int) -> NDArray[np.int64] | None:
    """Capture times where the dataset has them and they go forward: ours, or seconds of others."""
    for name, scale in ((TIMES, 1), ("timestamp", 1e9)):
        array = arrays.get(name)
        if array is None or len(array.shape) != 1:
            continue
        values = array.rows(first, stop)
        if values.dtype.kind == "f" and scale == 1e9:
            values = np.rint((values - values[0]) * scale)
            values = values.astype(np.int64) if np.isfinite(values).all() else values
        if values.dtype == np.int64 and (np.diff(values) >= 0).all():
            return values
    return None


def _stated_rate(stamps: NDArray[np.int64] | None) -> float | None:
    step_ns = float(np.median(np.diff(stamps))) if stamps is not None and len(stamps) > 1 else 0.0
    return round(1e9 / step_ns, 3) if 1e5 < step_ns < 1e12 else None


def _ends(store: ZarrStore) -> NDArray[np.int64]:
    """Where episodes end: whole numbers that rise."""
    array = open_array(store, _ENDS)
    if len(array.shape) != 1 or array.dtype.kind not in "iu" or not 0 < len(array) < _MAX_EPISODES:
        raise EpisodeError(
            f"{store.source}: {_ENDS} has shape {list(array.shape)} of {array.dtype}; expected a "
            "list of whole numbers."
        )
    ends = array.rows(0, len(array)).astype(np.int64)
    lengths = np.diff(ends, prepend=0)
    if (lengths <= 0).any() or (lengths > MAX_ROWS).any():
        raise EpisodeError(
            f"{store.source}: {_ENDS} does not rise, or by more than {MAX_ROWS}; expected the end "
            "of every episode after the one before. Replace the dataset."
        )
    return ends


def _store(path: Path) -> ZarrStore:
    if path.is_dir():
        return ZarrFolderStore(_folder(path))
    prefix = _zip_prefix(path)
    if prefix is None:
        raise EpisodeError(f"{path}: no {_ENDS} in it. Give a dataset of diffusion policy.")
    return ZipStore(path, zipfile.ZipFile(path), prefix)


def _folder(path: Path) -> Path:
    """The store itself: this folder, replay.zarr in it, or the only NAME.zarr that it has."""
    if (path / FOLDER).is_dir() or (path / "meta").is_dir():
        return path / FOLDER if (path / FOLDER).is_dir() else path
    inside = sorted(path.glob("*.zarr"))
    return inside[0] if len(inside) == 1 else path


def _zip_prefix(path: Path) -> str | None:
    """The folder inside a ZIP file that the dataset is in; None when there is no dataset."""
    mark = f"{_ENDS}/.zarray"
    try:
        with zipfile.ZipFile(path) as archive:
            found = [name for name in archive.namelist() if f"/{name}".endswith(f"/{mark}")]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return None
    return min(found, key=len).removesuffix(mark) if found else None


FOLDER = "replay.zarr"
_COLUMNS, _CAMERAS = "columns", "cameras"
_CHUNK_BYTES = 1 << 20


def label(key: str) -> str:
    """`state`, `action`, and the plain name of any other column or camera."""
    if key.startswith(IMAGES):
        return key.removeprefix(IMAGES)
    group, _, name = key.partition(".")
    return name if group == "observation" else "_".join(filter(None, (group, name)))


def write_episode(table: EpisodeTable, folder: Path, _: ExportContext) -> Mapping[str, Any]:
    """One episode: columns as NumPy files, and every picture packed in a file of its own."""
    check_labels(table.layout, label, (TIMES,))
    (folder / _COLUMNS).mkdir()
    _write_columns(table, folder / _COLUMNS)
    rows = {TIMES: table.time_ns}
    if table.mode is not None:
        rows[label(MODE)] = table.mode.reshape(-1, 1)
    rows |= {label(lane_key(lane)): table.labels[lane.name] for lane in table.layout.lanes}
    for name, values in rows.items():
        np.save(folder / _COLUMNS / f"{name}.npy", values)
    pack = packer()
    for key, camera in table.cameras.items():
        target = folder / _CAMERAS / label(key)
        target.mkdir(parents=True)
        for row, picture in enumerate(pictures_of(camera)):
            (target / str(row)).write_bytes(pack.encode(np.ascontiguousarray(picture)))
    return describe_episode(table).to_json()


def _write_columns(table: EpisodeTable, folder: Path) -> None:
    columns: dict[str, NDArray[Any]] = {}
    for first, block in zip(range(0, len(table), BLOCK_ROWS), table.blocks(), strict=True):
        for key, values in block.items():
            if key not in columns:
                path, shape = folder / f"{label(key)}.npy", (len(table), *values.shape[1:])
                columns[key] = np.lib.format.open_memmap(path, "w+", values.dtype, shape)
            columns[key][first : first + len(values)] = values


def assemble(episodes: Sequence[WrittenEpisode], out: Path, context: ExportContext) -> None:
    """The store: format 2, all episodes one after the other, the note in its attributes."""
    root = out / FOLDER
    lengths = [episode.rows for episode in episodes]
    ends = np.cumsum(lengths).astype(np.int64)
    for group in (root, root / "data", root / "meta"):
        group.mkdir()
        write_json(group / ".zgroup", {"zarr_format": 2})
    write_array(root / "meta" / "episode_ends", [ends], (len(ends),), ends.dtype)
    for path in sorted((episodes[0].folder / _COLUMNS).glob("*.npy")):
        parts = [episode.folder / _COLUMNS / path.name for episode in episodes]
        one = np.load(path, mmap_mode="r")
        shape = (int(ends[-1]), *one.shape[1:])
        loaded = (np.load(part, mmap_mode="r") for part in parts)
        write_array(root / "data" / path.stem, loaded, shape, one.dtype)
    for key, camera in context.layout.cameras.items():
        name = label(key)
        target = root / "data" / name
        shape = (int(ends[-1]), *camera.size, 3)
        _write_head(target, shape, (1, *shape[1:]), np.dtype(np.uint8), packer())
        for episode, length, end in zip(episodes, lengths, ends.tolist(), strict=True):
            for row in range(length):
                packed = episode.folder / _CAMERAS / name / str(row)
                link_or_copy(packed, target / f"{end - length + row}.0.0.0")
    description = describe_dataset(context, label, episodes, mode_label=label(MODE))
    robot = context.robot.name if context.robot is not None else None
    write_json(
        root / ".zattrs",
        {"fps": context.layout.rate_hz, "robot_type": robot, NAME: description.to_json()},
    )


def write_array(
    folder: Path, parts: Iterable[NDArray[Any]], shape: tuple[int, ...], dtype: np.dtype[Any]
) -> None:
    """An array from parts that follow each other; no more than one chunk is in memory."""
    row_bytes = max(1, int(np.prod(shape[1:], dtype=np.int64)) * dtype.itemsize)
    rows = max(1, min(shape[0], _CHUNK_BYTES // row_bytes))
    pack = packer(bits=True)
    _write_head(folder, shape, (rows, *shape[1:]), dtype, pack)
    chunk = np.zeros((rows, *shape[1:]), dtype)
    number = filled = 0
    for part in parts:
        taken = 0
        while taken < len(part):
            count = min(rows - filled, len(part) - taken)
            chunk[filled : filled + count] = part[taken : taken + count]
            taken, filled = taken + count, filled + count
            if filled == rows:
                _write_chunk(folder, number, chunk, pack)
                number, filled = number + 1, 0
    if filled:
        chunk[filled:] = 0
        _write_chunk(folder, number, chunk, pack)


def _write_chunk(folder: Path, number: int, chunk: NDArray[Any], pack: Any) -> None:
    name = ".".join([str(number), *["0"] * (chunk.ndim - 1)])
    (folder / name).write_bytes(pack.encode(chunk))


def _write_head(
    folder: Path, shape: tuple[int, ...], chunks: tuple[int, ...], dtype: np.dtype[Any], pack: Any
) -> None:
    folder.mkdir()
    write_json(folder / ".zarray", {
        "zarr_format": 2,
        "shape": list(shape),
        "chunks": list(chunks),
        "dtype": dtype.str,
        "compressor": pack.get_config(),
        "fill_value": dtype.type(0).item(),
        "filters": None,
        "order": "C",
    })  # fmt: skip


FORMAT = Format(
    read=read,
    recognises=recognises,
    takes_rate=True,
    title="Zarr of diffusion policy",
    writer=TableWriter(
        write=write_episode,
        assemble=assemble,
        loses=("rates",),
        label=label,
        consumer=Consumer("diffusion_policy.py", "zarr", "pip install zarr"),
    ),
)
