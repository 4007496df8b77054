"""Are calibrations drifting? Every check of a station's markers, beside its limit and its creep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from sqlalchemy import Connection

from corporeal.calibration.verification import LoggedCheck, LoggedShift, find_creeps
from corporeal.catalog.episodes import Halt, list_halts
from corporeal.catalog.query import count_of, iso, least_of, most_of, sum_episodes
from corporeal.errors import UnknownNameError
from corporeal.operations.monitoring.batch_line import (
    batch_line,
    batch_sentence,
    calibration_series,
    find_grouping,
)
from corporeal.operations.monitoring.stations import held_query, read_station_log, since_query
from corporeal.operations.question import (
    Chart,
    ChartChoice,
    Drawing,
    LineMarks,
    LinePoint,
    TableMarks,
    TableRow,
    Unit,
)
from corporeal.operations.scope import Scope, equals
from corporeal.words import counted

Measure = Literal["shift", "turn", "CUSUM", "EWMA"]
_UNITS: dict[Measure, Unit] = {"shift": "m", "turn": "rad", "CUSUM": "number", "EWMA": "number"}
# Where the charts of small creeps raise their alarm.
_ALARMS: dict[Measure, float] = {"CUSUM": 5.0, "EWMA": 3.5}
_ERRORS: dict[str, Unit] = {"position_error_m": "m", "rotation_error_rad": "rad"}
_MOST, _MOST_CHECKS = 20, 200


def draw(
    connection: Connection, scope: Scope, *, camera: str = "", measure: str = "shift",
    error: str = "position_error_m",
) -> Drawing:  # fmt: skip
    """The checks of one camera and marker; without checks, the errors that episodes state."""
    checks = [entry for entry in read_station_log(connection)
              if entry.what == "check" and entry.shifts]  # fmt: skip
    if not checks:
        return _of_episodes(connection, scope, error)
    if measure not in _UNITS:
        raise UnknownNameError("measure", measure, get_args(Measure))
    names = _series(checks)
    if camera and camera not in names:
        raise UnknownNameError("camera", camera, names)
    chosen = camera or names[0]
    halts = list_halts(connection)
    mine = [(entry, shift) for entry in checks for shift in entry.shifts
            if _name(entry, shift) == chosen][-_MOST_CHECKS:]  # fmt: skip
    marks = _line(mine, halts, _measure(measure))
    choices = (
        ChartChoice(name="camera", label="Camera", value=chosen, options=names),
        ChartChoice(name="measure", label="Measure", value=measure, options=list(_UNITS)),
    )
    notes = (
        "Each point is a look at a marker; it opens the episodes recorded since the look before. "
        "The band ends where a check halts. CUSUM above 5 or EWMA above 3.5 (in sigmas) is a creep "
        "that no single check shows. Checks are of stations, whatever is asked for above.",
    )
    return Drawing(_sentence(checks, halts), marks, notes=notes, choices=choices)


def _measure(text: str) -> Measure:
    return next(name for name in _UNITS if name == text)


def _name(entry: LoggedCheck, shift: LoggedShift) -> str:
    return f"{entry.calibration.partition('@')[0]}: {shift.camera}, {shift.marker}"


def _series(checks: Sequence[LoggedCheck]) -> list[str]:
    """Every camera and marker; those that are furthest off in their last check come first."""
    last: dict[str, float] = {}
    for entry in checks:
        for shift in entry.shifts:
            last[_name(entry, shift)] = max(
                shift.distance_m / shift.limit_m, shift.angle_rad / shift.limit_rad
            )
    return sorted(last, key=lambda name: (-last[name], name))


def _line(
    mine: Sequence[tuple[LoggedCheck, LoggedShift]], halts: Sequence[Halt], measure: Measure
) -> LineMarks:
    references = sorted({entry.calibration for entry, _ in mine})
    minutes = [_minute(entry.at) for entry, _ in mine]
    points: list[LinePoint] = []
    before: str | None = None
    for number, (entry, shift) in enumerate(mine):
        value = _value(mine[: number + 1], measure)
        halt = _halt_of(entry, halts)
        limit = {"shift": shift.limit_m, "turn": shift.limit_rad}.get(
            measure, _ALARMS.get(measure, 0.0)
        )
        query = (since_query(references, before, entry.at) if halt is None
                 else held_query(halt, references, entry.at))  # fmt: skip
        points.append(LinePoint(
            label=_label(entry.at, minutes), at=entry.at, value=value, size=1,
            lower=0.0, upper=limit, state="within" if entry.passed and value <= limit else "out",
            detail=_detail(entry, shift, halt), query=query,
        ))  # fmt: skip
        before = entry.at
    target = points[-1].upper if points else None
    return LineMarks(unit=_UNITS[measure], name=f"{measure} of {_name(*mine[-1])}", points=points,
                     target=target)  # fmt: skip


def _value(seen: Sequence[tuple[LoggedCheck, LoggedShift]], measure: Measure) -> float:
    entry, shift = seen[-1]
    if measure == "shift":
        return shift.distance_m
    if measure == "turn":
        return shift.angle_rad
    creeps = [each for each in find_creeps([one for one, _ in seen], entry.calibration)
              if (each.camera, each.marker) == (shift.camera, shift.marker)]  # fmt: skip
    if not creeps:
        return 0.0
    return creeps[0].cusum if measure == "CUSUM" else creeps[0].ewma


def _halt_of(entry: LoggedCheck, halts: Sequence[Halt]) -> Halt | None:
    """The halt that a failed check opened, or fell into."""
    if entry.passed:
        return None
    name = entry.calibration.partition("@")[0]
    mine = [
        halt for halt in halts
        if halt.calibration.partition("@")[0] == name and _second(halt.at) <= _second(entry.at)
    ]  # fmt: skip
    return max(mine, key=lambda halt: halt.at, default=None)


def _label(at: str, minutes: Sequence[str]) -> str:
    """Month, day and time; with seconds where two looks were in one minute."""
    long = at[:19] if minutes.count(_minute(at)) > 1 else at[:16]
    return long.replace("T", " ")[5:]


def _minute(at: str) -> str:
    return at[:16].replace("T", " ")


def _second(at: str) -> str:
    return at[:19]


def _detail(entry: LoggedCheck, shift: LoggedShift, halt: Halt | None) -> str:
    words = (
        f"{_minute(entry.at)} UTC: off by {1e3 * shift.distance_m:.2f} mm and "
        f"{np.degrees(shift.angle_rad):.2f} degrees ({entry.calibration}, by {entry.who})"
    )
    if halt is None:
        return words
    words += f"; halt, {counted(halt.held, 'episode')} held"
    if halt.lifted_at is not None:
        words += f"; lifted {_minute(halt.lifted_at)} by {halt.lifted_by}: {halt.lifted_why}"
    return words


def _sentence(checks: Sequence[LoggedCheck], halts: Sequence[Halt]) -> str:
    standing = [halt for halt in halts if halt.lifted_at is None]
    if standing:
        held = sum(halt.held for halt in standing)
        return (f"Collection is halted: {standing[0].why}. {counted(held, 'episode')} "
                f"{'is' if held == 1 else 'are'} held.")  # fmt: skip
    last = {entry.calibration.partition("@")[0]: entry for entry in checks}
    creeping = [
        creep for entry in last.values()
        for creep in find_creeps(checks, entry.calibration) if creep.is_alarming
    ]  # fmt: skip
    if creeping:
        worst = max(creeping, key=lambda each: each.cusum)
        return (f"{worst.camera} creeps: {worst.axis} of {worst.marker}, CUSUM {worst.cusum:.1f} "
                f"of 5 after {counted(worst.checks, 'check')}. Look at what holds it.")  # fmt: skip
    worst_m = max(shift.distance_m for entry in last.values() for shift in entry.shifts)
    return (f"No: in the last check of {counted(len(last), 'station')} no marker is off by more "
            f"than {1e3 * worst_m:.2f} mm, and none creeps.")  # fmt: skip


def _of_episodes(connection: Connection, scope: Scope, error: str) -> Drawing:
    """Batches on a control chart where errors are stated; else which calibrations are in use."""
    if error not in _ERRORS:
        raise UnknownNameError("error of a calibration", error, list(_ERRORS))
    choices = (ChartChoice(name="error", label="Error", value=error, options=list(_ERRORS)),)
    by = find_grouping(connection, scope)
    if by is not None:
        series = calibration_series(connection, scope, error, by)
        if len(series):
            return Drawing(
                batch_sentence(series, good="down"),
                batch_line(series, scope, _ERRORS[error]),
                notes=("How much the error grew from the start to the end of an episode, "
                       f"mean of each {by}.",),
                choices=choices,
            )  # fmt: skip
    return _in_use(connection, scope)


def _in_use(connection: Connection, scope: Scope) -> Drawing:
    used = sum_episodes(
        connection, scope.condition, count_of(), least_of("recorded"), most_of("recorded"),
        by=("calibration",),
    )  # fmt: skip
    rows = sorted(used, key=lambda row: (-row[1], row[0] or ""))[:_MOST]
    told = "Cannot tell: no station was checked, and no episode states errors at start and end"
    advice = (
        "Note where a marker is (corporeal calibrate reference) and verify it: the recorder does "
        "so by itself, corporeal calibrate verify on demand."
    )
    if all(name is None for name, *_ in rows):
        states = " No episode states a calibration." if rows else ""
        return Drawing(f"{told}.{states}", advice=advice)
    table = TableMarks(
        columns=["Calibration", "Episodes", "First used", "Last used"],
        rows=[
            TableRow(
                cells=[name or "not stated", f"{count:,}", _when(first_ns), _when(last_ns)],
                tone="warn" if name is None else "plain",
                query=scope.query(equals("calibration", name)),
            )
            for name, count, first_ns, last_ns in rows
        ],
    )
    return Drawing(f"{told}. These calibrations are in use.", table, notes=(advice,))


def _when(time_ns: int | None) -> str:
    return "not stated" if time_ns is None else iso(int(time_ns))[:10]


CHART = Chart(draw, "Are calibrations drifting?", "Quality", place=110)
