"""Values of any origin as JSON: numbers of numpy, texts in bytes, and no number that is none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

MAX_DEPTH = 32


def json_values(values: Mapping[Any, Any]) -> dict[str, Any]:
    """The same as JSON holds it; NaN and infinity become the words that Python writes for them."""
    return {str(key): _plain(value, MAX_DEPTH) for key, value in values.items()}


def _plain(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return _plain(value.tolist(), depth)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, PurePath):
        return value.name
    if depth and isinstance(value, Mapping):
        return {str(key): _plain(each, depth - 1) for key, each in value.items()}
    if depth and isinstance(value, list | tuple | set | frozenset):
        return [_plain(each, depth - 1) for each in value]
    return str(value)
