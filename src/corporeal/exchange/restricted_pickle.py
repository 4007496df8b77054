"""Pickled numbers of numpy, read without running anything that the file names."""

from __future__ import annotations

import ast
import bz2
import gzip
import io
import lzma
import math
import pickle
import re
import struct
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Literal

import numpy as np

from corporeal.errors import EpisodeError
from corporeal.exchange.json_text import read_bounded

MAX_BYTES = 1 << 28
MAX_DEPTH = 8
_MAGIC = b"\x93NUMPY"
_NUMBER = re.compile(r"[<>=|]?(b1|[bB?]|[iu][1248]|f[248])")
_ARRAY_MODULES = ("numpy.core.multiarray", "numpy._core.multiarray")
_BUFFER_MODULES = ("numpy.core.numeric", "numpy._core.numeric")
_COMPRESSED: Mapping[bytes, Callable[[BinaryIO], io.BufferedIOBase]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ": lzma.LZMAFile,
    b"\x5d\x00": lzma.LZMAFile,
}


class _Kind:
    """Stands for numpy.ndarray, which is only ever named."""


class _Dtype:
    """Stands for a numpy.dtype: a number's, or that of objects."""

    def __init__(self, code: Any, *_: Any) -> None:
        text = code.decode("latin-1") if isinstance(code, bytes) else str(code)
        self.is_object = text.strip("|<>=") in ("O", "O8", "O4")
        if not self.is_object and not _NUMBER.fullmatch(text):
            raise pickle.UnpicklingError(f"type {text[:20]!r}; expected numbers")
        self.code = text
        self.order = ""

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, tuple) and len(state) > 1 and state[1] in ("<", ">", b"<", b">"):
            self.order = state[1].decode() if isinstance(state[1], bytes) else state[1]

    def dtype(self) -> np.dtype[Any]:
        """The numbers' type."""
        return np.dtype(self.order + self.code if self.order else self.code)


class _Array:
    """Stands for an array while it is read; `value` is the array, or what an object array holds."""

    value: Any = None

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) != 5:
            raise pickle.UnpicklingError("an array of another kind")
        _, shape, kind, is_fortran, raw = state
        if not isinstance(kind, _Dtype) or not isinstance(shape, tuple) or len(shape) > 8:
            raise pickle.UnpicklingError("an array of another kind")
        if kind.is_object:
            if shape != () or not isinstance(raw, list) or len(raw) != 1:
                raise pickle.UnpicklingError("a list of objects; expected one")
            self.value = raw[0]
            return
        if not isinstance(raw, bytes):
            raise pickle.UnpicklingError("an array without bytes")
        flat = np.frombuffer(raw, kind.dtype())
        self.value = flat.reshape(shape, order="F" if is_fortran else "C")


def _reconstruct(kind: Any, shape: Any, code: Any) -> _Array:
    if kind is not _Kind or shape != (0,) or code not in (b"b", "b"):
        raise pickle.UnpicklingError("an array of another kind")
    return _Array()


class _JoblibArray:
    """Stands for an array of joblib, whose bytes follow the pickle that names it."""

    value: Any = None

    def read(self, state: Any, file: BinaryIO) -> None:
        """Take the bytes; `state` says how many they are and how they are laid out."""
        if not isinstance(state, dict) or state.get("subclass") is not _Kind:
            raise pickle.UnpicklingError("an array of another kind")
        shape, kind = state.get("shape"), state.get("dtype")
        if not isinstance(kind, _Dtype) or not isinstance(shape, tuple) or len(shape) > 8:
            raise pickle.UnpicklingError("an array of another kind")
        if kind.is_object or not all(isinstance(size, int) and size >= 0 for size in shape):
            raise pickle.UnpicklingError("an array of objects")
        if state.get("numpy_array_alignment_bytes") is not None:
            file.read(file.read(1)[0])
        length = math.prod(shape) * kind.dtype().itemsize
        if length > MAX_BYTES or len(raw := file.read(length)) != length:
            raise pickle.UnpicklingError("an array that ends too early")
        order: Literal["C", "F"] = "F" if state.get("order") == "F" else "C"
        self.value = np.frombuffer(raw, kind.dtype()).reshape(shape, order=order)


def _from_buffer(raw: Any, kind: Any, shape: Any, order: Any) -> _Array:
    """How arrays are written since protocol 5."""
    if order not in ("C", "F") or not isinstance(raw, bytes):
        raise pickle.UnpicklingError("an array of another kind")
    array = _Array()
    array.__setstate__((1, shape, kind, order == "F", raw))
    return array


def _scalar(kind: Any, raw: Any) -> Any:
    if not isinstance(kind, _Dtype) or kind.is_object or not isinstance(raw, bytes):
        raise pickle.UnpicklingError("a number of another kind")
    (value,) = np.frombuffer(raw, kind.dtype(), 1)
    return value.item()


def _encode(text: Any, coding: Any) -> bytes:
    """How Python 3 writes the bytes of an array for Python 2."""
    if not isinstance(text, str) or coding != "latin1":
        raise pickle.UnpicklingError("text in another coding")
    return text.encode("latin-1")


_KNOWN: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): _Kind,
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): _encode,
    **{(module, "_reconstruct"): _reconstruct for module in _ARRAY_MODULES},
    **{(module, "scalar"): _scalar for module in _ARRAY_MODULES},
    **{(module, "_frombuffer"): _from_buffer for module in _BUFFER_MODULES},
    ("joblib.numpy_pickle", "NumpyArrayWrapper"): _JoblibArray,
}
# What makes objects of other classes, asks for memory before it has read, or looks elsewhere.
_REFUSED = (b"i", b"o", b"P", b"Q", b"\x82", b"\x83", b"\x84", b"\x92", b"\x97",
            b"\x98")  # fmt: skip
_load_build: Callable[[Any], None] = pickle._Unpickler.dispatch[pickle.BUILD[0]]


# In Python, not in C: there a single number in the file can claim gigabytes for its memory of
# objects, here that is a dictionary.
class _Unpickler(pickle._Unpickler):
    stack: list[Any]
    append: Callable[[Any], None]
    read: Callable[[int], bytes]

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self._bytes = file

    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = {
        code: action
        for code, action in pickle._Unpickler.dispatch.items()
        if bytes([code]) not in _REFUSED
    }

    def _build(self) -> None:
        """Fill what was made; nothing else may be changed, such as a function that was named."""
        made = type(self.stack[-2]) if len(self.stack) > 1 else None
        if made is _JoblibArray:
            state = self.stack.pop()
            self.stack[-1].read(state, self._bytes)
        elif made in (_Array, _Dtype):
            _load_build(self)
        else:
            raise pickle.UnpicklingError("it changes something that is no array")

    def _new(self) -> None:
        """An empty array of joblib; nothing else is made in this manner."""
        arguments, kind = self.stack.pop(), self.stack.pop()
        if kind is not _JoblibArray or arguments != ():
            raise pickle.UnpicklingError("it makes something that is no array")
        self.append(_JoblibArray())

    def _bytearray(self) -> None:
        """The bytes of an array; what the file promises and has not is never asked for."""
        (length,) = struct.unpack("<Q", self.read(8))
        if length > MAX_BYTES or len(raw := self.read(length)) != length:
            raise pickle.UnpicklingError("an array that ends too early")
        self.append(raw)

    dispatch[pickle.BUILD[0]] = _build
    dispatch[pickle.NEWOBJ[0]] = _new
    dispatch[pickle.BYTEARRAY8[0]] = _bytearray

    def find_class(self, module: str, name: str) -> Any:
        """One of the few names that numbers need."""
        try:
            return _KNOWN[module, name]
        except KeyError:
            raise pickle.UnpicklingError(
                f"it asks for {module}.{name}, which is not a number or a container"
            ) from None


def read_pickled_npy(path: Path) -> Any:
    """What `numpy.save` made of a dictionary, list or array: containers, numbers, texts, arrays.

    Arrays inside are `numpy.ndarray`. Raises EpisodeError for anything else in the file.
    """
    return _read(path, _after_header)


def read_pickle(path: Path) -> Any:
    """The same of what `pickle.dump` or `joblib.dump` made, compressed or not."""
    return _read(path, _decompressed)


def _read(path: Path, unwrap: Callable[[bytes], bytes]) -> Any:
    raw = read_bounded(path, limit=MAX_BYTES, expected="a recording")
    try:
        body = unwrap(raw)
        return _Cleaning(len(body)).plain(_Unpickler(io.BytesIO(body)).load(), 0)
    except (
        pickle.UnpicklingError, ValueError, TypeError, KeyError, IndexError, AttributeError,
        EOFError, SyntaxError, RecursionError, MemoryError, OverflowError, OSError, struct.error,
        zlib.error, lzma.LZMAError,
    ) as error:  # fmt: skip
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise EpisodeError(f"{path}: not a pickle of numbers ({reason}). Replace it.") from None


def _decompressed(raw: bytes) -> bytes:
    """The pickle itself, for no more memory than a file may have."""
    for magic, opened in _COMPRESSED.items():
        if raw.startswith(magic):
            body = opened(io.BytesIO(raw)).read(MAX_BYTES + 1)
            break
    else:
        is_zlib = raw[:1] == b"\x78" and int.from_bytes(raw[:2], "big") % 31 == 0
        body = zlib.decompressobj().decompress(raw, MAX_BYTES + 1) if is_zlib else raw
    if len(body) > MAX_BYTES:
        raise ValueError(f"more than {MAX_BYTES >> 20} MiB when decompressed")
    return body


def _after_header(raw: bytes) -> bytes:
    """The pickle behind the header of an .npy file that says it holds one object."""
    if raw[:6] != _MAGIC:
        raise ValueError("no .npy file")
    wide = raw[6] > 1
    start = 12 if wide else 10
    length = int.from_bytes(raw[8:start], "little")
    if not 0 < length <= 1 << 16:
        raise ValueError("its header is too long")
    header = ast.literal_eval(raw[start : start + length].decode("latin-1").strip())
    if not isinstance(header, dict) or header.get("descr") not in ("|O", "O"):
        raise ValueError("it holds no object")
    return raw[start + length :]


class _Cleaning:
    """Puts the arrays in the place of what stood for them, for no more values than bytes.

    A small file can name one list in another many times over, and so unfold without end.
    """

    def __init__(self, size: int) -> None:
        self._left = size

    def plain(self, value: Any, depth: int) -> Any:
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise ValueError("nested too deep, or without end")
        if isinstance(value, _Array | _JoblibArray):
            return self.plain(value.value, depth + 1)
        if isinstance(value, dict):
            return {
                key: self.plain(each, depth + 1)
                for key, each in value.items()
                if isinstance(key, str | int | float)
            }
        if isinstance(value, list | tuple):
            return [self.plain(each, depth + 1) for each in value]
        if value is not None and not isinstance(value, str | bytes | int | float | np.ndarray):
            raise ValueError("something that is no number")
        return value
