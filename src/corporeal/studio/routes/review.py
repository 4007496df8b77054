"""The manual review: samples of episodes, their queue, and what people decide."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from corporeal.catalog.people import require_query
from corporeal.catalog.permission import Actor
from corporeal.operations.review import (
    CONFIDENCE,
    DEFAULT_SHARE,
    REASONS,
    SEEN_SHARE,
    DecisionResult,
    LotVerdict,
    Review,
    ReviewChoice,
    ReviewItem,
    ReviewProgress,
    SamplingPlan,
    SamplingRequest,
    Verb,
    close_review,
    count_taken_by_others,
    create_review,
    decide,
    hide_operators,
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

ROUTER = APIRouter(tags=["review"])
Reviewer = Annotated[Actor, Depends(allowed("annotate"))]
_ID = re.compile(r"[0-9a-f-]{1,64}")


MOST_AVOIDED = 50


class PlanFacts(BaseModel):
    """What a sample will prove."""

    lot: int
    sample: int
    accept: int | None
    proves: float
    confidence: float
    limit: float | None
    enough: int | None
    words: str


class ReviewFacts(BaseModel):
    """A review and how far it is."""

    name: str
    condition: str
    created_by: str
    created_at: str
    closed_at: str | None
    by: list[str]
    seed: int
    items: int
    decided: int
    accepted: int
    rejected: int
    unseen: int
    unknown: int
    neighbours: int
    seconds: float
    seen_share: float = Field(description="who accepts with less of it shown is asked once")
    plan: PlanFacts
    lot: LotVerdict


class ReviewItems(BaseModel):
    """A review with its episodes."""

    review: ReviewFacts
    items: list[ReviewItem]


class ReviewTurn(BaseModel):
    """What to look at now; `after` can be fetched ahead, the first of `recent` taken back."""

    review: ReviewFacts
    item: ReviewItem | None
    after: str | None
    recent: list[ReviewItem]
    others: int
    reasons: list[str]


@dataclass(frozen=True, kw_only=True)
class DecidedItem(DecisionResult):
    """What a decision did."""

    review: ReviewFacts


class NewReview(BaseModel):
    """What a review is made of."""

    name: str = Field(max_length=64)
    query: str = Field("", max_length=2000)
    share: float = Field(DEFAULT_SHARE, gt=0, le=1)
    limit: float | None = Field(None, gt=0, lt=1)
    confidence: float = Field(CONFIDENCE, ge=0.5, lt=1)
    seed: int = Field(0, ge=0, le=2**31)
    all_quarantined: bool = False


class NewDecision(BaseModel):
    """A decision on its way; `key` is the same each time it is sent."""

    decision: Verb
    reason: str | None = Field(None, max_length=40)
    text: str = Field("", max_length=500)
    seconds: float | None = Field(None, ge=0, le=1e6, allow_inf_nan=False)
    shown: float = Field(0.0, ge=0, le=1, allow_inf_nan=False)
    key: str = Field(min_length=8, max_length=64)
    version: int = Field(ge=0, le=2**31)


class NextItem(BaseModel):
    """A wish for the next episode; `avoid` are those whose decision is on its way."""

    avoid: list[str] = Field(max_length=MOST_AVOIDED)


class UndoneDecision(BaseModel):
    """A decision to take back; `key` is the same each time it is sent."""

    key: str = Field(min_length=8, max_length=64)


def _plan(plan: SamplingPlan) -> PlanFacts:
    return PlanFacts(**vars(plan), words=plan.words)


def _facts(review: Review, progress: ReviewProgress) -> ReviewFacts:
    return ReviewFacts(
        **vars(review),
        **vars(progress) | {"plan": _plan(progress.plan)},
        by=review.settings["by"],
        seed=review.settings["seed"],
        seen_share=SEEN_SHARE,
    )


def _progress(connection: Connection, review: Review) -> ReviewFacts:
    """A review and how far it is now."""
    return _facts(review, progress_of(connection, review))


@ROUTER.get("/reviews")
def list_reviews(studio: StudioDep, _: Reader) -> list[ReviewFacts]:
    """All reviews, the newest first."""
    with studio.workspace.database.read() as connection:
        return [_progress(connection, review) for review in reviews(connection)[:200]]


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
        return _plan(preview(connection, query, wanted))


@ROUTER.post("/reviews", status_code=201)
def make_review(studio: StudioDep, actor: Judge, asked: NewReview) -> ReviewFacts:
    """Draw a sample."""
    wanted = SamplingRequest(**asked.model_dump(exclude={"name", "query"}))
    with studio.workspace.database.write() as connection:
        require_query(connection, actor, asked.query)
        made = create_review(connection, asked.name, asked.query, wanted, by=actor)
        return _progress(connection, made)


@ROUTER.get("/reviews/{name}")
def one_review(name: str, studio: StudioDep, actor: Reader) -> ReviewItems:
    """A review and its episodes, at most a thousand of them; whose, where that may be shown."""
    with studio.workspace.database.read() as connection:
        review = review_of(connection, name)
        return ReviewItems(
            review=_progress(connection, review),
            items=hide_operators(items_of(connection, review), actor),
        )


@ROUTER.post("/reviews/{name}/next")
def next_item(name: str, studio: StudioDep, actor: Reviewer, wish: NextItem) -> ReviewTurn:
    """Take the next episode; `avoid` are those whose decision is on its way."""
    avoid = [episode for episode in wish.avoid if _ID.fullmatch(episode)]
    with studio.workspace.database.write() as connection:
        review = review_of(connection, name)
        turn = take_next(connection, review, by=actor, avoid=avoid)
        return ReviewTurn(
            review=_progress(connection, review),
            item=turn.item,
            after=turn.after,
            recent=hide_operators(recent_decisions(connection, review, by=actor), actor),
            others=count_taken_by_others(connection, review, by=actor),
            reasons=list(REASONS),
        )


@ROUTER.post("/reviews/{name}/items/{episode_id}/decision")
def decide_item(
    name: str, episode_id: str, studio: StudioDep, actor: Reviewer, asked: NewDecision
) -> DecidedItem:
    """Accept or reject; the same key twice is one decision."""
    with studio.workspace.database.write() as connection:
        review = review_of(connection, name)
        choice = ReviewChoice(**asked.model_dump())
        result = decide(connection, review, episode_id, choice, by=actor)
        return DecidedItem(**vars(result), review=_progress(connection, review))


@ROUTER.post("/reviews/{name}/items/{episode_id}/undo")
def undo_item(
    name: str, episode_id: str, studio: StudioDep, actor: Reviewer, undone: UndoneDecision
) -> DecidedItem:
    """Take a decision back."""
    with studio.workspace.database.write() as connection:
        review = review_of(connection, name)
        result = undo(connection, review, episode_id, by=actor, key=undone.key)
        return DecidedItem(**vars(result), review=_progress(connection, review))


@ROUTER.post("/reviews/{name}/items/{episode_id}/skip", status_code=204)
def skip_item(name: str, episode_id: str, studio: StudioDep, actor: Reviewer) -> None:
    """Put an episode at the end of the queue."""
    with studio.workspace.database.write() as connection:
        skip(connection, review_of(connection, name), episode_id, by=actor)


@ROUTER.post("/reviews/{name}/close")
def close(name: str, studio: StudioDep, actor: Judge) -> ReviewFacts:
    """End a review; decisions that wait for a lead take effect."""
    with studio.workspace.database.write() as connection:
        return _facts(*close_review(connection, review_of(connection, name), by=actor))


@ROUTER.get("/episodes/{episode_id}/reviews")
def reviews_of_episode(episode_id: str, studio: StudioDep, actor: Reader) -> list[ReviewItem]:
    """Whether an episode was reviewed, by whom, and why it was rejected; guests are not told."""
    if actor.guest:
        return []
    with studio.workspace.database.read() as connection:
        return list(items_about(connection, episode_id))
