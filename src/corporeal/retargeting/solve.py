"""Human motion to robot motion: goals, a solve, a low-pass, contacts again; frames out of reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.ndimage import binary_dilation
from scipy.signal import butter, sosfiltfilt
from threadpoolctl import ThreadpoolController

from corporeal.embodiment import Embodiment
from corporeal.embodiment.collision import CollisionModel
from corporeal.embodiment.embodiment import model_of
from corporeal.geometry import Array, quaternion_from_matrix
from corporeal.retargeting.cleaning.cleaning import clean
from corporeal.retargeting.cleaning.gaps import resample
from corporeal.retargeting.goal.footholds import (
    footholds_of,
    ground_of,
    level_floor,
    remove_floor_drift,
)
from corporeal.retargeting.goal.goals import UP, body_of, confidence_of, goals_of, on_the_floor
from corporeal.retargeting.goal.robot_map import RobotMap, robot_map
from corporeal.retargeting.goal.supports import lay_feet, supports_of
from corporeal.retargeting.motion import POINTS, SIDES, HumanMotion, MotionError
from corporeal.retargeting.result import ENDS, FAR_M, KNOWN, Goals, Retargeted
from corporeal.retargeting.settings import InfeasiblePolicy, RetargetSettings
from corporeal.retargeting.solver.avoidance import Avoidance
from corporeal.retargeting.solver.chain import Chain, MotionState, Numbers
from corporeal.retargeting.solver.clip_solver import (
    ClipProblem,
    ClipWindow,
    join_windows,
    solve,
    windows,
)
from corporeal.retargeting.solver.easing import ease_motors
from corporeal.retargeting.solver.tasks import ClipTasks, Task, pick_frames
from corporeal.signal.grid import interpolate
from corporeal.signal.runs import runs

# Square roots of weights, per radian: of the resting posture, and of a smooth motion.
REST, KEPT = 0.15, 6.0
# Weights of accelerations, s2: what lets through some 6 Hz against the goals' own.
SMOOTH_BASE, SMOOTH_JOINT = 0.02, 0.0035
SETTLED_BASE, SETTLED = 0.03, 0.006
# The first solve looks at about this many frames a second: the shape of a motion, not its detail.
COARSE_HZ = 15.0
# Steps of the three solves at most; they end before once nothing is gained.
COARSE_STEPS, FINE_STEPS, SETTLE_STEPS = 60, 30, 40
# A step that gains less than this share of the cost is the last with which the person is followed.
FOLLOWED = 2e-3
# Links are first pushed gently and early, so that a hand finds its way around, then firmly.
SOFT, WIDE_M = 40.0, 0.015
FIRM, EASED, NARROW_M = 120.0, 600.0, 0.006
# Links that are still deeper in each other than this are pushed harder, so many times.
DEEP_M, PUSHES, HARDER = 0.004, 4, 3.0
# Feet that rest at heights farther apart than this do not stand on one floor, m.
UNEVEN_M = 0.25

Report = Callable[[str, float], None]


def retarget_motion(
    motion: HumanMotion,
    robot: Embodiment | RobotMap,
    settings: RetargetSettings | None = None,
    report: Report | None = None,
) -> Retargeted:
    """The robot's motion that follows a person's; raises MotionError for a clip that holds none.

    `report` is told the stage and the share of it that is done.
    """
    settings = settings or RetargetSettings()
    mapped = robot if isinstance(robot, RobotMap) else robot_map(robot)
    with one_thread():
        return _follow_person(motion, mapped, settings, report or (lambda *_: None))


def _follow_person(
    motion: HumanMotion, mapped: RobotMap, settings: RetargetSettings, report: Report
) -> Retargeted:
    if not len(motion):
        raise MotionError(f"{motion.origin.path}: has no frames; expected one or more.")
    if settings.cleaning:
        motion = clean(motion)
    if settings.rate_hz is not None and settings.rate_hz != motion.rate_hz:
        motion = resample(motion, settings.rate_hz)
    motion = remove_floor_drift(motion, ground_of(motion))
    ground = ground_of(motion)
    if ground.rise > UNEVEN_M:
        motion = motion.noting(
            f"the feet rest at heights {ground.rise:.2f} m apart, as on stairs: the ground is "
            "taken to be level, and only the lowest is stood on"
        )
    person = on_the_floor(motion, ground)
    supports = supports_of(person, mapped, body_of(person))
    goals = lay_feet(goals_of(person, mapped), person, mapped, supports)
    goals = replace(goals, supports=supports)
    goals, lift = level_floor(goals, mapped.soles, person.rate_hz)
    raised = person.positions + (lift / goals.scales["leg"])[:, None, None] * UP
    person = replace(person, positions=raised)
    footholds = footholds_of(goals, mapped.soles, person.rate_hz)
    goals = replace(goals, contacts=footholds.stands)
    tasks = ClipTasks(Chain(mapped), person, goals, footholds)
    work = _Work(tasks, settings, report)
    result = work.result(work.start())
    if settings.policy == "interpolate" and result.infeasible.any():
        person, bridged = drop_confidence(person, result)
        goals = replace(goals, confidence=confidence_of(person))
        work = replace(work, tasks=replace(tasks, person=person, goals=goals))
        result = work.result(MotionState(result.base, result.q))
        result = replace(result, notes=(*result.notes, bridged))
    return result


def error_of(chain: Chain, state: MotionState, goals: Goals) -> Array:
    """How far (T, 4) hands and feet are from their goals, m."""
    robot = chain.robot.robot
    places = [robot.end_effectors[end] for end in ENDS[:2]] + [robot.feet[side] for side in SIDES]
    poses = chain.kinematics.place_poses(dict(zip(ENDS, places, strict=True)), state.q, state.base)
    apart = [np.linalg.norm(poses.position(end) - goals.positions[end], axis=1) for end in ENDS]
    return np.stack(apart, axis=1)


@dataclass(frozen=True, eq=False)
class _Work:
    """One clip on one robot, solved window by window."""

    tasks: ClipTasks
    settings: RetargetSettings
    report: Report

    def _avoidance(self, weight: float, margin_m: float) -> Avoidance | None:
        """Links that are kept apart, or None where nobody asked for it."""
        if not self.settings.avoid_self:
            return None
        shapes = model_of(self.tasks.chain.robot.robot, CollisionModel)
        return Avoidance(shapes, weight, margin_m)

    def result(self, start: MotionState) -> Retargeted:
        """The robot's motion, found from a start, and how far it is from its goals."""
        state, followed, settled = self._solve_clip(start)
        chain, goals, person = self.tasks.chain, self.tasks.goals, self.tasks.person
        error = error_of(chain, state, goals)
        far = (error > FAR_M) & (goals.confidence > KNOWN)
        return Retargeted(
            robot=chain.robot.robot,
            rate_hz=person.rate_hz,
            q=state.q,
            base=state.base,
            human=person,
            goals=goals,
            error_m=error,
            infeasible=np.asarray(far.any(axis=1)),
            # Whoever has reached every goal need not have come to the end of the way.
            converged=settled and (followed or not far.any()),
            notes=person.origin.notes,
        )

    def _solve_clip(self, start: MotionState) -> tuple[MotionState, bool, bool]:
        """The motion, and whether following the person and settling came to an end."""
        state, followed = self._solve_windows(
            "following the person", self._follow_window, self.tasks.following(), start
        )
        if self.settings.cutoff_hz is not None:
            state = low_pass(state, self.tasks.person.rate_hz, self.settings.cutoff_hz)
        state, settled = self._solve_windows(
            "settling the feet", self._settle_window, self.tasks.keeping(state), state
        )
        if self.settings.ease:
            avoidance = self._avoidance(EASED, NARROW_M)
            state = ease_motors(
                self.tasks, state, avoidance, lambda done: self.report("easing the motors", done)
            )
        return state, followed, settled

    def _solve_windows(
        self,
        stage: str,
        solver: Callable[[Sequence[Task], MotionState], tuple[MotionState, bool]],
        tasks: Sequence[Task],
        start: MotionState,
    ) -> tuple[MotionState, bool]:
        """A stage of the whole clip, window by window, and whether all of them came to an end."""
        parts, all_ended = list[tuple[ClipWindow, MotionState]](), True
        cut = windows(len(start))
        for number, window in enumerate(cut):
            inside = np.arange(window.first, window.stop)
            part, ended = solver([pick_frames(task, inside) for task in tasks], start.part(inside))
            parts.append((window, part))
            all_ended &= ended
            self.report(stage, (number + 1) / len(cut))
        return join_windows(parts, len(start)), all_ended

    def start(self) -> MotionState:
        """The robot standing with the person's heading: where every frame begins."""
        goals, robot = self.tasks.goals, self.tasks.chain.robot
        rotation = goals.rotations["pelvis"] @ robot.axes.T
        place = goals.positions["pelvis"] - rotation @ robot.hip_centre
        base = np.concatenate([place, quaternion_from_matrix(rotation)], axis=1)
        return MotionState(base, np.tile(self.tasks.chain.standing, (len(base), 1)))

    def _follow_window(self, tasks: Sequence[Task], start: MotionState) -> tuple[MotionState, bool]:
        """First with few frames, then with all."""
        rate, frames = self.tasks.person.rate_hz, len(start)
        stride = max(1, round(rate / COARSE_HZ))
        some = np.unique(np.append(np.arange(0, frames, stride), frames - 1))
        picked = [pick_frames(task, some) for task in tasks]
        few = self._follow_problem(picked, rate / stride, len(some))
        state, _ = solve(few, start.part(some), steps=COARSE_STEPS, tolerance=FOLLOWED)
        every = replace(
            self._follow_problem(tasks, rate, frames), avoidance=self._avoidance(SOFT, WIDE_M)
        )
        begun = _fill_frames(state, some, frames)
        state, progress = solve(every, begun, steps=FINE_STEPS, tolerance=FOLLOWED)
        return state, progress.converged

    def _follow_problem(self, tasks: Sequence[Task], rate_hz: float, frames: int) -> ClipProblem:
        chain = self.tasks.chain
        smooth = chain.weights(SMOOTH_BASE, SMOOTH_JOINT)
        rest = np.tile(chain.standing[chain.columns], (frames, 1))
        return ClipProblem(chain, rate_hz, tasks, rest, np.full(len(chain.columns), REST), smooth)

    def _settle_window(
        self, tasks: Sequence[Task], wanted: MotionState
    ) -> tuple[MotionState, bool]:
        """Close to a smooth motion, but with feet that hold, links apart, and no floor crossed."""
        chain = self.tasks.chain
        problem = ClipProblem(
            chain,
            self.tasks.person.rate_hz,
            tasks,
            wanted.q[:, chain.columns],
            np.full(len(chain.columns), KEPT),
            chain.weights(SETTLED_BASE, SETTLED),
            self._avoidance(FIRM, NARROW_M),
        )
        state, progress = solve(problem, wanted, steps=SETTLE_STEPS)
        for _ in range(PUSHES):
            avoidance = problem.avoidance
            if avoidance is None or not len(avoidance.model.near(state.q, -DEEP_M).frame):
                break
            harder = replace(avoidance, weight=avoidance.weight * HARDER)
            problem = replace(problem, avoidance=harder)
            state, progress = solve(problem, state, steps=SETTLE_STEPS)
        return state, progress.converged


def _fill_frames(state: MotionState, known: Numbers, frames: int) -> MotionState:
    """A state of all frames from that of some, straight between them."""
    if len(known) == frames:
        return state
    every = np.arange(frames, dtype=np.float64)
    return MotionState.from_rows(interpolate(every, known.astype(np.float64), state.rows))


ORDER = 4
# Fewer periods of the cut-off than this say nothing of what is slow: the filter would bend them.
PERIODS = 1.5


def low_pass(state: MotionState, rate_hz: float, cutoff_hz: float) -> MotionState:
    """The state without what is faster than `cutoff_hz`, forwards and backwards through the filter.

    A clip that is too short for the filter, or sampled too slowly, stays as it is.
    """
    if cutoff_hz >= 0.45 * rate_hz or len(state) < PERIODS * rate_hz / cutoff_hz:
        return state
    return MotionState.from_rows(filter_low(state.rows, rate_hz, cutoff_hz))


def filter_low(values: Array, rate_hz: float, cutoff_hz: float) -> Array:
    """Columns (T, n) through the filter, both ways."""
    sections = butter(ORDER, cutoff_hz, fs=rate_hz, output="sos")
    padding = min(len(values) - 1, round(3 * rate_hz / cutoff_hz))
    return np.asarray(sosfiltfilt(sections, values, axis=0, padlen=padding, padtype="odd"))


def one_thread() -> AbstractContextManager[Any]:
    """While the block runs, BLAS works in the thread that calls it; other cores stay free."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited


@cache
def _controller() -> ThreadpoolController:
    """What knows the libraries that are loaded; looking for them takes milliseconds."""
    return ThreadpoolController()


# Frames beside a bad one are no better; pieces shorter than this are no motion, s.
BESIDE_S, SHORTEST_S = 0.05, 0.5
_LIMBS = {"hand": ("elbow", "wrist", "hand"), "foot": ("knee", "ankle", "heel", "toe")}


def drop_confidence(person: HumanMotion, result: Retargeted) -> tuple[HumanMotion, str]:
    """The person with the limbs unseen where the robot could not follow them, and a note of it."""
    confidence = person.confidence.copy()
    reach = max(1, round(BESIDE_S * result.rate_hz))
    for column, end in enumerate(ENDS):
        side, part = end.split("_")
        far = (result.error_m[:, column] > FAR_M) & result.infeasible
        if far.any():
            wide = binary_dilation(far, iterations=reach)
            for point in _LIMBS[part]:
                confidence[wide, POINTS.index(f"{side}_{point}")] = 0.0
    count = int(np.count_nonzero(result.infeasible))
    return replace(person, confidence=confidence), f"{count} frames out of reach were bridged"


def split_infeasible(result: Retargeted, policy: InfeasiblePolicy) -> list[Retargeted]:
    """The pieces of a result that are kept: all of it, what is feasible, or nothing."""
    if not result.infeasible.any() or policy in ("clip", "interpolate"):
        return [result]
    if policy == "reject":
        return []
    least = max(2, round(SHORTEST_S * result.rate_hz))
    pieces = runs(~result.infeasible, least=least)
    lost = int(result.infeasible.sum())
    note = f"cut out of {len(result)} frames, of which {lost} were out of reach"
    return [
        replace(
            result.part(first, stop), notes=(*result.notes, f"frames {first} to {stop - 1}, {note}")
        )
        for first, stop in pieces
    ]
