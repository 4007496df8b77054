"""An episode's score in its parts, each before the scores of its task."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from importlib import import_module

import numpy as np
from fastapi import APIRouter
from numpy.typing import NDArray
from pydantic import BaseModel

from corporeal.catalog.episodes import ScoreRow, scores_of
from corporeal.catalog.query import sample_scores
from corporeal.operations.scope import equals
from corporeal.quality.scoring import PACKAGE, scores
from corporeal.studio.authentication import Reader
from corporeal.studio.context import StudioDep

ROUTER = APIRouter(tags=["score"])
MOST = 5_000
"""Episodes of a task that a distribution is made of; of more, as many are drawn."""
BINS = 20


class ValueDistribution(BaseModel):
    """How a value is spread over the task: `counts` of 20 equal bins from 0 to 1."""

    episodes: int
    counts: list[int]
    median: float | None
    quartiles: list[float]
    percentile: float | None


class PartDistribution(BaseModel):
    """One part of the score: what it measures, its value, and the task behind it."""

    part: str
    title: str
    value: float | None
    weight: float | None
    share: float | None
    distribution: ValueDistribution


class ScoreFacts(BaseModel):
    """The whole score and its parts; `sampled` when the task has more episodes than are read."""

    task: str | None
    score: float | None
    sampled: bool
    total: ValueDistribution
    parts: list[PartDistribution]


@ROUTER.get("/episodes/{episode_id}/score")
def score(episode_id: str, studio: StudioDep, _: Reader) -> ScoreFacts:
    """The score opened into its parts, with the distribution of the task behind each."""
    row = studio.shelf.row(episode_id)
    with studio.workspace.database.read() as connection:
        sample = sample_scores(connection, equals("task", row.task), most=MOST)
        own = scores_of(connection, episode_id)
    weights = sum(part.weight or 0.0 for part in own if part.value is not None)
    return ScoreFacts(
        task=row.task,
        score=row.score,
        sampled=len(sample.totals) >= MOST,
        total=distribution(sample.totals, row.score),
        parts=[
            PartDistribution(
                **vars(part),
                title=_title(part.part),
                share=_share(part, weights),
                distribution=distribution(sample.parts.get(part.part, ()), part.value),
            )
            for part in own
        ],
    )


def distribution(values: Sequence[float], own: float | None) -> ValueDistribution:
    """How values from 0 to 1 are spread, and how many per cent of them lie below one of them."""
    spread: NDArray[np.float64] = np.asarray(values, np.float64)
    spread = spread[np.isfinite(spread)]
    counts = np.histogram(np.clip(spread, 0.0, 1.0), bins=BINS, range=(0.0, 1.0))[0]
    return ValueDistribution(
        episodes=len(spread),
        counts=counts.tolist(),
        median=float(np.median(spread)) if len(spread) else None,
        quartiles=np.percentile(spread, [25, 75]).tolist() if len(spread) else [],
        percentile=_percentile(spread, own),
    )


def _percentile(spread: NDArray[np.float64], own: float | None) -> float | None:
    """Those below and half of those alike: the middle of a crowd is no winner."""
    if own is None or len(spread) < 2:
        return None
    below, alike = np.count_nonzero(spread < own), np.count_nonzero(spread == own)
    return float(100.0 * (below + 0.5 * alike) / len(spread))


def _share(part: ScoreRow, weights: float) -> float | None:
    if part.weight is None or part.value is None or not weights:
        return None
    return part.weight / weights


def _title(part: str) -> str:
    """What the part measures, in the words of its own file."""
    if part not in scores():
        return ""
    return inspect.getdoc(import_module(f"{PACKAGE}.{part}")) or ""
