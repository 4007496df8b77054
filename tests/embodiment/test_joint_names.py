"""Columns of any origin find their joint, and nothing else finds one."""

from __future__ import annotations

import pytest

from corporeal.embodiment import open_robot, robot_names
from corporeal.embodiment.joints import (
    are_joints,
    guess_robot,
    match_groups,
    match_joints,
    matched_share,
)


@pytest.mark.parametrize(
    "name",
    [
        "kLeftShoulderPitch",
        "left_shoulder_pitch_joint",
        "left_shoulder_pitch.pos",
        "L_SHOULDER_PITCH",
        "LeftShoulderPitch",
        "observation.state.left_shoulder_pitch",
        "shoulder_pitch_left",
    ],
)
def test_one_joint_is_known_by_many_names(name: str) -> None:
    assert match_joints([name], open_robot("g1")) == ("left_shoulder_pitch_joint",)


@pytest.mark.parametrize("robot", robot_names())
def test_a_robots_own_names_are_its_joints(robot: str) -> None:
    model = open_robot(robot)
    assert match_joints(model.joint_names, model) == model.joint_names


def test_an_elbow_is_one_hinge_with_or_without_its_axis() -> None:
    assert match_joints(["left_elbow"], open_robot("gr1")) == ("left_elbow_pitch_joint",)
    assert match_joints(["RightElbowPitch"], open_robot("g1")) == ("right_elbow_joint",)
    assert match_joints(["left_ankle"], open_robot("g1")) == (None,)


def test_what_is_no_joint_stays_unmatched() -> None:
    names = ["x", "y", "roll", "gripper", "kLeftHandThumbBend", "left_eef_x", ""]
    assert match_joints(names, open_robot("g1")) == (None,) * len(names)


def test_no_two_columns_are_one_joint() -> None:
    names = ["left_elbow.pos", "left_elbow_joint", "left_elbow.vel"]
    assert match_joints(names, open_robot("g1")) == ("left_elbow_joint", None, None)


def test_velocities_match_where_all_columns_are_velocities() -> None:
    names = ["left_elbow.vel", "right_elbow.vel"]
    assert match_joints(names, open_robot("g1")) == ("left_elbow_joint", "right_elbow_joint")


def test_numbered_columns_are_joints_by_place_if_there_are_as_many() -> None:
    g1 = open_robot("g1")
    assert match_joints([f"motor_{n}" for n in range(29)], g1) == g1.joint_names
    assert match_joints([f"j{n}" for n in range(1, 30)], g1) == g1.joint_names
    backwards = match_joints([f"motor_{n}" for n in reversed(range(29))], g1)
    assert backwards == g1.joint_names[::-1]
    assert match_joints([f"motor_{n}" for n in range(28)], g1) == (None,) * 28
    assert match_joints(["left_elbow", *(f"motor_{n}" for n in range(28))], g1)[1:] == (None,) * 28


def test_numbered_columns_of_a_group_are_its_joints() -> None:
    gr1 = open_robot("gr1")
    names = [f"left_arm_{n}" for n in range(7)] + [f"left_leg_{n}" for n in range(4)]
    assert match_joints(names, gr1) == (*gr1.groups["left_arm"], None, None, None, None)


def test_groups_of_columns_are_joints_where_their_sizes_agree() -> None:
    gr1 = open_robot("gr1")
    parts = {"left_arm": (0, 7), "left_hand": (7, 13), "waist": (13, 16), "neck": (16, 18)}
    found = match_groups(parts, 18, gr1)
    assert found[:7] == gr1.groups["left_arm"]
    assert found[7:13] == (None,) * 6
    assert found[13:16] == gr1.groups["torso"]
    assert found[16:] == (None, None)
    assert match_groups({"left_arm": (0, 7)}, 5, gr1) == (None,) * 5


def test_columns_are_plainly_joints_or_not() -> None:
    assert are_joints(["motor_0", "motor_1"])
    assert are_joints(["shoulder_pan.pos", "elbow_flex.pos", "gripper.pos"])
    assert are_joints(["j0", "j1"])
    assert not are_joints(["x", "y", "z", "roll", "pitch", "yaw", "gripper"])
    assert not are_joints([])


def test_a_robot_is_guessed_when_its_type_and_its_columns_say_so() -> None:
    arms = [f"k{side}{joint}" for side in ("Left", "Right")
            for joint in ("ShoulderPitch", "ShoulderRoll", "Elbow")]  # fmt: skip
    hands = [f"kLeftHand{finger}" for finger in ("Pinky", "Ring", "Index", "Thumb0")]
    guess = guess_robot("Unitree_G1_Inspire", arms + hands)
    assert guess is not None
    assert guess.name == "g1"
    assert guess_robot("so101_follower", arms) is None
    assert guess_robot(None, arms) is None
    assert guess_robot("unitree_h1_2", arms) is None
    assert guess_robot("Unitree_G1", ["x", "y", "z"]) is None


def test_the_smaller_g1_is_guessed_from_the_number_of_columns() -> None:
    guess = guess_robot("unitree_g1", [f"motor_{n}" for n in range(23)])
    assert guess is not None
    assert guess.name == "g1_23dof"


def test_fingers_that_the_robot_lacks_do_not_count_against_it() -> None:
    names = ["left_elbow", "left_thumb_0", "left_index_0", "left_index_1"]
    assert matched_share(names, match_joints(names, open_robot("g1"))) == 1.0
    assert matched_share(["x", "left_elbow"], (None, "left_elbow_joint")) == 0.5
