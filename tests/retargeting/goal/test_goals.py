"""The person at the robot's size: directions kept, lengths the robot's, hands beside wide hips."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.retargeting.people import walking_person

from corporeal.embodiment import open_robot
from corporeal.geometry import Array, matrix_from_rpy, rotation_angle
from corporeal.retargeting.goal.footholds import ground_of
from corporeal.retargeting.goal.goals import (
    LEG_REACH,
    SPARE_RAD,
    beside_hips,
    body_of,
    foot_rotation,
    frame_of,
    goals_of,
    on_the_floor,
    scales_of,
    trunk_rotations,
)
from corporeal.retargeting.goal.robot_map import robot_map
from corporeal.retargeting.motion import POINTS, SIDES, HumanMotion
from corporeal.retargeting.result import ENDS

G1 = robot_map(open_robot("g1"))
ROBOTS = ("g1", "gr1", "h1")


def _direction(first: Array, second: Array) -> Array:
    between = second - first
    return np.asarray(between / np.linalg.norm(between, axis=1, keepdims=True))


def _without_rotations(motion: HumanMotion) -> HumanMotion:
    return replace(motion, rotations={})


@pytest.mark.parametrize("name", ROBOTS)
def test_limbs_have_the_robots_lengths_and_the_persons_directions(name: str) -> None:
    robot, person = robot_map(open_robot(name)), walking_person(60, 60.0)
    at = goals_of(person, robot).positions
    for side in SIDES:
        arm = at[f"{side}_elbow"] - at[f"{side}_shoulder"]
        np.testing.assert_allclose(np.linalg.norm(arm, axis=1), robot.lengths["upper_arm"])
        human = _direction(person.point(f"{side}_shoulder"), person.point(f"{side}_elbow"))
        np.testing.assert_allclose(arm / robot.lengths["upper_arm"], human, atol=1e-9)
    across = np.linalg.norm(at["left_shoulder"] - at["right_shoulder"], axis=1)
    np.testing.assert_allclose(across, robot.lengths["shoulder_width"])


@pytest.mark.parametrize("stature_m", [1.0, 1.6, 2.1])
def test_goals_do_not_depend_on_the_size_of_the_person(stature_m: float) -> None:
    usual = goals_of(walking_person(60, 60.0), G1)
    other = goals_of(walking_person(60, 60.0, stature_m=stature_m), G1)
    for name, at in usual.positions.items():
        np.testing.assert_allclose(other.positions[name], at, atol=1e-9, err_msg=name)
    assert other.scales["leg"] == pytest.approx(usual.scales["leg"] * 1.75 / stature_m, abs=1e-3)


def test_scales_are_robot_over_human_lengths_with_legs_a_little_short_of_straight() -> None:
    body = body_of(walking_person())
    scales = scales_of(body, G1)
    size = G1.lengths
    assert scales.leg == pytest.approx(LEG_REACH * (size["thigh"] + size["shank"]) / 0.86)
    assert scales.arm == pytest.approx((size["upper_arm"] + size["forearm"]) / 0.67)


@pytest.mark.parametrize("name", ROBOTS)
def test_feet_that_stand_are_on_the_ground_under_the_robots_hips(name: str) -> None:
    robot, person = robot_map(open_robot(name)), walking_person(120, 60.0)
    goals = goals_of(person, robot)
    for foot, side in enumerate(SIDES):
        flat = goals.contacts[:, foot].all(axis=1)
        assert np.abs(goals.positions[f"{side}_foot"][flat, 2]).max() < 0.005
    apart = np.abs(goals.positions["left_foot"] - goals.positions["right_foot"])[:, 1]
    assert apart.mean() == pytest.approx(robot.lengths["hip_width"], abs=0.02)


def test_a_clip_is_moved_to_begin_over_the_origin_and_stand_at_zero() -> None:
    person = walking_person(60, 60.0)
    away = replace(person, positions=person.positions + np.array([4.0, -7.0, 0.31]), contacts=None)
    floored = on_the_floor(away, ground_of(away))
    np.testing.assert_allclose(floored.point("pelvis")[0, :2], 0, atol=1e-12)
    assert floored.point("left_toe")[:20, 2].min() == pytest.approx(0, abs=0.003)
    assert floored.contacts is not None


def _frame(frames: int) -> Array:
    return np.tile(np.eye(3), (frames, 1, 1))


def test_a_hand_beside_the_hips_is_moved_outwards_and_no_other_way() -> None:
    hand = np.array([[0.0, 0.1, -0.1], [0.05, -0.1, -0.05]])
    room = np.array([0.2, -0.2])
    moved = beside_hips(hand, np.zeros((2, 3)), _frame(2), room, np.ones(2), 0.42)
    np.testing.assert_allclose(moved, [[0.0, 0.2, -0.1], [0.05, -0.2, -0.05]])


@pytest.mark.parametrize("where", [(0.55, 0.02, 0.0), (0.0, 0.02, 0.5), (0.0, 0.3, 0.0)])
def test_a_hand_far_ahead_above_or_aside_is_left_where_it_is(
    where: tuple[float, float, float],
) -> None:
    hand = np.array([where])
    moved = beside_hips(hand, np.zeros((1, 3)), _frame(1), np.array([0.2]), np.ones(1), 0.42)
    np.testing.assert_array_equal(moved, hand)


def test_hands_together_before_the_belly_are_not_pulled_apart() -> None:
    person = walking_person(30, 60.0)
    positions = person.positions.copy()
    for side in SIDES:
        for part, ahead in (("wrist", 0.22), ("hand", 0.28)):
            spot = person.point("pelvis") + np.array([ahead, 0.0, 0.02])
            positions[:, POINTS.index(f"{side}_{part}")] = spot
    goals = goals_of(replace(person, positions=positions), G1)
    scale = goals.scales["arm"]
    for side in SIDES:
        own = positions[:, POINTS.index(f"{side}_hand")] - person.point(f"{side}_shoulder")
        expected = goals.positions[f"{side}_shoulder"] + scale * own
        np.testing.assert_allclose(goals.positions[f"{side}_hand"], expected, atol=1e-4)


def test_hands_that_hang_beside_the_thighs_get_the_room_that_the_robot_needs() -> None:
    person = walking_person(60, 60.0)
    goals = goals_of(person, G1)
    pelvis = goals.rotations["pelvis"]
    for side, sign in (("left", 1.0), ("right", -1.0)):
        away = goals.positions[f"{side}_hand"] - goals.positions["pelvis"]
        aside = sign * np.einsum("ti,ti->t", away, pelvis[:, :, 1])
        low = away[:, 2] < 0.2 * G1.lengths["trunk"]
        assert low.any()
        assert aside[low].min() > G1.hand_room - 0.01


def test_a_foot_is_no_steeper_than_the_ankle_allows() -> None:
    person = walking_person(120, 60.0)
    ground = ground_of(person)
    pelvis = trunk_rotations(person)[0]
    free = foot_rotation(person, "left", ground, pelvis, (-2.0, 2.0))
    stiff = foot_rotation(person, "left", ground, pelvis, (-0.2, 0.15))
    np.testing.assert_allclose(free, person.rotations["left_foot"], atol=1e-6)
    shank = _direction(person.point("left_ankle"), person.point("left_knee"))
    for rotations, lift, drop in ((free, -2.0, 2.0), (stiff, -0.2, 0.15)):
        dropped = -np.arcsin(np.einsum("ti,ti->t", rotations[:, :, 0], shank))
        assert dropped.min() >= lift + SPARE_RAD - 1e-3
        assert dropped.max() <= drop - SPARE_RAD + 1e-3
    assert rotation_angle(free, stiff).max() > 0.2


def test_a_foot_whose_heel_comes_up_behind_does_not_turn_about() -> None:
    """The shank lies back and the toes point backwards: over the ground that looks like a turn."""
    person = walking_person(60, 60.0)
    positions = person.positions.copy()
    knee = person.point("left_knee")
    for part, away in (("ankle", (-0.43, 0, 0.05)), ("heel", (-0.46, 0, 0.12)),
                       ("toe", (-0.58, 0, -0.08))):  # fmt: skip
        positions[50:, POINTS.index(f"left_{part}")] = knee[50:] + away
    raised = replace(person, positions=positions, rotations={})
    pelvis = trunk_rotations(person)[0]
    rotations = foot_rotation(raised, "left", ground_of(raised), pelvis, (-2.0, 2.0))
    assert (rotations[:, 1, 1] > 0.9).all()
    assert (rotations[50:, 0, 0] < 0).all()


@pytest.mark.parametrize("steep_rad", [-0.12, 0.15])
def test_a_foot_that_the_source_tilts_all_the_time_still_stands_flat(steep_rad: float) -> None:
    person = walking_person(120, 60.0)
    positions = person.positions.copy()
    for side in SIDES:
        reach = np.linalg.norm(person.point(f"{side}_toe") - person.point(f"{side}_heel"), axis=1)
        positions[:, POINTS.index(f"{side}_toe"), 2] += reach * np.tan(steep_rad)
    tilted = replace(person, positions=positions)
    rotations = foot_rotation(
        tilted, "left", ground_of(tilted), trunk_rotations(person)[0], (-2.0, 2.0)
    )
    flat = ground_of(tilted).touches[:, 0].all(axis=1)
    assert np.abs(rotations[flat, 2, 0]).max() < 0.01


def test_trunk_rotations_from_points_are_near_to_those_of_the_source() -> None:
    person = walking_person(60, 60.0)
    for stated, found in zip(
        trunk_rotations(person), trunk_rotations(_without_rotations(person)), strict=True
    ):
        assert np.degrees(rotation_angle(stated, found)).max() < 5


def test_a_frame_has_left_as_y_and_is_a_rotation() -> None:
    rng = np.random.default_rng(1)
    left, up = rng.normal(size=(2, 8, 3))
    rotations = frame_of(left, up)
    np.testing.assert_allclose(rotations @ rotations.swapaxes(1, 2), _frame(8), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(rotations), 1)
    np.testing.assert_allclose(rotations[:, :, 1], _direction(np.zeros_like(left), left))
    assert (np.einsum("ti,ti->t", rotations[:, :, 2], up) > 0).all()


def test_goals_turn_with_the_person() -> None:
    person = walking_person(60, 60.0)
    rotation = matrix_from_rpy(np.array([0.0, 0.0, 2.5]))
    turned = replace(
        person,
        positions=person.positions @ rotation.T,
        rotations={name: rotation @ each for name, each in person.rotations.items()},
    )
    before, after = goals_of(person, G1), goals_of(turned, G1)
    for name, at in before.positions.items():
        np.testing.assert_allclose(after.positions[name], at @ rotation.T, atol=1e-9, err_msg=name)


def test_a_part_of_the_goals_has_all_its_fields_cut() -> None:
    goals = goals_of(walking_person(60, 60.0), G1)
    part = goals.part(10, 25)
    assert set(part.positions) == set(goals.positions)
    assert {len(each) for each in (*part.positions.values(), *part.rotations.values())} == {15}
    assert part.contacts.shape == (15, 2, 2)
    assert part.confidence.shape == (15, len(ENDS))
    np.testing.assert_array_equal(part.positions["pelvis"], goals.positions["pelvis"][10:25])
