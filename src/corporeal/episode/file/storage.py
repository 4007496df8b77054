"""Bytes out of an HDF5 file that is hostile until checked: sizes and types first, memory after."""

from __future__ import annotations

import json
import math
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from corporeal.episode.file import layout
from corporeal.episode.file.attributes import read_attribute
from corporeal.episode.file.byte_source import (
    ByteSource,
    LocalBytes,
    OpenBytes,
    RemoteBytes,
    SeekableBytes,
)
from corporeal.errors import CorporealError, EpisodeError


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Whatever a damaged file makes h5py raise becomes one sentence about that file."""
    try:
        yield
    except EpisodeError as error:
        if str(path) in str(error):
            raise
        raise EpisodeError(f"{path}: {error}") from None
    except CorporealError:
        raise
    except (OSError, RuntimeError, LookupError, ValueError, TypeError, OverflowError,
            MemoryError) as error:  # fmt: skip
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise EpisodeError(
            f"{path}: cannot be read as an episode: {reason}. "
            "The file is damaged or was changed; take it from its source again."
        ) from None


def _refuse_number(text: str) -> None:
    raise ValueError(f"{text} is not a number")


def _finite_number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        _refuse_number(text)
    return number


class Region:
    """A dataset that lies in one piece in the file: where, and as what."""

    def __init__(self, storage: Storage, offset: int, dtype: np.dtype[Any], shape: tuple[int, ...]):
        self._storage = storage
        self.offset = offset
        self.dtype = dtype
        self.shape = shape
        self.row_bytes = math.prod(shape[1:]) * dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Size in the file."""
        return self.shape[0] * self.row_bytes

    def read(self, first: int = 0, stop: int | None = None) -> NDArray[Any]:
        """Rows `first` to `stop`, and nothing else, from the file."""
        stop = self.shape[0] if stop is None else stop
        rows = np.empty((max(0, stop - first), *self.shape[1:]), self.dtype)
        if rows.nbytes:
            self._storage.fill(rows, self.offset + first * self.row_bytes)
        return rows


class RangeFile(SeekableBytes):
    """A stretch of the file as a file of its own, which keeps the storage open."""

    def __init__(self, region: Region, storage: Storage) -> None:
        super().__init__(
            region.nbytes, lambda at, count: storage.bytes_at(region.offset + at, count)
        )


def _free(file: h5py.File, opened: OpenBytes) -> None:
    file.close()
    opened.close()


class Storage:
    """An open episode file, below the level of streams."""

    def __init__(self, place: Path | ByteSource) -> None:
        self.path = place if isinstance(place, Path) else Path(place.name)
        opened: OpenBytes = LocalBytes(place) if isinstance(place, Path) else RemoteBytes(place)
        try:
            self.size = opened.size
            with explained(self.path):
                _check_signature(self.path, opened)
                self._file = opened.open_h5()
        except BaseException:  # Nobody else can free it when there is no storage.
            opened.close()
            raise
        self._bytes: OpenBytes | None = opened
        # Readers may outlive the episode they came from: the last of them frees the file.
        self._free = weakref.finalize(self, _free, self._file, opened)
        self._groups: dict[str, Any] = {}

    def close(self) -> None:
        """Free the file; safe to call twice."""
        self._free()
        self._bytes = None

    @property
    def h5(self) -> h5py.File:
        """The h5py file itself."""
        return self._file

    def attribute(self, name: str, kind: type) -> Any:
        """A root attribute of the given Python type, or None when it is not there."""
        value = read_attribute(self._file, name)
        if value is not None and not isinstance(value, kind):
            raise EpisodeError(
                f"{self.path}: attribute {name!r} is {type(value).__name__}; "
                f"expected {kind.__name__}."
            )
        return value

    def names(self, path: str) -> list[str]:
        """The names of what is in a group; none where there is no such group."""
        found = self._find(path)
        if found is None:
            return []
        if not isinstance(found, h5py.h5g.GroupID) or found.get_num_objs() > layout.MAX_STREAMS:
            raise EpisodeError(f"{self.path}: {path} is not a group of a few entries.")
        return list(h5py.Group(found))

    def dataset(self, path: str) -> h5py.Dataset:
        """A dataset reached by hard links alone, with its data in this very file."""
        here = h5py.Dataset(self._find_dataset(path))
        if here.is_virtual or here.external:
            raise EpisodeError(f"{self.path}: {path} points to other files; expected the data.")
        return here

    def region(self, path: str, dtype: str, row: tuple[int, ...], rows: int | None) -> Region:
        """A contiguous dataset of this dtype and row shape, whole inside the file."""
        dataset = self._find_dataset(path)
        wanted, got = np.dtype(dtype).newbyteorder("<"), dataset.dtype
        shape: tuple[int, ...] = dataset.shape or ()
        if got != wanted or len(shape) < 1 or shape[1:] != row:
            raise EpisodeError(
                f"{self.path}: {path} is {got} of shape {shape}; "
                f"expected {wanted.name} of shape {('n', *row)}."
            )
        if rows is not None and shape[0] != rows:
            raise EpisodeError(f"{self.path}: {path} has {shape[0]} rows; expected {rows}.")
        # HDF5 gives no offset for chunked, virtual or external storage.
        offset = dataset.get_offset()
        region = Region(self, offset or 0, wanted, shape)
        if region.nbytes and (offset is None or offset + region.nbytes > self.size):
            raise EpisodeError(
                f"{self.path}: {path} claims {region.nbytes} bytes that do not lie in one piece "
                "in the file. It was cut off or made by others; take it from its source again."
            )
        return region

    def _find_dataset(self, path: str) -> Any:
        found = self._find(path)
        if found is None:
            raise EpisodeError(f"{self.path}: {path} is missing.")
        if not isinstance(found, h5py.h5d.DatasetID):
            raise EpisodeError(f"{self.path}: {path} is a group; expected a dataset.")
        return found

    def _find(self, path: str) -> Any:
        """A group or dataset reached by hard links alone, as HDF5's own identifier; or None.

        h5py's objects on top of these cost more than reading the data.
        """
        self._opened()
        folder, _, name = path.rpartition("/")
        parent = self._groups.get(folder)
        if parent is None:
            parent = self._find(folder) if folder else h5py.h5g.open(self._file.id, b"/")
            self._groups[folder] = parent
        key = name.encode()
        if not isinstance(parent, h5py.h5g.GroupID) or not parent.links.exists(key):
            return None
        if parent.links.get_info(key).type != h5py.h5l.TYPE_HARD:
            raise EpisodeError(f"{self.path}: {path} is a link; expected the data itself.")
        return h5py.h5o.open(parent, key)

    def text(self, path: str) -> str:
        """A scalar UTF-8 dataset."""
        dataset = self.dataset(path)
        length = dataset.dtype.itemsize
        if dataset.shape != () or dataset.dtype.kind != "S" or length > layout.MAX_TEXT_BYTES:
            raise EpisodeError(f"{self.path}: {path} is {dataset.dtype}; expected a UTF-8 text.")
        return bytes(dataset[()]).decode("utf-8")

    def json(self, path: str) -> Any:
        """A scalar UTF-8 dataset that holds JSON."""
        try:
            return json.loads(
                self.text(path), parse_constant=_refuse_number, parse_float=_finite_number
            )
        except (ValueError, RecursionError) as error:
            raise EpisodeError(f"{self.path}: {path} is not valid JSON: {error}.") from None

    def _opened(self) -> OpenBytes:
        if self._bytes is None:
            raise EpisodeError(f"{self.path}: is closed. Read inside the `with` block.")
        return self._bytes

    def fill(self, array: NDArray[Any], offset: int) -> None:
        """Read bytes from `offset` on into the whole of `array`."""
        view = array.reshape(-1).view(np.uint8).data
        try:
            self._opened().fill(view, offset)
        except EOFError:
            raise EpisodeError(f"{self.path}: ends before byte {offset + len(view)}.") from None

    def bytes_at(self, offset: int, count: int) -> bytes:
        """`count` bytes from `offset` on."""
        try:
            return self._opened().bytes_at(offset, count)
        except EOFError:
            raise EpisodeError(f"{self.path}: ends before byte {offset + count}.") from None


def _check_signature(path: Path, opened: OpenBytes) -> None:
    count = min(opened.size, len(layout.SIGNATURE))
    signature = opened.bytes_at(0, count)
    if signature != layout.SIGNATURE:
        what = "is empty" if not signature else "is not an HDF5 file"
        raise EpisodeError(f"{path}: {what}; expected an episode (.h5).")
