"""A motion eased where it asks for more than the motors have, and left alone everywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation, distance_transform_edt

from corporeal.geometry import Array
from corporeal.retargeting.goal.soles import sole_corners, sole_points
from corporeal.retargeting.solver.avoidance import Avoidance
from corporeal.retargeting.solver.bounded_solver import (
    QUICK,
    REACHED,
    THOROUGH,
    Care,
    solve_bounded,
)
from corporeal.retargeting.solver.chain import MotionState, Numbers
from corporeal.retargeting.solver.clip_solver import (
    ClipProblem,
    ClipWindow,
    SolveError,
    join_windows,
    windows,
)
from corporeal.retargeting.solver.effort import SHORTEST, Motors, has_masses
from corporeal.retargeting.solver.tasks import ClipTasks, Task, pick_frames
from corporeal.signal.runs import runs

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
    hopeful = np.ones(len(state), bool)
    for number, (around_s, firmness, care) in enumerate(PASSES):
        stage = _Pass(tasks, avoidance, around_s, firmness, care)
        stretches = stage.stretches(state, hopeful)
        if not stretches:
            break
        for part, (first, stop) in enumerate(stretches):
            begun, span = number + part / len(stretches), slice(first, stop)
            before, was = state.part(span), stage.faults(state, span)
            before = MotionState(before.base.copy(), before.q.copy())
            for done in stage.ease(state, first, stop):
                report((begun + done / len(stretches)) / len(PASSES))
            if not stage.faults(state, span).better_than(was):
                state.base[span], state.q[span] = before.base, before.q
                hopeful[span] = False
    report(1.0)
    return _without_harm(stage, settled, state)


def _without_harm(stage: _Pass, before: MotionState, after: MotionState) -> MotionState:
    """The state after, but as before around every frame that became rougher or heavier.

    From one into the other it goes within the time of TAKEN_BACK_S, at first a short one: what is
    no better then is taken back farther around, and at last over all that hangs together.
    """
    whole = slice(0, len(before))
    was = stage.faults(before, whole, HARM)
    rate_hz = stage.tasks.person.rate_hz
    for around_s in TAKEN_BACK_S:
        harm = _harmed(was, stage.faults(after, whole, HARM), rate_hz)
        if not harm.any():
            return after
        away = distance_transform_edt(~harm) / (1 + around_s * rate_hz)
        share = np.clip(1.0 - away, 0.0, 1.0)
        after = _blended(before, after, share * share * (3 - 2 * share))
    harm = _harmed(was, stage.faults(after, whole, HARM), rate_hz)
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

    def better_than(self, other: _Faults) -> bool:
        """Whether it asks for less or nothing too much, or is less rough: else force is no help."""
        own, others = float(self.excess.sum()), float(other.excess.sum())
        return own == 0 or own < others or int(self.rough.sum()) < int(other.rough.sum())


@dataclass(frozen=True, eq=False)
class _Pass:
    """One way through a motion: what is not good is mended, with some time around it."""

    tasks: ClipTasks
    avoidance: Avoidance | None
    around_s: float
    firmness: float
    care: Care

    def stretches(
        self, state: MotionState, hopeful: NDArray[np.bool_]
    ) -> tuple[tuple[int, int], ...]:
        """First frame and stop of every stretch around hopeful frames that are not good."""
        faults = self.faults(state, slice(0, len(state)))
        bad = ((faults.excess > 0) | faults.rough) & hopeful
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

    def faults(self, state: MotionState, span: slice, times: float = 1.0) -> _Faults:
        """What is to be no worse than before, in some frames; rough is what is so far from good."""
        part = state.part(span)
        load = self._motors(np.arange(span.start, span.stop)).load(part)
        excess = np.maximum(np.abs(load.shares) - REACHED, 0.0).sum(axis=1)
        return _Faults(self._rough(part, span, times), np.asarray(excess))

    def _rough(self, state: MotionState, span: slice, times: float) -> NDArray[np.bool_]:
        """Frames (T,) in which something is so far where it must not be, or too fast."""
        chain, feet = self.tasks.chain, self.tasks.footholds
        poses = chain.kinematics.transforms(state.q, state.base)
        low = sole_corners(chain.robot.soles, poses)[..., 2] < -SUNK_M * times
        at = sole_points(chain.robot.soles, poses)
        places = np.stack([feet.heel[span], feet.toe[span]], axis=2)
        slid = np.linalg.norm(at - places, axis=3) > SLID_M * times
        rough: NDArray[np.bool_] = np.any(low, axis=(1, 2)) | np.any(
            slid & feet.stands[span], axis=(1, 2)
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
