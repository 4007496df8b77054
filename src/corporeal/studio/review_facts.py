"""What the page is told of reviews, and what it sends."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, Field
from sqlalchemy import Connection

from corporeal.operations.review import (
    CONFIDENCE,
    DEFAULT_SHARE,
    DecisionResult,
    LotState,
    Review,
    ReviewItem,
    ReviewProgress,
    SamplingPlan,
    Verb,
    progress_of,
)

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


class LotFacts(BaseModel):
    """What the decisions say of the lot."""

    state: LotState
    decided: int
    rejected: int
    share: float | None
    most_bad: float | None
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
    neighbours: int
    seconds: float
    plan: PlanFacts
    lot: LotFacts


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


class DecidedItem(BaseModel):
    """What a decision did."""

    review: ReviewFacts
    item: ReviewItem
    state: str
    pulled: list[str]
    releases: list[str]
    note: str | None
    again: bool


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
    key: str = Field(min_length=8, max_length=64)
    version: int = Field(ge=0, le=2**31)


class NextItem(BaseModel):
    """A wish for the next episode; `avoid` are those whose decision is on its way."""

    avoid: list[str] = Field(max_length=MOST_AVOIDED)


class UndoneDecision(BaseModel):
    """A decision to take back; `key` is the same each time it is sent."""

    key: str = Field(min_length=8, max_length=64)


def plan_facts(plan: SamplingPlan) -> PlanFacts:
    """A plan, with its sentence."""
    return PlanFacts(**asdict(plan), words=plan.words)


def review_facts(review: Review, progress: ReviewProgress) -> ReviewFacts:
    """A review and how far it is."""
    counts: dict[str, Any] = {
        name: getattr(progress, name)
        for name in ("items", "decided", "accepted", "rejected", "neighbours", "seconds")
    }
    return ReviewFacts(
        name=review.name,
        condition=review.condition,
        created_by=review.created_by,
        created_at=review.created_at,
        closed_at=review.closed_at,
        by=list(review.settings["by"]),
        seed=review.settings["seed"],
        plan=plan_facts(progress.plan),
        lot=LotFacts(**asdict(progress.lot)),
        **counts,
    )


def decided_facts(connection: Connection, review: Review, outcome: DecisionResult) -> DecidedItem:
    """What a decision did, and how far the review is now."""
    return DecidedItem(
        review=review_facts(review, progress_of(connection, review)),
        item=outcome.item,
        state=outcome.state,
        pulled=list(outcome.pulled),
        releases=list(outcome.releases),
        note=outcome.note,
        again=outcome.again,
    )
