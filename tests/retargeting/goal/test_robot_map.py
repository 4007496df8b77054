"""Places of robots that correspond to those of a person, from documents and from joint names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.altered_robots import by_number, turn_link

from corporeal.embodiment import Embodiment, open_robot
from corporeal.embodiment.joints import standing_positions
from corporeal.errors import CorporealError, ModelError
from corporeal.geometry import matrix_from_rpy
from corporeal.retargeting.goal.robot_map import RetargetingMap, draft_map, open_map, robot_map
from corporeal.retargeting.motion import SIDES

ROBOTS = ("g1", "g1_23dof", "gr1", "h1", "walker_s2")


@pytest.mark.parametrize("name", ROBOTS)
def test_every_built_in_robot_has_the_measures_of_a_humanoid(name: str) -> None:
    mapped = robot_map(open_robot(name))
    lengths = mapped.lengths
    for limb in ("thigh", "shank", "upper_arm", "forearm"):
        assert 0.15 < lengths[limb] < 0.5, limb
    assert 0.3 < lengths["trunk"] < 0.7
    assert 0.03 < lengths["sole"] < 0.12
    assert 0.15 < lengths["hip_width"] <= lengths["shoulder_width"]
    assert mapped.trunk[2] > 0.95 * lengths["trunk"]
    assert abs(mapped.hip_centre[1]) < 1e-6
    lift, drop = mapped.ankle_range
    assert -1.2 < lift < -0.3
    assert 0.3 < drop < 1.0


@pytest.mark.parametrize("name", ROBOTS)
def test_left_places_mirror_right_ones(name: str) -> None:
    mapped = robot_map(open_robot(name))
    q = np.zeros((1, len(mapped.robot.joint_names)))
    at = mapped.kinematics.place_poses(mapped.places, q)
    for part in ("hip", "knee", "ankle", "shoulder", "elbow"):
        left, right = at.position(f"left_{part}")[0], at.position(f"right_{part}")[0]
        np.testing.assert_allclose(left * [1, -1, 1], right, atol=1e-3)
        assert left[1] > 0


@pytest.mark.parametrize("name", ROBOTS)
def test_a_hand_that_hangs_as_far_aside_as_its_room_is_not_inside_the_hips(name: str) -> None:
    mapped = robot_map(open_robot(name))
    half = mapped.lengths["hip_width"] / 2
    assert half < mapped.hand_room < half + 0.2


def test_without_a_document_joint_names_tell_what_the_document_says() -> None:
    g1 = open_robot("g1")
    stranger = g1.model_copy(update={"name": "another"})
    drafted, known = robot_map(stranger), robot_map(g1)
    assert drafted.places == known.places
    assert drafted.chest == known.chest
    assert drafted.hands == {}


def test_a_draft_written_to_a_file_gives_the_same_map(tmp_path: Path) -> None:
    gr1 = open_robot("gr1")
    path = tmp_path / "gr1.yaml"
    path.write_text(draft_map(gr1).document.canonical(), encoding="utf-8")
    again, known = robot_map(gr1, open_map(path)), robot_map(gr1)
    assert (again.places, again.chest, again.head) == (known.places, known.chest, known.head)
    assert again.lengths == known.lengths


def test_a_map_of_another_robot_is_refused() -> None:
    with pytest.raises(ModelError, match=r"is for robot 'h1', got 'g1'"):
        robot_map(open_robot("g1"), draft_map(open_robot("h1")).document)


def _map(**parts: object) -> RetargetingMap:
    fields = {"document": "retargeting_map", "name": "m", "version": "1.0.0", "robot": "g1"}
    return RetargetingMap.model_validate({**fields, **parts})


def test_a_place_that_the_robot_has_not_is_named() -> None:
    with pytest.raises(CorporealError, match="left_kneecap"):
        robot_map(open_robot("g1"), _map(places={"left_knee": "left_kneecap"}))


def test_a_point_that_no_person_has_is_refused_with_those_there_are() -> None:
    with pytest.raises(ModelError, match=r"places 'left_tail'; expected one of .*right_elbow"):
        robot_map(open_robot("g1"), _map(places={"left_tail": "pelvis"}))


def test_a_side_that_no_person_has_is_refused() -> None:
    with pytest.raises(ModelError, match=r"places 'middle_knee'"):
        robot_map(open_robot("g1"), _map(places={"middle_knee": "pelvis"}))


def test_weights_and_hands_that_nothing_has_are_refused() -> None:
    hand = {"fingers": (1, 0, 0), "back": (0, 0, 1)}
    with pytest.raises(ModelError, match=r"weighs 'left_elbo'; expected one of .*left_elbow"):
        robot_map(open_robot("g1"), _map(weights={"left_elbo": 0.5}))
    with pytest.raises(ModelError, match=r"turns hand 'left_hand'; expected one of left, right"):
        robot_map(open_robot("g1"), _map(hands={"left_hand": hand}))
    assert robot_map(open_robot("g1"), _map(weights={"left_hand": 0.5})).weights["left_hand"] == 0.5


def test_a_head_that_the_robot_has_not_is_named() -> None:
    with pytest.raises(CorporealError, match="second_head"):
        robot_map(open_robot("g1"), _map(head="second_head"))


def test_a_robot_without_hands_is_told_to_declare_them() -> None:
    robot = open_robot("g1").model_copy(update={"end_effectors": {}})
    with pytest.raises(ModelError, match=r"has no left_hand; expected left_hand and right_hand"):
        robot_map(robot)


def test_joints_without_telling_names_are_told_from_where_they_are() -> None:
    named = robot_map(open_robot("g1"))
    robot = _renamed(open_robot("g1"), "knee", "hinge")
    mapped = robot_map(robot)
    assert mapped.places["left_knee"] == "left_hinge_link"
    assert mapped.lengths["thigh"] == pytest.approx(named.lengths["thigh"])


def test_a_robot_without_any_telling_name_has_the_map_of_the_named_one() -> None:
    robot = open_robot("g1")
    named, numbered = robot_map(robot), robot_map(by_number(robot))
    numbers = {link.name: f"link_{number}" for number, link in enumerate(robot.links)}
    for point in ("left_knee", "right_elbow", "left_ankle", "right_hip"):
        assert numbered.places[point] == numbers[named.places[point]]
    assert numbered.chest == numbers[named.chest]


@pytest.mark.parametrize("rpy", [(0, 0, np.pi / 2), (np.pi / 2, 0, 0), (0.0, np.pi / 2, np.pi)])
def test_a_base_of_another_convention_changes_no_length_and_turns_the_axes(
    rpy: tuple[float, float, float],
) -> None:
    robot = open_robot("g1")
    turned = robot_map(turn_link(robot, robot.base, rpy), _map(robot="turned"))
    straight = robot_map(robot, _map())
    assert turned.lengths == pytest.approx(straight.lengths)
    assert turned.ankle_range == pytest.approx(straight.ankle_range)
    assert turned.hand_room == pytest.approx(straight.hand_room, abs=1e-3)
    np.testing.assert_allclose(straight.axes, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(matrix_from_rpy(rpy) @ turned.axes, np.eye(3), atol=1e-9)


def test_a_map_is_drafted_in_part_where_a_robot_lacks_hands() -> None:
    robot = open_robot("g1").model_copy(update={"name": "handless", "end_effectors": {}})
    draft = draft_map(robot)
    assert set(draft.document.places) == {
        f"{side}_{part}" for side in SIDES for part in ("hip", "knee", "ankle")
    }
    assert [sentence.split(":")[0] for sentence in draft.missing] == [
        "left_hand", "right_hand", "left_shoulder", "left_elbow", "right_shoulder", "right_elbow",
    ]  # fmt: skip


def _renamed(robot: Embodiment, old: str, new: str) -> Embodiment:
    text = robot.model_dump_json().replace(old, new)
    return Embodiment.model_validate_json(text).model_copy(update={"name": "renamed"})


def test_a_standing_posture_is_within_the_limits_of_the_joints() -> None:
    for name in ROBOTS:
        robot = open_robot(name)
        for joint, value in zip(robot.actuated, standing_positions(robot), strict=True):
            assert joint.lower is None or joint.lower <= value
            assert joint.upper is None or value <= joint.upper
