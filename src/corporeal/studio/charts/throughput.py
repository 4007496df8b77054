"""How many good hours do we make in a day? Recorded hours along time."""

from __future__ import annotations

from sqlalchemy import Connection

from corporeal.operations.figures.outcome import CONDITIONS, OUTCOMES
from corporeal.operations.figures.throughput import Span, bucketed, daily, undated
from corporeal.operations.scope import Scope, on_days
from corporeal.studio.chart import Chart, Drawing, Stack, StackMarks, StackSegment
from corporeal.studio.charting.outcome_stacks import TONES
from corporeal.studio.charting.wording import day, hours
from corporeal.words import counted, percent

_RECENT = 7


def draw(connection: Connection, scope: Scope) -> Drawing:
    """Recorded hours of every day (or week), by what became of them."""
    days = daily(connection, scope)
    missing = undated(connection, scope)
    notes = [f"{counted(missing, 'episode')} without a time of recording."] if missing else []
    if not days:
        return Drawing(
            "Cannot tell: no episode here says when it was recorded.",
            advice="Choose a longer span of days above, or take in episodes: corporeal ingest.",
            notes=tuple(notes),
        )
    columns = bucketed(days)
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


def _sentence(days: list[Span]) -> str:
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


def _stack(span: Span, scope: Scope) -> Stack:
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


CHART = Chart(draw, "How many good hours do we make in a day?", "Throughput and cost", place=10)
