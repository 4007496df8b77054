"""No stream falls silent on the way."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, Severity
from corporeal.quality.evidence.time import StreamStamps, stamped
from corporeal.quality.subject import Subject
from corporeal.signal.runs import Flags

# A silence is alone when it is so many times the longest steps that are usual in its stream.
ALONE = 5.0


def find(
    subject: Subject,
    *,
    max_gap_s: float = 0.05,
    max_periods: float = 2.5,
    max_silence_s: float = 0.25,
    max_silence_periods: float = 20.0,
) -> Findings:
    """Yield each stream with a step longer than `max_gap_s`, or than `max_periods` of its period.

    A step of a stream so slow that its period comes near `max_gap_s` is a gap from one and a half
    periods on: one missing frame. A gap below `max_gap_s` asks for a human, a longer one fails.
    Where nobody stated a rate, as in a bag, a loop may be late and a command may pause. Of a sensor
    that is regular otherwise, a silence over `max_silence_s` and `max_silence_periods` then asks
    for a human if it is alone of its kind: five times all but the two longest of the others. A step
    that is a whole number of usual ones is a note.

    Why: what happened in the gap is lost, and a policy sees the robot jump.
    Fix: record again; look for the lost frames in the recorder's journal and its health report.
    """
    streams = list(stamped(subject, least=3))
    looked = [each for each in streams if each.is_stated or _is_regular_sensor(each)]
    if not looked:
        raise NotAssessed("nobody stated a rate, and no sensor is regular enough to tell one")
    for stream in looked:
        if stream.bunched or stream.period_s <= 0:
            continue
        if not stream.is_stated:
            yield from _unstated(stream, max_silence_s, max_silence_periods)
            continue
        longest = max(max_gap_s, 1.5 * stream.period_s)
        silent = (stream.steps > longest) & _lasting(stream)
        short = (stream.steps > max_periods * stream.period_s) & _lasting(stream) & ~silent
        if silent.any():
            yield _finding(stream, silent | short, longest, "fail")
        elif short.any():
            yield _finding(stream, short, max_periods * stream.period_s, "quarantine")


def _lasting(stream: StreamStamps) -> Flags:
    """Steps that are not made up for by the steps beside them: a late stamp is no lost sample."""
    period = stream.period_s
    around = np.pad(stream.steps, 1, constant_values=period)
    three = around[:-2] + stream.steps + around[2:]
    return np.asarray(three > 3.5 * period)


def _is_regular_sensor(stream: StreamStamps) -> bool:
    """A command is sent when there is something to say, and a log is written so."""
    return stream.group == "observations" and stream.is_even


def _unstated(stream: StreamStamps, max_silence_s: float, max_periods: float) -> Findings:
    """Gaps by the typical step, which nobody promised."""
    periods = stream.steps / stream.period_s
    lasting = _lasting(stream)
    usual = float(np.sort(stream.steps)[-3]) if len(stream.steps) > 2 else 0.0
    long = max(max_silence_s, max_periods * stream.period_s, ALONE * usual)
    silent = (stream.steps > long) & lasting
    whole = (periods > 1.5) & (np.abs(periods - np.rint(periods)) < 0.15) & lasting & ~silent
    if silent.any():
        yield _finding(stream, silent | whole, max_silence_s, "quarantine")
    elif whole.any():
        yield _finding(stream, whole, 1.5 * stream.period_s, "note")


def _finding(stream: StreamStamps, gaps: Flags, limit: float, what: Severity) -> Finding:
    places = np.flatnonzero(gaps)
    worst = int(places[np.argmax(stream.steps[places])])
    step = float(stream.steps[worst])
    lost = np.rint(stream.steps[places] / stream.period_s).astype(int) - 1
    due = "is due" if stream.is_stated else "usually comes"
    more = f"; {len(places)} gaps in all" if len(places) > 1 else ""
    return Finding(
        f"{stream.named} has no sample for {1e3 * step:.0f} ms after frame {worst}"
        f" ({stream.seconds[worst]:.2f} s), where one {due} every {1e3 * stream.period_s:.4g} ms:"
        f" about {lost[np.searchsorted(places, worst)]} lost{more}",
        stream=stream.label,
        frames=tuple((int(place), int(place) + 2) for place in places[:200]),
        value=step,
        limit=limit,
        evidence=stream.evidence(worst),
        severity=what,
    )


CHECK = Check(
    find,
    topic="time",
    severity="fail",
    unit="s",
    explains=(
        "joint_jumps",
        "joint_too_fast",
        "hand_too_fast",
    ),
    formerly=("no_gaps",),
)
