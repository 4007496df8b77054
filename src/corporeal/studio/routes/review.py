"""The manual review: samples of episodes, their queue, and what people decide."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Query
from sqlalchemy import Connection

from corporeal.catalog.permission import Actor
from corporeal.operations.review import (
    DEFAULT_SHARE,
    REASONS,
    ReviewChoice,
    ReviewConflictError,
    ReviewItem,
    SamplingRequest,
    close_review,
    count_taken_by_others,
    create_review,
    decide,
    items_about,
    items_of,
    preview,
    progress_of,
    recent_decisions,
    review_of,
    reviews,
    skip,
    take_next,
    undo,
)
from corporeal.studio.authentication import Judge, Reader, allowed
from corporeal.studio.context import StudioDep
from corporeal.studio.review_facts import (
    DecidedItem,
    NewDecision,
    NewReview,
    NextItem,
    PlanFacts,
    ReviewFacts,
    ReviewItems,
    ReviewTurn,
    UndoneDecision,
    decided_facts,
    plan_facts,
    review_facts,
)

ROUTER = APIRouter(tags=["review"])
Reviewer = Annotated[Actor, Depends(allowed("annotate"))]
_ID = re.compile(r"[0-9a-f-]{1,64}")


@ROUTER.get("/reviews")
def list_reviews(studio: StudioDep, _: Reader) -> list[ReviewFacts]:
    """All reviews, the newest first."""
    with studio.workspace.database.read() as connection:
        return [
            review_facts(each, progress_of(connection, each)) for each in reviews(connection)[:200]
        ]


@ROUTER.get("/reviews/preview")
def preview_review(
    studio: StudioDep,
    _: Reader,
    query: Annotated[str, Query(max_length=2000)] = "",
    share: Annotated[float, Query(gt=0, le=1)] = DEFAULT_SHARE,
    limit: Annotated[float | None, Query(gt=0, lt=1)] = None,
    all_quarantined: bool = False,
) -> PlanFacts:
    """What a review would prove, before it is made."""
    wanted = SamplingRequest(share, limit, all_quarantined=all_quarantined)
    with studio.workspace.database.read() as connection:
        return plan_facts(preview(connection, query, wanted))


@ROUTER.post("/reviews", status_code=201)
def make_review(studio: StudioDep, actor: Judge, asked: NewReview) -> ReviewFacts:
    """Draw a sample."""
    wanted = SamplingRequest(
        asked.share, asked.limit, asked.confidence, asked.seed, asked.all_quarantined
    )
    with _writing(studio) as connection:
        made = create_review(connection, asked.name, asked.query, wanted, by=actor)
        return review_facts(made, progress_of(connection, made))


@ROUTER.get("/reviews/{name}")
def one_review(name: str, studio: StudioDep, _: Reader) -> ReviewItems:
    """A review and its episodes, at most a thousand of them."""
    with studio.workspace.database.read() as connection:
        review = review_of(connection, name)
        return ReviewItems(
            review=review_facts(review, progress_of(connection, review)),
            items=list(items_of(connection, review)),
        )


@ROUTER.post("/reviews/{name}/next")
def next_item(name: str, studio: StudioDep, actor: Reviewer, wish: NextItem) -> ReviewTurn:
    """Take the next episode; `avoid` are those whose decision is on its way."""
    avoid = [episode for episode in wish.avoid if _ID.fullmatch(episode)]
    with _writing(studio) as connection:
        review = review_of(connection, name)
        turn = take_next(connection, review, by=actor, avoid=avoid)
        return ReviewTurn(
            review=review_facts(review, progress_of(connection, review)),
            item=turn.item,
            after=turn.after,
            recent=list(recent_decisions(connection, review, by=actor)),
            others=count_taken_by_others(connection, review, by=actor),
            reasons=list(REASONS),
        )


@ROUTER.post("/reviews/{name}/items/{episode_id}/decision")
def decide_item(
    name: str, episode_id: str, studio: StudioDep, actor: Reviewer, asked: NewDecision
) -> DecidedItem:
    """Accept or reject; the same key twice is one decision."""
    with _writing(studio) as connection:
        review = review_of(connection, name)
        choice = ReviewChoice(**asked.model_dump())
        return decided_facts(
            connection, review, decide(connection, review, episode_id, choice, by=actor)
        )


@ROUTER.post("/reviews/{name}/items/{episode_id}/undo")
def undo_item(
    name: str, episode_id: str, studio: StudioDep, actor: Reviewer, undone: UndoneDecision
) -> DecidedItem:
    """Take a decision back."""
    with _writing(studio) as connection:
        review = review_of(connection, name)
        return decided_facts(
            connection, review, undo(connection, review, episode_id, by=actor, key=undone.key)
        )


@ROUTER.post("/reviews/{name}/items/{episode_id}/skip", status_code=204)
def skip_item(name: str, episode_id: str, studio: StudioDep, actor: Reviewer) -> None:
    """Put an episode at the end of the queue."""
    with _writing(studio) as connection:
        skip(connection, review_of(connection, name), episode_id, by=actor)


@ROUTER.post("/reviews/{name}/close")
def close(name: str, studio: StudioDep, actor: Judge) -> ReviewFacts:
    """End a review; decisions that wait for a lead take effect."""
    with _writing(studio) as connection:
        return review_facts(*close_review(connection, review_of(connection, name), by=actor))


@ROUTER.get("/episodes/{episode_id}/reviews")
def reviews_of_episode(episode_id: str, studio: StudioDep, _: Reader) -> list[ReviewItem]:
    """Whether an episode was reviewed, by whom, and why it was rejected."""
    with studio.workspace.database.read() as connection:
        return list(items_about(connection, episode_id))


@contextmanager
def _writing(studio: StudioDep) -> Iterator[Connection]:
    """A transaction; a Studio that only shows does not begin one."""
    if studio.settings.read_only:
        raise HTTPException(403, "This Studio only shows; start it without --read-only to review.")
    try:
        with studio.workspace.database.write() as connection:
            yield connection
    except ReviewConflictError as error:
        raise HTTPException(409, str(error)) from None
