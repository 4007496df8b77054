"""How many accepted hours do we record in a day? Recorded hours along time."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from corporeal.catalog.query import Known, count_of, sum_episodes, sum_of
from corporeal.operations.outcome import CONDITIONS, OUTCOMES, TONES, Outcome
from corporeal.operations.question import TAKE_IN, Chart, Drawing, Stack, StackMarks, StackSegment
from corporeal.operations.scope import Scope, day_columns, on_days
from corporeal.words import counted, day, hours, percent

_MOST_COLUMNS = 45


@dataclass(frozen=True)
class DaySpan:
    """Some days in a row: `first` is counted from 1970."""

    first: int
    days: int
    hours: dict[Outcome, float]
    episodes: dict[Outcome, int]
    working_days: int

    @property
    def total_hours(self) -> float:
        """Everything that was recorded."""
        return sum(self.hours.values())


def read_days(connection: Connection, scope: Scope) -> list[DaySpan]:
    """Every day on which something was recorded, the oldest first."""
    figures = [
        figure for outcome in OUTCOMES
        for figure in (sum_of("duration_s", CONDITIONS[outcome]), count_of(CONDITIONS[outcome]))
    ]  # fmt: skip
    dated = scope.meeting(Known("recorded", True))
    spans = []
    for day_number, *numbers in sorted(sum_episodes(connection, dated, *figures, by=("day",))):
        seconds = dict(zip(OUTCOMES, numbers[::2], strict=True))
        worked = {outcome: seconds[outcome] / 3600 for outcome in OUTCOMES}
        episodes = dict(zip(OUTCOMES, numbers[1::2], strict=True))
        spans.append(DaySpan(day_number, 1, worked, episodes, 1))
    return spans


def bucket_spans(days: list[DaySpan]) -> list[DaySpan]:
    """Days put together into columns of equal width without a gap; empty ones are nought."""
    if not days:
        return []
    columns = day_columns(
        days[0].first, days[-1].first, most_days=_MOST_COLUMNS, most_weeks=_MOST_COLUMNS
    )
    made = []
    for begin in columns:
        inside = [each for each in days if begin <= each.first < begin + columns.step]
        made.append(DaySpan(
            begin, columns.step,
            {name: sum(each.hours[name] for each in inside) for name in OUTCOMES},
            {name: sum(each.episodes[name] for each in inside) for name in OUTCOMES},
            len(inside),
        ))  # fmt: skip
    return made


def count_undated(connection: Connection, scope: Scope) -> int:
    """How many episodes do not say when they were recorded."""
    ((number,),) = sum_episodes(connection, scope.meeting(Known("recorded", False)), count_of())
    return int(number)


_RECENT = 7


def draw(connection: Connection, scope: Scope) -> Drawing:
    """Recorded hours of every day (or week), by what became of them."""
    days = read_days(connection, scope)
    missing = count_undated(connection, scope)
    notes = [f"{counted(missing, 'episode')} without a time of recording."] if missing else []
    if not days:
        return Drawing(
            "Cannot tell: no episode here says when it was recorded.",
            advice=TAKE_IN,
            notes=tuple(notes),
        )
    columns = bucket_spans(days)
    width = columns[0].days
    wide = "a week from Monday" if width == 7 else f"{width} days"
    notes.append("Days are those of UTC." if width == 1 else f"Each column is {wide}, in UTC.")
    return Drawing(
        _sentence(days),
        StackMarks(
            unit="hours",
            name="hours",
            standing=True,
            legend={str(name): tone for name, tone in TONES.items()},
            stacks=[_stack(each, scope) for each in columns],
        ),
        notes=tuple(notes),
    )


def _sentence(days: list[DaySpan]) -> str:
    good = [each.hours["accepted"] for each in days]
    total = sum(each.total_hours for each in days)
    mean = sum(good) / len(days)
    said = (
        f"{hours(mean)} of accepted recordings on a working day ({counted(len(days), 'day')} with "
        f"recordings); {percent(sum(good) / total) if total else 'none'} of the recorded time is "
        "accepted"
    )
    if len(days) < 2 * _RECENT:
        return f"{said}."
    late, before = sum(good[-_RECENT:]) / _RECENT, sum(good[:-_RECENT]) / (len(good) - _RECENT)
    return f"{said}. In the last {_RECENT} days it was {hours(late)} a day, before {hours(before)}."


def _stack(span: DaySpan, scope: Scope) -> Stack:
    when = on_days(span.first, span.days)
    label = day(span.first)
    segments = [
        StackSegment(
            name=outcome,
            value=span.hours[outcome],
            detail=f"{label}: {hours(span.hours[outcome])} {outcome} in "
            f"{counted(span.episodes[outcome], 'episode')}",
            tone=TONES[outcome],
            query=scope.query(*when, CONDITIONS[outcome]),
        )
        for outcome in OUTCOMES
        if span.episodes[outcome]
    ]
    return Stack(
        label=label,
        detail=f"{hours(span.total_hours)} recorded",
        segments=segments,
        query=scope.query(*when),
    )


CHART = Chart(draw, "How many accepted hours do we record in a day?", "Today", place=40, wide=True)
