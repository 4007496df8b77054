"""The lot of a review: the episodes that a query finds and that nobody has looked at."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, func, select

from corporeal.catalog.query import (
    And,
    Clause,
    Condition,
    OneOf,
    condition_sql,
    map_clauses,
    parse,
    pinned,
)
from corporeal.catalog.tables import EPISODE, REVIEW, REVIEW_ITEM

STATES = ("accepted", "quarantined")


def lot_condition(query: str | None) -> ColumnElement[bool]:
    """Episodes of a query that nobody has reviewed, nor is about to.

    Without a word on the state: the accepted and the quarantined.
    """
    condition = parse(query) if query and query.strip() else None
    standing: Condition = OneOf("state", STATES)
    if condition is None:
        condition = standing
    elif not _names_state(condition):
        condition = And((condition, standing))
    seen = (
        select(REVIEW_ITEM.c.episode)
        .join(REVIEW, REVIEW.c.name == REVIEW_ITEM.c.review)
        .where(
            REVIEW_ITEM.c.episode == EPISODE.c.id,
            REVIEW_ITEM.c.decision.is_not(None) | REVIEW.c.closed_at.is_(None),
        )
        .correlate(EPISODE)
    )
    return and_(condition_sql(pinned(condition)), EPISODE.c.state != "erased", ~seen.exists())


def count_lot(connection: Connection, found: ColumnElement[bool]) -> int:
    """How many episodes a lot has."""
    return int(
        connection.execute(select(func.count()).select_from(EPISODE).where(found)).scalar_one()
    )


def read_lot(connection: Connection, found: ColumnElement[bool]) -> list[dict[str, Any]]:
    """The episodes of a lot with what they are drawn by."""
    said = EPISODE.c.metadata
    query = select(
        EPISODE.c.id, EPISODE.c.operator, EPISODE.c.station, EPISODE.c.recorded_ns,
        EPISODE.c.task, EPISODE.c.state, said["variant"].label("variant"),
        said["variation"].label("variation"),
    ).where(found).order_by(EPISODE.c.id)  # fmt: skip
    return [dict(row) for row in connection.execute(query).mappings()]


def _names_state(condition: Condition) -> bool:
    found: list[Clause] = []

    def note(clause: Clause) -> Condition:
        if getattr(clause, "field", None) == "state":
            found.append(clause)
        return clause

    map_clauses(condition, note)
    return bool(found)
