"""What is measured of a robot's motion: each fault that is put in is found, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.retargeting.made_results import RATE_HZ, result_of, squatting, standing, unsure

from corporeal.embodiment import open_robot
from corporeal.errors import ModelError
from corporeal.geometry import Array
from corporeal.retargeting.measure.metrics import (
    Metrics,
    jumps_of,
    measure,
    measure_result,
    quick_share,
)
from corporeal.retargeting.result import LIMBS

G1 = open_robot("g1")
DANCE = "retarget/g1_csv_xyzw/dance_102/G1_Take_102.bvh_60hz.csv"
ON_GROUND = np.ones((200, 2, 2), bool)


def _column(name: str) -> int:
    return G1.joint_names.index(name)


def _measured(q: Array, base: Array) -> Metrics:
    return measure(G1, RATE_HZ, q, base, contacts=ON_GROUND)


def test_a_robot_that_stands_and_squats_has_no_fault() -> None:
    found = measure_result(result_of(*squatting()))
    assert found.hand_error is not None
    assert found.hand_error.max_m < 1e-9
    assert found.foot_error is not None
    assert found.foot_error.max_m < 1e-9
    assert found.far_frames == 0
    assert found.grounding.stances == 4
    assert found.grounding.drift_max_m < 1e-9
    assert found.grounding.hover_max_m < 1e-9
    assert found.grounding.sole_depth_max_m < 1e-9
    assert found.overlaps.frames == 0
    assert found.position.count == found.speed.count == found.smoothness.jumps == 0
    assert found.effort is not None
    assert found.effort.count == 0
    assert found.smoothness.quick_share < 1e-3


def test_goals_that_are_missed_by_six_centimetres_are_counted_in_every_frame() -> None:
    found = measure_result(result_of(*squatting(), off_m=0.06))
    assert found.hand_error is not None
    assert found.hand_error.mean_m == pytest.approx(0.06)
    assert found.foot_error is not None
    assert found.foot_error.p95_m == pytest.approx(0.06)
    assert found.far_frames == found.frames == 200


def test_an_end_whose_goal_nobody_knows_does_not_count() -> None:
    result = result_of(*squatting(), off_m=0.06)
    for end in ("left_hand", "right_hand"):
        result = unsure(result, end)
    found = measure_result(result)
    assert found.hand_error is None
    assert found.foot_error is not None
    assert found.foot_error.max_m == pytest.approx(0.06)


def test_a_base_that_creeps_is_drift_of_every_stance() -> None:
    q, base = squatting()
    base[:, 1] += np.linspace(0.0, 0.03, len(base))
    found = _measured(q, base).grounding
    assert found.drift_max_m == pytest.approx(0.03, abs=1e-6)
    assert found.drift_mean_m == pytest.approx(0.03, abs=1e-6)


def test_drift_starts_anew_with_every_stance() -> None:
    q, base = squatting()
    base[:, 1] += np.linspace(0.0, 0.03, len(base))
    contacts = ON_GROUND.copy()
    contacts[99:101] = False
    found = measure(G1, RATE_HZ, q, base, contacts=contacts).grounding
    assert found.stances == 8
    assert found.drift_max_m == pytest.approx(0.015, abs=5e-4)


def test_a_raised_robot_hovers_and_a_lowered_one_sinks() -> None:
    q, base = squatting()
    raised, lowered = base.copy(), base.copy()
    raised[:, 2] += 0.02
    lowered[:100, 2] -= 0.01
    high, low = _measured(q, raised).grounding, _measured(q, lowered).grounding
    assert high.hover_mean_m == pytest.approx(0.02, abs=1e-6)
    assert high.sole_depth_max_m == 0.0
    assert low.hover_max_m < 1e-9
    assert low.sole_depth_max_m == pytest.approx(0.01, abs=1e-6)
    assert low.sole_depth_mean_m == pytest.approx(0.01, abs=1e-6)
    assert low.sunk_frames == 100


def test_a_body_that_lies_in_the_floor_is_found_though_its_feet_are_not() -> None:
    q, base = standing()
    base[:, 3:] = [0.0, 0.0, 1.0, 0.0]
    base[:, 2] = 0.4
    found = _measured(q, base).grounding
    assert found.sole_depth_max_m == 0.0
    assert 0.0 < found.body_depth_max_m < 0.6


def test_an_arm_inside_the_body_is_a_collision_with_names() -> None:
    q, base = squatting()
    q[50:60, _column("left_shoulder_roll_joint")] = -0.6
    found = _measured(q, base).overlaps
    assert found.frames == 10
    assert found.worst_m > 0.005
    assert found.pair is not None
    assert any("left" in link for link in found.pair)


def test_limits_that_are_broken_are_counted_by_frame_and_joint() -> None:
    q, base = squatting()
    knee = _column("left_knee_joint")
    upper = G1.actuated[knee].upper
    assert upper is not None
    q[20:23, knee] = upper + 0.01
    found = _measured(q, base)
    assert (found.position.count, found.position.frames) == (3, 3)
    assert found.position.joint == "left_knee_joint"
    assert found.position.worst == pytest.approx(0.01, abs=1e-6)
    assert found.speed.count == 2
    assert found.speed.joint == "left_knee_joint"


def test_limbs_are_measured_one_by_one_against_the_persons() -> None:
    result = result_of(*squatting(), turned_rad=0.1)
    result.goals.limbs["right_forearm"].direction[50] *= -1
    found = measure_result(result).limbs
    assert found is not None
    assert found.max_rad == pytest.approx(np.pi - 0.1)
    assert (found.worst, found.off_frames) == ("right_forearm", 1)
    assert found.by_limb["left_thigh"] == pytest.approx(0.1)
    assert list(found.by_limb) == list(LIMBS)
    assert _measured(result.q, result.base).limbs is None


def test_a_jump_is_a_step_that_no_motor_makes_amid_small_ones() -> None:
    q, _ = squatting()
    q[100:, _column("waist_yaw_joint")] += 1.0
    found = jumps_of(G1, RATE_HZ, q)
    assert np.argwhere(found).tolist() == [[99, _column("waist_yaw_joint")]]


def test_a_fast_but_steady_motion_is_no_jump() -> None:
    q, _ = squatting()
    q[:, _column("waist_yaw_joint")] += np.arange(len(q)) * 0.7
    assert not jumps_of(G1, RATE_HZ, q).any()


def test_a_robot_that_states_no_speed_jumps_only_where_no_motor_could_follow() -> None:
    joints = tuple(joint.model_copy(update={"velocity": None}) for joint in G1.joints)
    silent = G1.model_copy(update={"joints": joints})
    q, _ = squatting()
    q[100:, _column("waist_yaw_joint")] += 0.05
    assert not jumps_of(silent, RATE_HZ, q).any()
    q[50:, _column("waist_yaw_joint")] += 1.0
    assert np.argwhere(jumps_of(silent, RATE_HZ, q)).tolist() == [[49, _column("waist_yaw_joint")]]


def test_tremble_is_power_above_five_hertz() -> None:
    q, _ = squatting()
    q[:, 0] += 0.02 * np.sin(2 * np.pi * 12 * np.arange(len(q)) / RATE_HZ)
    assert quick_share(RATE_HZ, q) > 0.4


def test_a_base_that_is_thrown_up_shows_in_its_acceleration() -> None:
    q, base = squatting()
    calm = _measured(q, base).smoothness
    base[100:, 2] += 0.01
    thrown = _measured(q, base).smoothness
    assert calm.base_gain_max_m_s2 < 1.0
    assert thrown.base_gain_max_m_s2 == pytest.approx(0.01 * RATE_HZ**2, rel=0.05)


def test_jerk_is_that_of_a_sine() -> None:
    q, base = standing()
    q[:] = q[0]
    rotation = 2 * np.pi * 1.0
    q[:, _column("waist_yaw_joint")] = 0.3 * np.sin(rotation * np.arange(len(q)) / RATE_HZ)
    mean = 0.3 * rotation**3 * 2 / np.pi / len(G1.joint_names)
    assert _measured(q, base).smoothness.jerk_mean_rad_s3 == pytest.approx(mean, rel=0.03)


def test_metrics_are_plain_json() -> None:
    found = measure_result(result_of(*squatting(40)))
    assert json.loads(json.dumps(found.to_json()))["grounding"]["stances"] == 4


def test_one_frame_is_measured_without_efforts() -> None:
    q, base = squatting(1)
    found = measure(G1, RATE_HZ, q, base, contacts=ON_GROUND[:1])
    assert found.effort is None
    assert found.smoothness.jerk_mean_rad_s3 == 0.0


def test_contacts_of_another_length_are_refused() -> None:
    q, base = squatting(40)
    with pytest.raises(ModelError, match=r"expected \(40, 2, 2\)"):
        measure(G1, RATE_HZ, q, base, contacts=ON_GROUND)


def test_values_that_are_not_finite_are_refused() -> None:
    q, base = squatting(40)
    q[3, 4] = np.nan
    with pytest.raises(ModelError, match="not finite"):
        measure(G1, RATE_HZ, q, base, contacts=ON_GROUND[:40])


def test_a_dance_that_another_tool_retargeted_shows_its_self_collisions(shared_data: Path) -> None:
    table = np.loadtxt(shared_data / DANCE, delimiter=",", max_rows=600)
    base = table[:, [0, 1, 2, 6, 3, 4, 5]]
    contacts = np.zeros((len(table), 2, 2), bool)
    found = measure(G1, 60.0, table[:, 7:], base, contacts=contacts)
    assert found.hand_error is None
    assert found.grounding.stances == 0
    assert found.overlaps.frames > 10
    assert found.position.count == 0
    assert 100 < found.smoothness.jerk_mean_rad_s3 < 3000
