"""One solve in which motors are kept within their limits, as far as a step can bring them there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.linalg import blas

from corporeal.geometry import Array
from corporeal.retargeting.solver.chain import MotionState, Numbers
from corporeal.retargeting.solver.clip_solver import (
    DAMPING,
    ClipProblem,
    SolverRoom,
    build_band,
    motion_cost,
    normal_equations,
    shorten_step,
    solve_step,
    step_within_limits,
)
from corporeal.retargeting.solver.effort import Load, Motors, Shares

# Efforts are pushed below this share of their limits, and the solve ends once none is above that.
BOUND, REACHED = 0.97, 1.0
# The square root of the weight of an excess of a whole limit.
WEIGHT = 30.0
# A step that gains less than this share of the cost is the last.
LITTLE = 1e-2
# Shares of a way are found to this.
FINELY = 1e-6
# Shares of a step that are tried, the next where the one before makes things worse.
PARTS = (1.0, 0.5, 0.25, 0.1, 0.03)


@dataclass(frozen=True)
class Care:
    """How much is done at most, and at least.

    At most `steps` sets of derivatives are made, and with each of them the efforts that are too
    great may change `rounds` times, as long as a round gains more than the share `hardly` of what
    all of them did. Efforts of at least `watched` of their limits are in it: they
    may become too great by a step. It does not end before `least` steps, however good things are.
    """

    steps: int
    rounds: int
    watched: float
    least: int = 0
    hardly: float = 0.02


QUICK = Care(steps=8, rounds=6, watched=0.5)
THOROUGH = Care(steps=8, rounds=15, watched=0.2, least=1)


def solve_bounded(
    problem: ClipProblem, motors: Motors, state: MotionState, care: Care = QUICK
) -> MotionState:
    """The state with its motors eased: until no effort is too great, or a step gains little."""
    room = SolverRoom.of_motors(len(state), problem.chain.size)
    load = motors.load(state)
    cost = motion_cost(problem, state) + _cost(load.shares)
    for number in range(care.steps):
        if number >= care.least and np.abs(load.shares).max() <= REACHED:
            break
        matrix, slope, _ = normal_equations(problem, state, room)
        shares = motors.shares(state, load, care.watched)
        _, pull = build_band(problem, state, matrix, slope, DAMPING, room.bands[0])
        step = bounded_step(problem, state, room.bands, pull, shares, care)
        before = cost
        state, load, cost = _go(problem, motors, state, step, load, cost)
        if before - cost < LITTLE * before:
            break
    return state


def _go(
    problem: ClipProblem, motors: Motors, state: MotionState, step: Array, load: Load, cost: float
) -> tuple[MotionState, Load, float]:
    """The state as far along a step as the cost falls, with its load and cost."""
    for part in PARTS:
        tried = step_within_limits(problem.chain, state, shorten_step(step * part))
        after = motion_cost(problem, tried)
        # Most steps that are too long are so without their efforts, which take the longest.
        if after < cost:
            load_after = motors.load(tried)
            after += _cost(load_after.shares)
            if after < cost:
                return tried, load_after, after
    return state, load, cost


def bounded_step(
    problem: ClipProblem,
    state: MotionState,
    bands: Sequence[Array],
    pull: Array,
    shares: Shares,
    care: Care,
) -> Array:
    """The step (T, n) that is best as far as the derivatives tell.

    What is to be small is convex, of squares and of squares beyond a bound: each round solves for
    the efforts that are beyond theirs, and goes as far that way as it gets better. The equations
    are in the first of the `bands`; two more are room to work in.
    """
    step = np.zeros(pull.shape)
    values = shares.values
    band, tied, factors = bands
    np.copyto(tied, band)
    slope = pull.copy()
    sides, gained = np.zeros(len(values)), 0.0
    for number in range(care.rounds):
        beyond = np.sign(_beyond(values))
        changed = np.flatnonzero(beyond != sides)
        if number and not len(changed):
            break
        _tie(tied, slope, shares, changed, sides, beyond)
        sides = beyond
        np.copyto(factors, tied)
        way = solve_step(problem, state, factors, slope.copy()) - step
        change = _change(shares, way)
        far, gain = _how_far(band, pull, step, way, values, change)
        step = step + far * way
        values = values + far * change
        gained += gain
        if gain < care.hardly * gained:
            break
    return step


def _beyond(shares: Array) -> Array:
    return np.asarray(shares - np.clip(shares, -BOUND, BOUND))


def _cost(shares: Array) -> float:
    over = _beyond(shares)
    return float(WEIGHT**2 * np.vdot(over, over))


def _change(shares: Shares, step: Array) -> Array:
    """How much (n,) a step (T, n) changes the shares."""
    beside = np.stack([step[shares.frames + number] for number in (-1, 0, 1)], axis=1)
    return np.asarray(np.einsum("ni,ni->n", shares.rows, beside.reshape(shares.rows.shape)))


def _tie(
    band: Array, slope: Array, shares: Shares, changed: Numbers, before: Array, now: Array
) -> None:
    """Put rows into the lower band (T, n, 3 n) and the slope (T, n), or take them out again.

    `before` and `now` (n,) say on which side of their bounds the shares are, 0 if on none. A row
    is of three frames: one square of the band, of which row k of a column lies k down.
    """
    frames, size, width = band.shape
    columns, pull = band.reshape(frames * size, width), slope.reshape(frames * size)
    rows = shares.rows[changed] * WEIGHT
    below = sliding_window_view(np.pad(rows, ((0, 0), (0, width - 1))), width, axis=1)
    squares = np.abs(now[changed]) - np.abs(before[changed])
    # The slope of a row at no step: as far as it is beyond the bound on its side.
    rest = np.abs(now[changed]) * shares.values[changed] - now[changed] * BOUND
    rest -= np.abs(before[changed]) * shares.values[changed] - before[changed] * BOUND
    for number, frame in enumerate(shares.frames[changed]):
        own = slice((frame - 1) * size, (frame + 2) * size)
        if squares[number]:
            columns[own] += below[number] * (squares[number] * rows[number])[:, None]
        pull[own] += rows[number] * (rest[number] * WEIGHT)


def _how_far(
    band: Array, pull: Array, step: Array, way: Array, values: Array, change: Array
) -> tuple[float, float]:
    """The share of a way from a step at which what is convex is least, and what that gains."""
    frames, size, width = band.shape
    packed = band.reshape(frames * size, width).T
    bent = blas.dsbmv(width - 1, 1.0, packed, way.ravel(), lower=1)
    slope = float(np.vdot(pull, way) + np.vdot(bent, step.ravel()))
    bend = float(np.vdot(bent, way.ravel()))

    def rising(share: float) -> bool:
        over = _beyond(values + share * change)
        return slope + share * bend + WEIGHT**2 * float(np.vdot(over, change)) > 0

    low, high = 0.0, 1.0
    if not rising(1.0):
        low = 1.0
    while high - low > FINELY:
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) else (middle, high)
    gain = low * (slope + low * bend / 2)
    return low, (_cost(values) - _cost(values + low * change)) / 2 - gain
