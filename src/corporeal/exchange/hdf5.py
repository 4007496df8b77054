"""HDF5 files of other people, of which only plain numbers in this very file are read; and ours."""

from __future__ import annotations

import errno
import json
import math
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.episode.file import SIGNATURE, read_attribute, write_attribute
from corporeal.episode.recording import (
    INDEX_WRONG,
    MAX_PIXELS,
    ArraySignal,
    Defect,
    ImageSequence,
    Recording,
    Signal,
)
from corporeal.errors import CorporealError, EpisodeError
from corporeal.exchange.description import (
    MODE,
    NAME,
    TIMES,
    DatasetDescription,
    EpisodeDescription,
    Label,
)
from corporeal.exchange.foreign_stream import array_signal, picture_stream, to_storable
from corporeal.exchange.layout import lane_key
from corporeal.exchange.movie.pictures import pictures_of
from corporeal.exchange.table import EpisodeTable
from corporeal.signal.grid import even_stamps

MAX_BYTES = 1 << 31
MAX_TEXT = 1 << 20
MAX_NOTE = 1 << 26


def is_hdf5(path: Path) -> bool:
    """Whether the file begins as an HDF5 file does."""
    try:
        with path.open("rb") as file:
            return file.read(len(SIGNATURE)) == SIGNATURE
    except OSError:
        return False


@contextmanager
def open_hdf5(path: Path) -> Iterator[h5py.File]:
    """The file, open for reading; whatever h5py raises becomes one sentence."""
    try:
        with h5py.File(path, "r", locking=False) as file:
            yield file
    except CorporealError:
        raise
    except (OSError, RuntimeError, LookupError, ValueError, TypeError, MemoryError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise EpisodeError(f"{path}: cannot be read as HDF5 ({reason}). Replace it.") from None


def root_attribute(path: Path, name: str) -> Any:
    """An attribute of the file's root; None when there is none or the file cannot be read."""
    try:
        with open_hdf5(path) as file:
            return read_attribute(file, name)
    except CorporealError:
        return None


def members(group: Any) -> dict[str, Any]:
    """Groups and datasets that lie in this very file, by name; links to elsewhere are left out."""
    found = {}
    for name in group:
        if isinstance(group.get(name, getlink=True), h5py.HardLink):
            found[name] = group[name]
    return found


def datasets(group: Any, prefix: str = "") -> dict[str, Any]:
    """Every dataset below a group, by its path from there."""
    found: dict[str, Any] = {}
    for name, item in members(group).items():
        path = f"{prefix}{name}"
        if isinstance(item, h5py.Dataset):
            found[path] = item
        elif prefix.count("/") < 8:
            found.update(datasets(item, f"{path}/"))
    return found


def read_numbers(dataset: Any) -> NDArray[Any] | None:
    """All numbers of a dataset (T, ...); None when it holds something else or nothing."""
    if dataset.dtype.kind not in "fiub" or dataset.ndim < 1 or dataset.size == 0:
        return None
    if dataset.external is not None or dataset.is_virtual:
        raise EpisodeError(f"{dataset.name} lies in another file; expected its data in this one.")
    size = dataset.size * dataset.dtype.itemsize
    if size > MAX_BYTES:
        raise EpisodeError(f"{dataset.name} has {size >> 20} MiB; expected {MAX_BYTES >> 20}.")
    return np.asarray(dataset[()])


def text_attribute(item: Any, name: str) -> str | None:
    """A text in an attribute; None when there is none."""
    value = item.attrs.get(name) if name in item.attrs else None
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return value if isinstance(value, str) and len(value) <= MAX_TEXT else None


def json_dataset(file: Any, name: str) -> Any:
    """The JSON in a dataset that is one text of fixed length; None when there is none."""
    found = members(file).get(name)
    if not isinstance(found, h5py.Dataset) or found.shape != () or found.dtype.kind != "S":
        return None
    if found.dtype.itemsize > MAX_NOTE or found.external is not None or found.is_virtual:
        raise EpisodeError(f"{found.name} is not in this file, or larger than {MAX_NOTE} bytes.")
    try:
        return json.loads(bytes(found[()]).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise EpisodeError(f"{found.name} is not JSON ({error}). Remove it.") from None


def in_order(names: Sequence[str]) -> list[str]:
    """Names by the numbers in them: demo_2 before demo_10."""
    return sorted(names, key=lambda name: [int(n) if n.isdigit() else n
                                           for n in re.split(r"(\d+)", name)])  # fmt: skip


def last_number(name: str) -> int | None:
    """The number at the end of a name such as demo_7."""
    found = re.search(r"(\d{1,9})$", name)
    return int(found[1]) if found else None


@dataclass(frozen=True, eq=False)
class Hdf5Pictures(Sequence[Any]):
    """Pictures in a dataset, read one by one: arrays (h, w, 3), or encoded bytes in every row."""

    path: Path
    name: str
    length: int

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, selection: Any) -> Any:
        with open_hdf5(self.path) as file:
            numbers = np.arange(self.length)[selection]
            if np.ndim(numbers) == 0:
                return _picture(file[self.name][int(numbers)])
            return [_picture(file[self.name][int(number)]) for number in numbers]

    def __iter__(self) -> Iterator[Any]:
        with open_hdf5(self.path) as file:
            for number in range(self.length):
                yield _picture(file[self.name][number])


def holds_pictures(dataset: Any) -> bool:
    """Whether every row is a colour picture, plain or encoded."""
    if dataset.external is not None or dataset.is_virtual or dataset.ndim < 1:
        return False
    if dataset.ndim == 1:
        return bool(h5py.check_vlen_dtype(dataset.dtype) == np.uint8)
    shape = dataset.shape
    plain = len(shape) == 4 and shape[3] == 3 and shape[1] * shape[2] <= MAX_PIXELS
    encoded = len(shape) == 2 and 64 < shape[1] <= 3 * MAX_PIXELS
    return bool(dataset.dtype == np.uint8 and (plain or encoded))


def _picture(row: Any) -> Any:
    return row.tobytes() if np.ndim(row) == 1 else row


# As robosuite and most of its kin order a quaternion.
_QUATERNION = ("qx", "qy", "qz", "qw")
MAX_ROWS = 1 << 24
_OBSERVATIONS = ("obs/", "observations/")
MEASURED = "measured"
"""The attribute of a dataset that is there for the format alone, and false for it."""


def signals_of(
    path: Path,
    found: Mapping[str, Any],
    *,
    rate_hz: float,
    names: Mapping[str, Sequence[str]] | None = None,
    robot: Embodiment | None = None,
) -> dict[str, Signal]:
    """Signals by label from datasets by label; what is neither number nor picture is left out."""
    signals: dict[str, Signal] = {}
    for label, dataset in found.items():
        if holds_pictures(dataset):
            signals[label] = _stills(path, label, dataset, rate_hz)
            continue
        values = read_numbers(dataset)
        if values is None or values.ndim > 3:
            continue
        columns = (names or {}).get(label)
        if columns is None and label.endswith("quat") and values.shape[1:] == (4,):
            columns = _QUATERNION
        stamps = even_stamps(len(values), rate_hz)
        signals[label] = array_signal(
            label, values, stamps, rate_hz=rate_hz, names=columns, robot=robot
        )
    return signals


def described_signals(
    path: Path, found: Mapping[str, Any], description: DatasetDescription
) -> dict[str, Signal]:
    """Signals of a file that Corporeal wrote, as what they were when it was written.

    Observations that somebody added since, and columns of another shape, are read as any other's.
    """
    stamps = row_times(found)
    signals: dict[str, Signal] = {}
    for label, dataset in found.items():
        if label in description.camera_streams and holds_pictures(dataset):
            stills = _stills(path, label, dataset, description.rate_hz)
            spec = description.camera(label, stills.spec)
            signals[label] = ImageSequence(spec, _stamped(stamps, stills.time_ns), stills.pictures)
        elif label in description.streams:
            values = read_numbers(dataset)
            if values is None:
                continue
            values = to_storable(values)
            stream = description.column(label, values.shape[1:], values.dtype)
            if stream is not None:
                times = _stamped(stamps, even_stamps(len(values), description.rate_hz))
                signals[label] = ArraySignal(stream, times, values)
    changed = {
        label: each
        for label, each in found.items()
        if label not in signals
        and (label in description.streams or label.startswith(_OBSERVATIONS))
        and each.attrs.get(MEASURED, True)
    }
    return signals | signals_of(path, changed, rate_hz=description.rate_hz, robot=description.robot)


def described_recording(
    path: Path,
    found: Mapping[str, Any],
    description: DatasetDescription,
    described: EpisodeDescription,
    *,
    index: int,
    robot: Embodiment | None,
    metadata: Mapping[str, Any],
) -> Recording:
    """An episode that Corporeal wrote; `metadata` is what the file says besides."""
    signals = described_signals(path, found, description)
    defects = length_defects(signals, index)
    times = row_times(found)
    if times is not None:
        signals |= described.instruction_signal(times)
    return Recording(
        id=described.id,
        source=path,
        index=index,
        signals=signals,
        embodiment=robot or description.robot,
        metadata={"fps": description.rate_hz, **metadata, **described.to_metadata()},
        defects=tuple(defects),
        epoch_ns=described.epoch_ns,
        regridded=times is None,
        labels=described.labels,
    )


def row_times(found: Mapping[str, Any]) -> NDArray[np.int64] | None:
    """The capture times of the rows, where they are kept and go forward."""
    dataset = found.get(TIMES)
    if dataset is None or dataset.dtype != np.int64 or dataset.ndim != 1:
        return None
    times = read_numbers(dataset)
    return None if times is None or (np.diff(times) < 0).any() else times


def _stamped(stamps: NDArray[np.int64] | None, even: NDArray[np.int64]) -> NDArray[np.int64]:
    return even if stamps is None or len(stamps) != len(even) else stamps


def length_defects(signals: Mapping[str, Signal], index: int) -> list[Defect]:
    """Streams of one demonstration that do not have the same number of samples."""
    lengths = {label: len(signal) for label, signal in signals.items()}
    if not lengths:
        return []
    counts = list(lengths.values())
    usual = max(set(counts), key=counts.count)
    return [
        Defect(INDEX_WRONG, f"{label} has {count} samples, the other streams {usual}", index,
               label, float(count), float(usual))
        for label, count in lengths.items()
        if count != usual
    ]  # fmt: skip


def _stills(path: Path, label: str, dataset: Any, rate_hz: float) -> ImageSequence:
    count = int(dataset.shape[0])
    if count > MAX_ROWS:
        # A dataset of nothing but its fill value takes no room in a file, however long it is.
        raise EpisodeError(f"{dataset.name} has {count} pictures; expected at most {MAX_ROWS}.")
    pictures = Hdf5Pictures(path, dataset.name, count)
    height, width = dataset.shape[1:3] if dataset.ndim == 4 else (0, 0)
    spec = picture_stream(label, height=int(height), width=int(width), rate_hz=rate_hz)
    stills = ImageSequence(spec, even_stamps(count, rate_hz), pictures)
    if dataset.ndim != 4 and count:
        height, width = stills[0].shape[:2]
        spec = picture_stream(label, height=height, width=width, rate_hz=rate_hz)
        return ImageSequence(spec, stills.time_ns, pictures)
    return stills


_FIXED_BYTES = 1 << 20
MAX_LANGUAGE = 1 << 14
"""An instruction of more bytes than an attribute holds is in the description alone."""


def write_table(group: Any, table: EpisodeTable, label: Label) -> None:
    """Every column and camera under its label, the capture time of every row, and its mode."""
    _require_room(Path(group.file.filename), table, label)
    _write_numbers(group, table, label)
    for key, camera in table.cameras.items():
        place = label(key)
        if place is None:
            continue
        height, width = camera.spec.size
        shape = (height, width, 3)
        # Neither packed nor shared: one picture is one read, which is what training does.
        pictures = group.create_dataset(place, (len(table), *shape), np.uint8, chunks=(1, *shape))
        for row, picture in enumerate(pictures_of(camera)):
            pictures[row] = picture
    group.create_dataset(TIMES, data=table.time_ns)
    place = label(MODE)
    if table.mode is not None and place is not None:
        group.create_dataset(place, data=table.mode.reshape(-1, 1))
    for lane in table.layout.lanes:
        place = label(lane_key(lane))
        if place is not None:
            rows = group.create_dataset(place, data=table.labels[lane.name])
            write_attribute(rows, "labels", lane.labels)
            write_attribute(rows, "meaning", "places in labels; -1 where nothing is said")


def _require_room(path: Path, table: EpisodeTable, label: Label) -> None:
    """Before the first byte, since an HDF5 library that meets a full disk may bring us down."""
    cameras = [camera for key, camera in table.cameras.items() if label(key) is not None]
    pictures = sum(3 * camera.spec.size[0] * camera.spec.size[1] for camera in cameras)
    columns = sum(8 * math.prod(column.shape) for column in table.layout.columns.values())
    needed = len(table) * (pictures + columns + 16) + _FIXED_BYTES
    free = shutil.disk_usage(path.parent).free
    if needed > free:
        raise OSError(
            errno.ENOSPC,
            f"episode {table.number} needs some {needed >> 20} MiB, and {free >> 20} MiB are free",
        )


def _write_numbers(group: Any, table: EpisodeTable, label: Label) -> None:
    made: dict[str, Any] = {}
    first = 0
    for block in table.blocks():
        stop = first
        for key, values in block.items():
            place = label(key)
            stop = first + len(values)
            if place is None:
                continue
            if place not in made:
                shape = (len(table), *values.shape[1:])
                made[place] = group.create_dataset(place, shape, values.dtype)
            made[place][first:stop] = values
        first = stop


def write_description(file: Any, description: DatasetDescription) -> None:
    """The description as text at the root of the file: as an attribute it may be too long."""
    file.create_dataset(NAME, data=np.bytes_(json.dumps(description.to_json()).encode()))
