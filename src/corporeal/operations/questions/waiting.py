"""What is waiting for a person? Quarantine, reviews, and the pace of decisions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, func, select

from corporeal.catalog.query import Condition, count_of, episode_meets, least_of, sum_episodes
from corporeal.catalog.tables import REVIEW, REVIEW_ITEM
from corporeal.operations.outcome import CONDITIONS, Outcome
from corporeal.operations.question import Chart, Drawing, TableMarks, TableRow
from corporeal.operations.scope import Scope
from corporeal.words import counted

PACE_DAYS = 7


@dataclass(frozen=True)
class Waiting:
    """Something that somebody must look at; `since` is ISO 8601, `review` its name if it is one."""

    what: str
    episodes: int
    since: str | None
    condition: Condition | None = None
    review: str | None = None


def list_waiting(connection: Connection, scope: Scope) -> list[Waiting]:
    """Episodes in quarantine, episodes that nobody has judged, and open reviews."""
    said: dict[Outcome, str] = {
        "quarantined": "in quarantine: accept or reject",
        "unchecked": "not checked: run corporeal rejudge",
    }
    found = [
        Waiting(words, *_count(connection, scope, outcome), CONDITIONS[outcome])
        for outcome, words in said.items()
    ]
    rows = connection.execute(
        select(REVIEW.c.name, REVIEW.c.created_at, func.count())
        .select_from(REVIEW_ITEM.join(REVIEW))
        .where(episode_meets(REVIEW_ITEM.c.episode, scope.condition))
        .where(REVIEW.c.closed_at.is_(None), REVIEW_ITEM.c.decision.is_(None))
        .group_by(REVIEW.c.name, REVIEW.c.created_at)
        .order_by(REVIEW.c.created_at)
    )
    found += [Waiting(f"in review {name}", int(count), since, review=name)
              for name, since, count in rows]  # fmt: skip
    return [each for each in found if each.episodes]


def _count(connection: Connection, scope: Scope, outcome: Outcome) -> tuple[int, str | None]:
    inside = scope.meeting(CONDITIONS[outcome])
    ((number, since),) = sum_episodes(connection, inside, count_of(), least_of("ingested"))
    return int(number), since


def count_recent_decisions(connection: Connection, scope: Scope) -> int:
    """How many review items people decided in the last `PACE_DAYS` days."""
    now = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=scope.now_ns // 1000)
    since = (now - timedelta(days=PACE_DAYS)).isoformat()
    query = select(func.count()).where(REVIEW_ITEM.c.decided_at >= since)
    return int(connection.execute(query).scalar_one())


def draw(connection: Connection, scope: Scope) -> Drawing:
    """Everything that somebody must look at, and since when it waits."""
    found = list_waiting(connection, scope)
    if not found:
        return Drawing("Nothing: no episode is in quarantine, unjudged or under review.",
                       advice="Draw a sample to look at on the page Review.")  # fmt: skip
    table = TableMarks(
        columns=["What", "Episodes", "Oldest since"],
        rows=[_row(each, scope) for each in found],
    )
    return Drawing(_sentence(found, count_recent_decisions(connection, scope)), table)


def _row(each: Waiting, scope: Scope) -> TableRow:
    return TableRow(
        cells=[each.what, f"{each.episodes:,}", (each.since or "not stated")[:10]],
        tone="warn",
        query=None if each.condition is None else scope.query(each.condition),
        address=None if each.review is None else "/review",
    )


def _sentence(found: list[Waiting], decided: int) -> str:
    first = max(found, key=lambda each: each.episodes)
    said = f"{counted(first.episodes, 'episode')} {first.what}"
    reviewing = sum(each.episodes for each in found if each.review is not None)
    if reviewing and decided:
        days = reviewing / decided * PACE_DAYS
        return (
            f"{said}. People decided {decided:,} in the last {PACE_DAYS} days: at that pace the "
            f"open reviews take {counted(max(1, round(days)), 'day')}."
        )
    return f"{said}."


CHART = Chart(draw, "What is waiting for a person?", "Today", place=30)
