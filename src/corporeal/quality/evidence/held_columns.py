"""Columns that are held for several rows while they move: sensors read more slowly than stated."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.signal.track import Array, Track

# A step this many times the resolution is motion: a slow sensor with coarse steps goes one by one.
COARSE = 4.0
# Two such steps farther apart than this, in rows and in seconds, do not belong to one motion.
LONGEST, LONGEST_S = 12, 0.3
# So many steps of motion tell the rhythm, of a column with so many values.
FEWEST, LEVELS = 12, 20
# Of one motion: neighbouring steps that go the same way. Of a held one: steps right after a step.
ONWARD, FRESH = 0.6, 0.2


@dataclass(frozen=True, eq=False)
class HeldColumn:
    """A column that is held: for how many rows as a rule, and where it then steps."""

    column: int
    rows: float
    steps: NDArray[np.int64]


def longest_hold(track: Track) -> int:
    """The most rows between two steps of one motion: a quick table holds a slow sensor longer."""
    return max(LONGEST, round(LONGEST_S / track.period_s)) if track.period_s > 0 else LONGEST


def hold_of(values: Array, column: int, longest: int = LONGEST) -> HeldColumn | None:
    """How long the values (T,) of a column are held while it moves; None where they are not.

    Steps more than `longest` rows apart belong to two motions.
    """
    steps = np.diff(values)
    changed = steps != 0
    # Whatever changes in most rows is not held; this spares the rest for nearly all columns.
    if float(changed.mean()) > 0.6 or int(changed.sum()) < FEWEST:
        return None
    sizes = np.abs(steps[changed])
    if len(np.unique(values)) < LEVELS:
        return None
    large = np.flatnonzero(np.abs(steps) > COARSE * float(np.quantile(sizes, 0.05)))
    if len(large) < FEWEST:
        return None
    rows = np.diff(large)
    together = rows <= longest
    onward = np.sign(steps[large[1:]]) == np.sign(steps[large[:-1]])
    together &= onward | (rows == 1)
    apart = rows[together]
    if len(apart) < FEWEST or float(onward[rows <= longest].mean()) < ONWARD:
        return None
    if float((apart == 1).mean()) > FRESH:
        return None
    return HeldColumn(column, float(np.median(apart)), large)
