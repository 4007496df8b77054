"""The bytes of messages as objects: CDR as other writers lay it out, JSON, and protobuf."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from corporeal.capture.ros.message import NotMappedError

# The second byte of the header: plain CDR, and plain CDR2, which aligns to 4 bytes at most.
_LAYOUTS = {0: (">", 8), 1: ("<", 8), 6: (">", 4), 7: ("<", 4)}
_DTYPES = {
    "bool": "?", "byte": "u1", "char": "u1", "int8": "i1", "uint8": "u1", "int16": "i2",
    "uint16": "u2", "int32": "i4", "uint32": "u4", "int64": "i8", "uint64": "u8",
    "float32": "f4", "float64": "f8",
}  # fmt: skip
_MAX_DEPTH = 32
_MAX_SCHEMA_BYTES = 16 << 20


def read_foreign_cdr(store: Any, message_type: str, data: bytes) -> Any:
    """A message whose bytes the usual layout does not explain.

    Tried are empty sequences that are padded to the size of their elements, as several writers
    do, then bytes left over at the end, if all of them are zero. NotMappedError when neither fits.
    """
    if len(data) < 4 or data[0] != 0 or data[1] not in _LAYOUTS:
        raise NotMappedError(f"an unknown CDR header {data[:4].hex()}")
    reason = ""
    for pads_empty in (True, False):
        reader = _CdrReader(store, data, pads_empty=pads_empty)
        try:
            message = reader.message(message_type)
        except (struct.error, ValueError, KeyError, UnicodeDecodeError) as error:
            reason = reason or str(error) or type(error).__name__
            continue
        left = data[4 + reader.at :]
        if len(left) <= 3 or (not pads_empty and not any(left)):
            return message
        reason = f"{len(left)} bytes are left over"
    raise NotMappedError(f"the bytes do not fit the definition ({reason})")


class _CdrReader:
    """Reads one message from the front; positions count from the end of the header."""

    def __init__(self, store: Any, data: bytes, *, pads_empty: bool) -> None:
        self._store = store
        self._body = memoryview(data)[4:]
        self._order, self._most = _LAYOUTS[data[1]]
        self._pads_empty = pads_empty
        self.at = 0

    def message(self, name: str, depth: int = 0) -> Any:
        if depth > _MAX_DEPTH:
            raise ValueError(f"more than {_MAX_DEPTH} messages inside of each other")
        values = [self._value(entry, depth) for _, entry in self._store.fielddefs[name][1]]
        return self._store.types[name](*values)

    def _value(self, entry: Any, depth: int) -> Any:
        from rosbags.interfaces import Nodetype

        kind, content = entry
        if kind == Nodetype.NAME:
            return self.message(content, depth + 1)
        if kind == Nodetype.BASE:
            if content[0] == "string":
                return self._string()
            return self._numbers(content[0], 1)[0].item()
        inner, count = content
        if kind == Nodetype.SEQUENCE:
            count = int(self._numbers("uint32", 1)[0])
            if not count and self._pads_empty:
                self._align(self._alignment(inner))
        if inner[0] == Nodetype.BASE and inner[1][0] != "string":
            return self._numbers(inner[1][0], count)
        if count > len(self._body) - self.at:
            raise ValueError(f"a sequence of {count} entries in {len(self._body)} bytes")
        return [self._value(inner, depth) for _ in range(count)]

    def _numbers(self, name: str, count: int) -> Any:
        dtype = np.dtype(self._order + _DTYPES[name])
        if count:
            self._align(dtype.itemsize)
        end = self.at + count * dtype.itemsize
        if end > len(self._body):
            raise ValueError(f"{count} numbers of type {name} reach over the end")
        values = np.frombuffer(self._body, dtype, count, self.at if count else 0)
        self.at = end
        return values.astype(dtype.newbyteorder("="), copy=False)

    def _string(self) -> str:
        length = int(self._numbers("uint32", 1)[0])
        end = self.at + length
        if end > len(self._body):
            raise ValueError(f"a text of {length} bytes reaches over the end")
        text = bytes(self._body[self.at : end])
        self.at = end
        return text.removesuffix(b"\0").decode()

    def _align(self, size: int) -> None:
        size = min(size, self._most)
        self.at += -self.at % size

    def _alignment(self, entry: Any) -> int:
        """The alignment of the first number in an entry; 4 for a text or a sequence."""
        from rosbags.interfaces import Nodetype

        kind, content = entry
        for _ in range(_MAX_DEPTH):
            if kind == Nodetype.NAME:
                kind, content = self._store.fielddefs[content][1][0][1]
            elif kind == Nodetype.ARRAY:
                kind, content = content[0]
            else:
                break
        if kind == Nodetype.BASE and content[0] != "string":
            return np.dtype(_DTYPES[content[0]]).itemsize
        return 4


def read_json(data: bytes) -> Any:
    """A JSON object; lists of numbers become arrays, all numbers floats, as JSON has them."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise NotMappedError(f"text that is not JSON ({error})") from None
    if not isinstance(content, dict):
        raise NotMappedError("JSON that is no object with named fields")
    return _plain(content, 0)


def _plain(value: Any, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise NotMappedError(f"more than {_MAX_DEPTH} objects inside of each other")
    if isinstance(value, dict):
        return SimpleNamespace(**{name: _plain(inner, depth + 1) for name, inner in value.items()})
    if isinstance(value, list):
        if value and all(entry is None or _is_number(entry) for entry in value):
            return np.array([np.nan if entry is None else float(entry) for entry in value])
        return [_plain(inner, depth + 1) for inner in value]
    return float(value) if _is_number(value) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@lru_cache(maxsize=256)
def protobuf_reader(message_type: str, schema: bytes) -> Callable[[bytes], Any]:
    """A function from bytes to a plain object; `schema` is a FileDescriptorSet."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from google.protobuf.message import DecodeError

    if len(schema) > _MAX_SCHEMA_BYTES:
        raise NotMappedError(f"a schema of {len(schema)} bytes")
    pool = descriptor_pool.DescriptorPool()
    try:
        files = descriptor_pb2.FileDescriptorSet.FromString(schema)
        _add_files(pool, {file.name: file for file in files.file})
        kind = message_factory.GetMessageClass(pool.FindMessageTypeByName(message_type))
    except (DecodeError, KeyError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise NotMappedError(f"a protobuf schema that cannot be read ({reason})") from None

    def read(data: bytes) -> Any:
        try:
            message = kind.FromString(data)
        except DecodeError as error:
            raise NotMappedError(f"the bytes do not fit the schema ({error})") from None
        return _unpacked(message, 0)

    return read


def _add_files(pool: Any, files: dict[str, Any]) -> None:
    """Every file after those it builds on; one that is missing is left to the pool to complain."""
    waiting = dict(files)
    while waiting:
        ready = [name for name, file in waiting.items() if not set(file.dependency) & set(waiting)]
        for name in ready or list(waiting):
            pool.Add(waiting.pop(name))


def _unpacked(message: Any, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise NotMappedError(f"more than {_MAX_DEPTH} messages inside of each other")
    values = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.message_type is None:
            # Of `repeated` and single values alike; a single one has no length.
            many = not isinstance(value, str | bytes | bool | int | float)
            values[field.name] = _numbers(value) if many else value
        elif field.message_type.GetOptions().map_entry:
            values[field.name] = SimpleNamespace(
                **{str(key): _entry(inner, depth) for key, inner in value.items()}
            )
        elif hasattr(value, "DESCRIPTOR"):
            if message.HasField(field.name):
                values[field.name] = _unpacked(value, depth + 1)
        else:
            values[field.name] = [_unpacked(inner, depth + 1) for inner in value]
    return SimpleNamespace(**values)


def _entry(value: Any, depth: int) -> Any:
    return _unpacked(value, depth + 1) if hasattr(value, "DESCRIPTOR") else value


def _numbers(values: Any) -> Any:
    listed = list(values)
    if any(isinstance(value, str | bytes) for value in listed):
        return listed
    return np.array(listed)
