"""What a sensor measures is new in every row while it moves."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn
from corporeal.quality.evidence.held_columns import (
    FEWEST,
    HeldColumn,
    hold_of,
    longest_hold,
)
from corporeal.quality.evidence.time import repeats
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.track import Track
from corporeal.words import some_of

# So many rows that repeat as a whole are another check's to report.
ROWS = 0.2


def find(subject: Subject, *, max_rows: float = 2.0, max_hold_s: float = 0.2) -> Findings:
    """Yield streams with columns that move in steps, each held for more than `max_rows` rows.

    Only steps of several times the resolution count, one after the other in the same direction: a
    slow motion that a coarse sensor shows in single steps is not held. Columns that are held for
    `max_hold_s` or longer ask for a human. Shorter holds are a note alone: at 30 Hz a hand that is
    held for three to five rows (0.1 to 0.17 s) is told and accepted, for six it is quarantined.

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
        longest = longest_hold(track)
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
            if max_rows < after - before <= longest_hold(track)
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
