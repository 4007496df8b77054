from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corporeal.embodiment import Embodiment
from corporeal.embodiment.comparison import compare, describe
from corporeal.embodiment.comparison.difference import RobotDifference
from corporeal.embodiment.description.urdf import read_urdf
from corporeal.embodiment.embodiment import Joint


@pytest.fixture(scope="module")
def robot(shared_data: Path) -> Embodiment:
    return read_urdf(shared_data / "models/unitree_g1/g1_29dof_rev_1_0.urdf")


def _with_joint(robot: Embodiment, changed: str, **changes: Any) -> Embodiment:
    joints = [
        joint.model_copy(update=changes) if joint.name == changed else joint
        for joint in robot.joints
    ]
    return robot.model_copy(update={"joints": tuple(joints)})


def _with_link(robot: Embodiment, name: str, **changes: Any) -> Embodiment:
    links = [link.model_copy(update=changes) if link.name == name else link for link in robot.links]
    return robot.model_copy(update={"links": tuple(links)})


def _only(differences: tuple[RobotDifference, ...]) -> RobotDifference:
    assert len(differences) == 1, describe(differences)
    return differences[0]


def test_a_robot_does_not_differ_from_itself(robot: Embodiment) -> None:
    assert compare(robot, robot) == ()
    assert describe(()) == "no differences"


def test_two_exchanged_joints_are_named(robot: Embodiment) -> None:
    joints = list(robot.joints)
    joints[3], joints[9] = joints[9], joints[3]
    found = _only(compare(robot, robot.model_copy(update={"joints": tuple(joints)})))
    assert (found.topic, found.severity) == ("order", "differs")
    assert found.words == (
        "joints 3 and 9 are exchanged: A has left_knee_joint at 3, B right_knee_joint"
    )


def test_another_order_is_given_as_a_permutation(robot: Embodiment) -> None:
    joints = (*robot.joints[1:], robot.joints[0])
    found = _only(compare(robot, robot.model_copy(update={"joints": joints})))
    assert "another order (B's joints by A's numbers: 1 2 3" in found.words
    assert found.words.endswith("28 0)")


def test_a_mirrored_axis_is_named(robot: Embodiment) -> None:
    found = _only(compare(robot, _with_joint(robot, "left_hip_roll_joint", axis=(-1.0, 0.0, 0.0))))
    assert found.words == "left_hip_roll_joint: axis is mirrored (1 0 0 against -1 0 0)"


def test_a_turned_axis_and_another_kind_of_joint_are_named(robot: Embodiment) -> None:
    changed = _with_joint(robot, "left_knee_joint", axis=(0.0, 0.0, 1.0), type="prismatic")
    words = [d.words for d in compare(robot, changed) if d.topic == "axes"]
    assert words == [
        "left_knee_joint: revolute against prismatic",
        "left_knee_joint: axis is turned by 1.571 rad (0 1 0 against 0 0 1)",
    ]


def test_another_limit_is_named_with_its_unit(robot: Embodiment) -> None:
    found = _only(compare(robot, _with_joint(robot, "left_knee_joint", upper=2.05)))
    assert found.words == "left_knee_joint: upper limit 2.8798 against 2.05 rad"
    assert (found.a, found.b) == (2.8798, 2.05)
    assert compare(robot, _with_joint(robot, "left_knee_joint", upper=2.8801)) == ()


def test_a_limit_that_only_one_states_is_unstated(robot: Embodiment) -> None:
    found = _only(compare(robot, _with_joint(robot, "left_knee_joint", velocity=None)))
    assert (found.severity, found.topic) == ("unstated", "limits")
    assert "only A states the velocity limit" in found.words


def test_a_joint_that_only_one_has_is_named(robot: Embodiment) -> None:
    joints = robot.joints[:-1]
    links = tuple(link for link in robot.links if link.name != robot.joints[-1].child)
    shorter = robot.model_copy(update={"joints": joints, "links": links})
    words = [d.words for d in compare(robot, shorter) if d.topic == "names"]
    assert words == ["only A has: right_wrist_yaw_joint"]
    words = [d.words for d in compare(shorter, robot) if d.topic == "names"]
    assert words == ["only B has: right_wrist_yaw_joint"]


def test_a_renamed_joint_is_found_by_its_place(robot: Embodiment) -> None:
    changed = _with_joint(robot, "left_knee_joint", name="kfe_l", upper=2.0)
    found = [d for d in compare(robot, changed) if d.topic != "groups"]
    assert [d.words for d in found] == [
        "left_knee_joint of A is probably kfe_l of B under another name",
        "left_knee_joint: upper limit 2.8798 against 2 rad",
    ]


def test_a_joint_elsewhere_is_named_with_the_distance(robot: Embodiment) -> None:
    knee = next(joint for joint in robot.joints if joint.name == "left_knee_joint")
    x, y, z = knee.xyz
    found = _only(compare(robot, _with_joint(robot, knee.name, xyz=(x, y, z - 0.01))))
    assert found.topic == "poses"
    assert found.words.startswith("left_knee_joint: 10 mm apart")
    found = _only(compare(robot, _with_joint(robot, knee.name, rpy=(0.5, 0.1749, 0.0))))
    assert "turned by 0.5 rad" in found.words


def test_mass_and_inertia_are_compared_by_share(robot: Embodiment) -> None:
    inertia = robot.links[0].inertia
    assert inertia is not None
    heavier = inertia.model_copy(update={"mass": inertia.mass + 1})
    words = [d.words for d in compare(robot, _with_link(robot, "pelvis", inertia=heavier))]
    assert words == [
        "the whole robot weighs 33.341 against 34.341 kg",
        "pelvis: mass 3.814 against 4.814 kg",
    ]
    wider = inertia.model_copy(update={"matrix": tuple(1.1 * value for value in inertia.matrix)})
    found = _only(compare(robot, _with_link(robot, "pelvis", inertia=wider)))
    assert found.words == "pelvis: inertia deviates by 9.09 %"
    assert compare(robot, _with_link(robot, "pelvis", inertia=wider), inertia_tol=0.1) == ()


def test_shapes_are_compared_up_to_their_symmetry(robot: Embodiment) -> None:
    link = next(link for link in robot.links if any(s.type == "cylinder" for s in link.collision))
    turned = tuple(
        shape.model_copy(update={"rpy": (shape.rpy[0] + 3.141592653589793, *shape.rpy[1:])})
        for shape in link.collision
    )
    assert compare(robot, _with_link(robot, link.name, collision=turned)) == ()
    (*rest, last) = link.collision
    smaller = last.model_copy(update={"size": tuple(size / 2 for size in last.size)})
    found = _only(compare(robot, _with_link(robot, link.name, collision=(*rest, smaller))))
    assert (found.topic, found.severity) == ("collision", "differs")
    found = _only(compare(robot, _with_link(robot, link.name, collision=())))
    assert found.severity == "unstated"


def test_a_follower_on_one_side_is_a_difference(robot: Embodiment) -> None:
    values = robot.joints[4].model_dump() | {"mimic": {"joint": "left_knee_joint"}}
    joints = (*robot.joints[:4], Joint.model_validate(values), *robot.joints[5:])
    found = _only(compare(robot, robot.model_copy(update={"joints": joints})))
    assert found.words == (
        "left_ankle_pitch_joint: has a motor in A, follows left_knee_joint times 1 plus 0 in B"
    )


def test_frames_groups_and_base_are_compared(robot: Embodiment) -> None:
    frame = robot.frames[0].model_copy(update={"xyz": (0.0, 0.0, 1.0)})
    changed = robot.model_copy(
        update={
            "frames": (frame, *robot.frames[2:]),
            "groups": {**robot.groups, "torso": ("waist_yaw_joint",)},
            "feet": {"left": "left_knee_link"},
            "floating": False,
        }
    )
    assert {(d.topic, d.subject, d.severity) for d in compare(robot, changed)} == {
        ("base", "pelvis", "differs"),
        ("frames", robot.frames[0].name, "differs"),
        ("frames", robot.frames[1].name, "unstated"),
        ("groups", "torso", "differs"),
        ("groups", "left", "differs"),
        ("groups", "right", "unstated"),
    }


def test_what_is_not_stated_is_counted_in_the_description(robot: Embodiment) -> None:
    joints = tuple(joint.model_copy(update={"velocity": None}) for joint in robot.joints)
    text = describe(compare(robot, robot.model_copy(update={"joints": joints})))
    assert text.count("\n") == 0
    assert text.endswith("(and 27 more like this)")
