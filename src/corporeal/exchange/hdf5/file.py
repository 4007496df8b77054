"""HDF5 files of other people: only what is a plain number in this very file is read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from corporeal.episode.file import SIGNATURE, read_attribute
from corporeal.episode.recording import MAX_PIXELS
from corporeal.errors import CorporealError, EpisodeError

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
