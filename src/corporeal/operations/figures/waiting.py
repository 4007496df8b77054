"""What waits for a person, since when, and how fast people get through it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, func, select

from corporeal.catalog.query import Condition
from corporeal.catalog.tables import EPISODE, REVIEW, REVIEW_ITEM
from corporeal.operations.figures.outcome import CONDITIONS, Outcome, is_outcome
from corporeal.operations.scope import Scope

PACE_DAYS = 7


@dataclass(frozen=True)
class Waiting:
    """Something that somebody must look at; `since` is ISO 8601, `review` its name if it is one."""

    what: str
    episodes: int
    since: str | None
    condition: Condition | None = None
    review: str | None = None


def waiting(connection: Connection, scope: Scope) -> list[Waiting]:
    """Episodes in quarantine, episodes that nobody has judged, and open reviews."""
    said: dict[Outcome, str] = {
        "quarantined": "in quarantine: accept or reject",
        "not judged": "not judged: run corporeal check",
    }
    found = [
        Waiting(words, *_count(connection, scope, outcome), CONDITIONS[outcome])
        for outcome, words in said.items()
    ]
    rows = connection.execute(
        select(REVIEW.c.name, REVIEW.c.created_at, func.count())
        .select_from(REVIEW_ITEM.join(REVIEW).join(EPISODE, REVIEW_ITEM.c.episode == EPISODE.c.id))
        .where(scope.where, REVIEW.c.closed_at.is_(None), REVIEW_ITEM.c.decision.is_(None))
        .group_by(REVIEW.c.name, REVIEW.c.created_at)
        .order_by(REVIEW.c.created_at)
    )
    found += [Waiting(f"in review {name}", int(count), since, review=name)
              for name, since, count in rows]  # fmt: skip
    return [each for each in found if each.episodes]


def _count(connection: Connection, scope: Scope, outcome: Outcome) -> tuple[int, str | None]:
    row = connection.execute(
        select(func.count(), func.min(EPISODE.c.ingested_at)).where(
            scope.where, is_outcome(outcome)
        )
    ).one()
    return int(row[0]), row[1]


def decided_lately(connection: Connection, scope: Scope) -> int:
    """How many review items people decided in the last `PACE_DAYS` days."""
    now = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=scope.now_ns // 1000)
    since = (now - timedelta(days=PACE_DAYS)).isoformat()
    query = select(func.count()).where(REVIEW_ITEM.c.decided_at >= since)
    return int(connection.execute(query).scalar_one())
