"""Which links of a robot are a person's hips, knees, ankles, shoulders and elbows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from corporeal.embodiment import Embodiment
from corporeal.embodiment.embodiment import Joint, model_of
from corporeal.embodiment.joints import (
    outward_joints,
    standing_positions,
    words_in_name,
)
from corporeal.embodiment.kinematics import Kinematics
from corporeal.geometry import middle_point
from corporeal.retargeting.motion import SIDES

# Joints of a person, and the words in a robot's joint names that tell them.
WORDS = {
    "hip": frozenset(["hip", "thigh", "femur"]),
    "knee": frozenset(["knee", "calf", "shin", "shank", "tibia"]),
    "ankle": frozenset(["ankle", "foot"]),
    "shoulder": frozenset(["shoulder", "upperarm", "humerus"]),
    "elbow": frozenset(["elbow", "forearm"]),
}
LEG_PARTS = ("hip", "knee", "ankle")
# Joints of a hip or shoulder lie within this share of the way to the knee or elbow.
BALL_SHARE = 0.4


def followed_points() -> list[str]:
    """The points of a person that have a place on a robot."""
    return [f"{side}_{part}" for side in SIDES for part in WORDS]


def drafted_places(robot: Embodiment, given: Iterable[str]) -> dict[str, str]:
    """Places by the names of the joints or else by where they are, for those that are not given."""
    known = set(given)
    places: dict[str, str] = {}
    for point in (each for each in followed_points() if each not in known):
        side, part = point.split("_", 1)
        in_leg = part in LEG_PARTS
        end = robot.feet.get(side) if in_leg else robot.end_effectors.get(f"{side}_hand")
        if end is None:
            continue
        chain = chain_to(robot, end)
        limb = [joint for joint in chain if _is_of(robot, joint, f"{side}_{_limb_of(part)}")]
        joints = [joint for joint in chain if names_part(joint, part)]
        if len(joints) != 1:
            joints = _placed_like(robot, limb, end, part, joints) or joints
        if part == "ankle" and not joints and _is_frame(robot, end):
            # A shin without an ankle: its foot is all there is.
            places[point] = end
        elif joints and part in ("hip", "shoulder"):
            places[point] = _where_axes_meet(robot, joints)
        elif joints:
            places[point] = joints[-1 if part == "ankle" else 0].child
    return places


def _is_frame(robot: Embodiment, place: str) -> bool:
    return any(frame.name == place for frame in robot.frames)


def _limb_of(part: str) -> str:
    return "leg" if part in LEG_PARTS else "arm"


def _is_of(robot: Embodiment, joint: Joint, group: str) -> bool:
    return joint.name in robot.groups.get(group, ())


def _placed_like(
    robot: Embodiment, limb: list[Joint], end: str, part: str, named: list[Joint]
) -> list[Joint]:
    """The joints of a limb that lie where this part does: by the lengths up to its end.

    Of several that are `named` so it is the knee or elbow that lies in the middle of the limb.
    """
    if len(limb) < 3 or (named and part not in ("knee", "elbow")):
        return []
    names = {joint.name: joint.child for joint in limb}
    poses = model_of(robot, Kinematics).place_poses(
        {**names, "": end}, standing_positions(robot)[None]
    )
    points = np.array([poses.position(name)[0] for name in poses.names])
    middle = middle_point(points)
    if not 0 < middle < len(limb):
        return []
    if part in ("knee", "elbow"):
        return [limb[middle]] if not named or limb[middle] in named else []
    if part == "ankle":
        return limb[-1:] if middle < len(limb) - 1 else []
    reach = BALL_SHARE * float(np.linalg.norm(points[middle] - points[0]))
    near = np.linalg.norm(points[:middle] - points[0], axis=1) < max(reach, 1e-6)
    return [joint for joint, is_near in zip(limb[:middle], near, strict=True) if is_near]


def names_part(joint: Joint, part: str) -> bool:
    """Whether the name of a joint tells that it is this one of a person's, however it is spelt."""
    words = words_in_name(joint.name)
    return bool(words & WORDS[part]) or (part == "shoulder" and {"upper", "arm"} <= words)


def chain_to(robot: Embodiment, place: str) -> list[Joint]:
    """The joints from the base to a place, outwards."""
    name = robot.links[model_of(robot, Kinematics).place(place)[0]].name
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
    """The link that carries the first joint of the left arm."""
    above = {joint.child: joint for joint in outward_joints(robot)}
    link = robot.links[Kinematics(robot).place(shoulder)[0]].name
    while link in above and (
        names_part(above[link], "shoulder") or _is_of(robot, above[link], "left_arm")
    ):
        link = above[link].parent
    return link
