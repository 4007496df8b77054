"""The hand rests for a moment when the gripper has closed, as the protocol asks."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.motion import hand_speeds
from corporeal.quality.evidence.protocol_rules import protocol_of
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.track import Track


def find(subject: Subject, *, max_speed_m_s: float = 0.08) -> Findings:
    """Yield a hand that is still faster than `max_speed_m_s` while it should rest at the grasp.

    Why: closing on the move blurs where the grasp ends and the lift begins.
    Fix: let the gripper close before lifting; record it again.
    """
    pause = protocol_of(subject).grasp_pause_s
    if not pause:
        raise NotAssessed("the protocol asks for no pause at the grasp")
    speeds = hand_speeds(subject)
    state = subject.tracks[subject.posture.label]
    seen = False
    for label, track in subject.ending_in(roles.GRIPPER).items():
        side = track.spec.name.removesuffix(roles.GRIPPER)
        speed = next((each for name, each in speeds.items() if name.startswith(side)), None)
        closed = _closed_at(track)
        if speed is None or closed is None:
            continue
        seen = True
        inside = (state.seconds >= closed) & (state.seconds <= closed + pause)
        moving = (
            float(np.median(speed[inside[: len(speed)]])) if inside[: len(speed)].any() else 0.0
        )
        if moving > max_speed_m_s:
            message = (
                f"the {side} hand moves at {moving:.2f} m/s when {label} has just closed "
                f"({closed:.2f} s)"
            )
            yield Finding(message, stream=label, value=moving, limit=max_speed_m_s)
    if not seen:
        raise NotAssessed("no gripper of a known hand closes")


def _closed_at(track: Track) -> float | None:
    """When the gripper first came to rest after closing, in seconds."""
    opening = track.values[:, 0]
    low, high = np.nanmin(opening, initial=np.inf), np.nanmax(opening, initial=-np.inf)
    if len(track) < 10 or high - low < 0.02:
        return None
    within = np.flatnonzero(opening < low + 0.15 * (high - low))
    return float(track.seconds[within[0]]) if len(within) else None


CHECK = Check(
    find, topic="protocol", severity="note", unit="m/s", formerly=("protocol_grasp_pause",)
)
