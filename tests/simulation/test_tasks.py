"""Scripted demonstrators do their tasks in physics, and fail as they are made to."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from corporeal.errors import UnknownNameError
from corporeal.geometry import matrix_from_quaternion
from corporeal.simulation.demonstration import AFTER_S, BEFORE_S, simulate
from corporeal.simulation.run import SimulatedRun
from corporeal.simulation.task import tasks
from corporeal.simulation.variation import WIDE


@cache
def _run(
    task: str, seed: int, fault: str | None = None, style: str | None = "steady"
) -> SimulatedRun:
    return simulate(task, seed=seed, fault=fault, style=style)


def test_every_task_is_found_and_says_what_it_is() -> None:
    found = tasks()
    names = {"reach", "pick_place", "bimanual_lift", "handover", "stand", "walk", "walk_carry"}
    assert names <= set(found)
    for name, task in found.items():
        assert task.instructions, name
        assert task.duration_s[0] < task.duration_s[1] <= 60.0, name


def test_an_unknown_task_or_fault_is_named() -> None:
    with pytest.raises(UnknownNameError, match="pick_place"):
        simulate("pick_and_place", seed=1)
    with pytest.raises(UnknownNameError, match="fault of task 'reach'"):
        simulate("reach", seed=1, fault="drop")


@pytest.mark.parametrize("task", ["reach", "stand", "pick_place", "bimanual_lift", "handover"])
def test_a_steady_operator_succeeds(task: str) -> None:
    run = _run(task, 1)
    assert run.outcome.success, run.outcome
    assert run.outcome.failure is None
    assert 4.0 < run.outcome.measures["duration_s"] < 60.0


def test_the_log_is_whole_and_consistent() -> None:
    run = _run("pick_place", 1)
    rows, joints = len(run.time_s), len(run.world.embodiment.joint_names)
    np.testing.assert_allclose(np.diff(run.time_s), 0.004, atol=1e-9)
    for name, width in (
        ("qpos", run.world.model.nq), ("qvel", run.world.model.nv), ("qacc", run.world.model.nv),
        ("sensordata", 36), ("target_rad", joints), ("torque_nm", joints),
        ("gripper_target", 2), ("gripper", 2), ("base_velocity_target", 3),
    ):  # fmt: skip
        assert getattr(run, name).shape == (rows, width), name
        assert np.isfinite(getattr(run, name)).all(), name
    speed = np.gradient(run.qpos[:, run.world.joint_qpos], run.time_s, axis=0)
    off = np.abs(speed - run.qvel[:, run.world.joint_qvel])
    assert np.median(off) < 0.01


def test_the_accelerometer_agrees_with_the_motion_of_the_pelvis() -> None:
    run = _run("reach", 1)
    acc = run.sensordata[:, run.world.sensors["pelvis_imu_acc"]]
    upright = matrix_from_quaternion(run.qpos[:, 3:7])
    world_acc = np.einsum("tij,tj->ti", upright, acc)
    assert np.median(world_acc[:, 2]) == pytest.approx(9.81, abs=0.05)


def test_there_is_stillness_before_and_after() -> None:
    run = _run("pick_place", 1)
    names = [event.name for event in run.events]
    start, end = (next(e.time_s for e in run.events if e.name == n) for n in ("start", "end"))
    assert start == BEFORE_S
    assert run.time_s[-1] - end >= AFTER_S - 0.05
    assert names.index("grasp") < names.index("lift") < names.index("release")
    still = run.time_s < BEFORE_S - 0.2
    assert np.abs(run.target_rad[still] - run.target_rad[0]).max() < 0.03


def test_the_actions_change_at_fifty_hertz() -> None:
    run = _run("reach", 1)
    changed = np.flatnonzero(np.abs(np.diff(run.target_rad, axis=0)).max(axis=1) > 0)
    assert set(np.diff(changed)) == {5}


def test_pads_feel_the_object_between_grasp_and_release_only() -> None:
    run = _run("pick_place", 1)
    grasp, release = (
        next(e.time_s for e in run.events if e.name == n) for n in ("grasp", "release")
    )
    felt = run.time_s[run.touch.step]
    assert felt.min() > grasp - 1.0
    assert felt.max() < release + 1.0
    middle = (felt > grasp + 1.0) & (felt < release - 1.0)
    hand = 0 if run.variation["hand"] == "left" else 1
    assert set(run.touch.hand[middle]) == {hand}
    assert set(run.touch.finger[middle]) == {0, 1}
    assert np.abs(run.touch.place).max() <= 1.0
    steps = len(np.unique(run.touch.step[middle]))
    # Two fingers, each within the range of forces that a protocol allows.
    assert 10.0 < run.touch.force_n[middle].sum() / steps < 50.0


def test_the_same_seed_gives_the_same_run() -> None:
    again = simulate("reach", seed=1, style="steady")
    assert (again.qpos == _run("reach", 1).qpos).all()
    assert (again.sensordata == _run("reach", 1).sensordata).all()


@pytest.mark.parametrize("fault", ["missed_grasp", "slip", "drop", "collision", "fall"])
def test_a_fault_ends_as_the_physics_says(fault: str) -> None:
    run = _run("pick_place", 4, fault)
    assert not run.outcome.success
    assert run.outcome.failure == fault
    lifted = run.outcome.measures["lift_height_m"] > 0.1
    assert lifted == (fault in ("drop", "collision"))


def test_a_better_operator_moves_more_smoothly() -> None:
    shaken = {}
    for style in ("careful", "jerky"):
        run = _run("reach", 2, None, style)
        jerk = np.diff(run.target_rad[::5], n=3, axis=0)
        shaken[style] = float(np.sqrt(np.mean(jerk**2)))
    assert shaken["jerky"] > 2 * shaken["careful"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "least"),
    [("reach", 4), ("stand", 4), ("pick_place", 3), ("bimanual_lift", 3), ("handover", 3)],
)
def test_most_demonstrations_succeed(task: str, least: int) -> None:
    runs = [simulate(task, seed=seed) for seed in range(200, 204)]
    assert sum(run.outcome.success for run in runs) >= least


@pytest.mark.slow
def test_wide_randomisation_fails_by_itself_and_says_why() -> None:
    runs = [simulate("pick_place", seed=seed, randomise=WIDE) for seed in (2, 7, 0, 3)]
    failed = [run for run in runs if not run.outcome.success]
    assert 0 < len(failed) < len(runs)
    assert all(run.outcome.failure for run in failed)
