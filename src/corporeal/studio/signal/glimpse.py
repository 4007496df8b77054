"""What can be said at once of a very long stream: a few samples in a row, here and there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corporeal.studio.signal.envelope import Blocks
from corporeal.studio.signal.pyramid import ReadRows
from corporeal.studio.signal.stamps import Stamps

_PLACES = 512
_RUN = 32


def glimpse(stamps: Stamps, read: ReadRows, span: tuple[int, int]) -> Blocks:
    """The extremes of `_RUN` samples at each of `_PLACES` places of a span of samples.

    What lies between the places is not looked at: a peak there is missing, a long gap is not.
    """
    first, stop = span
    last = max(stop - _RUN, first)
    places = np.unique(np.linspace(first, last, _PLACES).astype(np.int64))
    parts = [read(int(place), int(min(place + _RUN, stop))) for place in places]
    return Blocks(
        start_ns=stamps.time_ns[places],
        end_ns=stamps.time_ns[np.minimum(places + _RUN, stop) - 1],
        gap_ns=_gaps(stamps, places),
        low=np.stack([np.fmin.reduce(part, axis=0) for part in parts]),
        high=np.stack([np.fmax.reduce(part, axis=0) for part in parts]),
        has_nan=np.stack([np.isnan(part).any(axis=0) for part in parts]),
    )


def _gaps(stamps: Stamps, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """The time before each place where it is longer than its samples take, by a gap or more."""
    found = np.zeros(len(places), np.int64)
    if stamps.gap_ns and len(places) > 1:
        waits, samples = np.diff(stamps.time_ns[places]), np.diff(places)
        usual = np.median(waits / samples)
        found[1:] = np.where(waits - samples * usual > stamps.gap_ns, waits, 0)
    return found
