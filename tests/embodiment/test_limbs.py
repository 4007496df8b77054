"""Which column is a finger, an arm or a leg has one answer."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from corporeal.embodiment import open_robot, robot_names
from corporeal.embodiment.joints.limbs import is_arm, is_hand, is_leg, limb_of

SOURCE = Path(__file__).resolve().parents[2] / "src" / "corporeal"
HANDS = {
    "inspire": ("L_index_proximal_joint", "R_thumb_proximal_yaw_joint", "left_little_1_joint"),
    "dex3": ("left_hand_thumb_0_joint", "right_hand_middle_1_joint", "kLeftHandIndex0"),
    "allegro": ("index_joint_0", "middle_joint_3", "thumb_joint_2", "palm"),
    "shadow": ("rh_FFJ1", "rh_MFJ4", "lh_RFJ2", "rh_LFJ5", "rh_THJ5", "FFJ3"),
    "grippers": ("left_gripper.pos", "leftgripper", "gripper_opening", "right_finger"),
}


@pytest.mark.parametrize("hand", HANDS)
def test_joints_of_public_hands_are_hands(hand: str) -> None:
    assert [name for name in HANDS[hand] if not is_hand(name)] == []


def test_what_only_looks_like_a_hand_is_none() -> None:
    assert limb_of("door_handle") is None
    assert limb_of("spring_constant") is None
    assert limb_of("0") is None


def test_arms_and_legs_are_told_from_hands() -> None:
    assert is_arm("left_wrist_yaw_joint")
    assert is_arm("rh_WRJ1")
    assert is_leg("r_hip_pitch")
    assert is_leg("rightanklepitch")
    assert not is_arm("left_index_1_joint")


@pytest.mark.parametrize("name", robot_names())
def test_names_and_groups_of_a_built_in_robot_agree(name: str) -> None:
    robot = open_robot(name)
    for joint in robot.joint_names:
        group = robot.group_of(joint) or ""
        assert is_hand(joint, robot) == ("hand" in group or "gripper" in group), joint
        assert is_leg(joint, robot) == ("leg" in group), joint
        if "waist" not in joint:  # The turntable under a single arm is called waist too.
            assert limb_of(joint) == limb_of(joint, robot), joint


def test_no_other_module_tells_fingers_by_a_pattern_of_its_own() -> None:
    home = {"embodiment/joints/limbs.py", "embodiment/description/anatomy.py"}
    wordy = re.compile(
        r"(finger|thumb).*\|.*(hand|gripper|index)|(hand|gripper).*\|.*(finger|thumb)"
    )
    found = [
        f"{name}:{node.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
        if (name := path.relative_to(SOURCE).as_posix()) not in home
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        and wordy.search(node.value)
    ]  # fmt: skip
    assert not found, "ask corporeal.embodiment.joints.limbs"
