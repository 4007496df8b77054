"""The object, and the robot, start within the range that the protocol varies them in."""

from collections.abc import Mapping

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.protocol_rules import protocol_of, window
from corporeal.quality.evidence.start_conditions import object_start
from corporeal.quality.subject import Subject
from corporeal.schema import roles


def find(subject: Subject, *, slack_m: float = 0.01, max_off_m: float = 0.02) -> Findings:
    """Yield an object, or a joint, that starts outside the range which the protocol asks for.

    The object is held against `object_xyz` and its radius, with `slack_m` for the tracker; where
    the metadata says where it was asked to lie (`asked: {object_xyz: ...}`), against that, within
    `max_off_m`. Joints are held against the start posture where `joint_rad` says how far they vary.

    Why: starts that nobody asked for leave holes where the policy will be asked to begin.
    Fix: put the object where the protocol says, or record the episode again.
    """
    protocol = protocol_of(subject)
    asked, posture = protocol.randomisation, protocol.start.posture
    wanted = subject.recording.facts.other.get("asked")
    place = wanted.get("object_xyz") if isinstance(wanted, Mapping) else None
    is_seen = False
    if asked.object_xyz is not None or place is not None:
        here = object_start(subject)
        is_seen = True
        label = subject.recording.named(roles.OBJECT_POSE)
        if asked.object_xyz is not None:
            away = float(np.linalg.norm(here[:2] - np.asarray(asked.object_xyz[:2])))
            limit = asked.object_position_m + slack_m
            if away > limit:
                message = f"the object starts {100 * away:.0f} cm from the middle of its range"
                yield Finding(message, stream=label, value=away, limit=limit)
        if isinstance(place, list | tuple) and len(place) >= 2:
            off = float(np.linalg.norm(here[:2] - np.asarray(place[:2], float)))
            if off > max_off_m:
                message = f"the object starts {100 * off:.0f} cm from where it was asked to lie"
                yield Finding(message, stream=label, value=off, limit=max_off_m)
    if asked.joint_rad is not None and posture:
        state, (first, stop) = subject.state, window(subject, 0.25, at_end=False)
        for name, angle in posture.items():
            if name in state.names:
                is_seen = True
                at = float(np.median(state.values[first:stop, state.names.index(name)]))
                if abs(at - angle) > asked.joint_rad:
                    message = f"{name} starts at {at:.2f}, outside {angle:.2f} +- "
                    yield Finding(f"{message}{asked.joint_rad:.2f} rad", stream=state.label,
                                  value=abs(at - angle), limit=asked.joint_rad)  # fmt: skip
    if not is_seen:
        raise NotAssessed("the protocol names no middle (object_xyz) and no joint range to hold to")


CHECK = Check(find, topic="protocol", severity="quarantine", unit="m")
