"""Are labels balanced? Shares of each label against the plan."""

from __future__ import annotations

from sqlalchemy import Connection

from corporeal.operations.coverage.axis import axes
from corporeal.operations.figures.label_balance import Label, labels
from corporeal.operations.monitoring.watch import LIMITS
from corporeal.operations.scope import Scope
from corporeal.studio.chart import Chart, Drawing, Stack, StackMarks, StackSegment
from corporeal.words import counted, percent

_LIMIT = LIMITS["label_balance_error"]


def draw(connection: Connection, scope: Scope) -> Drawing:
    """Every label with few values as one bar, the least balanced first."""
    found = labels(connection, scope, axes(connection, scope))
    if not found:
        return Drawing(
            "Cannot tell: these episodes state no label with two values or more.",
            advice="A protocol with factors, or success and variation in the metadata, gives some.",
        )
    stacks = [
        Stack(
            label=label.name,
            detail=f"{counted(label.stated, 'episode')}"
            + (f", up to {percent(label.error)} off" if label.name != "outcome" else ""),
            segments=[
                StackSegment(
                    name=each.level,
                    value=float(each.episodes),
                    detail=f"{label.name} {each.level}: {counted(each.episodes, 'episode')}, "
                    f"{percent(each.share)}"
                    + ("" if each.planned is None else f" (planned {percent(each.planned)})"),
                    query=None if each.condition is None else scope.query(each.condition),
                )
                for each in label.shares
            ],
        )
        for label in found
    ]
    return Drawing(
        _sentence(found),
        StackMarks(unit="share", name="episodes", fill=True, stacks=stacks),
        notes=("Where no protocol states shares, equal ones are the plan; for outcomes there is "
               "none.",),
    )  # fmt: skip


def _sentence(found: list[Label]) -> str:
    worst = found[0]
    far = max(worst.shares, key=lambda each: abs(each.share - (each.planned or 0.0)))
    if worst.error <= _LIMIT or far.planned is None:
        return f"Yes: no label is more than {percent(_LIMIT)} from its plan."
    plan = "planned" if worst.is_planned else "an even share would be"
    return (
        f"No: {worst.name} is {far.level} in {percent(far.share)} of the episodes, {plan} "
        f"{percent(far.planned)}; at most {percent(_LIMIT)} off is allowed."
    )


CHART = Chart(draw, "Are labels balanced?", "Coverage", place=30, wide=True)
