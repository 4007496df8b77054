"""Why episodes fail: what checks found in them, and what was said of the outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, func, select

from corporeal.catalog.query import Comparison, Condition, HasFinding, Known
from corporeal.catalog.tables import EPISODE, FINDING
from corporeal.operations.figures.outcome import CONDITIONS, is_outcome
from corporeal.operations.scope import Scope

Source = Literal["checks", "outcomes"]


@dataclass(frozen=True)
class Reason:
    """A reason, the episodes that have it, and the conditions that find them."""

    name: str | None
    episodes: int
    conditions: tuple[Condition, ...]


def failed(connection: Connection, scope: Scope, source: Source) -> int:
    """How many episodes failed: by the gates and people, or by their own outcome."""
    test = is_outcome("failed") if source == "checks" else EPISODE.c.success.is_(False)
    query = select(func.count()).select_from(EPISODE).where(scope.where, test)
    return int(connection.execute(query).scalar_one())


def reasons(connection: Connection, scope: Scope, source: Source) -> list[Reason]:
    """Every reason of the failed episodes, the commonest first; one episode may have several."""
    found = _found(connection, scope) if source == "checks" else _said(connection, scope)
    return sorted(found, key=lambda each: (-each.episodes, each.name or ""))


def _found(connection: Connection, scope: Scope) -> list[Reason]:
    inside = select(EPISODE.c.id).where(scope.where, is_outcome("failed"))
    rows = connection.execute(
        select(FINDING.c.check, func.count(FINDING.c.episode.distinct()))
        .where(FINDING.c.severity == "fail", FINDING.c.episode.in_(inside))
        .group_by(FINDING.c.check)
    )
    return [
        Reason(check, int(count), (CONDITIONS["failed"], HasFinding(check, "fail")))
        for check, count in rows
    ]


def _said(connection: Connection, scope: Scope) -> list[Reason]:
    rows = connection.execute(
        select(EPISODE.c.failure, func.count())
        .where(scope.where, EPISODE.c.success.is_(False))
        .group_by(EPISODE.c.failure)
    )
    lost = Comparison("success", "=", False)
    return [
        Reason(name, int(count), (
            lost, Known("failure", False) if name is None else Comparison("failure", "=", name)
        ))
        for name, count in rows
    ]  # fmt: skip
