"""Stamps are times of capture, not times of arrival in bursts."""

import numpy as np

from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.time import BUNCHED, StreamStamps, stamped
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.runs import Flags, runs


def find(subject: Subject, *, max_share: float = 0.2, fastest_hz: float = 4000.0) -> Findings:
    """Yield each stream in which more than `max_share` of the steps are next to nothing.

    Or which as a whole would run faster than `fastest_hz`. Next to nothing is a quarter of the
    period that the stream states, or else of its mean step. Events, logs and transforms may come
    in any rhythm; of them, only a whole stream that was written at once counts.

    Why: samples written in bursts carry the time of writing; when they were taken is not known.
    Fix: read the stamps in the messages' own headers, or replace them by the source's clock.
    """
    for stream in stamped(subject, least=8, rated=False):
        if stream.kind == "text":
            continue
        sampled = stream.rate_hz is not None or _is_sampled(subject, stream.label)
        span = float(np.ptp(stream.seconds))
        mean = span / len(stream.steps)
        # A rate that was worked out from the stamps themselves proves nothing when it is absurd.
        stated = stream.rate_hz if stream.rate_hz and stream.rate_hz < fastest_hz else None
        if mean * fastest_hz < 1 or (stated and mean < BUNCHED / stated):
            yield _whole(stream, span, fastest_hz if stated is None else stated)
            continue
        period = 1 / stated if stated else mean
        close = np.abs(stream.steps) < BUNCHED * period
        share = float(close.mean())
        if sampled and share > max_share and (stated or (stream.steps > 1.5 * period).any()):
            yield _bunches(stream, close, share, max_share)


def _is_sampled(subject: Subject, label: str) -> bool:
    """Whether a stream without a rate is read at intervals all the same, as a sensor is."""
    track = subject.understood.get(label)
    if track is None or track.spec.group != "observations":
        return False
    return not track.spec.name.endswith((roles.ANY_POSE, roles.GRIPPER, roles.GRIPPER_TARGET))


def _whole(stream: StreamStamps, span: float, rate_hz: float) -> Finding:
    return Finding(
        f"the {len(stream)} samples of {stream.named} were all stamped within"
        f" {1e3 * span:.3g} ms: these are times of writing, not of capture",
        stream=stream.label,
        value=span,
        limit=len(stream.steps) / rate_hz,
        evidence=stream.evidence(),
    )


def _bunches(stream: StreamStamps, close: Flags, share: float, limit: float) -> Finding:
    groups = runs(close)
    size = float(np.median([stop - first + 1 for first, stop in groups]))
    return Finding(
        f"{stream.named} is stamped in bunches of about {size:.0f}: {100 * share:.0f} % of its "
        f"steps are shorter than a quarter of the period, so the stamps are times of arrival",
        stream=stream.label,
        frames=tuple((first, stop + 1) for first, stop in groups[:200]),
        value=share,
        limit=limit,
        evidence=stream.evidence(),
    )


CHECK = Check(
    find,
    topic="time",
    severity="fail",
    explains=(
        "imu_late",
        "velocity_late",
        "force_late",
        "action_late",
        "lag_drifts",
    ),
    formerly=("no_bursts",),
)
