"""Copies: exact, cut elsewhere, stretched in time, mirrored, with other pictures."""

from __future__ import annotations

import numpy as np

from corporeal.curation.copies import CopyPair, find_copies
from corporeal.curation.method import CurationMethod, MethodScores
from corporeal.curation.pool import DemonstrationPool


def judge(pool: DemonstrationPool, seed: int) -> MethodScores:
    """Keep the best of every group of copies and drop the others; say nothing of single ones.

    The best is the one with the highest score, then the longest.
    """
    del seed
    pairs = find_copies(pool)
    groups = _groups(len(pool), pairs)
    score = np.full(len(pool), np.nan)
    reasons = ["no copy of another"] * len(pool)
    dropped: dict[int, str] = {}
    for group in groups:
        best = max(group, key=lambda n: _worth(pool, n))
        for number in group:
            if number == best:
                reasons[number] = f"the best of {len(group)} copies"
            else:
                how = next(pair.how for pair in pairs if number in (pair.first, pair.second))
                dropped[number] = reasons[number] = f"{how} of {pool.episodes[best].name}"
    figures = {"groups of copies": len(groups), "copies": len(dropped)}
    return MethodScores(
        score, np.zeros(len(pool)), tuple(reasons), dropped, groups=groups, figures=figures
    )


def _worth(pool: DemonstrationPool, number: int) -> tuple[float, float, str]:
    episode = pool.episodes[number]
    return (-1.0 if episode.total is None else episode.total), episode.duration_s, episode.digest


def _groups(count: int, pairs: list[CopyPair]) -> tuple[tuple[int, ...], ...]:
    """Copies of copies are in one group."""
    leader = list(range(count))

    def find(number: int) -> int:
        while leader[number] != number:
            number = leader[number]
        return number

    for pair in pairs:
        leader[find(pair.second)] = find(pair.first)
    members: dict[int, list[int]] = {}
    for number in range(count):
        members.setdefault(find(number), []).append(number)
    return tuple(tuple(group) for group in members.values() if len(group) > 1)


METHOD = CurationMethod(judge, "near-duplicates")
