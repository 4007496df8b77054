"""Arrays from .npy and .npz files of strangers: no pickles, no size that the file does not have."""

from __future__ import annotations

import lzma
import tokenize
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from corporeal.errors import CorporealError

MAX_BYTES = 1 << 30
"""Of all arrays of a file together."""
# Beyond the numbers themselves: the header, which numpy keeps short.
_HEADER_BYTES = 1 << 16
# What numpy raises for a header that is not the Python that it should be.
_BROKEN_HEADER = (ValueError, tokenize.TokenError, SyntaxError, TypeError, RecursionError,
                  MemoryError, OverflowError)  # fmt: skip


class ArrayFileError(CorporealError):
    """A file of arrays cannot be read."""


def read_npy(path: Path) -> NDArray[Any]:
    """The array of a .npy file."""
    with path.open("rb") as file:
        found = _read(file, path.stat().st_size, str(path), MAX_BYTES)
    if found is None:
        raise _with_objects(str(path))
    return found


def read_npz(
    source: Path | BinaryIO,
    names: Iterable[str] | None = None,
    *,
    where: str | None = None,
    most_bytes: int | None = None,
    skip_objects: bool = False,
) -> dict[str, NDArray[Any]]:
    """Those of the named arrays that an .npz file has, or all; `where` is what errors call it.

    Arrays of objects, which would have to be executed to be read, are refused or left out.
    """
    where = str(source) if where is None else where
    most = MAX_BYTES if most_bytes is None else most_bytes
    arrays = {}
    total = 0
    try:
        with zipfile.ZipFile(source) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            for name in members if names is None else [each for each in names if each in members]:
                total += members[name].file_size
                _require_room(total, where, most)
                with archive.open(members[name]) as member:
                    found = _read(member, members[name].file_size, f"{where}: {name}", most)
                if found is not None:
                    arrays[name] = found
                elif not skip_objects:
                    raise _with_objects(f"{where}: {name}")
    except (
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        EOFError,
        OSError,
        RuntimeError,
        ValueError,
        NotImplementedError,
    ) as error:
        reason = str(error).rstrip(".")
        raise ArrayFileError(f"{where}: not a whole npz file ({reason}). Copy it again.") from None
    return arrays


def names_in_npz(path: Path) -> tuple[str, ...]:
    """The names of the arrays in an .npz file; none where it is no such file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return tuple(name.removesuffix(".npy") for name in archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return ()


def npy_shape(path: Path) -> tuple[int, ...]:
    """The shape of the array in a .npy file, empty where it is no such file."""
    try:
        with path.open("rb") as file:
            return _header(file)[0]
    except (*_BROKEN_HEADER, OSError):
        return ()


def _read(file: IO[bytes], size: int, where: str, most: int) -> NDArray[Any] | None:
    """The array; None for one of objects."""
    _require_room(size, where, most)
    try:
        shape, fortran, dtype = _header(file)
    except _BROKEN_HEADER as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise ArrayFileError(f"{where}: not a numpy array ({reason}). Save it again.") from None
    if dtype.hasobject:
        return None
    count = 1
    for length in shape:
        count *= length
    wanted = count * dtype.itemsize
    if not wanted <= size <= wanted + _HEADER_BYTES:
        raise ArrayFileError(
            f"{where}: an array of {shape} is {wanted} bytes, got {size}. Copy the file again."
        )
    data = file.read(wanted)
    if len(data) != wanted:
        raise ArrayFileError(f"{where}: ends after {len(data)} of {wanted} bytes. Copy it again.")
    return np.frombuffer(data, dtype, count).reshape(shape, order="F" if fortran else "C")


def _with_objects(where: str) -> ArrayFileError:
    return ArrayFileError(
        f"{where}: holds pickled objects, which are not opened. Save it as a plain array."
    )


def _require_room(size: int, where: str, most: int) -> None:
    if size > most:
        raise ArrayFileError(f"{where}: {size >> 20} MiB; expected at most {most >> 20}. Cut it.")


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran, dtype = read(file)
    if any(length < 0 for length in shape):
        raise ValueError("its shape is negative")
    return shape, fortran, dtype
