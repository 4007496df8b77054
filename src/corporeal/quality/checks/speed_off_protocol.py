"""Hands, joints and base stay below the speeds of the protocol."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, Spans
from corporeal.quality.evidence.motion import hand_speeds
from corporeal.quality.evidence.protocol_rules import protocol_of
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.runs import runs
from corporeal.signal.track import Array

_STEP_S = 0.1


def find(subject: Subject, *, min_s: float = 0.05) -> Findings:
    """Yield hands, joints or a base that go faster than the protocol allows for `min_s`.

    Why: what is too fast to be safe for the robot is too fast to be taught to it.
    Fix: slow the operator's input down; record it again.
    """
    speeds = protocol_of(subject).speeds
    parts = [_hands(subject, speeds.hand_m_s, min_s)]
    if speeds.joint_share is not None:
        parts.append(_joints(subject, speeds.joint_share))
    if speeds.base_m_s is not None:
        parts.append(_base(subject, speeds.base_m_s, min_s))
    reasons = []
    for part in parts:
        try:
            yield from part
        except NotAssessed as reason:
            reasons.append(str(reason))
    if len(reasons) == len(parts):
        raise NotAssessed("; ".join(reasons))


def _hands(subject: Subject, limit: float, min_s: float) -> Findings:
    posture = subject.posture
    period = subject.tracks[posture.label].period_s
    for name, speed in hand_speeds(subject).items():
        fast = runs(speed > limit, least=max(1, round(min_s / max(period, 1e-9))))
        if fast:
            yield _finding(name, posture.label, speed, limit, "m/s", fast)


def _joints(subject: Subject, share: float) -> Findings:
    state = subject.track(roles.JOINT_POSITION)
    limits = {joint.name: joint.velocity for joint in subject.robot.joints}
    rates = np.abs(state.rate)
    for column, name in enumerate(state.names):
        top = limits.get(name)
        if top:
            fast = runs(rates[:, column] > share * top, least=3)
            if fast:
                yield _finding(name, state.label, rates[:, column], share * top, "rad/s", fast)


def _base(subject: Subject, limit: float, min_s: float) -> Findings:
    track = subject.track(roles.BASE_POSE)
    if len(track) < 3 or track.period_s <= 0:
        raise NotAssessed(f"{track.label} has {len(track)} samples")
    step = max(1, round(_STEP_S / track.period_s))
    place = track.values[:, :2]
    elapsed = np.maximum(track.seconds[step:] - track.seconds[:-step], 1e-9)
    speed = np.linalg.norm(place[step:] - place[:-step], axis=1) / elapsed
    fast = runs(speed > limit, least=max(1, round(min_s / track.period_s)))
    if fast:
        yield _finding("the base", track.label, speed, limit, "m/s", fast)


def _finding(name: str, label: str, speed: Array, limit: float, unit: str, fast: Spans) -> Finding:
    top = float(np.nanmax(speed))
    message = f"{name} reaches {top:.2f} {unit}; the protocol allows {limit:.2f} {unit}"
    return Finding(message, stream=label, frames=fast, value=top, limit=limit)


CHECK = Check(
    find, topic="protocol", severity="quarantine", unit="m/s", formerly=("protocol_speed",)
)
