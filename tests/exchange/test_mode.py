"""Which mode the robot is in: known in made signals, and measured on simulated demonstrations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench.modes import agreement, without_pose
from bench.simulated import recording as simulated
from numpy.typing import NDArray

from corporeal.embodiment import open_robot
from corporeal.episode.recording import ArraySignal, Recording
from corporeal.errors import EpisodeError
from corporeal.exchange.mode import MODES, ModeSegment, evidence, modes, segments
from corporeal.schema import Stream

SECONDS = 12.0
RATE_HZ = 100
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
TIMES = np.arange(int(SECONDS * RATE_HZ)) / RATE_HZ
GRID = (np.arange(int(SECONDS * 30)) * (1e9 / 30)).astype(np.int64)

Array = NDArray[np.float64]


def signal(name: str, values: Array, group: Any = "observations", **spec: Any) -> ArraySignal:
    stream = Stream(name=name, group=group, dtype="float64", shape=values.shape[1:],
                    rate_hz=RATE_HZ, **spec)  # fmt: skip
    return ArraySignal(stream, (TIMES * 1e9).astype(np.int64), values)


def during(first_s: float, last_s: float) -> NDArray[np.bool_]:
    return (first_s <= TIMES) & (last_s > TIMES)


def joints(**moving: Array) -> ArraySignal:
    names = open_robot("g1").joint_names
    values = np.random.default_rng(0).normal(0, 2e-4, (len(TIMES), len(names)))
    for name, values_of in moving.items():
        values[:, names.index(f"{name}_joint")] += values_of
    return signal("joint_position", values, components=names, unit="rad")


def base(speed_m_s: Array, turn_rad_s: Array | None = None) -> ArraySignal:
    yaw = np.cumsum(turn_rad_s if turn_rad_s is not None else 0 * speed_m_s) / RATE_HZ
    values = np.zeros((len(TIMES), 7))
    values[:, 0] = np.cumsum(speed_m_s) / RATE_HZ
    values[:, 3], values[:, 6] = np.cos(yaw / 2), np.sin(yaw / 2)
    return signal("base_pose", values, "debug", components=POSE)


def recording(*signals: ArraySignal) -> Recording:
    return Recording("made", Path("made"), 0, {each.spec.path: each for each in signals},
                     embodiment=open_robot("g1"))  # fmt: skip


def spans(made: Recording, **limits: float) -> list[tuple[str, float, float]]:
    found = segments(modes(made, GRID, **limits))
    return [(each.mode, GRID[each.first] / 1e9, GRID[each.stop - 1] / 1e9) for each in found]


def swing(hz: float, size: float, when: NDArray[np.bool_]) -> Array:
    return np.where(when, size * np.sin(2 * np.pi * hz * TIMES), 0.0)


def test_a_robot_that_does_nothing_stands() -> None:
    made = recording(joints(), base(0 * TIMES))
    assert [each[0] for each in spans(made)] == ["stand"]


def test_walking_is_seen_in_the_pose_of_the_base() -> None:
    walks = during(3, 8)
    got = spans(recording(joints(), base(np.where(walks, 0.5, 0.0))))
    assert [each[0] for each in got] == ["stand", "locomotion", "stand"]
    assert got[1][1:] == pytest.approx((3.0, 8.0), abs=0.3)


def test_turning_on_the_spot_is_walking() -> None:
    got = spans(recording(joints(), base(0 * TIMES, np.where(during(3, 8), 0.6, 0.0))))
    assert [each[0] for each in got] == ["stand", "locomotion", "stand"]


def test_arms_at_work_are_manipulation_and_on_foot_both() -> None:
    moves = joints(left_elbow=swing(0.15, 1.0, during(2, 10)))
    got = spans(recording(moves, base(np.where(during(5, 8), 0.5, 0.0))))
    assert [each[0] for each in got] == [
        "stand", "manipulation", "loco_manipulation", "manipulation", "stand",
    ]  # fmt: skip


def test_arms_that_swing_with_the_stride_are_not_at_work() -> None:
    walks = during(3, 9)
    sway = {f"{side}_shoulder_pitch": sign * swing(1.0, 0.3, walks)
            for side, sign in (("left", 1), ("right", -1))}  # fmt: skip
    got = spans(recording(joints(**sway), base(np.where(walks, 0.6, 0.0))))
    assert [each[0] for each in got] == ["stand", "locomotion", "stand"]


def test_a_closed_hand_is_at_work_while_its_arm_is_still() -> None:
    opening = np.where(during(4, 9), 0.04, 0.09)[:, None]
    grip = signal("left_gripper", opening, components=("opening",), unit="m")
    got = spans(recording(joints(), base(np.where(during(5, 7), 0.5, 0.0)), grip))
    assert [each[0] for each in got] == [
        "stand", "manipulation", "loco_manipulation", "manipulation", "stand",
    ]  # fmt: skip


def test_a_gripper_that_only_trembles_is_not_at_work() -> None:
    noise = 0.09 + np.random.default_rng(1).normal(0, 2e-4, (len(TIMES), 1))
    got = spans(recording(joints(), base(0 * TIMES), signal("left_gripper", noise, unit="m")))
    assert [each[0] for each in got] == ["stand"]


def test_without_a_pose_alternating_legs_are_walking_and_a_squat_is_not() -> None:
    squat = swing(0.4, 0.5, during(0.5, 4))
    step = swing(1.0, 0.4, during(6, 10))
    legs = {"left_knee": squat + step, "right_knee": squat - step,
            "left_hip_pitch": -squat - step, "right_hip_pitch": -squat + step}  # fmt: skip
    made = recording(joints(**legs))
    got = spans(made)
    assert evidence(made).base == "observations/joint_position"
    assert [each[0] for each in got] == ["stand", "locomotion", "stand"]
    assert got[1][1:] == pytest.approx((6.0, 10.0), abs=0.4)


def test_without_legs_a_command_or_a_shaking_imu_tells() -> None:
    told = np.zeros((len(TIMES), 3))
    told[during(3, 8), 0] = 0.3
    command = signal("base_velocity", told, "actions", components=("vx", "vy", "wz"))
    shaken = np.tile([0.0, 0.0, 9.8, 0.0, 0.0, 0.0], (len(TIMES), 1))
    shaken[:, 2] += swing(4.0, 4.0, during(3, 8))
    imu = signal("pelvis_imu", shaken, components=("ax", "ay", "az", "wx", "wy", "wz"))
    for source in (command, imu):
        got = spans(recording(source))
        assert [each[0] for each in got] == ["stand", "locomotion", "stand"]


def test_when_nothing_tells_of_the_base_it_stands_and_says_so() -> None:
    made = recording(signal("right_gripper", np.full((len(TIMES), 1), 0.05), unit="m"))
    assert evidence(made).base is None
    assert evidence(made).arms == ("observations/right_gripper",)
    assert [each[0] for each in spans(made)] == ["stand"]


def test_labels_do_not_flicker_and_a_short_pause_is_no_end() -> None:
    burst = np.zeros_like(TIMES)
    for start in np.arange(2.0, 9.0, 0.7):
        burst += np.clip(TIMES - start, 0, 0.2) * 2
    got = spans(recording(joints(left_elbow=burst), base(0 * TIMES)))
    assert [each[0] for each in got] == ["stand", "manipulation", "stand"]
    twitch = np.clip(TIMES - 6, 0, 0.05) * 2
    made = recording(joints(left_elbow=twitch), base(0 * TIMES))
    assert [each[0] for each in spans(made, least_s=0.5)] == ["stand"]


def test_values_that_are_lost_do_no_harm() -> None:
    moving = joints(left_elbow=swing(0.15, 1.0, during(2, 10)))
    moving.values[::3] = np.nan
    got = spans(recording(moving, base(0 * TIMES)))
    assert [each[0] for each in got] == ["stand", "manipulation", "stand"]


def test_segments_cover_all_rows_in_order() -> None:
    labels = np.array([0, 0, 1, 3, 3, 0])
    assert segments(labels) == [
        ModeSegment("stand", 0, 2),
        ModeSegment("locomotion", 2, 3),
        ModeSegment("loco_manipulation", 3, 5),
        ModeSegment("stand", 5, 6),
    ]
    assert segments(labels[:0]) == []
    assert len(modes(recording(joints()), GRID[:0])) == 0
    assert len(modes(recording(joints()), GRID[:1])) == 1


def test_a_clock_that_jumps_by_years_is_refused() -> None:
    grid = np.array([0, 10**17], np.int64)
    with pytest.raises(EpisodeError, match="expected 23 h at most"):
        modes(recording(joints()), grid)


@pytest.mark.slow
@pytest.mark.parametrize(("task", "least"), [("stand", 0.97), ("reach", 0.85), ("pick_place", 0.9)])
def test_tasks_on_the_spot_agree_with_what_the_operator_did(task: str, least: float) -> None:
    made = simulated(task, seed=3, style="careful")
    assert agreement(made) > least


@pytest.mark.slow
@pytest.mark.parametrize(("task", "mode"), [("walk", 1), ("walk_carry", 3)])
def test_tasks_on_foot_agree_with_what_the_operator_did(
    shared_data: Path, task: str, mode: int
) -> None:
    policy = shared_data / "policies" / "g1_walk_holosoma" / "fastsac_g1_29dof.onnx"
    if not policy.is_file():
        pytest.skip("the walking policy is not among the sample data")
    made = simulated(task, seed=2, style="careful", policy=policy)
    for each in (made, without_pose(made)):
        assert agreement(each) > 0.8
        grid = made.signals["observations/joint_position"].time_ns
        assert MODES[mode] in {part.mode for part in segments(modes(each, grid))}
