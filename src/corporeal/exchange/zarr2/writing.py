"""Writes diffusion policy's Zarr: pictures are packed once, and only renamed at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.exchange.description import (
    MODE,
    NAME,
    TIMES,
    check_labels,
    describe_dataset,
    describe_episode,
)
from corporeal.exchange.format import ExportContext, WrittenEpisode
from corporeal.exchange.json_text import write_json
from corporeal.exchange.label_columns import lane_key
from corporeal.exchange.layout import IMAGES
from corporeal.exchange.movie.pictures import pictures_of
from corporeal.exchange.table import EpisodeTable
from corporeal.exchange.zarr2.codec import packer
from corporeal.files import link_or_copy

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
    np.save(folder / _COLUMNS / f"{TIMES}.npy", table.time_ns)
    if table.mode is not None:
        np.save(folder / _COLUMNS / f"{label(MODE)}.npy", table.mode.reshape(-1, 1))
    for lane in table.layout.lanes:
        np.save(folder / _COLUMNS / f"{label(lane_key(lane))}.npy", table.labels[lane.name])
    pack = packer()
    for key, camera in table.cameras.items():
        target = folder / _CAMERAS / label(key)
        target.mkdir(parents=True)
        for row, picture in enumerate(pictures_of(camera)):
            (target / str(row)).write_bytes(pack.encode(np.ascontiguousarray(picture)))
    return describe_episode(table).to_json()


def _write_columns(table: EpisodeTable, folder: Path) -> None:
    made: dict[str, NDArray[Any]] = {}
    first = 0
    for block in table.blocks():
        stop = first
        for key, values in block.items():
            stop = first + len(values)
            if key not in made:
                shape = (len(table), *values.shape[1:])
                made[key] = np.lib.format.open_memmap(
                    folder / f"{label(key)}.npy", "w+", values.dtype, shape
                )
            made[key][first:stop] = values
        first = stop


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
        write_array(root / "data" / path.stem, _loaded(parts), shape, one.dtype)
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


def _loaded(paths: Sequence[Path]) -> Iterator[NDArray[Any]]:
    for path in paths:
        yield np.load(path, mmap_mode="r")


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
