from __future__ import annotations

import pytest

from corporeal.embodiment.description.anatomy import infer_anatomy
from corporeal.embodiment.description.body_words import split_name, words_in
from corporeal.embodiment.embodiment import Joint


def _chain(*names: str, root: str = "base", kind: str = "revolute") -> list[Joint]:
    """Joints one after the other; the link after joint `x` is called `x>`."""
    parents = [root, *(f"{name}>" for name in names[:-1])]
    return [
        Joint.model_validate(
            {"name": name, "type": kind, "parent": parent, "child": f"{name}>", "axis": (0, 0, 1)}
        )
        for name, parent in zip(names, parents, strict=True)
    ]


@pytest.mark.parametrize("name", ["LHipYaw", "l_hip_yaw", "l/hip.yaw", "lhipyaw", "l_hpz"])
def test_names_of_all_styles_have_the_same_words(name: str) -> None:
    assert split_name(name) == ("l", "hip", "yaw")


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["LLEG_HIP_R", "RLEG_HIP_R"], ["left leg hip roll", "right leg hip roll"]),
        (["WAIST_R", "WAIST_Y"], ["waist roll", "waist yaw"]),
        (["joint_arm_l0", "joint_arm_r0"], ["joint arm left 0", "joint arm right 0"]),
        (["joint_arm_l0", "joint_arm_l1"], ["joint arm l 0", "joint arm l 1"]),
        (["r2/left_arm"], ["r 2 left arm"]),
        (["r_arm_shz", "r_leg_kny"], ["right arm shoulder yaw", "right leg knee pitch"]),
        (["kLeftWristyaw"], ["left wrist yaw"]),
        (["Left_Hip_Pitch", "l_ank_r", "r_ank_r"],
         ["left hip pitch", "left ankle roll", "right ankle roll"]),
        (["sho_p", "el_l", "el_r"], ["shoulder pitch", "elbow left", "elbow right"]),
    ],
)  # fmt: skip
def test_letters_are_sides_only_where_both_sides_are_there(
    names: list[str], words: list[str]
) -> None:
    assert [" ".join(each) for each in words_in(names)] == words


def test_a_roll_is_no_right_side() -> None:
    joints = [
        *_chain("LLEG_HIP_R", "LLEG_KNEE", "LLEG_ANKLE_R"),
        *_chain("RLEG_HIP_R", "RLEG_KNEE", "RLEG_ANKLE_R"),
        *_chain("WAIST_R", "WAIST_Y"),
    ]
    anatomy = infer_anatomy(joints)
    assert set(anatomy.groups) == {"left_leg", "right_leg", "torso"}
    assert anatomy.feet == {"left": "LLEG_ANKLE_R>", "right": "RLEG_ANKLE_R>"}


def test_a_humanoid_has_its_parts() -> None:
    joints = [
        *_chain("left_hip_pitch_joint", "left_knee_joint", "left_ankle_roll_joint"),
        *_chain("r_leg_hip_roll", "r_leg_knee_pitch"),
        *_chain("waist_yaw_joint", "torso_joint"),
        *_chain("LShoulderPitch", "LElbowYaw", root="torso_joint>"),
        *_chain("L_index_proximal_joint", root="LElbowYaw>"),
        *_chain("head_yaw", root="torso_joint>"),
    ]
    anatomy = infer_anatomy(joints)
    assert anatomy.groups == {
        "left_leg": ("left_hip_pitch_joint", "left_knee_joint", "left_ankle_roll_joint"),
        "right_leg": ("r_leg_hip_roll", "r_leg_knee_pitch"),
        "torso": ("waist_yaw_joint", "torso_joint"),
        "left_arm": ("LShoulderPitch", "LElbowYaw"),
        "left_hand": ("L_index_proximal_joint",),
        "neck": ("head_yaw",),
    }
    assert anatomy.feet == {"left": "left_ankle_roll_joint>", "right": "r_leg_knee_pitch>"}
    assert anatomy.end_effectors == {"left_hand": "LElbowYaw>"}


def test_the_waist_and_fingers_of_an_aloha_arm_belong_to_that_arm() -> None:
    arm = _chain("left/waist", "left/shoulder", "left/wrist_rotate")
    fingers = _chain("left/right_finger", root="left/wrist_rotate>", kind="prismatic")
    anatomy = infer_anatomy([*arm, *fingers])
    assert anatomy.groups["left_arm"] == ("left/waist", "left/shoulder", "left/wrist_rotate")
    assert anatomy.groups["left_gripper"] == ("left/right_finger",)


def test_an_arm_without_a_side_has_no_left_gripper() -> None:
    arm = _chain("waist", "shoulder", "elbow")
    finger = _chain("left_finger", root="elbow>", kind="prismatic")
    anatomy = infer_anatomy([*arm, *finger])
    assert anatomy.groups == {"arm": ("waist", "shoulder", "elbow"), "gripper": ("left_finger",)}
    assert anatomy.end_effectors == {"hand": "elbow>"}


def test_what_turns_a_whole_hand_is_part_of_the_arm() -> None:
    arm = _chain("left_elbow_joint", "left_hand_joint", "L_thumb_distal_joint")
    groups = infer_anatomy(arm).groups
    assert groups["left_arm"] == ("left_elbow_joint", "left_hand_joint")
    assert infer_anatomy(_chain("left_elbow", "LHand")).groups["left_hand"] == ("LHand",)


def test_names_that_say_nothing_are_told_from_the_links_or_left_out() -> None:
    (joint,) = _chain("joint_3")
    assert infer_anatomy([joint]).groups == {}
    knee = joint.model_copy(update={"child": "left_knee_link"})
    assert infer_anatomy([knee]).groups == {"left_leg": ("joint_3",)}


def test_a_leg_that_forks_has_no_foot() -> None:
    joints = [*_chain("left_hip", "left_knee"), *_chain("left_ankle", root="left_hip>")]
    anatomy = infer_anatomy(joints)
    assert len(anatomy.groups["left_leg"]) == 3
    assert anatomy.feet == {}


def test_two_legs_of_one_side_have_no_foot() -> None:
    joints = [*_chain("front_left_hip", "front_left_knee"), *_chain("rear_left_hip")]
    assert infer_anatomy(joints).feet == {}
