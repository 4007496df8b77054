"""Who dominates the data? Each operator's share of the episodes."""

from __future__ import annotations

from sqlalchemy import Connection

from corporeal.operations.monitoring.limit import LIMITS
from corporeal.operations.outcome import compare_groups
from corporeal.operations.question import BarMark, BarMarks, Chart, Drawing
from corporeal.operations.scope import Scope, equals
from corporeal.words import counted, hours, percent

_LIMIT = LIMITS["largest_operator_share"]
_MOST = 30


def draw(connection: Connection, scope: Scope) -> Drawing:
    """Episodes of each operator against the greatest share that is allowed."""
    found = sorted(compare_groups(connection, scope, "operator"), key=lambda each: -each.episodes)
    named = [each for each in found if each.name is not None]
    if not named:
        return Drawing(
            "Cannot tell: no episode here names its operator.",
            advice="Record with `operator` in the metadata: a pseudonym is enough.",
        )
    total = sum(each.episodes for each in named)
    first = named[0]
    share = first.episodes / total
    if len(named) == 1:
        answer = f"{first.name} recorded everything: one person's habits are all there is to learn."
    elif share > _LIMIT:
        answer = (f"{first.name} recorded {percent(share)} of the episodes, above the limit of "
                  f"{percent(_LIMIT)}.")  # fmt: skip
    else:
        answer = (f"Nobody: {first.name} recorded most, {percent(share)}; at most "
                  f"{percent(_LIMIT)} is allowed.")  # fmt: skip
    bars = [
        BarMark(
            label=each.name or "",
            value=each.episodes / total,
            detail=f"{each.name}: {counted(each.episodes, 'episode')}, {hours(each.hours)} "
            f"({percent(each.episodes / total)})",
            tone="warn" if each.episodes / total > _LIMIT else "plain",
            query=scope.query(equals("operator", each.name)),
        )
        for each in named[:_MOST]
    ]
    notes = (f"The first {_MOST} of {len(named)} operators.",) if len(named) > _MOST else ()
    return Drawing(
        answer,
        BarMarks(unit="share", name="share of episodes", bars=bars, limit=_LIMIT,
             limit_label=f"at most {percent(_LIMIT)}"),
        notes=notes,
    )  # fmt: skip


CHART = Chart(draw, "Who dominates the data?", "Coverage and cost", place=40, people=True)
