"""Where the hands are and what the joints of the arms do, as far as the robot is known."""

from __future__ import annotations

import numpy as np

from corporeal.embodiment import Embodiment
from corporeal.embodiment.joints import limb_of
from corporeal.embodiment.kinematics import Kinematics
from corporeal.episode.recording import Recording
from corporeal.labelling.track import SIDES, track
from corporeal.schema import roles
from corporeal.signal.track import Array, Track


def hand_tracks(
    recording: Recording, joints_name: str = roles.JOINT_POSITION, *, in_world: bool = True
) -> dict[str, Track]:
    """The position (T, 3) of each hand in the world, or against the base where that is unknown.

    Empty where no kinematics can tell: no robot, or joints in another order than its own.
    """
    robot = recording.embodiment
    joints = track(recording, joints_name)
    if robot is None or joints is None or joints.names != robot.joint_names:
        return {}
    base = _base_at(recording, joints) if in_world else None
    poses = Kinematics(robot).end_effectors(joints.values, base)
    return {
        side: Track(
            f"{joints.label}:{name}",
            joints.spec,
            joints.time_ns,
            poses.position(name),
            roles.POSITION,
        )
        for side, name in hand_names(robot).items()
    }


def hand_names(robot: Embodiment) -> dict[str, str]:
    """The end effector of each side; a robot with one arm has it on the side called `right`."""
    sided = {side: name for side in SIDES for name in robot.end_effectors if name.startswith(side)}
    alone = tuple(robot.end_effectors)
    return sided or ({"right": alone[0]} if alone else {})


def _base_at(recording: Recording, joints: Track) -> Array | None:
    """The pose of the base at the times of the joints: the last one known."""
    base = track(recording, roles.BASE_POSE)
    if base is None or base.values.shape[1] != 7:
        return None
    place = np.searchsorted(base.seconds, joints.seconds, side="right") - 1
    held: Array = base.values[np.maximum(place, 0)]
    return held


def arm_joints(recording: Recording) -> Track | None:
    """Angles of the arms as measured, else as commanded; of all joints where nobody says which."""
    joints = track(
        recording, roles.JOINT_POSITION, roles.JOINT_POSITION_TARGET, roles.STATE, roles.ACTION
    )
    if joints is None:
        return None
    chosen = arm_columns(recording.embodiment, joints.names) or range(joints.values.shape[1])
    return joints.select(chosen)


def arm_columns(robot: Embodiment | None, columns: tuple[str, ...]) -> list[int]:
    """The columns of arm and hand joints; none where the robot does not say."""
    if robot is None:
        return []
    return [place for place, name in enumerate(columns) if limb_of(name, robot) in ("arm", "hand")]
