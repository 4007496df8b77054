"""The queue of a review: who looks at which episode next, and what a rejection puts in front."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Update, func, insert, or_, select, update

from corporeal.catalog.audit import now
from corporeal.catalog.episodes import EpisodeRow, UnknownEpisodeError, find_named
from corporeal.catalog.permission import Actor, require
from corporeal.catalog.query import DAY_NS, PRESENT, And, episode_meets, read_fields
from corporeal.catalog.tables import REVIEW_ITEM
from corporeal.operations.review.review import NEIGHBOUR, SEEN_SHARE, Review
from corporeal.operations.review.sample import hide_operator
from corporeal.operations.scope import equals, on_days

TAKEN_FOR = timedelta(minutes=10)
"""How long an episode is kept for the one who looks at it."""
NEAR = 2
"""Neighbours on each side that a rejected episode pulls in."""


class NotInReviewError(UnknownEpisodeError):
    """An episode that a review does not have."""


@dataclass(frozen=True)
class ReviewItem:
    """One episode of a review; open while there is no decision."""

    review: str
    episode: str
    place: int
    stratum: str
    because: str
    taken_by: str | None
    taken_at: str | None
    decision: str | None
    why: str | None
    decided_by: str | None
    decided_at: str | None
    seconds: float | None
    shown: float | None
    version: int

    @property
    def is_unseen(self) -> bool:
        """Whether it was accepted although too little of it was on the screen."""
        return self.decision == "accept" and self.shown is not None and self.shown < SEEN_SHARE


@dataclass(frozen=True)
class QueueTurn:
    """What a reviewer looks at now, and the episode that will probably come next."""

    item: ReviewItem | None
    after: str | None


def hide_operators(items: Iterable[ReviewItem], actor: Actor) -> list[ReviewItem]:
    """Episodes side by side, without the operators that are not shown to whoever asks."""
    return [replace(each, stratum=hide_operator(each.stratum, actor)) for each in items]


def take_next(
    connection: Connection, review: Review, *, by: Actor, avoid: Collection[str] = ()
) -> QueueTurn:
    """Take the next episode, inside a transaction; the one that was taken before comes again.

    Others do not get it for ten minutes; then it frees itself. `avoid` are episodes whose
    decision is on its way.
    """
    require(by, "annotate")
    if review.closed_at is not None:
        return QueueTurn(None, None)
    waiting = _open(review).where(REVIEW_ITEM.c.episode.not_in(list(avoid)))
    mine = _first(connection, waiting.where(REVIEW_ITEM.c.taken_by == by.name))
    free = waiting.where(or_(_is_free(), REVIEW_ITEM.c.taken_by == by.name))
    item = mine or _first(connection, free)
    if item is None:
        return QueueTurn(None, None)
    connection.execute(update_item(item).values(taken_by=by.name, taken_at=now()))
    after = _first(connection, free.where(REVIEW_ITEM.c.episode != item.episode))
    return QueueTurn(item, after.episode if after else None)


def count_taken_by_others(connection: Connection, review: Review, *, by: Actor) -> int:
    """How many open episodes others look at just now."""
    held = _open(review).where(~_is_free(), REVIEW_ITEM.c.taken_by != by.name).subquery()
    return int(connection.execute(select(func.count()).select_from(held)).scalar_one())


def skip(connection: Connection, review: Review, episode: str, *, by: Actor) -> None:
    """Put an open episode at the end of the queue, inside a transaction."""
    require(by, "annotate")
    item = item_of(connection, review.name, episode)
    if item.decision is None:
        last = _place(connection, review, func.max)
        connection.execute(update_item(item).values(taken_by=None, taken_at=None, place=last + 1))


def put_first(connection: Connection, review: Review, item: ReviewItem, *, by: Actor) -> None:
    """Give an open episode back to a reviewer at once, inside a transaction."""
    first = _place(connection, review, func.min)
    connection.execute(update_item(item).values(taken_by=by.name, taken_at=now(), place=first - 1))


def pull_neighbours(connection: Connection, review: Review, row: EpisodeRow) -> list[str]:
    """Put the episodes before and after a rejected one next in the queue, inside a transaction.

    They were made in the same session, at the same station, on the same day. Those that somebody
    has decided on stay out. Episodes that were drawn anyway only come sooner.
    """
    near = [each for each in neighbours(connection, row) if not _is_decided(connection, each)]
    if not near:
        return []
    first = _place(connection, review, func.min) - len(near)
    there = connection.execute(
        select(REVIEW_ITEM.c.episode)
        .where(REVIEW_ITEM.c.review == review.name, REVIEW_ITEM.c.episode.in_(near))
    ).scalars().all()  # fmt: skip
    for place, each in enumerate(near, first):
        if each in there:
            connection.execute(
                update(REVIEW_ITEM)
                .where(REVIEW_ITEM.c.review == review.name, REVIEW_ITEM.c.episode == each)
                .values(place=place)
            )
            continue
        connection.execute(insert(REVIEW_ITEM).values(
            review=review.name, episode=each, place=place, stratum="",
            because=f"{NEIGHBOUR}{row.id}", version=0,
        ))  # fmt: skip
    return [each for each in near if each not in there]


def neighbours(connection: Connection, row: EpisodeRow, *, near: int = NEAR) -> list[str]:
    """The episodes made just before and after one, in the order of recording."""
    when = row.recorded_ns
    if when is None or (row.session is None and row.station is None):
        return []
    ids = [each for (each,) in read_fields(connection, "id", order="recorded", where=And((
        PRESENT, equals("session", row.session), equals("station", row.station),
        *on_days(when // DAY_NS),
    )))]  # fmt: skip
    place = ids.index(row.id) if row.id in ids else 0
    return [*ids[max(0, place - near) : place], *ids[place + 1 : place + 1 + near]]


def item_of(connection: Connection, review: str, episode: str) -> ReviewItem:
    """An episode of a review; raises NotInReviewError when it is not in it."""
    query = select(REVIEW_ITEM).where(
        REVIEW_ITEM.c.review == review, REVIEW_ITEM.c.episode == episode
    )
    row = connection.execute(query).mappings().first()
    if row is None:
        raise NotInReviewError(f"episode {episode[:80]!r} is not in the review {review}.")
    return ReviewItem(**row)


def find_item(connection: Connection, review: Review, name: str) -> ReviewItem:
    """The episode of a review by its number, its id or a part of that, as people name it."""
    return item_of(connection, review.name, find_named(connection, name).id)


def items_of(connection: Connection, review: Review, *, limit: int = 1000) -> list[ReviewItem]:
    """The episodes of a review: the decided ones first, then the queue."""
    query = (
        select(REVIEW_ITEM)
        .where(REVIEW_ITEM.c.review == review.name)
        .order_by(REVIEW_ITEM.c.decided_at.is_(None), REVIEW_ITEM.c.decided_at, REVIEW_ITEM.c.place)
    )
    return [ReviewItem(**row) for row in connection.execute(query.limit(limit)).mappings()]


def recent_decisions(
    connection: Connection, review: Review, *, by: Actor, limit: int = 10
) -> list[ReviewItem]:
    """What a reviewer decided last, the newest first: that is what `undo` takes back."""
    query = (
        select(REVIEW_ITEM)
        .where(REVIEW_ITEM.c.review == review.name, REVIEW_ITEM.c.decided_by == by.name)
        .order_by(REVIEW_ITEM.c.decided_at.desc())
    )
    return [ReviewItem(**row) for row in connection.execute(query.limit(limit)).mappings()]


def items_about(connection: Connection, episode: str) -> list[ReviewItem]:
    """What reviews say of an episode, the last decision first."""
    query = select(REVIEW_ITEM).where(REVIEW_ITEM.c.episode == episode)
    rows = connection.execute(query.order_by(REVIEW_ITEM.c.decided_at.desc())).mappings()
    return [ReviewItem(**row) for row in rows]


def _open(review: Review) -> Select[Any]:
    return (
        select(REVIEW_ITEM)
        .where(REVIEW_ITEM.c.review == review.name, REVIEW_ITEM.c.decision.is_(None),
               episode_meets(REVIEW_ITEM.c.episode, PRESENT))
        .order_by(REVIEW_ITEM.c.place, REVIEW_ITEM.c.episode)
    )  # fmt: skip


def _is_free() -> ColumnElement[bool]:
    stale = (datetime.now(UTC) - TAKEN_FOR).isoformat(timespec="microseconds")
    return or_(
        REVIEW_ITEM.c.taken_by.is_(None), REVIEW_ITEM.c.taken_at < stale.replace("+00:00", "Z")
    )


def _first(connection: Connection, query: Select[Any]) -> ReviewItem | None:
    row = connection.execute(query.limit(1)).mappings().first()
    return ReviewItem(**row) if row is not None else None


def update_item(item: ReviewItem) -> Update:
    """The change of one row, to be given its values."""
    return update(REVIEW_ITEM).where(
        REVIEW_ITEM.c.review == item.review, REVIEW_ITEM.c.episode == item.episode
    )


def _place(connection: Connection, review: Review, end: Any) -> int:
    query = select(end(REVIEW_ITEM.c.place)).where(REVIEW_ITEM.c.review == review.name)
    return int(connection.execute(query).scalar_one() or 0)


def _is_decided(connection: Connection, episode: str) -> bool:
    query = select(REVIEW_ITEM.c.episode).where(
        REVIEW_ITEM.c.episode == episode, REVIEW_ITEM.c.decision.is_not(None)
    )
    return connection.execute(query.limit(1)).first() is not None
