"""Attributes of fixed size: nothing of them lies in HDF5's shared heap.

Text of variable length does, and that heap has no checksum: eight zero bytes in the wrong place
send libhdf5 into an endless loop. Text of fixed length lies in the checksummed header instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np

from corporeal.errors import EpisodeError

MAX_BYTES = 1 << 20


def write_attribute(item: Any, name: str, value: Any) -> None:
    """Set an attribute of a group or dataset; text becomes UTF-8 of fixed length."""
    texts = [value] if isinstance(value, str) else value
    if isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts):
        raw = [text.encode() for text in texts]
        kind = h5py.string_dtype("utf-8", max([1, *map(len, raw)]))
        value = np.array(raw[0] if isinstance(value, str) else raw, dtype=kind)
        item.attrs.create(name, value, dtype=kind)
    else:
        item.attrs[name] = value


def read_attribute(item: Any, name: str) -> Any:
    """Text, a number, or a list of them, looked at before it is read; None when not there."""
    key = name.encode()
    if not h5py.h5a.exists(item.id, key):
        return None
    attribute = h5py.h5a.open(item.id, key)
    kind = attribute.get_type()
    plain = kind.get_class() in (h5py.h5t.INTEGER, h5py.h5t.FLOAT, h5py.h5t.ENUM)
    text = kind.get_class() == h5py.h5t.STRING and not kind.is_variable_str()
    empty = attribute.get_space().get_simple_extent_type() == h5py.h5s.NULL
    if empty or not (plain or text) or attribute.get_storage_size() > MAX_BYTES:
        raise EpisodeError(
            f"attribute {name!r} of {item.name}, got another type or more than {MAX_BYTES} bytes; "
            "expected text of fixed length or numbers."
        )
    values = np.empty(attribute.shape, attribute.dtype)
    attribute.read(values)
    return _plain(values if values.shape else values[()])


def attributes_of(item: Any) -> Iterator[tuple[str, Any]]:
    """All attributes, as `read_attribute` gives them."""
    for name in item.attrs:
        yield name, read_attribute(item, name)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, str | int | float | bool):
        return value
    raise EpisodeError(f"an attribute holds a {type(value).__name__}; expected text or a number.")
