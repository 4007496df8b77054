"""Smoothest first, beside others of the same task and operator."""

from __future__ import annotations

import math

import numpy as np

from corporeal.curation.method import CurationMethod, MethodRefusedError, MethodScores, certain
from corporeal.curation.pool import Demonstration, DemonstrationPool

_PART = "spectral_arc_length"
_FEWEST = 5


def judge(pool: DemonstrationPool, seed: int) -> MethodScores:
    """The score's part for smoothness, as a rank within task and operator.

    How smooth a person is says more of the person than of the demonstration: groups of fewer than
    five are ranked within their task.
    """
    del seed
    values = np.array([_smoothness(each) for each in pool.episodes])
    if not np.isfinite(values).any():
        raise MethodRefusedError("smoothness, got no episode of which it was measured; expected "
                                 "joint positions over time.")  # fmt: skip
    groups = _groups(pool)
    ranks = np.full(len(pool), math.nan)
    for group in set(groups):
        members = [n for n, each in enumerate(groups) if each == group and np.isfinite(values[n])]
        order = np.argsort(np.argsort(values[members]))
        ranks[members] = (order + 0.5) / max(1, len(members))
    return certain(ranks, tuple(
        "not measured" if math.isnan(rank) else f"smoother than {rank:.0%} of {group[1]}"
        for rank, group in zip(ranks, groups, strict=True)
    ))  # fmt: skip


def _groups(pool: DemonstrationPool) -> list[tuple[str, str]]:
    keys = [(str(each.task), each.traits.get("operator", "")) for each in pool.episodes]
    return [
        (f"{task}/{person}", "one person's") if person and keys.count((task, person)) >= _FEWEST
        else (task, "the task")
        for task, person in keys
    ]  # fmt: skip


def _smoothness(episode: Demonstration) -> float:
    if episode.score is None:
        return math.nan
    values = [part.score for part in episode.score.parts if part.name == _PART]
    return values[0] if values else math.nan


METHOD = CurationMethod(judge, "smoothest first", needs="scores", wants_scores=True)
