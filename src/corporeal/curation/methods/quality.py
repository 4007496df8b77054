"""Our gates, then our score: what no check stands against, best first."""

from __future__ import annotations

import math

import numpy as np

from corporeal.curation.method import CurationMethod, MethodRefusedError, MethodScores
from corporeal.curation.pool import Demonstration, DemonstrationPool


def judge(pool: DemonstrationPool, seed: int) -> MethodScores:
    """Drop what checks hold or failed; rank the others by their score.

    The uncertainty is the spread of the parts of the score about their mean, over the root of how
    many there are: a total that rests on few parts, or on parts that contradict, is less sure.
    """
    del seed
    if all(each.verdict is None and each.total is None for each in pool.episodes):
        raise MethodRefusedError(
            "quality, got episodes without verdict and score; expected judged ones. "
            "Run corporeal ingest, or leave out --no-check."
        )
    totals = [math.nan if each.total is None else each.total for each in pool.episodes]
    dropped = {
        number: _why(each)
        for number, each in enumerate(pool.episodes)
        if each.verdict in ("failed", "quarantined")
    }
    reasons = tuple(map(_say, pool.episodes))
    return MethodScores(np.array(totals), np.array([_spread(each) for each in pool.episodes]),
                        reasons, dropped)  # fmt: skip


def _why(episode: Demonstration) -> str:
    return f"{episode.verdict}: {episode.findings[0] if episode.findings else 'by a person'}"


def _say(episode: Demonstration) -> str:
    if episode.total is None:
        return "no score"
    sentence = episode.score.sentence if episode.score is not None else ""
    return f"score {episode.total:.2f}" + (f", {sentence}" if sentence else "")


def _spread(episode: Demonstration) -> float:
    if episode.score is None or len(episode.score.parts) < 2:
        return 0.0
    parts = [part.score for part in episode.score.parts if part.weight > 0]
    return float(np.std(parts, ddof=1) / math.sqrt(len(parts))) if len(parts) > 1 else 0.0


METHOD = CurationMethod(judge, "gates, then score", needs="verdicts and scores",
                        wants_verdicts=True, wants_scores=True)  # fmt: skip
