"""What became of an episode once gates and people have looked at it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from sqlalchemy import ColumnElement, Integer, case, cast, func

from corporeal.catalog.query import Condition, condition_sql, parse

Outcome = Literal["accepted", "quarantined", "failed", "not judged"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

# A person may overrule a verdict: where the state is a judgement, it decides.
CONDITIONS: Mapping[Outcome, Condition] = {
    "accepted": parse(
        "state = accepted or (verdict = accepted and not state in (quarantined, failed))"
    ),
    "quarantined": parse(
        "state = quarantined or (verdict = quarantined and not state in (accepted, failed))"
    ),
    "failed": parse(
        "state = failed or (verdict = failed and not state in (accepted, quarantined))"
    ),
    "not judged": parse("verdict is unknown and not state in (accepted, quarantined, failed)"),
}
"""Each episode that is not erased has exactly one outcome."""


def is_outcome(outcome: Outcome) -> ColumnElement[bool]:
    """The outcome as SQL over the table of episodes."""
    return condition_sql(CONDITIONS[outcome])


def number_of(truth: ColumnElement[bool]) -> ColumnElement[int]:
    """How many rows of a group something holds for."""
    return cast(func.coalesce(func.sum(case((truth, 1), else_=0)), 0), Integer)


def total_where(truth: ColumnElement[bool], value: ColumnElement[Any]) -> ColumnElement[float]:
    """The sum of a column over the rows of a group for which something holds."""
    return func.coalesce(func.sum(case((truth, value), else_=0.0)), 0.0)
