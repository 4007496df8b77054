"""Streams that show the same motion stay in step from beginning to end."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.lag_pairs import Pair, imu_pairs, sure, velocity_pairs
from corporeal.quality.subject import Subject, attempt
from corporeal.signal.lag import Lag, line_through
from corporeal.signal.track import Array


def find(
    subject: Subject,
    *,
    max_change_s: float = 0.01,
    window_s: float = 2.5,
    min_confidence: float = 0.8,
) -> Findings:
    """Yield each stream whose lag changes by more than `max_change_s` along the episode.

    The lag is measured in windows of `window_s`, of velocities against positions and of IMUs
    against the turning of their links; a line through the windows gives the change.

    Why: a lag that grows is a clock that runs at another speed: no constant offset repairs it.
    Fix: estimate offset and drift of the source's clock, correct the stamps, and align again.
    """
    looked = 0
    for pairs in (velocity_pairs, imu_pairs):
        for pair, _ in attempt(pairs, subject) or ():
            middles, lags = pair.course(window_s=window_s)
            good = np.array([sure(lag, min_confidence) for lag in lags], bool)
            if good.sum() < 3:
                continue
            looked += 1
            yield from _drifting(pair, middles, lags, good, max_change_s)
    if not looked:
        raise NotAssessed("no two streams show enough of the same motion along the episode")


def _drifting(
    pair: Pair, middles: Array, lags: list[Lag], good: Array, max_change_s: float
) -> Findings:
    when = middles[good]
    seconds = np.array([lag.seconds for lag in lags])[good]
    spread = np.array([lag.deviation_s for lag in lags])[good]
    slope, level = line_through(when, seconds)
    span = float(when[-1] - when[0])
    rest = seconds - (level + slope * when)
    doubt = 3 * max(float(np.median(np.abs(rest))) / 0.6745, float(np.median(spread)))
    doubt /= np.sqrt(len(when) / 3)
    change = slope * span
    if span <= 0 or abs(change) <= max_change_s + doubt:
        return
    yield Finding(
        f"{pair.label} drifts against {pair.what}: its lag goes from"
        f" {1e3 * (level + slope * when[0]):+.0f} ms at {when[0]:.1f} s to"
        f" {1e3 * (level + slope * when[-1]):+.0f} ms at {when[-1]:.1f} s ({slope:.2%})",
        stream=pair.label,
        value=abs(change),
        limit=max_change_s,
        evidence={"time_s": when, "lag_s": seconds},
    )


CHECK = Check(find, topic="lag", severity="quarantine", unit="s", formerly=("lag_is_steady",))
