"""Steps within what motors have: the least of a convex whole, and states that get there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from tests.retargeting.made_results import RATE_HZ
from tests.retargeting.overloads import leaning, tasks_of

from corporeal.embodiment.collision import CollisionModel
from corporeal.embodiment.embodiment import model_of
from corporeal.geometry import Array
from corporeal.retargeting.goal.soles import sole_points
from corporeal.retargeting.solver import bounded_solver
from corporeal.retargeting.solver.avoidance import Avoidance
from corporeal.retargeting.solver.bounded_solver import (
    BOUND,
    QUICK,
    WEIGHT,
    Care,
    bounded_step,
    solve_bounded,
)
from corporeal.retargeting.solver.chain import MotionState
from corporeal.retargeting.solver.clip_solver import (
    DAMPING,
    ClipProblem,
    SolverRoom,
    build_band,
    motion_cost,
    normal_equations,
    solve_step,
)
from corporeal.retargeting.solver.effort import Motors, Shares

FRAMES = 9
# Rounds until nothing changes any more.
TO_THE_END = Care(steps=1, rounds=30, watched=QUICK.watched, hardly=0.0)


def problem_of(
    state: MotionState, stays: NDArray[np.bool_] | None = None
) -> tuple[ClipProblem, Motors]:
    """Soles that hold and a body that stays where it is, as far as the motors let it."""
    tasks = tasks_of(state)
    chain = tasks.chain
    problem = ClipProblem(
        chain,
        RATE_HZ,
        [*tasks.keeping(state), *tasks.ends()],
        state.q[:, chain.columns],
        np.full(len(chain.columns), 2.0),
        np.full(chain.size, 0.006),
        stays=stays,
    )
    return problem, Motors(chain, RATE_HZ, tasks.footholds.stands)


def equations(
    problem: ClipProblem, motors: Motors, state: MotionState
) -> tuple[Array, Array, Shares]:
    """Band and slope of a step, and the shares that may be too great."""
    room = SolverRoom.of_motors(len(state), problem.chain.size)
    matrix, slope, _ = normal_equations(problem, state, room)
    band, pull = build_band(problem, state, matrix, slope, DAMPING, room.bands[0])
    return band, pull, motors.shares(state, motors.load(state), QUICK.watched)


def dense_of(band: Array) -> Array:
    """The whole symmetric matrix of a lower band (T, n, 3 n)."""
    frames, size, width = band.shape
    count = frames * size
    whole = np.zeros((count, count + width))
    for column, values in enumerate(band.reshape(count, width)):
        whole[column, column : column + width] = values
    upper = np.triu(whole[:, :count])
    return np.asarray(upper + np.triu(upper, 1).T)


def rows_of(shares: Shares, count: int, size: int) -> Array:
    """Derivatives (n, T x size) of the shares by all unknowns."""
    rows = np.zeros((len(shares.values), count))
    for number, frame in enumerate(shares.frames):
        rows[number, (frame - 1) * size : (frame + 2) * size] = shares.rows[number]
    return rows


@cache
def overloaded() -> tuple[ClipProblem, MotionState, Array, Array, Shares]:
    """A small problem with some ankles beyond their bound, and others that a step takes there."""
    state = leaning(60, (0, 60), far=0.35).part(slice(12, 28))
    problem, motors = problem_of(state)
    return problem, state, *equations(problem, motors, state)


def test_a_bounded_step_is_the_least_of_the_whole() -> None:
    problem, state, band, pull, shares = overloaded()
    assert np.abs(shares.values).max() > BOUND + 0.1
    assert np.abs(shares.values).min() < BOUND
    whole = dense_of(band)
    rows = rows_of(shares, pull.size, problem.chain.size)

    def beyond(step: Array) -> Array:
        values = shares.values + rows @ step
        return np.asarray(values - np.clip(values, -BOUND, BOUND))

    def cost(step: Array) -> float:
        over = beyond(step)
        return float(step @ whole @ step / 2 + pull.ravel() @ step + WEIGHT**2 * over @ over / 2)

    def slope(step: Array) -> Array:
        return np.asarray(whole @ step + pull.ravel() + WEIGHT**2 * rows.T @ beyond(step))

    def bend(step: Array) -> Array:
        tied = rows[beyond(step) != 0]
        return np.asarray(whole + WEIGHT**2 * tied.T @ tied)

    found = bounded_step(problem, state, with_room(band), pull, shares, TO_THE_END).ravel()
    best = minimize(cost, np.zeros(pull.size), jac=slope, hess=bend, method="trust-exact")
    assert cost(found) <= cost(best.x) + 1e-9 * abs(cost(np.zeros(pull.size)))
    np.testing.assert_allclose(found, best.x, atol=1e-5)
    assert np.abs(slope(found)).max() < 1e-6 * np.abs(slope(0 * found)).max()
    # Neither is it the step that would be made if bounds did not matter.
    assert np.abs(beyond(found)).max() < 0.5 * np.abs(beyond(0 * found)).max()


def test_without_an_effort_beyond_its_bound_the_step_is_the_plain_one() -> None:
    state = leaning(FRAMES, far=0.0)
    problem, motors = problem_of(state)
    problem = replace(problem, rest=problem.rest + 0.01)
    band, pull, _ = equations(problem, motors, state)
    shares = motors.shares(state, motors.load(state), 0.05)
    assert 0.05 < np.abs(shares.values).max() < 0.5
    plain = solve_step(problem, state, band.copy(), pull.copy())
    assert np.abs(plain).max() > 1e-3
    for some in (shares, motors.shares(state, motors.load(state), 99.0)):
        step = bounded_step(problem, state, with_room(band), pull, some, TO_THE_END)
        np.testing.assert_allclose(step, plain, rtol=1e-5, atol=1e-9)


def test_rows_tied_in_and_out_again_leave_the_band_as_it_was() -> None:
    problem, _, band, pull, shares = overloaded()
    count, size = pull.size, problem.chain.size
    rng = np.random.default_rng(4)
    before = np.zeros(len(shares.values))
    now = rng.choice([-1.0, 0.0, 1.0], len(before))
    tied, slope = band.copy(), pull.copy()
    tie(tied, slope, shares, before, now)
    rows = rows_of(shares, count, size)[now != 0] * WEIGHT
    np.testing.assert_allclose(dense_of(tied), dense_of(band) + rows.T @ rows, atol=1e-6)
    over = (shares.values - now * BOUND)[now != 0] * WEIGHT
    np.testing.assert_allclose(slope.ravel(), pull.ravel() + rows.T @ over, atol=1e-6)
    # To the other side only what is asked for changes, not how firmly.
    tie(tied, slope, shares, now, -now)
    np.testing.assert_allclose(dense_of(tied), dense_of(band) + rows.T @ rows, atol=1e-6)
    tie(tied, slope, shares, -now, before)
    np.testing.assert_allclose(tied, band, atol=1e-6)
    np.testing.assert_allclose(slope, pull, atol=1e-6)


def with_room(band: Array) -> tuple[Array, Array, Array]:
    """A band, and two more to work in."""
    return band, np.empty_like(band), np.empty_like(band)


def tie(band: Array, slope: Array, shares: Shares, before: Array, now: Array) -> None:
    """Rows in or out, for all shares whose side has changed."""
    changed = np.flatnonzero(before != now)
    bounded_solver._tie(band, slope, shares, changed, before, now)


def greatest(motors: Motors, state: MotionState) -> float:
    """The greatest share of a limit."""
    return float(np.abs(motors.load(state).shares).max())


def test_a_robot_that_leans_too_far_is_brought_back_with_its_feet_in_place() -> None:
    state = leaning(120, (10, 110))
    problem, motors = problem_of(state)
    found = solve_bounded(problem, motors, state, replace(QUICK, steps=20))
    assert greatest(motors, state) > 1.2
    assert greatest(motors, found) <= 1.0
    chain = problem.chain
    soles = [
        sole_points(chain.robot.soles, chain.kinematics.transforms(each.q, each.base))
        for each in (state, found)
    ]
    assert np.abs(soles[1] - soles[0]).max() < 0.003
    lower, upper = chain.limits
    assert (found.q[:, chain.columns] >= lower).all()
    assert (found.q[:, chain.columns] <= upper).all()


def test_frames_that_stay_do_not_move_by_a_bit() -> None:
    state = leaning(110, (5, 105))
    stays = np.zeros(110, bool)
    stays[[0, 1, 20, 21, 108, 109]] = True
    problem, motors = problem_of(state, stays)
    found = solve_bounded(problem, motors, state, replace(QUICK, steps=4))
    np.testing.assert_array_equal(found.q[stays], state.q[stays])
    np.testing.assert_array_equal(found.base[stays, :3], state.base[stays, :3])
    # A quaternion is made one long again with every step.
    np.testing.assert_allclose(found.base[stays], state.base[stays], rtol=0, atol=3e-16)
    assert np.abs(found.q[~stays] - state.q[~stays]).max() > 0.01


@pytest.mark.parametrize("least", [0, 1])
def test_a_motion_within_its_limits_is_touched_only_when_a_step_is_asked_for(least: int) -> None:
    state = leaning(20, far=0.0)
    problem, motors = problem_of(state)
    problem = replace(problem, rest=problem.rest + 0.01)
    found = solve_bounded(problem, motors, state, replace(QUICK, steps=3, least=least))
    assert (found is state) == (least == 0)


@pytest.mark.parametrize("worse", [False, True])
def test_a_step_that_makes_things_worse_is_cut_or_not_made(
    monkeypatch: pytest.MonkeyPatch, worse: bool
) -> None:
    state = leaning(110, (5, 105))
    problem, motors = problem_of(state)
    real: Callable[..., Array] = bounded_step
    factor = -1.0 if worse else 6.0
    monkeypatch.setattr(bounded_solver, "bounded_step", lambda *given: factor * real(*given))
    found = solve_bounded(problem, motors, state, replace(QUICK, steps=1))
    if worse:
        assert found is state
    else:
        assert greatest(motors, found) < greatest(motors, state)


def test_the_cost_alone_is_that_of_the_equations_above_the_ground_and_in_it() -> None:
    state = leaning(40, (5, 35))
    problem, _ = problem_of(state)
    shapes = model_of(problem.chain.robot.robot, CollisionModel)
    problem = replace(problem, avoidance=Avoidance(shapes, 600.0, 0.02))
    room = SolverRoom.of(len(state), problem.chain.size)
    costs = []
    for down_m in (0.0, 0.05, 0.5):
        lowered = MotionState(state.base.copy(), state.q + 0.05)
        lowered.base[:, 2] -= down_m
        costs.append(normal_equations(problem, lowered, room)[2])
        assert motion_cost(problem, lowered) == pytest.approx(costs[-1], rel=1e-10)
    assert costs[0] < costs[1] < costs[2]
