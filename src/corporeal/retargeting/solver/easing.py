"""A motion eased where it asks for more than the motors have, and left alone everywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.linalg import blas
from scipy.ndimage import binary_dilation, distance_transform_edt

from corporeal.geometry import Array
from corporeal.retargeting.goal.soles import sole_corners, sole_points
from corporeal.retargeting.solver.avoidance import Avoidance
from corporeal.retargeting.solver.chain import MotionState, Numbers
from corporeal.retargeting.solver.clip_solver import (
    DAMPING,
    ClipProblem,
    ClipWindow,
    SolveError,
    SolverRoom,
    build_band,
    join_windows,
    normal_equations,
    shorten_step,
    solve_step,
    step_within_limits,
    windows,
)
from corporeal.retargeting.solver.effort import SHORTEST, Motors, Shares, has_masses
from corporeal.retargeting.solver.tasks import ClipTasks, Task, pick_frames
from corporeal.signal.runs import runs

# Efforts are pushed below this share of their limits, and the solve ends once none is above that.
BOUND, REACHED = 0.97, 1.0
# The square root of the weight of an excess of a whole limit.
WEIGHT = 30.0
# A step that gains less than this share of the cost is the last.
LITTLE = 1e-2
# Shares of a step that are tried, the next where the one before makes things worse.
PARTS = (1.0, 0.5, 0.25, 0.1, 0.03)


@dataclass(frozen=True)
class Care:
    """How much is done at most, and at least.

    At most `steps` sets of derivatives are made, and with each of them the efforts that are too
    great may change `rounds` times. Efforts of at least `watched` of their limits are in it: they
    may become too great by a step. It does not end before `least` steps, however good things are.
    """

    steps: int
    rounds: int
    watched: float
    least: int = 0


QUICK = Care(steps=8, rounds=6, watched=0.5)
THOROUGH = Care(steps=8, rounds=15, watched=0.2, least=1)


def solve_bounded(
    problem: ClipProblem, motors: Motors, state: MotionState, care: Care = QUICK
) -> MotionState:
    """The state with its motors eased: until no effort is too great, or a step gains little."""
    room = SolverRoom.of_motors(len(state), problem.chain.size)
    matrix, slope, cost = normal_equations(problem, state, room)
    room = room.turned()
    load = motors.load(state)
    cost += _cost(load.shares)
    for number in range(care.steps):
        if number >= care.least and np.abs(load.shares).max() <= REACHED:
            break
        shares = motors.shares(state, load, care.watched)
        _, pull = build_band(problem, state, matrix, slope, DAMPING, room.bands[0])
        step = bounded_step(problem, state, room.bands, pull, shares, care.rounds)
        before = cost
        for part in PARTS:
            tried = step_within_limits(problem.chain, state, shorten_step(step * part))
            matrix_after, slope_after, after = normal_equations(problem, tried, room)
            load_after = motors.load(tried)
            after += _cost(load_after.shares)
            if after < before:
                state, load, cost = tried, load_after, after
                matrix, slope = matrix_after, slope_after
                room = room.turned()
                break
        if before - cost < LITTLE * before:
            break
    return state


def bounded_step(
    problem: ClipProblem,
    state: MotionState,
    bands: Sequence[Array],
    pull: Array,
    shares: Shares,
    rounds: int,
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
    sides = np.zeros(len(values))
    for number in range(rounds):
        beyond = np.sign(_beyond(values))
        changed = np.flatnonzero(beyond != sides)
        if number and not len(changed):
            break
        _tie(tied, slope, shares, changed, sides, beyond)
        sides = beyond
        np.copyto(factors, tied)
        way = solve_step(problem, state, factors, slope.copy()) - step
        change = _change(shares, way)
        far = _how_far(band, pull, step, way, values, change)
        step = step + far * way
        values = values + far * change
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
) -> float:
    """The share of a way from a step at which what is convex is least, at most all of it."""
    frames, size, width = band.shape
    packed = band.reshape(frames * size, width).T
    bent = blas.dsbmv(width - 1, 1.0, packed, way.ravel(), lower=1)
    slope = float(np.vdot(pull, way) + np.vdot(bent, step.ravel()))
    bend = float(np.vdot(bent, way.ravel()))

    def rising(share: float) -> bool:
        over = _beyond(values + share * change)
        return slope + share * bend + WEIGHT**2 * float(np.vdot(over, change)) > 0

    if not rising(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) else (middle, high)
    return low


# How long before and after a frame that is not good the motion may change, s, in every pass; how
# firmly feet stand and links are kept apart in it, and how much is done.
PASSES = (
    (0.4, 1.0, QUICK),
    (0.6, 3.0, THOROUGH),
    (1.0, 9.0, THOROUGH),
    (1.0, 27.0, THOROUGH),
)
# Square roots of weights, per radian, of the posture before; of accelerations, s2, and speeds, s.
KEPT = 2.0
SMOOTH_BASE, SMOOTH_JOINT, SLOWED = 0.03, 0.006, 100.0
# What is not left so: links deeper in each other than this, soles in the ground, feet away from
# where they stand, m, and joints faster than their limits by this share.
DEEP_M, SUNK_M, SLID_M, FAST = 0.004, 0.001, 0.003, 0.0005
# Where they are newly beyond these times as much, or an overload became greater, is taken back.
HARM = 3.0
NEARBY_S, TAKEN_BACK_S = 0.2, (0.25, 0.5, 1.0)
# Frames at both ends of a piece that stay, so that neither speed nor acceleration breaks there.
STAYING = 2

Report = Callable[[float], None]


def ease_motors(
    tasks: ClipTasks, state: MotionState, avoidance: Avoidance | None, report: Report
) -> MotionState:
    """The motion with efforts within their limits, as far as that can be had.

    Hands and feet keep to their goals, feet that stand keep their places; what gives way first is
    where the body is over them.
    """
    if not has_masses(tasks.chain.robot.robot) or len(state) < SHORTEST + 2 * STAYING:
        return state
    settled, state = state, MotionState(state.base.copy(), state.q.copy())
    for number, (around_s, firmness, care) in enumerate(PASSES):
        stage = _Pass(tasks, avoidance, around_s, firmness, care)
        stretches = stage.stretches(state)
        if not stretches:
            break
        for part, (first, stop) in enumerate(stretches):
            begun = number + part / len(stretches)
            for done in stage.ease(state, first, stop):
                report((begun + done / len(stretches)) / len(PASSES))
    report(1.0)
    return _without_harm(stage, settled, state)


def _without_harm(stage: _Pass, before: MotionState, after: MotionState) -> MotionState:
    """The state after, but as before around every frame that became rougher or heavier.

    From one into the other it goes within the time of TAKEN_BACK_S, at first a short one: what is
    no better then is taken back farther around, and at last over all that hangs together.
    """
    was = stage.faults(before)
    rate_hz = stage.tasks.person.rate_hz
    for around_s in TAKEN_BACK_S:
        harm = _harmed(was, stage.faults(after), rate_hz)
        if not harm.any():
            return after
        away = distance_transform_edt(~harm) / (1 + around_s * rate_hz)
        share = np.clip(1.0 - away, 0.0, 1.0)
        after = _blended(before, after, share * share * (3 - 2 * share))
    harm = _harmed(was, stage.faults(after), rate_hz)
    changed = np.any(before.q != after.q, axis=1) | np.any(before.base != after.base, axis=1)
    base, q = after.base.copy(), after.q.copy()
    for first, stop in runs(changed):
        if harm[first:stop].any():
            base[first:stop], q[first:stop] = before.base[first:stop], before.q[first:stop]
    return MotionState(base, q)


def _harmed(before: _Faults, after: _Faults, rate_hz: float) -> NDArray[np.bool_]:
    """Frames (T,) that are newly rough, and overloads that became greater as a whole.

    An overload may move and spread: it is judged with all that are within NEARBY_S of it.
    """
    near = max(1, round(NEARBY_S * rate_hz))
    harm = after.rough & ~binary_dilation(before.rough, iterations=near)
    over = binary_dilation((before.excess > 0) | (after.excess > 0), iterations=near)
    for first, stop in runs(over):
        load = [float(each.excess[first:stop].sum()) for each in (before, after)]
        if load[1] > load[0]:
            harm[first:stop] |= after.excess[first:stop] > before.excess[first:stop]
    return np.asarray(harm)


def _blended(one: MotionState, other: MotionState, share: Array) -> MotionState:
    """Frames that are `share` (T,) the first and for the rest the other; equal ones stay so."""
    first, second = (np.concatenate([each.base, each.q], axis=1) for each in (one, other))
    # A quaternion and its negative are the same rotation: add those of one side.
    apart = np.einsum("ti,ti->t", one.base[:, 3:], other.base[:, 3:]) < 0
    first[apart, 3:7] *= -1
    mixed = MotionState.from_rows(share[:, None] * first + (1 - share[:, None]) * second)
    base, q = mixed.base, mixed.q
    same = np.all(first == second, axis=1)
    for whole, source in ((share == 1, one), ((share == 0) | same, other)):
        base[whole], q[whole] = source.base[whole], source.q[whole]
    return MotionState(base, q)


@dataclass(frozen=True, eq=False)
class _Faults:
    """Where (T,) a motion is rough, and how much (T,) is beyond the limits of its motors."""

    rough: NDArray[np.bool_]
    excess: Array


@dataclass(frozen=True, eq=False)
class _Pass:
    """One way through a motion: what is not good is mended, with some time around it."""

    tasks: ClipTasks
    avoidance: Avoidance | None
    around_s: float
    firmness: float
    care: Care

    def stretches(self, state: MotionState) -> tuple[tuple[int, int], ...]:
        """First frame and stop of every stretch around frames that are not good."""
        bad = (self.excess(state) > 0) | self.rough(state)
        around = STAYING + max(1, round(self.around_s * self.tasks.person.rate_hz))
        return runs(binary_dilation(bad, iterations=around) if bad.any() else bad)

    def ease(self, state: MotionState, first: int, stop: int) -> Iterator[float]:
        """Ease a stretch of a state, in place: a long one in pieces that fade into each other.

        Yields the share of it that is done.
        """
        stays = _ends(first, stop, len(state))
        wanted = self.tasks.keeping(state, self.firmness) + self.tasks.ends()
        parts = list[tuple[ClipWindow, MotionState]]()
        cut = windows(stop - first)
        for number, window in enumerate(cut):
            inside = np.arange(first + window.first, first + window.stop)
            tasks = [pick_frames(task, inside) for task in wanted]
            problem = self._problem(tasks, state.part(inside), stays[window.first : window.stop])
            motors = self._motors(inside)
            try:
                ease_motors = solve_bounded(problem, motors, state.part(inside), self.care)
            except SolveError:
                return  # As it was it is a motion too, and its efforts are measured.
            parts.append((window, ease_motors))
            yield (number + 1) / len(cut)
        whole, moves = join_windows(parts, stop - first), ~stays
        state.base[first:stop][moves] = whole.base[moves]
        state.q[first:stop][moves] = whole.q[moves]

    def _problem(
        self, tasks: Sequence[Task], part: MotionState, stays: NDArray[np.bool_]
    ) -> ClipProblem:
        chain, apart = self.tasks.chain, self.avoidance
        return ClipProblem(
            chain,
            self.tasks.person.rate_hz,
            tasks,
            part.q[:, chain.columns],
            np.full(len(chain.columns), KEPT),
            chain.weights(SMOOTH_BASE, SMOOTH_JOINT),
            None if apart is None else replace(apart, weight=apart.weight * self.firmness),
            speed_weight=SLOWED * self.firmness,
            stays=stays,
        )

    def faults(self, state: MotionState) -> _Faults:
        """What is to be no worse than before."""
        return _Faults(self.rough(state, HARM), self.excess(state))

    def excess(self, state: MotionState) -> Array:
        """How much (T,) efforts are beyond their limits, in shares of them, together."""
        load = self._motors(np.arange(len(state))).load(state)
        return np.asarray(np.maximum(np.abs(load.shares) - REACHED, 0.0).sum(axis=1))

    def rough(self, state: MotionState, times: float = 1.0) -> NDArray[np.bool_]:
        """Frames (T,) in which something is so far where it must not be, or too fast."""
        chain, feet = self.tasks.chain, self.tasks.footholds
        poses = chain.kinematics.transforms(state.q, state.base)
        low = sole_corners(chain.robot.soles, poses)[..., 2] < -SUNK_M * times
        at = sole_points(chain.robot.soles, poses)
        slid = np.linalg.norm(at - np.stack([feet.heel, feet.toe], axis=2), axis=3) > SLID_M * times
        rough: NDArray[np.bool_] = np.any(low, axis=(1, 2)) | np.any(
            slid & feet.stands, axis=(1, 2)
        )
        pace = np.abs(np.diff(state.q[:, chain.columns], axis=0)) * self.tasks.person.rate_hz
        fast = np.any(pace > chain.speeds * (1 + FAST * times), axis=1)
        rough[1:] |= fast
        rough[:-1] |= fast
        if self.avoidance is not None:
            rough[self.avoidance.model.near(state.q, -DEEP_M * times).frame] = True
        return rough

    def _motors(self, inside: Numbers) -> Motors:
        stands = self.tasks.footholds.stands[inside]
        supports = self.tasks.goals.supports
        return Motors(
            self.tasks.chain,
            self.tasks.person.rate_hz,
            stands,
            None if supports is None else supports.take(inside),
        )


def _ends(first: int, stop: int, frames: int) -> NDArray[np.bool_]:
    """The frames of a stretch that have neighbours outside of it, and theirs."""
    stays = np.zeros(stop - first, bool)
    stays[:STAYING] = first > 0
    stays[-STAYING:] = stop < frames
    return stays
