"""The built-in robots agree with their makers' files, stand, and know when they hit themselves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from corporeal.embodiment import Embodiment, open_robot, robot_names
from corporeal.embodiment.collision import CollisionModel
from corporeal.embodiment.comparison import compare, describe
from corporeal.embodiment.comparison.difference import RobotDifference
from corporeal.embodiment.embodiment import Joint, Shape
from corporeal.embodiment.engines import compile_pinocchio
from corporeal.embodiment.engines.mujoco_model import compile_mujoco
from corporeal.embodiment.joints import standing_positions
from corporeal.embodiment.kinematics import Kinematics
from corporeal.geometry import Array, matrix_from_rpy

# dof, kg, m from the ground to the base when standing
FIGURES = {
    "aloha": (14, 8.517, 0.75),
    "g1": (29, 33.3411, 0.7842),
    "g1_23dof": (23, 32.1069, 0.7842),
    "gr1": (32, 53.4795, 0.9313),
    "h1": (19, 59.338, 0.9811),
    "walker_s2": (52, 70.0, 0.9541),
}
ROBOTS = tuple(FIGURES)
HUMANOIDS = tuple(name for name in ROBOTS if name != "aloha")

# What the files of the makers do not mirror exactly: metres, radians, share of a mass.
ASYMMETRY = {"g1": (2e-5, 0, 0), "g1_23dof": (2e-5, 0, 0), "gr1": (6e-5, 2e-4, 0.02)}

FILES = {
    "g1": "unitree_g1/g1_29dof_rev_1_0.urdf",
    "g1_23dof": "unitree_g1/g1_23dof_rev_1_0.urdf",
    "h1": "unitree_h1/h1_description/urdf/h1.urdf",
    "gr1": "gr1_robosuite/robot.xml",
    "aloha": "menagerie/aloha/aloha.xml",
}
# Shapes, groups and extra frames are ours; the names of these two robots are, too.
OURS = {"collision", "groups"}
RENAMED = {"gr1": OURS | {"names", "order"}, "aloha": OURS | {"names"}}

# With all joints at zero these touch in reality as well: the GR-1 has its hands on its hips
# (the meshes overlap there), and the arms of ALOHA reach through each other.
ZERO_CONTACTS = {
    "gr1": {
        ("left_thigh_yaw_link", "left_hand_pitch_link"),
        ("right_thigh_yaw_link", "right_hand_pitch_link"),
    },
    "aloha": {
        ("left_gripper_link", "right_gripper_link"),
        ("left_wrist_link", "right_left_finger_link"),
        ("left_wrist_link", "right_right_finger_link"),
        ("left_left_finger_link", "right_wrist_link"),
        ("left_right_finger_link", "right_wrist_link"),
    },
}

# robot, what is bad about it, joints (the others at zero), two links that must be found
BAD_POSES: list[tuple[str, str, dict[str, float], tuple[str, str]]] = [
    ("g1", "forearm through the chest",
     {"left_shoulder_pitch": 0.3, "left_shoulder_yaw": -1.5, "left_elbow": 0.2},
     ("torso_link", "left_elbow_link")),
    ("g1", "hand into the head",
     {"left_shoulder_pitch": -1.8, "left_shoulder_roll": 0.4, "left_shoulder_yaw": -0.5,
      "left_elbow": -0.6}, ("torso_link", "left_wrist_yaw_link")),
    ("g1", "hand into the thigh",
     {"left_shoulder_pitch": -0.4, "left_shoulder_roll": 0.6, "left_shoulder_yaw": -1.0,
      "left_elbow": 0.3, "left_hip_pitch": -2.0}, ("left_hip_yaw_link", "left_wrist_yaw_link")),
    ("g1", "legs crossed", {"left_hip_roll": -0.4, "right_hip_roll": 0.4},
     ("left_knee_link", "right_knee_link")),
    ("g1_23dof", "hand into the chest",
     {"left_shoulder_pitch": 1.5, "left_shoulder_yaw": -1.1, "left_elbow": -0.7},
     ("torso_link", "left_wrist_roll_rubber_hand")),
    ("g1_23dof", "legs crossed", {"left_hip_roll": -0.4, "right_hip_roll": 0.4},
     ("left_knee_link", "right_knee_link")),
    ("h1", "forearm through the chest",
     {"left_shoulder_pitch": 0.9, "left_shoulder_yaw": -1.2, "left_elbow": -0.7},
     ("torso_link", "left_elbow_link")),
    ("h1", "hand into the thigh",
     {"left_shoulder_pitch": -0.5, "left_shoulder_roll": 0.1, "left_shoulder_yaw": 1.2,
      "left_elbow": 1.7, "left_hip_pitch": -2.0}, ("left_hip_pitch_link", "left_elbow_link")),
    ("h1", "legs crossed", {"left_hip_roll": -0.4, "right_hip_roll": 0.4},
     ("left_knee_link", "right_knee_link")),
    ("gr1", "hand into the chest",
     {"left_shoulder_pitch": -0.6, "left_shoulder_roll": 0.5, "left_shoulder_yaw": -1.5,
      "left_elbow_pitch": -2.2}, ("torso_link", "left_hand_pitch_link")),
    ("gr1", "hand into the head",
     {"left_shoulder_pitch": -1.7, "left_shoulder_roll": 0.1, "left_shoulder_yaw": -0.4,
      "left_elbow_pitch": -2.1}, ("head_pitch_link", "left_hand_pitch_link")),
    ("gr1", "hand into the thigh",
     {"left_shoulder_pitch": -0.3, "left_shoulder_roll": 0.1, "left_shoulder_yaw": -0.8,
      "left_elbow_pitch": -0.4, "left_hip_pitch": -1.6},
     ("left_thigh_pitch_link", "left_hand_pitch_link")),
    ("gr1", "foot on foot",
     {"left_hip_roll": -0.09, "left_hip_yaw": -0.7, "left_hip_pitch": -0.3},
     ("left_foot_roll_link", "right_foot_roll_link")),
    ("walker_s2", "hand into the chest",
     {"left_shoulder_pitch": -0.8, "left_shoulder_roll": 0.2, "left_shoulder_yaw": -1.9,
      "left_elbow_pitch": -2.3}, ("waist_pitch_link", "left_wrist_roll_link")),
    ("walker_s2", "hand into the head",
     {"left_shoulder_pitch": -2.1, "left_shoulder_yaw": -0.9, "left_elbow_pitch": -2.0},
     ("head_pitch_link", "left_wrist_roll_link")),
    ("walker_s2", "legs crossed", {"left_hip_roll": -0.4, "right_hip_roll": 0.4},
     ("left_hip_pitch_link", "right_hip_pitch_link")),
]  # fmt: skip


@cache
def collision_model(name: str) -> CollisionModel:
    return CollisionModel(open_robot(name))


def zero_positions(robot: Embodiment) -> Array:
    """All joints at zero, or at their limit nearest to it: (1, J)."""
    limits = [(joint.lower or 0.0, joint.upper or 0.0) for joint in robot.actuated]
    lower, upper = np.array(limits).T
    zero: Array = np.clip(0.0, lower, upper)
    return zero[None]


def posture(robot: Embodiment, joints: Mapping[str, float]) -> Array:
    """The joints named (without `_joint`), the others at zero: (1, J)."""
    q = zero_positions(robot)
    for name, value in joints.items():
        q[0, robot.joint_names.index(f"{name}_joint")] = value
    return q


def lowest_points(robot: Embodiment, q: Array) -> dict[str, float]:
    """Height of the lowest point of every link with shapes, base at the origin, m."""
    poses = Kinematics(robot).link_poses(q)
    low: dict[str, float] = {}
    for link in robot.links:
        rotation, position = poses.rotation(link.name)[0], poses.position(link.name)[0]
        for shape in link.collision:
            down = (rotation @ matrix_from_rpy(shape.rpy))[2]
            reach = reach_below(shape, down)
            height = (rotation @ np.array(shape.xyz))[2] + position[2] - reach
            low[link.name] = min(low.get(link.name, np.inf), float(height))
    return low


def reach_below(shape: Shape, down: Array) -> float:
    """How far a shape reaches below its centre; `down` is the world's z in its own axes."""
    if shape.type == "box":
        return float(np.abs(down) @ np.array(shape.size) / 2)
    if shape.type == "sphere":
        return shape.size[0]
    # A cylinder is taken as the capsule around it, which never reaches less far.
    radius, length = shape.size
    return radius + abs(float(down[2])) * length / 2


def test_the_built_in_robots_are_these() -> None:
    assert set(robot_names()) == set(ROBOTS)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_profile_is_named_after_its_file_and_says_where_it_comes_from(name: str) -> None:
    robot = open_robot(name)
    assert robot.name == name
    assert robot.description
    assert robot.sources
    assert robot.estimated


@pytest.mark.parametrize("name", ROBOTS)
def test_degrees_of_freedom_and_mass_are_those_of_the_source(name: str) -> None:
    robot = open_robot(name)
    dof, mass, height = FIGURES[name]
    assert len(robot.actuated) == dof
    assert robot.mass == pytest.approx(mass, abs=1e-3)
    assert robot.standing is not None
    assert robot.standing.height == pytest.approx(height)


@pytest.mark.parametrize("name", ROBOTS)
def test_every_joint_is_in_one_group_and_has_position_limits(name: str) -> None:
    robot = open_robot(name)
    members = [joint for group in robot.groups.values() for joint in group]
    assert sorted(members) == sorted(joint.name for joint in robot.joints)
    assert all(joint.lower is not None and joint.upper is not None for joint in robot.joints)


@pytest.mark.parametrize("name", HUMANOIDS)
def test_a_humanoid_has_two_feet_two_hands_and_a_head(name: str) -> None:
    robot = open_robot(name)
    assert robot.feet == {"left": "left_sole", "right": "right_sole"}
    assert {"left_hand", "right_hand", "head"} <= set(robot.end_effectors)
    assert {"left_leg", "right_leg", "torso", "left_arm", "right_arm"} <= set(robot.groups)


@pytest.mark.parametrize("name", HUMANOIDS)
def test_the_right_side_mirrors_the_left(name: str) -> None:
    robot = open_robot(name)
    length, angle, mass_share = ASYMMETRY.get(name, (0.0, 0.0, 0.0))
    joints = {joint.name: joint for joint in robot.joints}
    links = {link.name: link for link in robot.links}
    left = [joint for joint in robot.joints if joint.name.startswith("left_")]
    assert len(left) >= 9
    for joint in left:
        other = joints["right_" + joint.name.removeprefix("left_")]
        assert np.allclose(np.multiply(joint.xyz, (1, -1, 1)), other.xyz, atol=length + 1e-9)
        assert np.allclose(np.multiply(joint.rpy, (-1, 1, -1)), other.rpy, atol=angle + 1e-9)
        assert mirrored_range(joint, other) == pytest.approx((other.lower, other.upper))
        assert (joint.velocity, joint.effort) == (other.velocity, other.effort)
        a, b = links[joint.child], links[other.child]
        assert a.inertia is not None
        assert b.inertia is not None
        assert a.inertia.mass == pytest.approx(b.inertia.mass, rel=mass_share + 1e-9)
        assert [shape.size for shape in a.collision] == [shape.size for shape in b.collision]
        for mine, theirs in zip(a.collision, b.collision, strict=True):
            assert np.allclose(np.multiply(mine.xyz, (1, -1, 1)), theirs.xyz)


def mirrored_range(joint: Joint, other: Joint) -> tuple[float | None, float | None]:
    """The limits that `other` should have as the mirror image of `joint` in y = 0."""
    image = np.multiply(joint.axis, (-1, 1, -1))
    if np.allclose(image, other.axis):
        return joint.lower, joint.upper
    assert np.allclose(-image, other.axis), joint.name
    assert joint.lower is not None
    assert joint.upper is not None
    return -joint.upper, -joint.lower


def test_the_arms_of_aloha_are_the_same_arm_twice() -> None:
    robot = open_robot("aloha")
    left, right = robot.joints[:8], robot.joints[8:]
    for a, b in zip(left[1:], right[1:], strict=True):
        assert (a.xyz, a.rpy, a.axis, a.lower, a.upper) == (b.xyz, b.rpy, b.axis, b.lower, b.upper)
    assert robot.joint_names[6] == "left_gripper"
    assert [j.mimic.joint for j in robot.joints if j.mimic] == ["left_gripper", "right_gripper"]


@pytest.mark.parametrize("name", HUMANOIDS)
def test_a_standing_robot_has_its_soles_on_the_ground_and_nothing_below(name: str) -> None:
    robot = open_robot(name)
    q = standing_positions(robot)[None]
    assert robot.standing is not None
    soles = Kinematics(robot).feet(q)
    assert soles.positions[0, :, 2] == pytest.approx(-robot.standing.height, abs=5e-4)
    assert soles.rotations[0, :, 2, 2] == pytest.approx(1.0, abs=1e-6)
    low = lowest_points(robot, q)
    feet = {frame.link for frame in robot.frames if frame.name in robot.feet.values()}
    assert [low[foot] for foot in sorted(feet)] == pytest.approx(
        [-robot.standing.height] * 2, abs=5e-4
    )
    assert min(height for link, height in low.items() if link not in feet) > min(
        low[foot] for foot in feet
    )


@pytest.mark.parametrize("name", ROBOTS)
def test_the_standing_posture_is_within_the_limits(name: str) -> None:
    robot = open_robot(name)
    for joint, value in zip(robot.actuated, standing_positions(robot), strict=True):
        assert joint.lower is not None
        assert joint.upper is not None
        assert joint.lower <= value <= joint.upper, joint.name


@pytest.mark.parametrize("name", ROBOTS)
def test_a_profile_compiles_in_mujoco(name: str) -> None:
    robot = open_robot(name)
    model = compile_mujoco(robot).model
    assert float(model.body_mass.sum()) == pytest.approx(robot.mass, abs=1e-3)
    assert model.nq == len(robot.joints) + (7 if robot.floating else 0)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_profile_loads_in_pinocchio(name: str) -> None:
    robot = open_robot(name)
    model = compile_pinocchio(robot).model
    assert model.nq == len(robot.joints) + (7 if robot.floating else 0)
    # Pinocchio keeps the links of a fixed base in the universe, which weighs nothing there.
    base = next(link for link in robot.links if link.name == robot.base)
    held = 0.0 if robot.floating or base.inertia is None else base.inertia.mass
    moving = sum(inertia.mass for inertia in list(model.inertias)[1:])
    assert moving == pytest.approx(robot.mass - held, abs=1e-6)


@pytest.mark.parametrize("name", ROBOTS)
def test_nothing_touches_when_the_robot_stands(name: str) -> None:
    model = collision_model(name)
    # A pair that overlaps when standing would not be tested at all, so this list comes first.
    assert model.disabled_pairs == ()
    assert len(model.pairs) > 100
    assert model.collisions(standing_positions(model.embodiment)[None]).links == ()


@pytest.mark.parametrize("name", ROBOTS)
def test_at_zero_only_that_touches_which_really_does(name: str) -> None:
    model = collision_model(name)
    found = model.collisions(zero_positions(model.embodiment))
    assert set(found.links) == ZERO_CONTACTS.get(name, set())


@pytest.mark.parametrize(
    ("name", "joints", "links"),
    [pytest.param(name, joints, links, id=f"{name}: {what}")
     for name, what, joints, links in BAD_POSES],
)  # fmt: skip
def test_a_bad_pose_is_found(name: str, joints: dict[str, float], links: tuple[str, str]) -> None:
    model = collision_model(name)
    found = model.collisions(posture(model.embodiment, joints), tolerance_m=0.005)
    assert frozenset(links) in {frozenset(pair) for pair in found.links}


@pytest.mark.parametrize("name", FILES)
def test_a_profile_agrees_with_the_file_of_the_maker(name: str, shared_data: Path) -> None:
    maker = open_robot(shared_data / "models" / FILES[name])
    found = [
        difference
        for difference in compare(open_robot(name), maker)
        if difference.severity == "differs"
        and difference.topic not in RENAMED.get(name, OURS)
        and not (name == "gr1" and is_box_of_the_base(difference))
    ]
    assert not found, describe(found)
    assert len(open_robot(name).actuated) == len(maker.actuated)


def is_box_of_the_base(difference: RobotDifference) -> bool:
    """MuJoCo gives robosuite's base 0.512 kg for a box without a stated inertia; we do not."""
    if difference.topic == "mass":
        return bool(difference.b - difference.a == pytest.approx(0.512, abs=1e-5))
    return difference.topic == "inertia" and difference.subject.startswith("base_link")


def test_joint_order_of_g1_and_h1_is_that_of_the_urdf(shared_data: Path) -> None:
    for name in ("g1", "g1_23dof", "h1"):
        maker = open_robot(shared_data / "models" / FILES[name])
        assert open_robot(name).joint_names == maker.joint_names


def test_walking_and_calm_motion_of_the_g1_is_free_of_self_collision(shared_data: Path) -> None:
    for file in ("output_walk.csv", "output_dance.csv"):
        rows = g1_motion(shared_data / "retarget" / "g1_csv_wxyz" / file)
        assert len(collision_model("g1").collisions(rows)) == 0


def test_a_dance_that_cuts_through_the_body_is_found(shared_data: Path) -> None:
    """With the meshes of the robot, 57 % of the frames of this retargeted dance collide."""
    folder = shared_data / "retarget" / "g1_csv_xyzw" / "dance_102"
    rows = g1_motion(folder / "G1_Take_102.bvh_60hz.csv")[::3]
    found = collision_model("g1").collisions(rows)
    assert 0.45 < len(np.unique(found.frames)) / len(rows) < 0.57
    # Arms against the body and against each other: legs and feet never touch in it.
    arms = ("shoulder", "elbow", "wrist")
    assert all(any(part in link for part in arms for link in pair) for pair in found.links)


def g1_motion(path: Path) -> Array:
    """Joint angles (T, 29) of a 36-column G1 recording, without the pose of the pelvis."""
    table: Array = np.genfromtxt(path, delimiter=",")
    return table[~np.isnan(table).any(axis=1), 7:]
