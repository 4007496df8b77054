"""The solve over a clip: the dense answer, limits that hold, and failures that are told."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.retargeting.solver.test_chain import chain_of, filled

from corporeal.geometry import Array, matrix_from_quaternion, normalise, rotation_angle
from corporeal.retargeting.solver import clip_solver
from corporeal.retargeting.solver.chain import BASE, Chain, MotionState
from corporeal.retargeting.solver.clip_solver import (
    DAMPING,
    LENGTH,
    ClipProblem,
    ClipWindow,
    SolveError,
    join_windows,
    solve,
    windows,
)
from corporeal.retargeting.solver.tasks import PointTask, Task

RATE_HZ = 50.0


def still(chain: Chain, frames: int) -> MotionState:
    """The robot standing one metre up."""
    base = np.tile([0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0], (frames, 1))
    return MotionState(base, np.tile(chain.standing, (frames, 1)))


def pulling(chain: Chain, frames: int, away: Array, weight: float = 5.0) -> PointTask:
    """The left hand pulled away (T, 3) from where it is when the robot stands."""
    link, place = chain.kinematics.place(chain.robot.robot.end_effectors["left_hand"])
    at = chain.posed(still(chain, frames)).point(link, place[:, 3])
    return PointTask(link, place[:, 3], at + away, np.full((frames, 3), weight))


def problem_of(chain: Chain, frames: int, *tasks: Task) -> ClipProblem:
    """Tasks, a weak rest at the standing posture, and some smoothness."""
    rest = np.tile(chain.standing[chain.columns], (frames, 1))
    count = len(chain.columns)
    smooth = np.full(chain.size, 0.004)
    return ClipProblem(chain, RATE_HZ, tasks, rest, np.full(count, 0.3), smooth)


def dense_step(problem: ClipProblem, state: MotionState) -> Array:
    """The Gauss-Newton step (T, n) with a matrix of everything by everything."""
    chain, frames = problem.chain, len(state)
    size = chain.size
    jacobian, rest = filled(chain, problem.tasks, state)
    whole = np.zeros((frames * size, frames * size))
    pull = np.zeros(frames * size)
    for frame in range(frames):
        own = slice(frame * size, (frame + 1) * size)
        whole[own, own] += jacobian[frame].T @ jacobian[frame]
        whole[own, own] += np.diag(np.concatenate([np.zeros(BASE), problem.rest_weight**2]))
        pull[own] += jacobian[frame].T @ rest[frame]
        apart = state.q[frame, chain.columns] - problem.rest[frame]
        pull[own][BASE:] += problem.rest_weight**2 * apart
    # Second differences of all unknowns; the base does not turn here, so its turn is zero.
    bends = np.zeros((frames - 2, frames))
    for row in range(frames - 2):
        bends[row, row : row + 3] = (1, -2, 1)
    values = np.concatenate(
        [state.base[:, :3], np.zeros((frames, 3)), state.q[:, chain.columns]], axis=1
    )
    for unknown in range(size):
        rows = bends * RATE_HZ**2 * problem.smooth[unknown]
        places = np.arange(frames) * size + unknown
        whole[np.ix_(places, places)] += rows.T @ rows
        pull[places] += rows.T @ (rows @ values[:, unknown])
    whole += (DAMPING + 1e-9) * np.eye(len(whole))
    return np.asarray(-np.linalg.solve(whole, pull).reshape(frames, size))


def test_one_step_is_that_of_a_dense_solve() -> None:
    chain, frames = chain_of("g1"), 6
    rng = np.random.default_rng(1)
    state = still(chain, frames)
    lower, upper = chain.limits
    moved = state.q[:, chain.columns] + rng.normal(0, 0.01, (frames, len(chain.columns)))
    state.q[:, chain.columns] = np.clip(moved, lower + 0.05, upper - 0.05)
    state.base[:, :3] += rng.normal(0, 0.001, (frames, 3))
    problem = problem_of(
        chain, frames, pulling(chain, frames, np.tile([0.03, 0, 0.02], (frames, 1)))
    )
    # Without limits of speed: these are tried elsewhere.
    problem = replace(problem, speed_weight=0.0)
    after, _ = solve(problem, state, steps=1)
    expected = state.stepped(dense_step(problem, state), chain.columns)
    np.testing.assert_allclose(after.q, expected.q, atol=1e-8)
    np.testing.assert_allclose(after.base, expected.base, atol=1e-8)
    assert np.abs(after.q - state.q).max() > 0.01


def test_a_hand_is_led_to_its_goal_and_the_solve_says_that_it_ended() -> None:
    chain, frames = chain_of("g1"), 40
    away = np.linspace(0, 0.15, frames)[:, None] * [1.0, 0.3, 0.5]
    task = pulling(chain, frames, away, weight=30.0)
    after, progress = solve(problem_of(chain, frames, task), still(chain, frames), steps=20)
    at = chain.posed(after).point(task.link, task.offset)
    assert np.linalg.norm(at - task.goal, axis=1).max() < 0.004
    assert progress.converged
    assert list(progress.costs) == sorted(progress.costs, reverse=True)


def test_a_solve_that_is_cut_short_says_so() -> None:
    chain, frames = chain_of("g1"), 10
    task = pulling(chain, frames, np.tile([0.3, 0.2, 0.3], (frames, 1)), weight=30.0)
    _, progress = solve(problem_of(chain, frames, task), still(chain, frames), steps=1)
    assert not progress.converged
    assert len(progress.costs) <= 1


@pytest.mark.parametrize("name", ["g1", "sliding", "h1"])
def test_limits_hold_exactly_however_hard_a_goal_pulls(name: str) -> None:
    chain, frames = chain_of(name), 20
    state = still(chain, frames)
    problem = problem_of(chain, frames, pulling(chain, frames, np.tile([-3.0, 4, 3], (frames, 1))))
    problem = replace(problem, rest=np.random.default_rng(2).normal(0, 9, problem.rest.shape))
    state.q[:, chain.columns] += 5.0
    after, _ = solve(problem, state, steps=8)
    lower, upper = chain.limits
    joints = after.q[:, chain.columns]
    assert (joints >= lower).all()
    assert (joints <= upper).all()
    assert (np.abs(joints - lower) < 1e-12).any()
    np.testing.assert_allclose(np.linalg.norm(after.base[:, 3:], axis=1), 1)


def test_a_joint_at_its_limit_is_held_there_and_let_go_when_pulled_back() -> None:
    chain, frames = chain_of("g1"), 8
    lower, upper = chain.limits
    problem = replace(problem_of(chain, frames), rest_weight=np.full(len(chain.columns), 3.0))
    state = still(chain, frames)
    state.q[:, chain.columns] = upper
    beyond = replace(problem, rest=np.tile(upper + 1.0, (frames, 1)))
    np.testing.assert_array_equal(solve(beyond, state, steps=5)[0].q[:, chain.columns], state.q)
    middle = (lower + upper) / 2
    inside = replace(problem, rest=np.tile(middle, (frames, 1)))
    after = solve(inside, state, steps=20, tolerance=1e-9)[0].q[:, chain.columns]
    np.testing.assert_allclose(after, inside.rest, atol=1e-3)


def test_joints_that_are_too_fast_are_slowed_down() -> None:
    chain, frames = chain_of("g1"), 40
    rest = np.tile(chain.standing[chain.columns], (frames, 1))
    knee = list(chain.columns).index(chain.robot.robot.joint_names.index("left_knee_joint"))
    rest[frames // 2 :, knee] += 1.2
    problem = replace(
        problem_of(chain, frames),
        rest=rest,
        rest_weight=np.full(len(chain.columns), 1.0),
        smooth=np.full(chain.size, 1e-5),
    )
    fastest = []
    for weight in (0.0, 30.0):
        after, _ = solve(
            replace(problem, speed_weight=weight), still(chain, frames), steps=30, tolerance=1e-6
        )
        fastest.append(np.abs(np.diff(after.q[:, chain.columns[knee]])).max() * RATE_HZ)
    assert fastest[0] > 1.5 * chain.speeds[knee]
    assert fastest[1] <= chain.speeds[knee] * 1.01


def test_joints_that_move_no_goal_are_not_touched() -> None:
    chain, frames = chain_of("walker_s2"), 6
    state = still(chain, frames)
    others = np.setdiff1d(np.arange(state.q.shape[1]), chain.columns)
    state.q[:, others] = 0.123
    task = pulling(chain, frames, np.tile([0.1, 0.1, 0.1], (frames, 1)))
    after, _ = solve(problem_of(chain, frames, task), state, steps=4)
    assert len(others) > 10
    np.testing.assert_array_equal(after.q[:, others], 0.123)
    assert np.abs(after.base - state.base).max() > 0.01


def test_blocks_of_frames_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    chain, frames = chain_of("h1"), 45
    away = 0.1 * np.sin(np.arange(frames) / 6)[:, None] * np.ones(3)
    problem = problem_of(chain, frames, pulling(chain, frames, away))
    whole, _ = solve(problem, still(chain, frames), steps=4)
    monkeypatch.setattr(clip_solver, "BLOCK", 7)
    pieces, _ = solve(problem, still(chain, frames), steps=4)
    np.testing.assert_allclose(pieces.q, whole.q, atol=1e-9)
    np.testing.assert_allclose(pieces.base, whole.base, atol=1e-9)


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_a_few_frames_are_solved(frames: int) -> None:
    chain = chain_of("g1")
    task = pulling(chain, frames, np.tile([0.05, 0.02, 0.03], (frames, 1)), weight=30.0)
    after, _ = solve(problem_of(chain, frames, task), still(chain, frames), steps=10)
    at = chain.posed(after).point(task.link, task.offset)
    assert np.linalg.norm(at - task.goal, axis=1).max() < 0.003


def test_a_goal_that_is_not_finite_is_told_in_a_sentence() -> None:
    chain, frames = chain_of("g1"), 5
    away = np.zeros((frames, 3))
    away[3, 1] = np.nan
    with pytest.raises(SolveError, match="its goals are not finite"):
        solve(
            problem_of(chain, frames, pulling(chain, frames, away)), still(chain, frames), steps=3
        )


def test_a_motion_that_begins_too_fast_is_slowed_down_too() -> None:
    chain, frames = chain_of("g1"), 40
    state = still(chain, frames)
    knee = list(chain.columns).index(chain.robot.robot.joint_names.index("left_knee_joint"))
    state.q[frames // 2 :, chain.columns[knee]] += 1.2
    problem = replace(
        problem_of(chain, frames),
        rest=state.q[:, chain.columns],
        rest_weight=np.full(len(chain.columns), 1.0),
        smooth=np.full(chain.size, 1e-5),
    )
    after, _ = solve(problem, state, steps=14)
    fastest = np.abs(np.diff(after.q[:, chain.columns[knee]])).max() * RATE_HZ
    assert fastest <= chain.speeds[knee] * 1.01


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40_000), st.integers(40, 3000), st.integers(1, 19))
def test_windows_cover_all_frames_and_each_shares_some_with_the_next(
    frames: int, length: int, shared: int
) -> None:
    cut = windows(frames, length=length, shared=shared)
    assert cut[0].first == 0
    assert cut[-1].stop == frames
    for one, other in pairwise(cut):
        assert one.stop - other.first == shared
        assert one.first < other.first
    for before, after in zip(cut, cut[2:], strict=False):
        assert before.stop <= after.first + shared
    assert max(each.stop - each.first for each in cut) <= length + 1


def test_a_clip_that_fits_is_one_piece() -> None:
    assert windows(LENGTH) == [ClipWindow(0, LENGTH)]
    assert len(windows(LENGTH + 1)) == 2
    assert windows(1) == [ClipWindow(0, 1)]


def _state(frames: int) -> MotionState:
    rng = np.random.default_rng(1)
    base = np.cumsum(rng.normal(0, 0.01, (frames, 7)), axis=0)
    base[:, 3:] = normalise(base[:, 3:] + [1.0, 0.0, 0.0, 0.0])
    return MotionState(base, np.cumsum(rng.normal(0, 0.01, (frames, 4)), axis=0))


def _cut(state: MotionState) -> list[tuple[ClipWindow, MotionState]]:
    cut = windows(len(state), length=100, shared=20)
    return [(each, state.part(slice(each.first, each.stop))) for each in cut]


def test_equal_pieces_join_to_what_they_were_cut_from() -> None:
    state = _state(351)
    whole = join_windows(_cut(state), len(state))
    np.testing.assert_allclose(whole.q, state.q, atol=1e-12)
    np.testing.assert_allclose(whole.base, state.base, atol=1e-12)


def test_a_piece_with_the_other_sign_of_a_quaternion_is_the_same_rotation() -> None:
    state = _state(351)
    parts = _cut(state)
    for number in (1, 2):
        window, piece = parts[number]
        parts[number] = window, MotionState(piece.base * [1, 1, 1, -1, -1, -1, -1], piece.q)
    rotations = [
        matrix_from_quaternion(s.base[:, 3:]) for s in (state, join_windows(parts, len(state)))
    ]
    assert rotation_angle(*rotations).max() < 1e-6


def test_pieces_that_differ_fade_without_a_step() -> None:
    frames = 351
    state = MotionState(np.tile([0, 0, 0, 1.0, 0, 0, 0], (frames, 1)), np.zeros((frames, 1)))
    parts = [
        (window, MotionState(piece.base, piece.q + number)) for number, (window, piece) in
        enumerate(_cut(state))
    ]  # fmt: skip
    q = join_windows(parts, frames).q[:, 0]
    assert (np.diff(q) >= -1e-12).all()
    assert np.diff(q).max() < 2 / 20
    assert q[0] == 0
    assert q[-1] == len(parts) - 1
