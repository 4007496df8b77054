"""Diffusion policy's Zarr: all episodes one after the other below `data`, ends in `meta`."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.episode.recording import (
    MAX_PIXELS,
    ArraySignal,
    Dataset,
    ImageSequence,
    Recording,
    Signal,
)
from corporeal.errors import EpisodeError
from corporeal.exchange.description import NAME, TIMES, DatasetDescription, read_description
from corporeal.exchange.foreign_stream import array_signal, picture_stream, to_storable
from corporeal.exchange.format import Consumer, Format, TableWriter
from corporeal.exchange.label_columns import lane_key
from corporeal.exchange.zarr2.store import (
    StoredArray,
    ZarrFolderStore,
    ZarrStore,
    ZipStore,
    open_array,
    read_json,
)
from corporeal.exchange.zarr2.writing import FOLDER, assemble, label, write_episode
from corporeal.signal.grid import even_stamps

RATE_HZ = 10.0
_ENDS = "meta/episode_ends"
MAX_ROWS = 1 << 24
_MAX_EPISODES = 1 << 24


def recognises(path: Path) -> bool:
    """Whether there is meta/episode_ends, in the folder, a .zarr in it, or the ZIP file."""
    if path.is_dir():
        return (_folder(path) / _ENDS / ".zarray").is_file()
    return path.suffix == ".zip" and _zip_prefix(path) is not None


def read(path: Path, *, robot: Embodiment | None = None) -> Dataset:
    """The episodes in order; the rate is 10 Hz where the dataset does not state its own."""
    store = _store(path)
    ends = _ends(store)
    arrays = {name: open_array(store, f"data/{name}") for name in store.arrays("data")}
    for name, array in arrays.items():
        if len(array) != ends[-1]:
            raise EpisodeError(
                f"{path}: data/{name} has {len(array)} rows; expected {ends[-1]}, where the last "
                "episode ends. Replace the dataset."
            )
    description = read_description(
        read_json(store, ".zattrs").get(NAME), str(path), part="the note"
    )
    rate_hz = description.rate_hz if description is not None else RATE_HZ
    facts: dict[str, Any] = {"rate_hz": rate_hz, "rate_stated": description is not None}
    return Dataset(
        source=path,
        format="zarr",
        episodes=tuple(range(len(ends))),
        open=partial(_open, path, arrays, ends, description, robot),
        facts=facts,
        lanes=lambda: description.lanes if description is not None else (),
    )


def _open(
    path: Path,
    arrays: dict[str, StoredArray],
    ends: NDArray[np.int64],
    description: DatasetDescription | None,
    robot: Embodiment | None,
    index: int,
) -> Recording:
    if not 0 <= index < len(ends):
        raise EpisodeError(f"{path}: no episode {index}; expected 0 to {len(ends) - 1}.")
    first, stop = int(ends[index - 1]) if index else 0, int(ends[index])
    stamps = _stamps(arrays, first, stop)
    rate_hz = description.rate_hz if description is not None else _rate_hz(stamps)
    times = even_stamps(stop - first, rate_hz) if stamps is None else stamps
    signals: dict[str, Signal] = {}
    labelled = (
        {label(lane_key(lane)) for lane in description.lanes} if description is not None else set()
    )
    for name, array in arrays.items():
        if name in labelled or (name in (TIMES, "timestamp") and stamps is not None):
            continue
        signal = _signal(name, array, first, times, rate_hz, description, robot)
        if signal is not None:
            signals[name] = signal
    described = description.episode(index) if description is not None else None
    if described is not None:
        signals |= described.instruction_signal(times)
    return Recording(
        id=described.id if described is not None else f"{path.name.partition('.')[0]}_{index}",
        source=path,
        index=index,
        signals=signals,
        embodiment=robot or (description.robot if description is not None else None),
        metadata={"fps": rate_hz, **(described.to_metadata() if described is not None else {})},
        epoch_ns=described.epoch_ns if described is not None else 0,
        regridded=stamps is None,
        labels=described.labels if described is not None else None,
    )


def _signal(
    name: str,
    array: StoredArray,
    first: int,
    times: NDArray[np.int64],
    rate_hz: float,
    description: DatasetDescription | None,
    robot: Embodiment | None,
) -> Signal | None:
    """An array as a signal; None when it is neither numbers in rows nor pictures."""
    if _holds_pictures(array) and (description is None or name not in description.streams):
        height, width = array.shape[1:3]
        spec = picture_stream(name, height=height, width=width, rate_hz=rate_hz)
        spec = description.camera(name, spec) if description is not None else spec
        return ImageSequence(spec, times, ZarrPictures(array, first, len(times)))
    if len(array.shape) > 3 and (description is None or name not in description.streams):
        return None
    values = to_storable(array.rows(first, first + len(times)))
    stream = (
        description.column(name, values.shape[1:], values.dtype)
        if description is not None
        else None
    )
    if stream is not None:
        return ArraySignal(stream, times, values)
    return array_signal(name, values, times, rate_hz=rate_hz, robot=robot)


@dataclass(frozen=True, eq=False)
class ZarrPictures(Sequence[Any]):
    """The pictures of an episode, read one by one; shares of 1 and floats become bytes."""

    array: StoredArray
    first: int
    length: int

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, selection: Any) -> Any:
        numbers = np.arange(self.length)[selection]
        if np.ndim(numbers) == 0:
            return self._picture(int(numbers))
        return [self._picture(int(number)) for number in numbers]

    def _picture(self, number: int) -> NDArray[np.uint8]:
        place = self.first + number
        picture = self.array.rows(place, place + 1)[0]
        if picture.dtype.kind == "f":
            scale = 255.0 if np.nanmax(picture, initial=0.0) <= 1.0 else 1.0
            picture = np.rint(np.clip(np.nan_to_num(picture) * scale, 0, 255))
        shown: NDArray[np.uint8] = picture.astype(np.uint8, copy=False)
        return shown


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


def _rate_hz(stamps: NDArray[np.int64] | None) -> float:
    step_ns = float(np.median(np.diff(stamps))) if stamps is not None and len(stamps) > 1 else 0.0
    return round(1e9 / step_ns, 3) if 1e5 < step_ns < 1e12 else RATE_HZ


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


WRITER = TableWriter(
    write_episode,
    assemble,
    loses=("rates",),
    label=label,
    consumer=Consumer("diffusion_policy.py", "zarr", "pip install zarr"),
)

FORMAT = Format(
    read=read,
    recognises=recognises,
    title="Zarr of diffusion policy",
    writer=WRITER,
)
