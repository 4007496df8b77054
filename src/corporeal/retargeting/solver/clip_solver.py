"""One least-squares solve over all frames, banded in time; long clips in windows that overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from corporeal.errors import CorporealError
from corporeal.geometry import Array, matrix_from_quaternion, rotation_vectors
from corporeal.retargeting.solver.avoidance import Avoidance
from corporeal.retargeting.solver.chain import BASE, Chain, ChainPose, MotionState
from corporeal.retargeting.solver.tasks import Task

# Frames whose derivatives are in memory together: they stay in the cache.
BLOCK = 192
# A step of one frame is no longer than this, rad or m: farther the derivatives do not hold.
MAX_STEP = 0.6
# What holds an unknown still: far above any weight, far below what upsets the factors.
FROZEN = 1e12
DAMPING = 1e-3
# A solve that runs out of steps has come to its end if the last one gained less than this share.
ENOUGH = 0.03


class SolveError(CorporealError):
    """A clip cannot be solved."""


@dataclass(frozen=True, eq=False)
class ClipProblem:
    """What is to be small over T frames, and what must hold.

    `tasks` pull at places; `rest` (T, C) with `rest_weight` (C,) pulls at joint positions;
    `smooth` (size,) weighs accelerations of the unknowns; `avoidance` keeps links apart.
    Joint limits hold exactly, velocity limits as far as `speed_weight` can push. Frames of `stays`
    (T,) do not move.
    """

    chain: Chain
    rate_hz: float
    tasks: Sequence[Task]
    rest: Array
    rest_weight: Array
    smooth: Array
    avoidance: Avoidance | None = None
    speed_weight: float = 30.0
    stays: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class SolveProgress:
    """How a solve went: the cost after every step, and whether it came to an end."""

    costs: tuple[float, ...]
    converged: bool


@dataclass(frozen=True, eq=False)
class SolverRoom:
    """Memory of a solve, asked for once: a system that gives new pages is slower than the sums.

    `matrices` are two of (T, n, n), the first of which is free; `bands` some of (T, n, w).
    """

    matrices: tuple[Array, Array]
    bands: tuple[Array, ...]

    @classmethod
    def of(cls, frames: int, size: int) -> SolverRoom:
        """Room for so many frames and unknowns, each of which is tied to itself two frames on."""
        return cls._with_bands(frames, size, 1, 2 * size + 1)

    @classmethod
    def of_motors(cls, frames: int, size: int) -> SolverRoom:
        """Room with three bands in which all unknowns of three frames may be tied together."""
        return cls._with_bands(frames, size, 3, 3 * size)

    @classmethod
    def _with_bands(cls, frames: int, size: int, bands: int, width: int) -> SolverRoom:
        return cls(
            (np.empty((frames, size, size)), np.empty((frames, size, size))),
            tuple(np.empty((frames, size, width)) for _ in range(bands)),
        )

    def turned(self) -> SolverRoom:
        """The room with the other matrix free."""
        return SolverRoom(self.matrices[::-1], self.bands)


def solve(
    problem: ClipProblem, state: MotionState, *, steps: int, tolerance: float = 1e-3
) -> tuple[MotionState, SolveProgress]:
    """The state after at most `steps` Gauss-Newton steps, fewer once they gain little.

    `tolerance` is the share of the cost that a step must gain for another to be tried.
    """
    chain = problem.chain
    state = step_within_limits(chain, state, np.zeros((len(state), chain.size)))
    damping, costs, converged = DAMPING, list[float](), False
    room = SolverRoom.of(len(state), chain.size)
    matrix, slope, cost = normal_equations(problem, state, room)
    room = room.turned()
    if not np.isfinite(cost):
        raise SolveError(
            "the clip cannot be solved: its goals are not finite. Fill what is not known first."
        )
    for _ in range(steps):
        band, pull = build_band(problem, state, matrix, slope, damping, room.bands[0])
        step = solve_step(problem, state, band, pull)
        tried = step_within_limits(chain, state, shorten_step(step))
        matrix_after, slope_after, after = normal_equations(problem, tried, room)
        # A step that gains next to nothing, up or down, is the end of the way.
        converged = abs(cost - after) < tolerance * max(cost, after)
        if after > cost:
            damping = max(damping, 1e-2) * 30
        else:
            state, matrix, slope, cost = tried, matrix_after, slope_after, after
            room = room.turned()
            costs.append(cost)
            damping = max(damping / 10, DAMPING)
        if converged:
            break
    if not converged and len(costs) > 1:
        converged = costs[-2] - costs[-1] < ENOUGH * costs[-2]
    return state, SolveProgress(tuple(costs), converged)


def step_within_limits(chain: Chain, state: MotionState, step: Array) -> MotionState:
    """The state after a step (T, n), within the limits of the joints."""
    tried = state.stepped(step, chain.columns)
    bounded = tried.q.copy()
    bounded[:, chain.columns] = np.clip(tried.q[:, chain.columns], *chain.limits)
    return MotionState(tried.base, bounded)


def normal_equations(
    problem: ClipProblem, state: MotionState, room: SolverRoom
) -> tuple[Array, Array, float]:
    """Matrix (T, n, n), slope (T, n) and cost of everything that one frame decides alone."""
    chain = problem.chain
    frames, size = len(state), chain.size
    matrix, slope, cost = room.matrices[0], np.empty((frames, size)), 0.0
    whole = chain.posed(state)
    for start in range(0, frames, BLOCK):
        span = slice(start, min(start + BLOCK, frames))
        own, pull, gained = _block_equations(chain, whole.part(span), problem.tasks, span)
        matrix[span], slope[span] = own.transpose(2, 0, 1), pull.T
        cost += gained
    apart = (state.q[:, chain.columns] - problem.rest) * problem.rest_weight
    slope[:, BASE:] += apart * problem.rest_weight
    places = np.arange(BASE, size)
    matrix[:, places, places] += problem.rest_weight**2
    if problem.avoidance is not None:
        cost += problem.avoidance.add(chain, whole, matrix, slope)
    return matrix, slope, cost + _cost_of_joints(problem, state)


def _block_equations(
    chain: Chain, posed: ChainPose, tasks: Sequence[Task], span: slice
) -> tuple[Array, Array, float]:
    """Matrix (n, n, T), slope (n, T) and cost of the tasks over some frames."""
    frames, cost = len(posed.base), 0.0
    matrix, slope = np.zeros((chain.size, chain.size, frames)), np.zeros((chain.size, frames))
    by_link = dict[int, tuple[Array, Array]]()
    for task in tasks:
        pulls = [np.zeros((task.rows, 6, frames)) for _ in task.links]
        rest = np.zeros((frames, task.rows))
        task.fill(posed, span, pulls, rest)
        cost += float(np.vdot(rest, rest))
        if len(pulls) > 1:
            chain.add_tied(posed, dict(zip(task.links, pulls, strict=True)), rest, matrix, slope)
            continue
        squares = np.einsum("rat,rbt->abt", pulls[0], pulls[0])
        pull = np.einsum("rat,tr->at", pulls[0], rest)
        link = task.links[0]
        if link in by_link:
            squares += by_link[link][0]
            pull += by_link[link][1]
        by_link[link] = squares, pull
    chain.add_pulls(posed, by_link, matrix, slope)
    return matrix, slope, cost


def motion_cost(problem: ClipProblem, state: MotionState) -> float:
    """The cost that `normal_equations` has, in a fraction of its time."""
    chain, posed = problem.chain, problem.chain.posed(state)
    rest = np.zeros((len(state), sum(task.rows for task in problem.tasks)))
    row = 0
    for task in problem.tasks:
        task.fill(posed, slice(0, len(state)), None, rest[:, row : row + task.rows])
        row += task.rows
    cost = float(np.vdot(rest, rest)) + _cost_of_joints(problem, state)
    if problem.avoidance is not None:
        cost += problem.avoidance.cost(chain, posed)
    return cost


def _cost_of_joints(problem: ClipProblem, state: MotionState) -> float:
    """The cost of being away from rest, of accelerations and of too much speed."""
    apart = (state.q[:, problem.chain.columns] - problem.rest) * problem.rest_weight
    pace, bend = _bends(problem, state)
    # Without this a step that slows a joint down would look like a loss, and not be made.
    excess = _too_fast(problem, pace) * (problem.speed_weight / problem.rate_hz)
    return float(np.vdot(apart, apart) + np.vdot(bend, bend) + np.vdot(excess, excess))


def _bends(problem: ClipProblem, state: MotionState) -> tuple[Array, Array]:
    """Velocities (T-1, n) of the unknowns, and their weighted accelerations (T-2, n)."""
    chain, rate = problem.chain, problem.rate_hz
    if len(state) < 2:
        return np.zeros((0, chain.size)), np.zeros((0, chain.size))
    rotations = matrix_from_quaternion(state.base[:, 3:])
    pace = np.concatenate(
        [
            np.diff(state.base[:, :3], axis=0),
            rotation_vectors(rotations[1:] @ rotations[:-1].swapaxes(1, 2)),
            np.diff(state.q[:, chain.columns], axis=0),
        ],
        axis=1,
    )
    pace *= rate
    return pace, np.diff(pace, axis=0) * (rate * problem.smooth)


def build_band(
    problem: ClipProblem,
    state: MotionState,
    matrix: Array,
    slope: Array,
    damping: float,
    band: Array,
) -> tuple[Array, Array]:
    """The equations of a step: the lower band (T, n, w) of their matrix, and the slope (T, n).

    The band is written into the one that is given, which is as wide as others will need it.
    """
    frames, size = slope.shape
    band[:] = 0.0
    for column in range(size):
        band[:, column, : size - column] = matrix[:, column:, column]
    band[:, :, 0] += damping + 1e-9
    pull = slope.copy()
    pace, bend = _bends(problem, state)
    if frames > 2:
        gain = (problem.rate_hz**2 * problem.smooth) ** 2
        main = np.zeros((frames, 1))
        main[:-2] += 1
        main[1:-1] += 4
        main[2:] += 1
        beside = np.zeros((frames, 1))
        beside[:-2] -= 2
        beside[1:-1] -= 2
        band[:, :, 0] += main * gain
        band[:, :, size] += beside * gain
        band[:-2, :, 2 * size] += gain
        push = bend * (problem.rate_hz**2 * problem.smooth)
        pull[:-2] += push
        pull[1:-1] -= 2 * push
        pull[2:] += push
    if frames > 1:
        _slow_down(problem, pace, band, pull)
    return band, pull


def solve_step(problem: ClipProblem, state: MotionState, band: Array, pull: Array) -> Array:
    """The Gauss-Newton step (T, n): factors of a band (T, n, w), which is overwritten."""
    frames, size, width = band.shape
    _freeze(problem, state, band, pull)
    packed = band.reshape(frames * size, width).T
    _, step, failed = lapack.dpbsv(
        packed, -pull.reshape(-1, 1), lower=1, overwrite_ab=1, overwrite_b=1
    )
    if failed:
        raise SolveError(
            f"the clip cannot be solved: no step at unknown {failed}. Report this clip."
        )
    moves: Array = step.reshape(frames, size)
    if problem.stays is not None:
        moves[problem.stays] = 0.0
    return moves


def shorten_step(step: Array) -> Array:
    """A step (T, n) that goes nowhere farther than its derivatives hold."""
    longest = np.abs(step).max(axis=1, keepdims=True)
    return np.asarray(step * np.minimum(1.0, MAX_STEP / np.maximum(longest, 1e-12)))


def _too_fast(problem: ClipProblem, pace: Array) -> Array:
    """How much (T-1, C) joints are faster than they may be, a little early."""
    limit = problem.chain.speeds * 0.98
    speed = pace[:, BASE:]
    return np.asarray(speed - np.clip(speed, -limit, limit))


def _slow_down(problem: ClipProblem, pace: Array, band: Array, pull: Array) -> None:
    """Push back joints that are faster than they may be."""
    size = problem.chain.size
    over = _too_fast(problem, pace)
    if not over.any():
        return
    gain = np.where(over != 0, problem.speed_weight**2, 0.0)
    push = over * gain / problem.rate_hz
    band[:-1, BASE:, 0] += gain
    band[1:, BASE:, 0] += gain
    band[:-1, BASE:, size] -= gain
    pull[:-1, BASE:] -= push
    pull[1:, BASE:] += push


def _freeze(problem: ClipProblem, state: MotionState, band: Array, pull: Array) -> None:
    """Hold joints that are at a limit and pulled beyond it, and frames that are to stay."""
    lower, upper = problem.chain.limits
    q = state.q[:, problem.chain.columns]
    stuck = ((q <= lower + 1e-9) & (pull[:, BASE:] > 0)) | (
        (q >= upper - 1e-9) & (pull[:, BASE:] < 0)
    )
    band[:, BASE:, 0] += np.where(stuck, FROZEN, 0.0)
    pull[:, BASE:] = np.where(stuck, 0.0, pull[:, BASE:])
    if problem.stays is not None:
        band[problem.stays, :, 0] += FROZEN
        pull[problem.stays] = 0.0


# Frames of a piece, and those that it shares with the next.
LENGTH, SHARED = 2400, 240


@dataclass(frozen=True)
class ClipWindow:
    """Frames from `first` up to, not including, `stop`."""

    first: int
    stop: int


def windows(frames: int, *, length: int = LENGTH, shared: int = SHARED) -> list[ClipWindow]:
    """Pieces of about equal length that cover all frames, each sharing some with the next."""
    if frames <= length:
        return [ClipWindow(0, frames)]
    count = -(-(frames - shared) // (length - shared))
    edges = np.linspace(0, frames - shared, count + 1).astype(int)
    return [ClipWindow(int(a), int(b) + shared) for a, b in pairwise(edges)]


def join_windows(parts: Sequence[tuple[ClipWindow, MotionState]], frames: int) -> MotionState:
    """One state of all frames; where two pieces overlap, one fades into the other."""
    if len(parts) == 1:
        return parts[0][1]
    columns = parts[0][1].base.shape[1] + parts[0][1].q.shape[1]
    total, weights = np.zeros((frames, columns)), np.zeros((frames, 1))
    for number, (window, state) in enumerate(parts):
        span = slice(window.first, window.stop)
        rows = np.concatenate([state.base, state.q], axis=1)
        weight = _faded(window, parts, number)
        if number:
            # A quaternion and its negative are the same rotation: add those of one side.
            before = total[span, 3:7] * np.sign(weights[span])
            same = np.einsum("ti,ti->t", rows[:, 3:7], before) >= 0
            rows[:, 3:7] *= np.where(same, 1.0, -1.0)[:, None]
        total[span] += weight * rows
        weights[span] += weight
    return MotionState.from_rows(total / weights)


def _faded(
    window: ClipWindow, parts: Sequence[tuple[ClipWindow, MotionState]], number: int
) -> Array:
    """Weights (T, 1) of one piece: smooth from 0 to 1 where it overlaps a neighbour."""
    where = np.arange(window.first, window.stop)
    share = np.ones(len(where))
    if number:
        share = np.minimum(share, (where - window.first + 1) / (_shared(parts, number - 1) + 1))
    if number + 1 < len(parts):
        share = np.minimum(share, (window.stop - where) / (_shared(parts, number) + 1))
    return np.asarray((share * share * (3 - 2 * share))[:, None])


def _shared(parts: Sequence[tuple[ClipWindow, MotionState]], number: int) -> int:
    """How many frames a piece shares with the next."""
    return parts[number][0].stop - parts[number + 1][0].first
