"""The object, and the robot, start within the range that the protocol varies them in."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.protocol import Protocol
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.protocol_rules import protocol_of, window
from corporeal.quality.evidence.start_conditions import object_start
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.track import Array


def find(
    subject: Subject, *, slack_m: float = 0.01, max_off_m: float = 0.02, max_off_rad: float = 0.2
) -> Findings:
    """Yield an object, or a joint, that starts outside the range which the protocol asks for.

    The object is held against `object_xyz` and its radius, with `slack_m` for the tracker; where
    the metadata says where it was asked to lie (`asked`: object_xyz, object_yaw_rad), against that,
    within `max_off_m` and `max_off_rad`. Joints are held against the start posture where
    `joint_rad` says how far they vary.

    Why: starts that nobody asked for leave holes where the policy will be asked to begin.
    Fix: put the object where the protocol says, or record the episode again.
    """
    protocol = protocol_of(subject)
    stated = subject.recording.facts.other.get("asked")
    asked: Mapping[str, Any] = stated if isinstance(stated, Mapping) else {}
    joints = [name for name in protocol.start.posture if name in subject.state.names]
    has_joints = bool(joints) and protocol.randomisation.joint_rad is not None
    has_object = protocol.randomisation.object_xyz is not None or bool(asked)
    if not has_joints and not has_object:
        raise NotAssessed("the protocol names no middle (object_xyz) and no joint range to hold to")
    if has_joints:
        yield from _joints(subject, protocol, joints)
    if has_object:
        label, here = subject.recording.named(roles.OBJECT_POSE), object_start(subject)
        yield from _ranged(label, here, protocol, slack_m)
        yield from _asked(label, here, asked, max_off_m, max_off_rad)


def _joints(subject: Subject, protocol: Protocol, joints: list[str]) -> Findings:
    state, (first, stop) = subject.state, window(subject, 0.25, at_end=False)
    room = protocol.randomisation.joint_rad or 0.0
    for name in joints:
        angle = protocol.start.posture[name]
        at = float(np.median(state.values[first:stop, state.names.index(name)]))
        if abs(at - angle) > room:
            message = f"{name} starts at {at:.2f}, outside {angle:.2f} +- {room:.2f} rad"
            yield Finding(message, stream=state.label, value=abs(at - angle), limit=room)


def _ranged(label: str | None, here: Array, protocol: Protocol, slack_m: float) -> Findings:
    rule = protocol.randomisation
    if rule.object_xyz is None:
        return
    away = float(np.linalg.norm(here[:2] - np.asarray(rule.object_xyz[:2])))
    limit = rule.object_position_m + slack_m
    if away > limit:
        message = f"the object starts {100 * away:.0f} cm from the middle of its range"
        yield Finding(message, stream=label, value=away, limit=limit)


def _asked(
    label: str | None, here: Array, asked: Mapping[str, Any], max_off_m: float, max_off_rad: float
) -> Findings:
    place, yaw = asked.get("object_xyz"), asked.get("object_yaw_rad")
    numbers = [each for each in place[:2] if isinstance(each, int | float)] if isinstance(
        place, list | tuple) else []  # fmt: skip
    if len(numbers) == 2:
        off = float(np.linalg.norm(here[:2] - np.asarray(numbers)))
        if off > max_off_m:
            message = f"the object starts {100 * off:.0f} cm from where it was asked to lie"
            yield Finding(message, stream=label, value=off, limit=max_off_m)
    if isinstance(yaw, int | float):
        turned = abs((float(here[3]) - yaw + np.pi) % (2 * np.pi) - np.pi)
        if turned > max_off_rad:
            angle = np.degrees(turned)
            message = f"the object is turned by {angle:.0f} degrees from what was asked"
            yield Finding(message, stream=label, value=turned, limit=max_off_rad)


CHECK = Check(find, topic="protocol", severity="quarantine", unit="m")
