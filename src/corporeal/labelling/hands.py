"""Where the hands are, from the joints; in the world where something tracks the base."""

from __future__ import annotations

import numpy as np

from corporeal.embodiment import Embodiment
from corporeal.embodiment.kinematics import Kinematics
from corporeal.episode.recording import Recording
from corporeal.labelling.track import SIDES, Array, Track, track
from corporeal.schema import roles


def hand_tracks(
    recording: Recording, joints_name: str = roles.JOINT_POSITION, *, in_world: bool = True
) -> dict[str, Track]:
    """The position (T, 3) of each hand in the world, or against the base where that is unknown.

    Empty where no kinematics can tell: no robot, or joints in another order than its own.
    """
    robot = recording.embodiment
    joints = track(recording, joints_name)
    if robot is None or joints is None or joints.columns != robot.joint_names:
        return {}
    base = _base_at(recording, joints) if in_world else None
    poses = Kinematics(robot).end_effectors(joints.values, base)
    return {
        side: Track(f"{joints.path}:{name}", joints.time_s, poses.position(name))
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
    place = np.searchsorted(base.time_s, joints.time_s, side="right") - 1
    held: Array = base.values[np.maximum(place, 0)]
    return held
