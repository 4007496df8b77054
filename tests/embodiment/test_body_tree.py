"""Limbs told from the tree of joints alone."""

from __future__ import annotations

import pytest
from tests.altered_robots import by_number

from corporeal.embodiment import Embodiment, open_robot
from corporeal.embodiment.description.anatomy import infer_anatomy
from corporeal.embodiment.description.body_tree import read_body_plan
from corporeal.embodiment.embodiment import Joint

LIMBS = ("left_leg", "right_leg", "left_arm", "right_arm")


def _numbers(robot: Embodiment, group: str) -> set[str]:
    order = [joint.name for joint in robot.joints]
    return {f"joint_{order.index(name)}" for name in robot.groups[group]}


@pytest.mark.parametrize("name", ["g1", "g1_23dof", "gr1", "h1", "walker_s2"])
def test_a_robot_whose_joints_have_only_numbers_keeps_its_limbs(name: str) -> None:
    robot = open_robot(name)
    numbered = by_number(robot)
    for limb in LIMBS:
        assert set(numbered.groups[limb]) == _numbers(robot, limb), limb
    assert set(numbered.feet) == {"left", "right"}
    assert {"left_hand", "right_hand"} <= set(numbered.end_effectors)
    if "torso" in robot.groups:
        assert set(numbered.groups["torso"]) == _numbers(robot, "torso")


def test_words_of_another_language_do_not_hide_the_limbs(humanoid: Embodiment) -> None:
    words = {"hip": "huefte", "knee": "knie", "ankle": "sprung", "shoulder": "schulter",
             "elbow": "ellen", "left": "links", "right": "rechts"}  # fmt: skip
    text = humanoid.model_dump_json()
    for english, german in words.items():
        text = text.replace(english, german)
    told = Embodiment.model_validate_json(text)
    groups = infer_anatomy(told.joints, told.links).groups
    assert all("links" in name for name in groups["left_leg"])
    assert all("rechts" in name for name in groups["right_arm"])


def test_names_are_believed_before_the_tree(humanoid: Embodiment) -> None:
    groups = infer_anatomy(humanoid.joints, humanoid.links).groups
    assert all(name.startswith("left_") for name in groups["left_leg"])


def test_four_legs_are_no_body_of_a_humanoid() -> None:
    joints = [
        Joint(
            name=f"{corner}{number}",
            parent="base" if not number else f"{corner}{number - 1}>",
            child=f"{corner}{number}>",
            axis=(0, 1, 0),
            xyz=(x, y, 0) if not number else (0, 0, -0.2),
        )
        for corner, (x, y) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1)))
        for number in range(3)
    ]
    assert read_body_plan(joints).pairs == ()
    assert infer_anatomy(joints).groups == {}
