"""The stretch of time that a recording lies in, whatever single stamps say."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from corporeal.units import SECOND_NS

LONGEST_STEP_S = 3600.0
"""Nothing is heard for so long only where a clock was set, or a stamp is damaged."""


def main_stretch(
    clocks: Iterable[NDArray[np.int64]], *, longest_step_s: float = LONGEST_STEP_S
) -> tuple[int, int] | None:
    """First and last stamp of the stretch with most samples; None where there are none.

    Stamps of all clocks belong to one stretch while none is further than `longest_step_s` from the
    next, so that a device that wakes in 1970 does not make an episode of decades.
    """
    stamps = np.sort(np.concatenate([np.zeros(0, np.int64), *clocks]))
    if not len(stamps):
        return None
    # As floating-point numbers: whole ones overflow between the ends of what a stamp can say.
    steps = np.diff(stamps.astype(np.float64)) / SECOND_NS
    edges = np.concatenate(([0], np.flatnonzero(steps > longest_step_s) + 1, [len(stamps)]))
    longest = int(np.diff(edges).argmax())
    return int(stamps[edges[longest]]), int(stamps[edges[longest + 1] - 1])
