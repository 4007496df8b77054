"""How far is the labelling, and what does an episode cost? Tasks by state, and time spent."""

from __future__ import annotations

from sqlalchemy import Connection

from corporeal.catalog.database import CatalogError
from corporeal.labelling.queues import count_states
from corporeal.operations.question import (
    Chart,
    ChartChoice,
    Drawing,
    Stack,
    StackMarks,
    StackSegment,
    Tone,
)
from corporeal.operations.scope import Scope
from corporeal.words import counted, hours, money, percent

_STATES: dict[str, tuple[str, Tone]] = {
    "done": ("accepted", "good"),
    "submitted": ("with a lead", "plain"),
    "working": ("begun", "warn"),
    "returned": ("returned", "bad"),
    "open": ("not begun", "quiet"),
}


def draw(
    connection: Connection,
    scope: Scope,
    *,
    annotator_per_hour: float = 25.0,
    currency: str = "EUR",
) -> Drawing:
    """Every queue by the state of its tasks, with the price of a task that is over."""
    if not 0 <= annotator_per_hour <= 1e6:
        raise CatalogError(f"annotator_per_hour, got {annotator_per_hour}; expected 0 to 1000000.")
    unit = currency[:8]
    choices = (ChartChoice(name="annotator_per_hour", label="Annotator",
                      value=f"{annotator_per_hour:g}", unit=f"{unit} per hour"),)  # fmt: skip
    counts, seconds = count_states(connection, scope.condition)
    if not counts:
        return Drawing(
            "Nothing is being labelled here.",
            advice="Make a queue under Labels, or with corporeal annotate queue.",
            choices=choices,
        )
    return Drawing(
        _sentence(counts, seconds, annotator_per_hour, unit),
        StackMarks(
            unit="count",
            name="tasks",
            legend=dict(_STATES.values()),
            stacks=[_stack(queue, held) for queue, held in counts.items()],
        ),
        notes=(f"Assumed: {annotator_per_hour:g} {unit} for an hour of an annotator. Time is "
               "counted while somebody works at the page, not while it lies open.",),
        choices=choices,
    )  # fmt: skip


def _stack(queue: str, held: dict[str, int]) -> Stack:
    total = sum(held.values())
    return Stack(
        label=queue,
        detail=f"{queue}: {counted(total, 'task')}, {held.get('done', 0):,} accepted",
        segments=[
            StackSegment(
                name=words,
                value=held[state],
                detail=f"{queue}: {held[state]:,} {words} ({percent(held[state] / total)})",
                tone=tone,
            )
            for state, (words, tone) in _STATES.items()
            if held.get(state)
        ],
    )


def _sentence(counts: dict[str, dict[str, int]], seconds: float, per_hour: float, unit: str) -> str:
    total = sum(sum(held.values()) for held in counts.values())
    over = sum(held.get("done", 0) + held.get("submitted", 0) for held in counts.values())
    said = f"{over:,} of {counted(total, 'task')} are labelled ({percent(over / total)})"
    if not over or not seconds:
        return f"{said}; no time was noted yet."
    each = seconds / over / 3600
    left = each * (total - over)
    more = f" About {hours(left)} are left." if total > over else ""
    return f"{said}; one takes {hours(each)}, or {money(each * per_hour, unit)}.{more}"


CHART = Chart(
    draw, "How far is the labelling, and what does an episode cost?", "Today", place=60,
)  # fmt: skip
