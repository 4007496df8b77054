"""Motions eased where motors cannot follow: efforts within limits, all else as it was."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.retargeting.made_results import RATE_HZ, squatting
from tests.retargeting.overloads import WALK_HZ, leaning, tasks_of, walked
from tests.retargeting.people import walking_person
from tests.retargeting.solver.test_chain import chain_of

from corporeal.embodiment import open_robot
from corporeal.embodiment.collision import CollisionModel
from corporeal.embodiment.embodiment import model_of
from corporeal.retargeting.measure.metrics import Metrics, measure, measure_result
from corporeal.retargeting.reader import read_motion
from corporeal.retargeting.settings import RetargetSettings
from corporeal.retargeting.solve import retarget_motion
from corporeal.retargeting.solver import easing
from corporeal.retargeting.solver.avoidance import Avoidance
from corporeal.retargeting.solver.bounded_solver import QUICK, Care, solve_bounded
from corporeal.retargeting.solver.chain import MotionState
from corporeal.retargeting.solver.clip_solver import ClipProblem, SolveError, windows
from corporeal.retargeting.solver.easing import HARM, PASSES, SLID_M, STAYING, ease_motors
from corporeal.retargeting.solver.effort import Motors, demand_of
from corporeal.retargeting.solver.tasks import ClipTasks
from corporeal.signal.runs import runs

G1 = open_robot("g1")
TWICE = ((100, 200), (350, 450))


@cache
def leant() -> tuple[ClipTasks, MotionState, MotionState]:
    """A G1 that leans too far twice: its tasks, and it before and after easing."""
    before = leaning(550, *TWICE)
    return tasks_of(before), before, eased_of(before)


def eased_of(
    state: MotionState, tasks: ClipTasks | None = None, told: list[float] | None = None
) -> MotionState:
    """A state of G1 after easing."""
    report = (lambda _: None) if told is None else told.append
    return ease_motors(tasks or tasks_of(state), state, apart(), report)


def apart() -> Avoidance:
    """What keeps the links of G1 apart."""
    return Avoidance(model_of(G1, CollisionModel), 600.0, 0.006)


def shares(state: MotionState) -> NDArray[np.float64]:
    """The greatest share (T,) of a limit in every frame of a G1 on both feet."""
    stands = np.ones((len(state), 2, 2), bool)
    found: NDArray[np.float64] = np.abs(
        Motors(chain_of("g1"), RATE_HZ, stands).load(state).shares
    ).max(axis=1)
    return found


def changed(before: MotionState, after: MotionState) -> NDArray[np.bool_]:
    """Frames (T,) that are not the same to the last bit."""
    found: NDArray[np.bool_] = (before.q != after.q).any(axis=1) | (before.base != after.base).any(
        axis=1
    )
    return found


def assert_kept(before: Metrics, after: Metrics) -> None:
    """Efforts that were too great are not, and nothing else has suffered."""
    assert before.effort is not None
    assert after.effort is not None
    assert before.effort.frames > 0.05 * before.frames
    assert after.effort.frames == 0
    assert after.grounding.drift_max_m < 0.003
    assert after.grounding.hover_max_m < 0.003
    assert after.grounding.sole_depth_max_m < 0.002
    assert before.hand_error is not None
    assert after.hand_error is not None
    assert after.hand_error.max_m < before.hand_error.max_m + 0.01
    assert after.position.count == after.speed.count == 0
    assert after.overlaps.frames <= before.overlaps.frames
    assert after.smoothness.jumps == 0


@pytest.mark.parametrize("name", ["g1", "h1", "sliding"])
def test_a_walk_too_hard_for_the_motors_is_eased_and_nothing_else_suffers(name: str) -> None:
    assert_kept(measure_result(walked(name)), measure_result(walked(name, ease=True)))


def test_a_robot_that_leans_too_far_leans_less_and_keeps_its_hands_and_feet() -> None:
    tasks, before, after = leant()
    found = [
        measure(G1, RATE_HZ, each.q, each.base, goals=tasks.goals, contacts=tasks.footholds.stands)
        for each in (before, after)
    ]
    assert_kept(*found)


@pytest.mark.parametrize(("far", "most"), [(0.5, 1.05), (0.65, 1.3)])
def test_a_lean_that_asks_for_twice_the_limit_is_brought_back_too(far: float, most: float) -> None:
    before = leaning(300, (100, 200), far=far)
    assert shares(before).max() > 1.9
    assert shares(eased_of(before)).max() < most


def test_frames_far_from_an_overload_are_the_same_to_the_last_bit() -> None:
    _, before, after = leant()
    bad = np.flatnonzero(shares(before) > 1)
    away = np.abs(np.arange(len(before))[:, None] - bad).min(axis=1)
    moved = changed(before, after)
    assert moved[bad].all()
    assert not moved[away > RATE_HZ * (PASSES[0][0] + PASSES[1][0]) + 2 * STAYING].any()
    assert len(runs(moved)) == len(TWICE)
    assert before.q is not after.q


def test_one_pass_changes_no_more_than_the_time_around(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(easing, "PASSES", ((0.2, 1.0, QUICK),))
    state = leaning(300, (100, 200), far=0.3)
    after = eased_of(state)
    bad = np.flatnonzero(shares(state) > 1)
    assert runs(changed(state, after)) == ((bad[0] - 10, bad[-1] + 11),)
    assert shares(after).max() < shares(state).max()


def test_a_motion_within_the_limits_is_the_same_to_the_last_bit() -> None:
    state = MotionState(*reversed(squatting(120)))
    assert 0.2 < shares(state).max() < 1
    after = eased_of(state)
    assert not changed(state, after).any()
    slow = [
        retarget_motion(walking_person(40, WALK_HZ), open_robot("gr1"), RetargetSettings(ease=ease))
        for ease in (False, True)
    ]
    np.testing.assert_array_equal(slow[0].q, slow[1].q)
    np.testing.assert_array_equal(slow[0].base, slow[1].base)


def test_a_sunken_foot_is_raised_though_no_motor_has_much_to_do() -> None:
    state = leaning(120, far=0.0)
    tasks = tasks_of(state)
    sunk = MotionState(state.base.copy(), state.q.copy())
    sunk.base[40:80, 2] -= 0.0025 * np.sin(np.pi * np.arange(40) / 40) ** 2
    after = eased_of(sunk, tasks)
    assert shares(sunk).max() < 0.5
    depth = [
        -demand_of(G1, RATE_HZ, each.q, each.base, tasks.footholds.stands).corners[..., 2].min()
        for each in (sunk, after)
    ]
    assert depth[0] > 0.002
    assert depth[1] < 0.001


def test_a_robot_without_masses_is_left_alone() -> None:
    bare = G1.model_copy(
        update={"links": tuple(link.model_copy(update={"inertia": None}) for link in G1.links)}
    )
    results = [
        retarget_motion(walking_person(40, WALK_HZ), bare, RetargetSettings(ease=ease))
        for ease in (False, True)
    ]
    np.testing.assert_array_equal(results[0].q, results[1].q)


@pytest.mark.parametrize("frames", [1, 2, 6, 7, 12])
def test_clips_of_a_few_frames_pass(frames: int) -> None:
    person = walking_person(frames, 10.0)
    first, second = (
        retarget_motion(person, G1, RetargetSettings(cleaning=False, ease=ease))
        for ease in (False, True)
    )
    assert np.isfinite(second.q).all()
    same = np.array_equal(first.q, second.q) and np.array_equal(first.base, second.base)
    assert same or frames > 6


def test_only_what_became_rougher_is_taken_back_and_the_rest_of_its_stretch_stays_eased() -> None:
    tasks, before, after = leant()
    worse = MotionState(after.base.copy(), after.q.copy())
    worse.base[390:400, 0] += 2 * HARM * SLID_M
    stage = easing._Pass(tasks, apart(), 0.4, 1.0, QUICK)
    assert stage.faults(worse, slice(0, len(worse)), HARM).rough.sum() == 10
    kept = easing._without_harm(stage, before, worse)
    first, second = runs(changed(before, after))
    assert second[0] < 390 < 400 < second[1]
    assert runs(changed(before, kept))[0] == first
    np.testing.assert_allclose(kept.q[390:400], before.q[390:400], atol=1e-12)
    assert not changed(kept, after)[: second[0]].any()
    assert changed(before, kept)[slice(*second)].mean() > 0.3
    assert not stage.faults(kept, slice(0, len(kept)), HARM).rough.any()
    assert (
        0
        < stage.faults(kept, slice(0, len(kept))).excess.sum()
        < stage.faults(before, slice(0, len(before))).excess.sum()
    )
    np.testing.assert_array_equal(easing._without_harm(stage, before, after).q, after.q)
    # What was as rough before is no reason.
    rough = MotionState(before.base.copy(), before.q.copy())
    rough.base[390:400, 0] += 2 * HARM * SLID_M
    np.testing.assert_array_equal(easing._without_harm(stage, rough, worse).q, worse.q)


def test_a_stretch_that_cannot_be_solved_stays_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks, before, _ = leant()
    real, lengths = solve_bounded, list[int]()

    def fails_first(
        problem: ClipProblem, motors: Motors, state: MotionState, care: Care
    ) -> MotionState:
        lengths.append(len(state))
        if len(lengths) % 2:
            raise SolveError("no step")
        return real(problem, motors, state, care)

    monkeypatch.setattr(easing, "PASSES", PASSES[:1])
    monkeypatch.setattr(easing, "solve_bounded", fails_first)
    after = eased_of(before, tasks)
    (stretch,) = runs(changed(before, after))
    assert len(lengths) == 2
    assert TWICE[0][1] < stretch[0] < sum(TWICE[1]) / 2 < stretch[1]


@pytest.mark.parametrize("far", [0.0, 0.25])
def test_progress_rises_to_the_end_and_never_falls(far: float) -> None:
    told: list[float] = []
    state = leaning(300, (20, 120), (180, 280), far=far)
    eased_of(state, told=told)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert (len(told) > 2) == (far > 0)


def test_a_long_overload_is_eased_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(easing, "windows", partial(windows, length=150, shared=80))
    state = leaning(420, (10, 410), far=0.36)
    told: list[float] = []
    after = eased_of(state, told=told)
    assert shares(state).max() > 1.1
    assert told[0] <= 1 / 2 / len(PASSES)
    assert shares(after).max() < 1.05
    assert np.abs(np.diff(after.q, 2, axis=0)).max() * RATE_HZ**2 < 40.0


def test_a_real_walk_asks_no_motor_for_more_than_it_has(shared_data: Path) -> None:
    motion = read_motion(shared_data / "mocap" / "bvh_pybvh" / "cmu_12_01_walk.bvh")
    before, after = (
        measure_result(retarget_motion(motion, G1, RetargetSettings(ease=ease)))
        for ease in (False, True)
    )
    assert_kept(before, after)
