"""Which links of a robot are its hips, knees and elbows, told by the names of its joints."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from corporeal.embodiment import Embodiment
from corporeal.embodiment.embodiment import Joint
from corporeal.embodiment.joints import outward_joints
from corporeal.embodiment.kinematics import Kinematics
from corporeal.errors import ModelError
from corporeal.retargeting.motion import SIDES

# Joints of a person, and the words in a robot's joint names that tell them.
WORDS = {
    "hip": ("hip", "thigh"),
    "knee": ("knee", "calf", "shin"),
    "ankle": ("ankle", "foot"),
    "shoulder": ("shoulder", "upper_arm", "upperarm"),
    "elbow": ("elbow", "forearm"),
}


def followed_points() -> list[str]:
    """The points of a person that have a place on a robot."""
    return [f"{side}_{part}" for side in SIDES for part in WORDS]


def drafted_places(robot: Embodiment, given: Iterable[str]) -> dict[str, str]:
    """Places by the names of the joints, for those that are not given."""
    known = set(given)
    found: dict[str, str] = {}
    for point in (each for each in followed_points() if each not in known):
        side, part = point.split("_", 1)
        ends = (
            robot.feet[side]
            if part in ("hip", "knee", "ankle")
            else (robot.end_effectors[f"{side}_hand"])
        )
        chain = chain_to(robot, ends)
        joints = [each for each in chain if any(word in each.name for word in WORDS[part])]
        if not joints:
            raise ModelError(
                f"robot {robot.name!r} has no joint whose name tells the {point}, got "
                f"{', '.join(each.name for each in chain)}. Give its link under places in a "
                "retargeting map."
            )
        if part in ("hip", "shoulder"):
            found[point] = _where_axes_meet(robot, joints)
        else:
            found[point] = joints[-1 if part == "ankle" else 0].child
    return found


def chain_to(robot: Embodiment, place: str) -> list[Joint]:
    """The joints from the base to a place, outwards."""
    link = Kinematics(robot).place(place)[0]
    name = robot.links[link].name
    above = {joint.child: joint for joint in robot.joints}
    chain: list[Joint] = []
    while name in above:
        chain.append(above[name])
        name = above[name].parent
    return chain[::-1]


def _where_axes_meet(robot: Embodiment, joints: list[Joint]) -> str:
    """The link among those of a ball joint whose origin is nearest to where the axes meet."""
    kinematics = Kinematics(robot)
    poses = kinematics.link_poses(np.zeros((1, len(robot.joint_names))))
    origins = np.array([poses.position(joint.child)[0] for joint in joints])
    axes = np.array([poses.rotation(joint.child)[0] @ joint.axis for joint in joints])
    across = np.eye(3) - axes[:, :, None] * axes[:, None, :]
    # A little pull to the middle of the origins settles what parallel axes leave open.
    meet = np.linalg.solve(
        across.sum(axis=0) + 1e-3 * np.eye(3),
        np.einsum("nij,nj->i", across, origins) + 1e-3 * origins.mean(axis=0),
    )
    nearest = int(np.argmin(np.linalg.norm(origins - meet, axis=1)))
    return joints[nearest].child


def carrier_of_arm(robot: Embodiment, shoulder: str) -> str:
    """The link that carries the first joint of the arm."""
    above = {joint.child: joint for joint in outward_joints(robot)}
    link = robot.links[Kinematics(robot).place(shoulder)[0]].name
    while link in above and any(word in above[link].name for word in WORDS["shoulder"]):
        link = above[link].parent
    return link
