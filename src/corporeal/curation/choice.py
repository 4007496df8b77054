"""Chooses: the scores of methods put together, and so much of every task kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import corporeal
from corporeal.curation.chance import chances
from corporeal.curation.method import MethodRefusedError, MethodScores, find_method
from corporeal.curation.pool import DemonstrationPool
from corporeal.curation.selection import CurationSelection, SelectedEpisode
from corporeal.errors import CorporealError
from corporeal.signal.track import Array

_FLOOR = 0.1
_LONGEST = 590


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen of a pool: `kept` (N,), `weights` (N,), `rank` (N,) within the task."""

    pool: DemonstrationPool
    scores: dict[str, MethodScores]
    refused: dict[str, str]
    keep: float
    seed: int
    kept: NDArray[np.bool_]
    weights: Array
    rank: Array
    reasons: tuple[str, ...]
    is_weighted: bool = False

    def to_selection(self, name: str, version: str, *, of: str, by: str | None = None) -> Any:
        """The choice as a document."""
        instead = {
            number: max(group, key=lambda n: bool(self.kept[n]))
            for scores in self.scores.values()
            for group in scores.groups
            for number in group
        }
        episodes = {}
        for number, each in enumerate(self.pool.episodes):
            best = instead.get(number)
            is_copy = best is not None and best != number and self.weights[number] == 0
            episodes[each.id] = SelectedEpisode(
                weight=float(round(self.weights[number], 6)),
                rank=None if math.isnan(self.rank[number]) else float(round(self.rank[number], 4)),
                reason=self.reasons[number],
                source=each.source or None,
                copy_of=self.pool.episodes[best].id if is_copy and best is not None else None,
            )
        return CurationSelection(
            document="selection", name=name, version=version, of=of[:4096],
            methods=tuple(self.scores), refused=self.refused, keep=self.keep,
            weighted=self.is_weighted, seed=self.seed, made_by=by,
            software=f"corporeal {corporeal.__version__}", episodes=episodes,
        )  # fmt: skip


def curate(
    pool: DemonstrationPool,
    methods: Sequence[str],
    *,
    keep: float,
    seed: int = 0,
    weighted: bool = False,
) -> Choice:
    """Keep this share of every task, by the mean of the ranks that the methods give.

    What a method drops is out whatever the others say, and counts as not kept. With `weighted` none
    is left out but what was dropped: the weight of each goes with its rank. Methods that lack what
    they need are named with the reason; raises where none is left.
    """
    if not 0 < keep <= 1:
        raise CorporealError(f"keep, got {keep:g}; expected a share above 0 and up to 1.")
    if not methods:
        raise CorporealError("methods, got none; expected one or more, such as quality.")
    scores: dict[str, MethodScores] = {}
    refused: dict[str, str] = {}
    for name in dict.fromkeys(methods):
        try:
            scores[name] = find_method(name).judge(pool, seed)
        except MethodRefusedError as reason:
            refused[name] = str(reason)
    if not scores:
        raise CorporealError("no method can judge this pool: " + " ".join(refused.values()))
    dropped: dict[int, str] = {}
    for each in scores.values():
        for number, why in each.dropped.items():
            dropped.setdefault(number, why)
    rank = _joint_rank(pool, scores, dropped, seed)
    out = np.isin(np.arange(len(pool)), list(dropped))
    kept = _best(pool, rank, out, keep)
    if weighted:
        kept = ~out
    weights = _weights(kept, rank, weighted=weighted)
    reasons = tuple(
        _reason(number, scores, dropped, is_kept=bool(kept[number])) for number in range(len(pool))
    )
    return Choice(pool, scores, refused, keep, seed, kept, weights, rank, reasons, weighted)


def _joint_rank(
    pool: DemonstrationPool, scores: dict[str, MethodScores], dropped: dict[int, str], seed: int
) -> Array:
    """The mean of the methods' ranks within the task, from 0 to 1; by chance where none says."""
    ranks = []
    drawn = chances(pool, seed)
    for each in scores.values():
        if np.isfinite(each.score).any():
            ranks.append(_rank_within(pool.tasks, each.score, drawn, dropped))
    if not ranks:
        return _rank_within(pool.tasks, drawn, drawn, dropped)
    stacked = np.stack(ranks)
    known = np.isfinite(stacked)
    total = np.where(known, stacked, 0).sum(axis=0)
    return np.asarray(np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), 0.0))


def _rank_within(
    tasks: NDArray[np.int64], score: Array, drawn: Array, dropped: dict[int, str]
) -> Array:
    rank = np.full(len(score), np.nan)
    for task in np.unique(tasks):
        inside = [
            n for n in np.flatnonzero(tasks == task) if np.isfinite(score[n]) and n not in dropped
        ]
        order = sorted(inside, key=lambda n: (score[n], drawn[n]))
        for place, number in enumerate(order):
            rank[number] = (place + 0.5) / len(order)
    return rank


def _best(
    pool: DemonstrationPool, rank: Array, out: NDArray[np.bool_], keep: float
) -> NDArray[np.bool_]:
    """Of every task the share with the best ranks, at least one where any is left."""
    kept = np.zeros(len(pool), bool)
    drawn = chances(pool, 0)
    for task in np.unique(pool.tasks):
        members = np.flatnonzero(pool.tasks == task)
        free = [int(n) for n in members if not out[n]]
        count = min(len(free), max(1, round(keep * len(members))))
        best = sorted(free, key=lambda n: (-np.nan_to_num(rank[n]), drawn[n]))[:count]
        kept[best] = True
    return kept


def _weights(kept: NDArray[np.bool_], rank: Array, *, weighted: bool) -> Array:
    """Mean 1 over those kept, 0 for the others."""
    weights = kept.astype(np.float64)
    if weighted:
        weights *= np.maximum(np.nan_to_num(rank, nan=0.5) * 2, _FLOOR)
    mean = weights[kept].mean() if kept.any() else 1.0
    return np.asarray(weights / mean if mean > 0 else weights)


def _reason(
    number: int, scores: dict[str, MethodScores], dropped: dict[int, str], *, is_kept: bool
) -> str:
    if number in dropped:
        return f"left out: {dropped[number]}"[:_LONGEST]
    sayings = "; ".join(each.reasons[number] for each in scores.values())
    return f"{'kept' if is_kept else 'left out: others of its task rank higher'}; {sayings}"[
        :_LONGEST
    ]
