"""Samples come at even intervals."""

import numpy as np

from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.time import StreamStamps, stamped
from corporeal.quality.subject import Subject
from corporeal.signal.runs import runs
from corporeal.signal.track import Array

# Two-sided 95 % of a normal distribution, and the median of its absolute value.
_Q95, _MAD = 1.96, 0.6745


def find(
    subject: Subject, *, max_spread: float = 0.1, max_spread_regridded: float = 0.02
) -> Findings:
    """Yield each stream whose steps spread by more than `max_spread` of its period.

    The spread is one standard deviation, taken from the median and from the 95th percentile.
    Stamps that were made from a frame number may not spread at all. Where nobody stated a rate,
    an uneven stream is a note: nobody promised even steps.

    Why: uneven stamps are stamps of arrival; speeds computed from them are wrong by as much.
    Fix: stamp where the sample is captured, or let the clock estimate replace arrival times.
    """
    limit = max_spread_regridded if subject.recording.regridded else max_spread
    for stream in stamped(subject, least=16):
        if stream.bunched or stream.period_s <= 0:
            continue
        away = np.abs(stream.steps - stream.typical_s) / stream.typical_s
        # A missing frame is no jitter: what is left of whole periods counts.
        away = np.where(away > 0.75, np.abs(away - np.rint(away)), away)
        spread = max(float(np.median(away)) / _MAD, float(np.quantile(away, 0.95)) / _Q95)
        if spread > limit:
            yield _finding(stream, away, spread, limit)


def _finding(stream: StreamStamps, away: Array, spread: float, limit: float) -> Finding:
    low, high = np.quantile(stream.steps, (0.05, 0.95)) * 1e3
    return Finding(
        f"{stream.named} is sampled unevenly: its steps spread by {100 * spread:.0f} % of the "
        f"period of {1e3 * stream.typical_s:.4g} ms (nine in ten last {low:.4g} to {high:.4g} ms)",
        stream=stream.label,
        frames=runs(np.append(False, away > 2 * limit), gap=19)[:200],
        value=spread,
        limit=limit,
        evidence=stream.evidence(),
        severity=None if stream.is_stated else "note",
    )


CHECK = Check(
    find, topic="time", severity="quarantine", unit="share", formerly=("regular_sampling",)
)
