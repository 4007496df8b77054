"""Are calibrations drifting? Growth of the error between start and end of episodes."""

from __future__ import annotations

from sqlalchemy import Connection

from corporeal.catalog.query import count_of, iso, least_of, most_of, sum_episodes
from corporeal.errors import UnknownNameError
from corporeal.operations.monitoring.batch_line import (
    batch_line,
    batch_sentence,
    calibration_series,
    find_grouping,
)
from corporeal.operations.question import Chart, ChartChoice, Drawing, TableMarks, TableRow, Unit
from corporeal.operations.scope import Scope, equals

_ERRORS: dict[str, Unit] = {"position_error_m": "m", "rotation_error_rad": "rad"}
_MOST = 20


def draw(connection: Connection, scope: Scope, *, error: str = "position_error_m") -> Drawing:
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
    told = "Cannot tell: no episode here states the error of its calibration at start and end"
    advice = (
        "Verify the calibration before and after recording, and write both into the metadata as "
        "calibration.start and calibration.end."
    )
    if not rows:
        return Drawing(f"{told}.", advice=advice)
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


CHART = Chart(draw, "Are calibrations drifting?", "Calibration", place=10, wide=True)
