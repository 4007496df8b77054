"""The statistics stated for the episode are those of its data."""

import numpy as np

from corporeal.episode.recording import Statistics
from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Findings
from corporeal.quality.evidence.statistics import (
    Flags,
    StatisticsTolerance,
    disagreements,
    refuted,
)
from corporeal.quality.subject import Subject
from corporeal.quality.synopsis import moments
from corporeal.signal.track import Array, Track


def find(
    subject: Subject,
    *,
    mean_error: float = 2e-4,
    std_error: float = 5e-3,
    rank_error: float = 0.015,
) -> Findings:
    """Yield statistics of a stream (count, mean, std, min, max, quantiles) that the data refutes.

    `mean_error` and `std_error` are shares of the value, `rank_error` the part of the frames by
    which a quantile may miss its rank. Pictures are left out: their statistics are sampled.

    Why: training normalises with these numbers; stale ones shift and scale every input.
    Fix: compute the statistics again from the data.
    """
    claims = {
        label: claimed
        for label, claimed in subject.recording.claims.items()
        if label in subject.tracks
    }
    if not claims:
        raise NotAssessed("the source states no statistics for the episode")
    tolerance = StatisticsTolerance(mean_error, std_error, rank_error)
    for label, claimed in claims.items():
        track = subject.tracks[label]
        if len(track):
            yield from _judge(track, claimed, tolerance)


def _judge(track: Track, claimed: Statistics, tolerance: StatisticsTolerance) -> Findings:
    values = track.values

    def fits(share: float, said: Array, slack: Array) -> Flags:
        rank = tolerance.rank_at(share, len(values))
        below = (values < said - slack).mean(axis=0) - rank
        up_to = (values <= said + slack).mean(axis=0) + rank
        # No quantile lies beyond all values, however few there are.
        inside = (below + rank < 1) & (up_to > rank)
        return np.asarray((below <= share) & (share <= up_to) & inside, bool)

    wrong = disagreements(claimed, moments(track), tolerance, fits)
    return refuted(track.label, track.names, wrong, "the episode's")


CHECK = Check(find, topic="sets", severity="fail", formerly=("episode_statistics_match",))
