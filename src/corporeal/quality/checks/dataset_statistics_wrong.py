"""The statistics stated for the whole set are those of its episodes."""

from collections.abc import Sequence

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch, Moments
from corporeal.quality.check import Check, Findings
from corporeal.quality.evidence.statistics import (
    Flags,
    StatisticsTolerance,
    disagreements,
    refuted,
)
from corporeal.signal.track import Array

# Short episodes have no exact quantile: it may lie so many times the slack beyond all of theirs.
BEYOND = 4.0


def find(
    batch: Batch,
    *,
    mean_error: float = 2e-4,
    std_error: float = 5e-3,
    rank_error: float = 0.015,
) -> Findings:
    """Yield statistics of a stream (count, mean, std, min, max, quantiles) that the data refutes.

    A quantile passes as that of all frames, or as the mean of the episodes' own, weighted by their
    length, which is what LeRobot writes. Pictures are left out: their statistics are sampled.

    Why: training normalises with these numbers; stale ones shift and scale every input.
    Fix: compute the statistics again from the data.
    """
    here = {label for each in batch.episodes for label in each.moments}
    claims = {label: said for label, said in batch.statistics.items() if label in here}
    if not claims:
        raise NotAssessed("the source states no statistics for the set")
    _all_here(batch)
    tolerance = StatisticsTolerance(mean_error, std_error, rank_error)
    for label, claimed in claims.items():
        parts = [each.moments[label] for each in batch.episodes if label in each.moments]
        widths = {len(part.lowest) for part in parts}
        if len(parts) < len(batch.episodes) or len(widths) > 1:
            continue  # an episode lacks the stream, which is said of it: the rest is no measure
        parts = [part for part in parts if part.count]
        if not parts:
            continue
        names = next((each.names for each in batch.episodes if len(each.names)), ())
        names = names if len(names) == len(parts[0].lowest) else ()

        def fits(
            share: float, said: Array, slack: Array, parts: Sequence[Moments] = parts
        ) -> Flags:
            rank = tolerance.rank_at(share, sum(part.count for part in parts))
            return _quantile_fits(parts, share, said, slack, rank)

        wrong = disagreements(claimed, pooled(parts), tolerance, fits)
        yield from refuted(label, names, wrong, "the set's")


def _all_here(batch: Batch) -> None:
    """Statistics over episodes that are not here cannot be judged."""
    stated = batch.facts.get("total_episodes")
    if isinstance(stated, int) and stated > len(batch.episodes):
        raise NotAssessed(f"{len(batch.episodes)} of the {stated} episodes are here")


def pooled(parts: Sequence[Moments]) -> Moments:
    """The moments of all episodes together; quantiles cannot be pooled and are left out."""
    count = sum(part.count for part in parts)
    total = np.sum([part.total for part in parts], axis=0)
    mean = total / max(1, count)
    squares = np.sum(
        [part.squares + part.count * (part.mean - mean) ** 2 for part in parts], axis=0
    )
    lowest = np.min([part.lowest for part in parts], axis=0)
    highest = np.max([part.highest for part in parts], axis=0)
    return Moments(count, total, squares, lowest, highest)


def _quantile_fits(
    parts: Sequence[Moments], share: float, said: Array, slack: Array, rank: float
) -> Flags:
    """Columns whose claimed quantile could be true.

    What is known of an episode's distribution is its quantiles: between two of them it may be
    anywhere, so the share of all frames below a value is known between two bounds.
    """
    weight = np.array([part.count for part in parts]) / sum(part.count for part in parts)
    below, up_to = np.zeros_like(said), np.zeros_like(said)
    for part, part_weight in zip(parts, weight, strict=True):
        levels, values = _knots(part)
        below += part_weight * _share_below(levels, values, said - slack, lower=True)
        up_to += part_weight * _share_below(levels, values, said + slack, lower=False)
    fits = (below - rank <= share) & (share <= up_to + rank)
    name = f"q{round(100 * share):02d}"
    if all(name in part.quantiles for part in parts):
        means = np.sum(
            [w * part.quantiles[name] for w, part in zip(weight, parts, strict=True)], axis=0
        )
        fits |= np.abs(said - means) <= slack
        # Of all frames or as a mean, a quantile lies between the least and greatest of episodes.
        own = np.stack([part.quantiles[name] for part in parts])
        fits &= (said >= own.min(axis=0) - BEYOND * slack) | np.isnan(own).any(axis=0)
        fits &= (said <= own.max(axis=0) + BEYOND * slack) | np.isnan(own).any(axis=0)
    return np.asarray(fits, bool)


def _knots(part: Moments) -> tuple[Array, Array]:
    levels = np.array([0.0, *(int(name[1:]) / 100 for name in part.quantiles), 1.0])
    values = np.stack([part.lowest, *part.quantiles.values(), part.highest])
    return levels, values


def _share_below(levels: Array, values: Array, at: Array, *, lower: bool) -> Array:
    """A bound (D,) of the share of frames below `at`, from the knots (K,), (K, D)."""
    passed = (values <= at).sum(axis=0)  # knots at or below the value
    last = len(levels) - 1
    if lower:
        return np.asarray(np.where(passed > 0, levels[np.clip(passed - 1, 0, last)], 0.0))
    above = np.where(passed <= last, levels[np.clip(passed, 0, last)], 1.0)
    return np.asarray(np.where(passed > 0, above, 0.0))


CHECK = Check(find, topic="sets", severity="fail", scope="batch", formerly=("statistics_match",))
