"""Angles are in radians."""

import numpy as np

from corporeal.embodiment.embodiment import Joint
from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.columns import DEGREES
from corporeal.quality.evidence.joint_identity import accusations
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.track import Track
from corporeal.words import listed, some_of


def find(subject: Subject, *, min_excess: float = 1.4) -> Findings:
    """Yield columns of the state or the action that are in degrees.

    Told by the other stream, which is 57.3 times smaller; by the velocity; or by the robot's
    limits, which the values pass by a factor of `min_excess` and keep when they are divided.

    Why: a policy trained on degrees sends a joint to its stop at once.
    Fix: divide the columns by 57.29578, and state the unit in the schema.
    """
    found: dict[str, dict[str, str]] = {}
    reason: NotAssessed | None = None
    try:
        for each in accusations(subject):
            named = subject.tracks[each.stream].spec.name
            torque = named in (roles.JOINT_TORQUE, roles.JOINT_TORQUE_TARGET)
            if each.kind == "degrees" and each.role != "velocity" and not torque:
                found.setdefault(each.stream, {})[each.names[0]] = each.why
    except NotAssessed as error:
        reason = error
    if subject.recording.embodiment is not None:
        joints = {joint.name: joint for joint in subject.robot.actuated}
        for track in subject.joint_tracks:
            for name in _beyond(track, joints, min_excess):
                why = "its values pass the limits of the joint, and keep them as degrees"
                found.setdefault(track.label, {}).setdefault(name, why)
    elif reason is not None:
        raise reason
    alike: dict[tuple[str, ...], list[str]] = {}
    for stream, columns in found.items():
        alike.setdefault(tuple(sorted(columns)), []).append(stream)
    for stream, *others in alike.values():
        columns = found[stream]
        width = len(subject.tracks[stream].names)
        every = "all of them" if len(columns) >= 0.8 * width else some_of(columns)
        why = next(iter(columns.values()))
        where = listed([stream, *others])
        yield Finding(
            f"{len(columns)} of {width} columns of {where} are in degrees: {every} ({why})",
            stream=stream,
            value=float(len(columns)),
            limit=0.0,
            siblings=tuple(others),
            # One unit holds for a stream, also where a column is beyond its limits in it.
            columns=tuple(columns) if len(columns) < width / 2 else (),
        )


def _beyond(track: Track, joints: dict[str, Joint], min_excess: float) -> list[str]:
    """Joints whose values are beyond their limits, and within them when taken as degrees."""
    if not len(track):
        return []
    low, high = np.quantile(bridge_gaps(track.values), (0.02, 0.98), axis=0)
    found = []
    for column, name in enumerate(track.names):
        joint = joints.get(name)
        if joint is None or joint.type != "revolute" or joint.lower is None or joint.upper is None:
            continue
        reach = max(abs(joint.lower), abs(joint.upper))
        size = max(abs(low[column]), abs(high[column]))
        if size < min_excess * reach or size < 1.0:
            continue
        margin = 0.05 * (joint.upper - joint.lower)
        above = low[column] / DEGREES > joint.lower - margin
        if above and high[column] / DEGREES < joint.upper + margin:
            found.append(name)
    return found


CHECK = Check(
    find,
    topic="joints",
    severity="fail",
    unit="columns",
    explains=(
        "joint_beyond_limit", "joint_too_fast", "hand_too_fast", "self_collision", "joint_jumps",
        "signal_spikes", "columns_unusual", "joint_order_wrong",
    ),
    formerly=("angles_in_radians",),
)  # fmt: skip
