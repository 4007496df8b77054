"""The joints of the arms over time, where a robot's document says which they are."""

from __future__ import annotations

from corporeal.embodiment import Embodiment
from corporeal.embodiment.limbs import limb_of
from corporeal.episode.recording import Recording
from corporeal.labelling.track import Track, track
from corporeal.schema import roles


def arm_joints(recording: Recording) -> Track | None:
    """Angles of the arms as measured, else as commanded; of all joints where nobody says which."""
    joints = track(
        recording, roles.JOINT_POSITION, roles.JOINT_POSITION_TARGET, roles.STATE, roles.ACTION
    )
    if joints is None:
        return None
    chosen = arm_columns(recording.embodiment, joints.columns) or range(joints.values.shape[1])
    return Track(joints.path, joints.time_s, joints.values[:, list(chosen)])


def arm_columns(robot: Embodiment | None, columns: tuple[str, ...]) -> list[int]:
    """The columns of arm and hand joints; none where the robot does not say."""
    if robot is None:
        return []
    return [place for place, name in enumerate(columns) if limb_of(name, robot) in ("arm", "hand")]
