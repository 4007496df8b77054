"""A small humanoid of our own, made of primitives, and every robot that Corporeal knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from corporeal.embodiment import Embodiment, open_robot, robot_names
from corporeal.geometry import Array

LEG = [
    ("hip_yaw", (0, 0, 1), (0, 0, -0.05), (-0.8, 0.8)),
    ("hip_roll", (1, 0, 0), (0, 0, -0.05), (-0.5, 0.5)),
    ("hip_pitch", (0, 1, 0), (0, 0, -0.02), (-1.5, 1.0)),
    ("knee", (0, 1, 0), (0, 0, -0.32), (0.0, 2.2)),
    ("ankle", (0, 1, 0), (0, 0, -0.32), (-0.8, 0.6)),
]
ARM = [
    ("shoulder_pitch", (0, 1, 0), (0.0, 0.04, 0.0), (-2.9, 1.5)),
    ("shoulder_roll", (1, 0, 0), (0, 0.02, 0), (-1.6, 2.2)),
    # An oblique axis and a turned placement, as real robots have them.
    ("shoulder_yaw", (0.6, 0.0, 0.8), (0, 0.02, -0.02), (-1.5, 1.5)),
    ("elbow", (0, 1, 0), (0, 0, -0.26), (-2.3, 0.1)),
]
SHAPES: dict[str, list[dict[str, Any]]] = {
    "pelvis": [{"type": "box", "size": (0.18, 0.24, 0.1)}],
    "torso": [
        {"type": "box", "size": (0.18, 0.3, 0.36), "xyz": (0, 0, 0.22)},
        {"type": "sphere", "size": (0.1,), "xyz": (0, 0, 0.55)},
    ],
    "hip_pitch": [{"type": "capsule", "size": (0.06, 0.2), "xyz": (0, 0, -0.15)}],
    "knee": [{"type": "cylinder", "size": (0.05, 0.26), "xyz": (0, 0, -0.15)}],
    "ankle": [{"type": "box", "size": (0.22, 0.09, 0.04), "xyz": (0.04, 0, -0.06)}],
    "shoulder_yaw": [{"type": "capsule", "size": (0.045, 0.15), "xyz": (0, 0, -0.13)}],
    "elbow": [{"type": "cylinder", "size": (0.04, 0.2), "xyz": (0, 0, -0.12)}],
    "slide": [{"type": "box", "size": (0.03, 0.02, 0.08), "xyz": (0.03, 0, -0.3)}],
    "follow": [{"type": "box", "size": (0.03, 0.02, 0.08), "xyz": (-0.03, 0, -0.3)}],
}
MASSES = {"pelvis": 6.0, "torso": 14.0, "hip_pitch": 4.0, "knee": 2.5, "ankle": 1.0}


def _link(name: str) -> dict[str, Any]:
    part = name.split("_", 1)[1] if name.startswith(("left_", "right_")) else name
    mass = MASSES.get(part, 0.6)
    side = -1.0 if name.startswith("right_") else 1.0
    inertia = {
        "mass": mass,
        "com": (0.01, 0.005 * side, -0.05 if part not in ("torso", "pelvis") else 0.04),
        "matrix": tuple(mass * value for value in (0.012, 0.001 * side, 0.0005, 0.01, 0.0, 0.008)),
    }
    return {"name": name, "inertia": inertia, "collision": SHAPES.get(part, [])}


def _limb(side: str, root: str, hang: tuple[float, ...], limb: list[Any]) -> list[dict[str, Any]]:
    sign = 1.0 if side == "left" else -1.0
    parent, joints = root, []
    for number, (name, axis, offset, (lower, upper)) in enumerate(limb):
        place = np.array(offset if number else hang, float) * (1, sign, 1)
        if name in ("hip_roll", "shoulder_roll"):
            lower, upper = (lower, upper) if side == "left" else (-upper, -lower)
        joints.append(
            {
                "name": f"{side}_{name}_joint",
                "parent": parent,
                "child": f"{side}_{name}",
                "axis": axis,
                "xyz": tuple(place),
                "rpy": (0.0, 0.0, 0.1 * sign) if name == "shoulder_yaw" else (0.0, 0.0, 0.0),
                "lower": lower,
                "upper": upper,
                "velocity": 20.0,
                "effort": 80.0,
            }
        )
        parent = f"{side}_{name}"
    return joints


def _gripper(side: str) -> list[dict[str, Any]]:
    elbow = f"{side}_elbow"
    jaw = {"type": "prismatic", "parent": elbow, "axis": (1, 0, 0), "lower": 0.0, "upper": 0.03}
    leader = f"{side}_slide_joint"
    mimic = {"joint": leader, "multiplier": -0.8, "offset": -0.002}
    follow = {**jaw, "lower": -0.03, "upper": 0.0, "mimic": mimic}
    return [
        # The follower comes before its leader: order is the document's, not the tree's.
        {**follow, "name": f"{side}_follow_joint", "child": f"{side}_follow"},
        {**jaw, "name": leader, "child": f"{side}_slide", "effort": 40.0},
    ]


def _humanoid_document() -> dict[str, Any]:
    sides = ("left", "right")
    # Arms first: an order that no walk of the tree from the pelvis would give.
    joints = [j for s in sides for j in _limb(s, "torso", (0, 0.19, 0.34), ARM) + _gripper(s)]
    joints += [j for s in sides for j in _limb(s, "pelvis", (0, 0.09, -0.06), LEG)]
    waist = {"name": "waist_joint", "parent": "pelvis", "child": "torso", "axis": (0, 0, 1)}
    joints.append({**waist, "xyz": (0, 0, 0.06), "lower": -1.0, "upper": 1.0})
    neck = {"name": "neck_joint", "parent": "torso", "child": "head", "axis": (0, 1, 0)}
    joints.append({**neck, "xyz": (0, 0, 0.5), "actuated": False})
    frames = [{"name": f"{s}_sole", "link": f"{s}_ankle", "xyz": (0.04, 0, -0.08)} for s in sides]
    frames += [
        {"name": f"{s}_palm", "link": f"{s}_elbow", "xyz": (0, 0, -0.28), "rpy": (0.2, 0.1, 0.3)}
        for s in sides
    ]
    posture = {f"{s}_shoulder_roll_joint": a for s, a in (("left", 0.3), ("right", -0.3))}
    return {
        "document": "embodiment",
        "name": "small_humanoid",
        "version": "1.0.0",
        "base": "pelvis",
        "links": [_link("pelvis"), *(_link(joint["child"]) for joint in joints)],
        "joints": joints,
        "frames": frames,
        "end_effectors": {s: f"{s}_palm" for s in sides},
        "feet": {s: f"{s}_sole" for s in sides},
        "standing": {"height": 0.9, "posture": posture},
    }


@pytest.fixture(scope="session")
def humanoid() -> Embodiment:
    """The small humanoid: 5 + 5 leg, 5 + 5 arm and 1 waist joints; 2 mimic, 1 passive."""
    return Embodiment.model_validate(_humanoid_document())


@pytest.fixture(scope="session", params=["small_humanoid", *robot_names()])
def robot(request: pytest.FixtureRequest, humanoid: Embodiment) -> Embodiment:
    """The small humanoid, then every built-in robot."""
    return humanoid if request.param == humanoid.name else open_robot(request.param)


@pytest.fixture(scope="session")
def positions_of() -> Callable[[Embodiment, int], Array]:
    """Gives joint positions (T, J) all over the limits, or over a half turn without limits."""

    def positions(robot: Embodiment, frames: int) -> Array:
        low = np.array([-1.5 if joint.lower is None else joint.lower for joint in robot.actuated])
        high = np.array([1.5 if joint.upper is None else joint.upper for joint in robot.actuated])
        return np.random.default_rng(frames).uniform(low, high, (frames, len(low)))

    return positions


@pytest.fixture(scope="session")
def bases_of() -> Callable[[Embodiment, int], Array | None]:
    """Gives base poses (T, 7), anywhere and any way up, or none for a robot that is fixed."""

    def bases(robot: Embodiment, frames: int) -> Array | None:
        rows = np.random.default_rng(frames).normal(size=(frames, 7))
        return rows if robot.floating else None

    return bases
