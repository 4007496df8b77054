"""The hand's pose from joint positions, and how it follows offsets of the joints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corporeal.calibration.hand_eye.pairs import Adjustable
from corporeal.embodiment import Embodiment
from corporeal.embodiment.kinematics import Kinematics
from corporeal.errors import CorporealError
from corporeal.geometry import Array

# Joints of a robot whose zero was set by hand are rarely off by more.
OFFSET_PRIOR_RAD = np.radians(1.0)
# A joint that moves the hand by less than this from pose to pose says nothing of its offset.
_LEAST_EFFECT_M = 1e-4


def hands_of_joints(
    embodiment: Embodiment, link: str, names: Sequence[str], joints: Array
) -> tuple[Array, Adjustable]:
    """Poses (N, 4, 4) of a link for joints (N, J) of these names, others at zero; offsets of each.

    The first and the last joint on the way to the link are left as they are: an offset of the
    first is a turn of the base, one of the last a turn of the camera, and neither can be told.
    """
    model = Kinematics(embodiment)
    known = {*model.names, *(frame.name for frame in embodiment.frames)}
    if link not in known:
        raise CorporealError(
            f"--frame, got {link!r}; expected a link or frame of {embodiment.name}, such as "
            f"{', '.join(sorted(known)[:4])}."
        )
    missing = [name for name in names if name not in model.columns]
    if missing:
        raise CorporealError(
            f"joint {missing[0]!r} is none of {embodiment.name}; expected "
            f"{', '.join(model.columns[:4])}, ..."
        )
    whole = np.zeros((len(joints), len(model.columns)))
    places = [model.columns.index(name) for name in names]
    whole[:, places] = joints
    moving = _on_the_way(model, link, whole, places)[1:-1]

    def pose(offsets: Array) -> Array:
        moved = whole.copy()
        moved[:, moving] += offsets
        found = model.place_poses({"hand": link}, moved)
        poses = np.tile(np.eye(4), (len(moved), 1, 1))
        poses[:, :3, :3], poses[:, :3, 3] = found.rotation("hand"), found.position("hand")
        return poses

    chosen = tuple(model.columns[place] for place in moving)
    prior = np.full(len(moving), OFFSET_PRIOR_RAD)
    return pose(np.zeros(len(moving))), Adjustable(chosen, prior, pose)


def _on_the_way(model: Kinematics, link: str, whole: Array, places: Sequence[int]) -> list[int]:
    """The joints that move the link at all, from the base outwards."""
    found = []
    rest = model.place_poses({"hand": link}, whole)
    for place in places:
        turned = whole.copy()
        turned[:, place] += 0.1
        moved = model.place_poses({"hand": link}, turned)
        shift = np.abs(moved.position("hand") - rest.position("hand")).max()
        turn = np.abs(moved.rotation("hand") - rest.rotation("hand")).max()
        if max(float(shift), float(turn)) > _LEAST_EFFECT_M:
            found.append(place)
    order = {name: number for number, name in enumerate(model.columns)}
    outward = [order[joint.name] for joint in model.embodiment.joints if joint.name in order]
    return sorted(found, key=outward.index)
