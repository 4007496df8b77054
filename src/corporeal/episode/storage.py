"""Bytes out of an HDF5 file that is hostile until checked: sizes and types first, memory after."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from corporeal.episode import layout
from corporeal.errors import CorporealError, EpisodeError


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Whatever a damaged file makes h5py raise becomes one sentence about that file."""
    try:
        yield
    except CorporealError:
        raise
    except (OSError, RuntimeError, LookupError, ValueError, TypeError, OverflowError,
            MemoryError) as error:  # fmt: skip
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise EpisodeError(
            f"{path}: cannot be read as an episode: {reason}. "
            "The file is damaged or was changed; take it from its source again."
        ) from None


class Region:
    """A dataset that lies in one piece in the file: where, and as what."""

    def __init__(self, storage: Storage, offset: int, dtype: np.dtype[Any], shape: tuple[int, ...]):
        self._storage = storage
        self.offset = offset
        self.dtype = dtype
        self.shape = shape
        self.row_bytes = int(np.prod(shape[1:], dtype=object)) * dtype.itemsize

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


class RangeFile(io.RawIOBase):
    """A stretch of the file as a file of its own, for libraries that want one."""

    def __init__(self, region: Region, storage: Storage) -> None:
        self._region = region
        self._storage = storage
        self._place = 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move, as any file does."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._region.nbytes}
        self._place = max(0, start[whence] + offset)
        return self._place

    def tell(self) -> int:
        """Where the next read begins."""
        return self._place

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        left = max(0, self._region.nbytes - self._place)
        count = left if size is None or size < 0 else min(size, left)
        block = self._storage.bytes_at(self._region.offset + self._place, count)
        self._place += count
        return block


class Storage:
    """An open episode file, below the level of streams."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                signature = file.read(len(layout.SIGNATURE))
                self.size = os.fstat(file.fileno()).st_size
        except OSError as error:
            raise EpisodeError(f"{path}: {error.strerror or error}.") from None
        if signature != layout.SIGNATURE:
            what = "is empty" if not signature else "is not an HDF5 file"
            raise EpisodeError(f"{path}: {what}; expected an episode (.h5).")
        with explained(path):
            # No lock: the file is immutable, and may lie on a read-only share.
            self._file = h5py.File(path, "r", locking=False)
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        """Free the file; safe to call twice."""
        if self._fd >= 0:
            self._file.close()
            os.close(self._fd)
            self._fd = -1

    @property
    def h5(self) -> h5py.File:
        """The h5py file itself."""
        return self._file

    def attribute(self, name: str, kind: type) -> Any:
        """A root attribute of the given Python type, or None when it is not there."""
        value = self._file.attrs.get(name)
        if isinstance(value, np.generic):
            value = value.item()
        if value is not None and not isinstance(value, kind):
            raise EpisodeError(
                f"{self.path}: attribute {name!r} is {type(value).__name__}; "
                f"expected {kind.__name__}."
            )
        return value

    def dataset(self, path: str) -> h5py.Dataset:
        """A dataset reached by hard links alone, with its data in this very file."""
        here: Any = self._file
        for name in path.split("/"):
            link = here.get(name, getlink=True) if isinstance(here, h5py.Group) else None
            if link is None:
                raise EpisodeError(f"{self.path}: {path} is missing.")
            if not isinstance(link, h5py.HardLink):
                raise EpisodeError(f"{self.path}: {path} is a link; expected the data itself.")
            here = here[name]
        if not isinstance(here, h5py.Dataset):
            raise EpisodeError(f"{self.path}: {path} is a group; expected a dataset.")
        if here.is_virtual or here.external:
            raise EpisodeError(f"{self.path}: {path} points to other files; expected the data.")
        return here

    def region(self, path: str, dtype: str, row: tuple[int, ...], rows: int | None) -> Region:
        """A contiguous dataset of this dtype and row shape, whole inside the file."""
        dataset = self.dataset(path)
        wanted = np.dtype(dtype).newbyteorder("<")
        shape = dataset.shape
        if dataset.dtype != wanted or shape is None or shape[1:] != row or len(shape) < 1:
            raise EpisodeError(
                f"{self.path}: {path} is {dataset.dtype} of shape {shape}; "
                f"expected {wanted.name} of shape {('n', *row)}."
            )
        if rows is not None and shape[0] != rows:
            raise EpisodeError(f"{self.path}: {path} has {shape[0]} rows; expected {rows}.")
        offset = dataset.id.get_offset()
        region = Region(self, offset or 0, wanted, shape)
        if dataset.chunks is not None or (
            region.nbytes and (offset is None or offset + region.nbytes > self.size)
        ):
            raise EpisodeError(
                f"{self.path}: {path} claims {region.nbytes} bytes that are not in the file. "
                "The file was cut off; take it from its source again."
            )
        return region

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
            return json.loads(self.text(path))
        except (ValueError, RecursionError) as error:
            raise EpisodeError(f"{self.path}: {path} is not valid JSON: {error}.") from None

    def fill(self, array: NDArray[Any], offset: int) -> None:
        """Read bytes from `offset` on into the whole of `array`."""
        view = array.reshape(-1).view(np.uint8).data
        done = 0
        while done < len(view):
            count = os.preadv(self._fd, [view[done:]], offset + done)
            if count == 0:
                raise EpisodeError(f"{self.path}: ends before byte {offset + len(view)}.")
            done += count

    def bytes_at(self, offset: int, count: int) -> bytes:
        """`count` bytes from `offset` on."""
        block = os.pread(self._fd, count, offset)
        if len(block) != count:
            raise EpisodeError(f"{self.path}: ends before byte {offset + count}.")
        return block
