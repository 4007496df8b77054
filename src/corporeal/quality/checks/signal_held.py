"""What a sensor measures is new in every row while it moves."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn
from corporeal.quality.evidence.time import repeats
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.track import Array, Track
from corporeal.words import some_of

# A step this many times the resolution is motion: a slow sensor with coarse steps goes one by one.
COARSE = 4.0
# Two such steps farther apart than this, in rows and in seconds, do not belong to one motion.
LONGEST, LONGEST_S = 12, 0.3
# So many steps of motion tell the rhythm, of a column with so many values.
FEWEST, LEVELS = 12, 20
# Of one motion: neighbouring steps that go the same way. Of a held one: steps right after a step.
ONWARD, FRESH = 0.6, 0.2
# So many rows that repeat as a whole are another check's to report.
ROWS = 0.2


@dataclass(frozen=True, eq=False)
class HeldColumn:
    """A column that is held: for how many rows as a rule, and where it then steps."""

    column: int
    rows: float
    steps: NDArray[np.int64]


def find(subject: Subject, *, max_rows: float = 2.0, max_hold_s: float = 0.2) -> Findings:
    """Yield streams with columns that move in steps, each held for more than `max_rows` rows.

    Only steps of several times the resolution count, one after the other in the same direction: a
    slow motion that a coarse sensor shows in single steps is not held. Columns that are held for
    `max_hold_s` or longer ask for a human; shorter holds are a note.

    Why: the sensor is read more slowly than the table says, so most rows show an old value; speeds
    worked out from them are zero, then far too large.
    Fix: record the sensor at its own rate and align it by its stamps; or state its true rate.
    """
    tracks = [track for track in subject.tracks.values() if _is_measured(track)]
    if not tracks:
        raise NotAssessed("no sensor stream that is long enough")
    for track in tracks:
        values = bridge_gaps(track.values)
        moving = np.ptp(values, axis=0) > 0
        longest = _longest(track)
        holds = [
            hold
            for column in np.flatnonzero(moving).tolist()
            if (hold := hold_of(values[:, column], column, longest)) is not None
            and hold.rows > max_rows
        ]
        whole_rows = track.spec.name in roles.MEASURED and holds and repeats(values).mean() > ROWS
        if holds and not whole_rows:
            yield _finding(track, holds, max_rows, max_hold_s)


def _is_measured(track: Track) -> bool:
    spec = track.spec
    return spec.group == "observations" and spec.rate_hz is not None and len(track) >= 3 * FEWEST


def _longest(track: Track) -> int:
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


def _finding(track: Track, holds: list[HeldColumn], max_rows: float, max_hold_s: float) -> Finding:
    rows = float(np.median([hold.rows for hold in holds]))
    seconds = rows * track.period_s
    longest = max(holds, key=lambda hold: len(hold.steps))
    first = int(longest.steps[0])
    names = some_of([track.names[hold.column] for hold in holds])
    rate = 1 / seconds if seconds > 0 else 0.0
    return Finding(
        f"{names} of {track.label} {'is' if len(holds) == 1 else 'are'} held for {rows:.0f} rows as"
        f" a rule ({1e3 * seconds:.0f} ms) while moving: measured at about {rate:.2g} Hz",
        stream=track.label,
        frames=tuple(
            (int(before) + 1, int(after) + 1)
            for before, after in zip(longest.steps[:-1], longest.steps[1:], strict=True)
            if max_rows < after - before <= _longest(track)
        )[:200],
        value=rows,
        limit=max_rows,
        evidence=drawn(track, first, first + 60, [hold.column for hold in holds[:4]], margin=10),
        severity="quarantine" if seconds > 0.95 * max_hold_s else "note",
    )


CHECK = Check(
    find,
    topic="joints",
    severity="quarantine",
    unit="samples",
    explains=(
        "joint_too_fast",
        "hand_too_fast",
        "lag_unusual",
    ),
)
