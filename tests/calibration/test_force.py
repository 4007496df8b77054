"""A force sensor is told from rests: mass, middle, bias, mounting and sign, with honest spreads."""

from __future__ import annotations

import numpy as np
import pytest

from corporeal.calibration.force import (
    GRAVITY,
    USUAL_RESTS,
    StaticPoses,
    find_wrong_rests,
    force_problems,
    leave_out_force,
    next_rests,
    solve_force,
    spread_condition,
    standing_drift,
)
from corporeal.errors import CorporealError
from corporeal.geometry import Array, matrix_from_quaternion, matrix_from_vector, rotation_angle

MASS, CENTRE = 0.8, np.array([0.01, -0.02, 0.06])
FORCE_BIAS, TORQUE_BIAS = np.array([3.0, -8.0, 5.0]), np.array([0.1, 0.2, -0.3])
TOOL_DIRECTIONS = np.array(
    [[0, 0, 0], [3.14, 0, 0], [1.57, 0, 0], [-1.57, 0, 0], [0, 1.57, 0], [0, -1.57, 0],
     [0.8, 0.4, 0], [-0.6, 0.9, 0.5], [0, 0, 0]]
)  # fmt: skip


def rests(
    rng: np.random.Generator,
    *,
    mounting: Array | None = None,
    sign: int = 1,
    noise: float = 0.05,
    rotations: Array | None = None,
) -> StaticPoses:
    """Poses at rest of a known tool."""
    turn = np.eye(3) if mounting is None else mounting
    rotations = matrix_from_vector(TOOL_DIRECTIONS) if rotations is None else rotations
    weight = sign * MASS * (rotations.transpose(0, 2, 1) @ [0, 0, -GRAVITY]) @ turn.T
    torque = np.cross(CENTRE, weight) + TORQUE_BIAS
    return StaticPoses(
        tuple(str(number) for number in range(len(rotations))),
        rotations,
        weight + FORCE_BIAS + rng.normal(0, noise, weight.shape),
        torque + rng.normal(0, noise / 20, torque.shape),
    )


def test_mass_middle_and_bias_come_back() -> None:
    solution = solve_force(rests(np.random.default_rng(1), noise=1e-9))
    assert solution.mass_kg == pytest.approx(MASS)
    assert solution.centre_m == pytest.approx(CENTRE)
    assert solution.force_bias == pytest.approx(FORCE_BIAS)
    assert solution.torque_bias == pytest.approx(TORQUE_BIAS)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_turned_sensor_and_its_sign_are_found(sign: int) -> None:
    mounting = matrix_from_vector(np.array([[0.4, -1.1, 2.0]]))[0]
    solution = solve_force(rests(np.random.default_rng(2), mounting=mounting, sign=sign))
    assert solution.sign == sign
    assert solution.sign_margin > 10
    assert rotation_angle(solution.mounting, mounting) < np.radians(1.5)


def test_stated_spreads_hold_the_errors() -> None:
    errors = []
    for seed in range(60):
        solution = solve_force(rests(np.random.default_rng(seed)))
        found = np.concatenate([[solution.mass_kg], solution.force_bias, solution.centre_m])
        true = np.concatenate([[MASS], FORCE_BIAS, CENTRE])
        errors.append((found - true) / solution.sigma[[0, 4, 5, 6, 7, 8, 9]])
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(1.0, abs=0.25)


def test_what_was_compensated_is_without_the_tool() -> None:
    poses = rests(np.random.default_rng(3))
    force, torque = solve_force(poses).compensate(poses.rotations, poses.forces, poses.torques)
    assert np.abs(force).max() < 0.2
    assert np.abs(torque).max() < 0.02
    left_out = leave_out_force(poses)
    assert left_out[0] < 0.3
    assert left_out[1] < 0.03


def test_drift_between_the_first_pose_and_its_repetition_is_said() -> None:
    poses = rests(np.random.default_rng(4), noise=1e-6)
    poses.forces[-1] += [0, 0, 1.2]
    assert solve_force(poses).drift_n == pytest.approx(1.2, rel=0.01)


def test_wrong_rests_are_named_though_there_are_two() -> None:
    for seed in range(2):
        poses = rests(np.random.default_rng(seed))
        assert find_wrong_rests(poses) == []
        assert force_problems(solve_force(poses), leave_out_force(poses), []) == []
        poses.forces[2] += [0, 0, 3]
        poses.torques[5] += [0.2, 0, 0]
        assert {rest.name for rest in find_wrong_rests(poses)} == {"2", "5"}


def test_six_rests_are_enough_and_a_light_tool_is_not() -> None:
    six = rests(np.random.default_rng(7), rotations=matrix_from_vector(TOOL_DIRECTIONS[:6]))
    assert leave_out_force(six)[0] < 0.5
    assert find_wrong_rests(six) == []
    unsure = solve_force(rests(np.random.default_rng(8), noise=1.5))
    sentence = force_problems(unsure, (0.1, 0.01), [])[-1]
    assert "asked for 2 % and 2 degrees" in sentence


def test_poses_that_all_point_down_are_refused() -> None:
    poses = rests(np.random.default_rng(5))
    turned = matrix_from_vector(np.array([[0, 0, 0.3 * step] for step in range(9)]))
    assert spread_condition(turned) > 100
    with pytest.raises(CorporealError, match="Turn the tool up, down"):
        solve_force(StaticPoses(poses.names, turned, poses.forces, poses.torques))
    with pytest.raises(CorporealError, match="5 poses at rest"):
        solve_force(poses.part(np.arange(5)))


def test_the_nearest_exchange_of_axes_is_named() -> None:
    mounting = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])
    off = matrix_from_vector(np.array([[0.0, 0.06, 0]]))[0]
    solution = solve_force(rests(np.random.default_rng(6), mounting=off @ mounting, noise=1e-6))
    nearest, angle = solution.nearest_mounting()
    assert (nearest == mounting).all()
    assert angle == pytest.approx(0.06, abs=1e-3)


def test_rests_are_asked_for_until_gravity_pointed_everywhere() -> None:
    asked = next_rests(np.zeros((0, 3, 3)), 8)
    assert len({each.words for each in asked}) == 8
    assert asked[-1].condition < 1.5
    assert asked[0].words == "the flange's +z axis down"
    down = -matrix_from_quaternion(asked[0].quaternion)[2]
    assert down == pytest.approx([0, 0, 1])
    (after,) = next_rests(matrix_from_vector(np.array([[0.0, 0, 0], [3.1416, 0, 0]])))
    assert " z " not in after.words


def test_the_usual_rests_tell_the_mounting_as_well_as_they_should() -> None:
    asked = next_rests(np.zeros((0, 3, 3)), USUAL_RESTS)
    turns = matrix_from_quaternion(np.array([each.quaternion for each in (*asked, asked[0])]))
    errors = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        mounting = matrix_from_vector(rng.normal(0, 1, (1, 3)))[0]
        solution = solve_force(rests(rng, mounting=mounting, rotations=turns))
        errors.append(float(rotation_angle(solution.mounting, mounting)))
    assert np.degrees(np.sqrt(np.mean(np.square(errors)))) < 0.2


def standing(rng: np.random.Generator, drift_n: Array, noise: float = 0.2) -> tuple[Array, Array]:
    """Times and forces of a tool that hangs still for 175 s, sampled a hundred times a second."""
    time_s = np.arange(0, 175, 0.01)
    forces = np.array([3.0, -8.0, 12.0]) + np.outer(time_s / 175, drift_n)
    return time_s, forces + rng.normal(0, noise, forces.shape)


def test_a_sensor_that_creeps_is_told_within_a_minute() -> None:
    drift = np.array([0.8, -0.2, -1.2])
    for seed in range(5):
        found = standing_drift(*standing(np.random.default_rng(seed), drift), max_drift_n=0.5)
        assert found.alarm_s is not None
        assert found.alarm_s <= 60
        assert found.drift_n == pytest.approx(drift, abs=4 * found.sigma_n)


def test_a_sensor_that_keeps_still_raises_no_alarm() -> None:
    for seed in range(20):
        still = standing(np.random.default_rng(100 + seed), np.zeros(3))
        assert standing_drift(*still, max_drift_n=0.05).alarm_s is None


def test_too_short_a_rest_is_refused() -> None:
    time_s, forces = standing(np.random.default_rng(1), np.zeros(3))
    with pytest.raises(CorporealError, match="expected 20 s or more"):
        standing_drift(time_s[:500], forces[:500], max_drift_n=0.5)
