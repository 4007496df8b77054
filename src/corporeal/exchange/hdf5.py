"""HDF5 files of other people, of which only plain numbers in this very file are read; and ours."""

from __future__ import annotations

import errno
import json
import math
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from corporeal.episode.file import SIGNATURE, write_attribute
from corporeal.episode.recording import MAX_PIXELS
from corporeal.errors import CorporealError, EpisodeError
from corporeal.exchange.camera_model import camera_models
from corporeal.exchange.description import (
    MODE,
    NAME,
    TIMES,
    DatasetDescription,
    Label,
    read_description,
)
from corporeal.exchange.foreign_stream import EpisodeReading
from corporeal.exchange.layout import lane_key
from corporeal.exchange.movie.pictures import pictures_of
from corporeal.exchange.stored_samples import StoredPictures
from corporeal.exchange.table import BLOCK_ROWS, EpisodeTable
from corporeal.hdf5_file import members, open_hdf5

MAX_BYTES = 1 << 31
MAX_REPEATED, MAX_GROUP_DEPTH = 1 << 14, 9
# Beyond the free bytes: deflate, the tightest filter of HDF5, packs a thousand to one.
_MOST_TIMES, _FREE_BYTES = 2000, 1 << 24
MAX_TEXT = 1 << 20
MAX_NOTE = 1 << 26


def is_hdf5(path: Path) -> bool:
    """Whether the file begins as an HDF5 file does."""
    try:
        with path.open("rb") as file:
            return file.read(len(SIGNATURE)) == SIGNATURE
    except OSError:
        return False


def is_hdf5_with(path: Path, test: Callable[[h5py.File], bool]) -> bool:
    """Whether it is an HDF5 file, it can be read, and the test says so of it."""
    if not is_hdf5(path):
        return False
    try:
        with open_hdf5(path) as file:
            return test(file)
    except CorporealError:
        return False


def read_note(file: h5py.File, path: Path) -> DatasetDescription | None:
    """What Corporeal says of the dataset, if it wrote the file."""
    return read_description(json_dataset(file, NAME), str(path), part="the note")


def datasets(group: Any) -> dict[str, Any]:
    """Every dataset below a group, by its path from there."""
    return {
        f"{prefix}{name}": item
        for prefix, _, inside in _groups_below(group)
        for name, item in inside.items()
        if isinstance(item, h5py.Dataset)
    }


def _groups_below(group: Any) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """A group and those below it: path, group, members.

    A hard link to a group around it is not followed. One to a group that was seen elsewhere is,
    as long as those are few: links from level to level make a small file into an endless one.
    """
    waiting: list[tuple[str, Any, tuple[int, ...]]] = [("", group, (_address(group),))]
    seen: set[int] = set()
    repeated = 0
    while waiting:
        prefix, inner, around = waiting.pop()
        inside = members(inner)
        repeated += len(inside) if around[-1] in seen else 0
        if repeated > MAX_REPEATED:
            raise EpisodeError(
                f"{group.name} has groups below it with more than one name, of {repeated} members "
                f"altogether; expected at most {MAX_REPEATED}. Copy the file without its links."
            )
        seen.add(around[-1])
        yield prefix, inner, inside
        for name, item in reversed(inside.items()):
            if isinstance(item, h5py.Group) and len(around) <= MAX_GROUP_DEPTH:
                address = _address(item)
                if address not in around:
                    waiting.append((f"{prefix}{name}/", item, (*around, address)))


def _address(group: Any) -> int:
    return int(h5py.h5o.get_info(group.id).addr)


def leave_out_links(reading: EpisodeReading, group: Any) -> None:
    """Account for what a group only points at; it may lie in another file, so it is not read."""
    for prefix, inner, inside in _groups_below(group):
        for name in inner:
            if name not in inside:
                reason = "a link; only what lies in the file itself is read"
                reading.leave_out(f"{prefix}{name}", reason, lost=True)


def leave_out(
    reading: EpisodeReading, name: str, dataset: Any, reason: str, *, lost: bool = False
) -> None:
    """Account for a dataset that is not taken."""
    count = int(dataset.shape[0]) if dataset.ndim else 1
    reading.leave_out(name, reason, samples=count, lost=lost)


def read_numbers(dataset: Any) -> NDArray[Any] | None:
    """All numbers of a dataset (T, ...); None when it holds something else or nothing."""
    if dataset.dtype.kind not in "fiub" or dataset.ndim < 1 or dataset.size == 0:
        return None
    if dataset.external is not None or dataset.is_virtual:
        raise EpisodeError(f"{dataset.name} lies in another file; expected its data in this one.")
    size = _bytes_of(dataset)
    if size > MAX_BYTES:
        raise EpisodeError(f"{dataset.name} has {size >> 20} MiB; expected {MAX_BYTES >> 20}.")
    if size > _FREE_BYTES and size > _MOST_TIMES * dataset.id.get_storage_size():
        raise EpisodeError(f"{dataset.name} claims {size >> 20} MiB, which are not in the file.")
    return np.asarray(dataset[()])


def _bytes_of(dataset: Any) -> int:
    return int(dataset.size or 0) * int(dataset.dtype.itemsize)


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


def read_pictures(path: Path, name: str, numbers: Iterable[int]) -> Iterator[Any]:
    """Rows of a dataset as pictures: arrays (h, w, 3), or the encoded bytes."""
    with open_hdf5(path) as file:
        dataset = file[name]
        for number in numbers:
            row = dataset[number]
            yield row.tobytes() if np.ndim(row) == 1 else row


# As robosuite and most of its kin order a quaternion.
_QUATERNION = ("qx", "qy", "qz", "qw")
MAX_ROWS = 1 << 24
_OBSERVATIONS = ("obs/", "observations/")
MEASURED = "measured"
"""The attribute of a dataset that is there for the format alone, and false for it."""


def take_datasets(
    reading: EpisodeReading,
    path: Path,
    found: Mapping[str, Any],
    *,
    names: Mapping[str, Sequence[str]] | None = None,
    times: NDArray[np.int64] | None = None,
) -> None:
    """Take datasets by label; what is neither number nor picture is left out.

    `times` are the stamps of rows, which are even without them.
    """
    _require_numbers_fit(path, found.values())
    for label, dataset in found.items():
        count = int(dataset.shape[0]) if dataset.ndim else 0
        is_column = dataset.ndim > 0 and reading.described_column(label, dataset) is not None
        if holds_pictures(dataset) and not is_column:
            if count > MAX_ROWS:
                # One of nothing but its fill value takes no room in a file, however long it is.
                raise EpisodeError(
                    f"{dataset.name} has {count} pictures; expected at most {MAX_ROWS}."
                )
            pictures = StoredPictures(count, partial(read_pictures, path, dataset.name))
            size = dataset.shape[1:3] if dataset.ndim == 4 else None
            reading.take_pictures(label, pictures, reading.row_stamps(count, times), size=size)
            continue
        values = read_numbers(dataset)
        if values is None:
            reason = f"no number in it, but {dataset.dtype}" if dataset.size else "empty"
            leave_out(reading, label, dataset, reason, lost=dataset.size > 0)
            continue
        if values.ndim > 3 and not is_column:
            reason = f"neither numbers nor colour pictures: {values.ndim} axes"
            leave_out(reading, label, dataset, reason, lost=True)
            continue
        columns = (names or {}).get(label)
        if columns is None and label.endswith("quat") and values.shape[1:] == (4,):
            columns = _QUATERNION
            if not is_column:
                reading.assumed["quaternion_order"] = "x y z w, as robosuite has it: it states none"
        reading.take_numbers(label, values, reading.row_stamps(count, times), names=columns)
    reading.check_lengths()


def _require_numbers_fit(path: Path, arrays: Iterable[Any]) -> None:
    """Raise EpisodeError where the numbers of an episode are too many, each array small enough."""
    numbers = [array for array in arrays if array.ndim and not holds_pictures(array)]
    sizes = [_bytes_of(array) for array in numbers if array.dtype.kind in "fiub"]
    # One that is too large by itself is refused by its own name.
    total = sum(size for size in sizes if size <= MAX_BYTES)
    if total > MAX_BYTES:
        raise EpisodeError(
            f"{path}: an episode with {total >> 20} MiB of numbers; expected at most "
            f"{MAX_BYTES >> 20} MiB."
        )


def take_described(
    reading: EpisodeReading, path: Path, found: Mapping[str, Any], known: DatasetDescription
) -> NDArray[np.int64] | None:
    """Take the datasets of an episode that Corporeal wrote; the capture times of its rows.

    Observations that somebody added since, and columns of another shape, are read as any other's.
    """
    labels = {*known.streams, *known.camera_streams}
    kept = {
        label: dataset
        for label, dataset in found.items()
        if label in labels
        or (label.startswith(_OBSERVATIONS) and dataset.attrs.get(MEASURED, True))
    }
    times = _row_times(found)
    take_datasets(reading, path, kept, times=times)
    account_described(reading, {label: len(each) for label, each in found.items() if each.ndim})
    return times


def account_described(reading: EpisodeReading, counts: Mapping[str, int]) -> None:
    """Account for arrays of an episode of ours, by their number of rows, that are no streams."""
    for label, count in counts.items():
        if label in reading.signals:
            continue
        if label == TIMES:
            reading.account(label, "stamps", samples=count)
        elif label.startswith("labels"):
            reading.account(label, "labels", samples=count)
        else:
            reason = "there for readers of the format; the description says the same"
            reading.leave_out(label, reason, samples=count)


def _row_times(found: Mapping[str, Any]) -> NDArray[np.int64] | None:
    """The capture times of the rows, where they are kept and go forward."""
    dataset = found.get(TIMES)
    if dataset is None or dataset.dtype != np.int64 or dataset.ndim != 1:
        return None
    times = read_numbers(dataset)
    return None if times is None or (np.diff(times) < 0).any() else times


_FIXED_BYTES = 1 << 20
MAX_LANGUAGE = 1 << 14
"""An instruction of more bytes than an attribute holds is in the description alone."""


def write_table(group: Any, table: EpisodeTable, label: Label) -> None:
    """Every column and camera under its label, the capture time of every row, and its mode."""
    _require_room(Path(group.file.filename), table, label)
    _write_numbers(group, table, label)
    models = camera_models(table.recording)
    for key, camera in table.cameras.items():
        name = label(key)
        if name is None:
            continue
        shape = (*camera.spec.size, 3)
        # Neither packed nor shared: one picture is one read, which is what training does.
        pictures = group.create_dataset(name, (len(table), *shape), np.uint8, chunks=(1, *shape))
        model = models.get(camera.signal.spec.name)
        if model is not None:
            height, width = camera.spec.size
            for field_name, value in model.scaled(width, height).to_json().items():
                pictures.attrs[field_name] = value
        for row, picture in enumerate(pictures_of(camera)):
            pictures[row] = picture
    group.create_dataset(TIMES, data=table.time_ns)
    name = label(MODE)
    if table.mode is not None and name is not None:
        group.create_dataset(name, data=table.mode.reshape(-1, 1))
    for lane in table.layout.lanes:
        name = label(lane_key(lane))
        if name is not None:
            rows = group.create_dataset(name, data=table.labels[lane.name])
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
    for first, block in zip(range(0, len(table), BLOCK_ROWS), table.blocks(), strict=True):
        for key, values in block.items():
            name = label(key)
            if name is not None:
                shape = (len(table), *values.shape[1:])
                column = group.require_dataset(name, shape, values.dtype, exact=True)
                column[first : first + len(values)] = values


def write_description(file: Any, description: DatasetDescription) -> None:
    """The description as text at the root of the file: as an attribute it may be too long."""
    file.create_dataset(NAME, data=np.bytes_(json.dumps(description.to_json()).encode()))
