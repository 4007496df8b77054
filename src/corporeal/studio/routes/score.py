"""An episode's score in its parts, each before the scores of its task."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import numpy as np
from fastapi import APIRouter
from numpy.typing import NDArray
from pydantic import BaseModel
from sqlalchemy import Connection, Select, func, select

from corporeal.catalog.tables import EPISODE, SCORE
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
        chosen = _chosen(connection, row.task)
        totals = [float(each.score) for each in connection.execute(chosen)]
        own = connection.execute(
            select(SCORE).where(SCORE.c.episode == episode_id).order_by(SCORE.c.part)
        ).mappings().all()  # fmt: skip
        values = _parts(connection, chosen)
    weights = sum(each["weight"] or 0.0 for each in own if each["value"] is not None)
    return ScoreFacts(
        task=row.task,
        score=row.score,
        sampled=len(totals) >= MOST,
        total=distribution(totals, row.score),
        parts=[
            PartDistribution(
                part=each["part"],
                title=_title(each["part"]),
                value=each["value"],
                weight=each["weight"],
                share=_share(each, weights),
                distribution=distribution(values.get(each["part"], []), each["value"]),
            )
            for each in own
        ],
    )


def distribution(values: list[float], own: float | None) -> ValueDistribution:
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


def _chosen(connection: Connection, task: str | None) -> Select[tuple[str, float]]:
    """Episodes of the task, or as many of them as may be.

    The end of an id is drawn at random, so its order is one that has nothing to do with the score.
    """
    of_task = EPISODE.c.task == task if task is not None else EPISODE.c.task.is_(None)
    query = select(EPISODE.c.id, EPISODE.c.score).where(of_task, EPISODE.c.score.is_not(None))
    whole = connection.execute(select(func.count()).select_from(query.subquery())).scalar_one()
    if whole <= MOST:
        return query
    return query.order_by(func.substr(EPISODE.c.id, 25), EPISODE.c.id).limit(MOST)


def _parts(connection: Connection, chosen: Select[tuple[str, float]]) -> dict[str, list[float]]:
    """The values of each part over these episodes."""
    query = select(SCORE.c.part, SCORE.c.value).where(
        SCORE.c.episode.in_(select(chosen.subquery().c.id)), SCORE.c.value.is_not(None)
    )
    found: dict[str, list[float]] = {}
    for part, value in connection.execute(query):
        found.setdefault(part, []).append(float(value))
    return found


def _share(row: Any, weights: float) -> float | None:
    if row["weight"] is None or row["value"] is None or not weights:
        return None
    return float(row["weight"] / weights)


def _title(part: str) -> str:
    """What the part measures, in the words of its own file."""
    if part not in scores():
        return ""
    return inspect.getdoc(import_module(f"{PACKAGE}.{part}")) or ""
