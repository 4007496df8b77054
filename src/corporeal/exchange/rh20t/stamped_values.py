"""Values that a dataset keeps by camera and by stamp in milliseconds, as one signal in time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import EpisodeError
from corporeal.exchange.rh20t.restricted_pickle import read_pickled_npy
from corporeal.units import SECOND_NS

Samples = tuple[NDArray[np.int64], NDArray[np.float64]]
_MS_NS = 1_000_000
# Stamps up to the year 2255; what is beyond is no time, and would not fit in nanoseconds.
_MAX_MS = 9_000_000_000_000


def listed(table: Mapping[Any, Any], key: str) -> Iterator[tuple[Any, Any]]:
    """Stamps and values of the entries {timestamp, key, ...} of all cameras."""
    for entries in table.values():
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, Mapping) and key in entry:
                yield entry.get("timestamp"), entry[key]


def stamped(table: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Stamps and values of tables {stamp: value} of all cameras."""
    for entries in table.values():
        if isinstance(entries, Mapping):
            yield from entries.items()


def merged(pairs: Iterable[tuple[Any, Any]]) -> Samples:
    """Samples in order of time, each stamp once; those that most are not like are left out."""
    found: dict[int, NDArray[np.float64]] = {}
    for stamp, value in pairs:
        try:
            row = np.asarray(value, np.float64).reshape(-1)
            found.setdefault(int(stamp), row)
        except (TypeError, ValueError, OverflowError):
            continue
    sizes = [len(row) for row in found.values()]
    usual = max(set(sizes), key=sizes.count, default=0)
    kept = sorted(
        stamp for stamp, row in found.items() if len(row) == usual and 0 <= stamp < _MAX_MS
    )
    if not usual or not kept:
        return np.zeros(0, np.int64), np.zeros((0, 1))
    return np.array(kept, np.int64) * _MS_NS, np.stack([found[stamp] for stamp in kept])


def picture_stamps(path: Path) -> NDArray[np.int64]:
    """The times of a camera's pictures, in their order; raises EpisodeError when they are none."""
    found = read_pickled_npy(path)
    try:
        stamps = np.asarray(found["color"], np.int64).reshape(-1)
    except (TypeError, ValueError, KeyError, IndexError, OverflowError):
        raise EpisodeError(
            f"{path}: no stamps of the pictures under 'color'. Replace it."
        ) from None
    if len(stamps) and not 0 <= stamps.min() <= stamps.max() < _MAX_MS:
        raise EpisodeError(f"{path}: stamps that are no Unix milliseconds. Replace it.")
    return stamps * _MS_NS


def rate_hz(stamps: NDArray[np.int64]) -> float | None:
    """How many samples there are in a second on the whole; None when that cannot be told."""
    span = int(stamps.max() - stamps.min()) if len(stamps) else 0
    return round((len(stamps) - 1) * SECOND_NS / span, 3) if span else None
