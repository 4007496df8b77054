"""The samples of a stream between two times, never more than an answer may hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.file import StreamReader


@dataclass(frozen=True, eq=False)
class Window:
    """Samples from number `first` on; `next_ns` is the time of the first one left out, if any."""

    first: int
    total: int
    time_ns: NDArray[np.int64]
    values: NDArray[Any]
    next_ns: int | None


def samples_between(
    reader: StreamReader, start_ns: int, end_ns: int, *, most_values: int
) -> Window:
    """From the last sample not after `start_ns` to the last not after `end_ns`, rows flat.

    At least two samples are given where there are two, so that whoever goes on from `next_ns`
    gets on.
    """
    # A recording may hold stamps that fall back; the search needs them to rise.
    rising = np.maximum.accumulate(reader.time_ns) if len(reader) else reader.time_ns
    first = max(int(np.searchsorted(rising, start_ns, "right")) - 1, 0)
    stop = max(int(np.searchsorted(rising, end_ns, "right")), first)
    width = int(np.prod([int(size) for size in reader.spec.shape], dtype=np.int64))
    kept = min(stop, first + max(most_values // max(width, 1), 2))
    values = np.asarray(reader[first:kept]).reshape(kept - first, width)
    next_ns = int(rising[kept]) if kept < stop else None
    return Window(first, len(rising), rising[first:kept], values, next_ns)
