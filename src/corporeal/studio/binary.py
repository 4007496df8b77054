"""Arrays on their way to the page: a JSON head, then little-endian values, each at 8 bytes.

Layout: uint32 length of the head; the head, padded with blanks so that what follows begins at a
multiple of 8; the arrays one after the other, each padded to 8. The head is
{"arrays": [{"name", "dtype", "shape"}], ...}; dtype is one of float64, float32, int32, uint32,
uint16, int16, uint8.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from fastapi import Response
from numpy.typing import NDArray

from corporeal.errors import CorporealError

MEDIA = "application/vnd.corporeal.arrays"
_DTYPES = ("float64", "float32", "int32", "uint32", "uint16", "int16", "uint8")


def pack(arrays: Mapping[str, NDArray[Any]], **facts: Any) -> bytes:
    """The arrays and facts as bytes; stamps (int64) become float64, exact up to 104 days."""
    parts, listed = [], []
    for name, given in arrays.items():
        values = np.ascontiguousarray(
            given.astype(np.float64) if given.dtype in (np.int64, np.uint64) else given
        )
        if values.dtype == np.bool_:
            values = values.astype(np.uint8)
        if values.dtype.name not in _DTYPES:
            raise CorporealError(f"array {name}, got {values.dtype}; expected a type of the page.")
        listed.append({"name": name, "dtype": values.dtype.name, "shape": list(values.shape)})
        raw = values.astype(values.dtype.newbyteorder("<")).tobytes()
        parts.append(raw + b"\0" * (-len(raw) % 8))
    head = json.dumps({"arrays": listed, **facts}, allow_nan=False).encode()
    head += b" " * (-(len(head) + 4) % 8)
    return b"".join([len(head).to_bytes(4, "little"), head, *parts])


def packed(arrays: Mapping[str, NDArray[Any]], *, keep: bool = True, **facts: Any) -> Response:
    """A response; `keep` lets browsers hold it for good, as episodes never change."""
    headers = {"Cache-Control": "private, max-age=86400, immutable" if keep else "no-store"}
    return Response(pack(arrays, **facts), media_type=MEDIA, headers=headers)
