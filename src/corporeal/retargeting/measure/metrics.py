"""How good a robot's motion is, whoever made it: errors, contacts, limits, collisions, jerk."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from corporeal.embodiment import Embodiment
from corporeal.embodiment.collision import CollisionModel
from corporeal.embodiment.embodiment import model_of
from corporeal.embodiment.kinematics import Kinematics, checked_base
from corporeal.errors import ModelError
from corporeal.geometry import Array
from corporeal.retargeting.goal.soles import soles_of
from corporeal.retargeting.measure.grounding import Grounding, measure_grounding
from corporeal.retargeting.measure.limbs import LimbSpread, limb_angles, limb_spread
from corporeal.retargeting.result import ENDS, FAR_M, KNOWN, Goals, Retargeted, Supports
from corporeal.retargeting.solver.effort import efforts_of
from corporeal.signal.runs import runs

# Rounding of a file with six digits is no broken limit.
POSITION_SLACK_RAD = 1e-4
SPEED_SLACK = 1e-3
# Share of the limit by which an estimate may exceed it: inertias are known to a few per cent.
EFFORT_SLACK = 0.05


@dataclass(frozen=True)
class Violations:
    """How often a limit is broken (frames x joints), in how many frames, and where worst.

    `worst` is how far beyond the limit: radians for positions, a share of the limit for speeds and
    efforts; `joint` is the one that is. `stated` is how many joints have such a limit at all;
    `where` are the frames, from the first up to, not including, the second.
    """

    count: int = 0
    frames: int = 0
    worst: float = 0.0
    joint: str = ""
    stated: int = 0
    where: tuple[tuple[int, int], ...] = ()


def position_violations(robot: Embodiment, q: Array) -> Violations:
    """Joints (T, J) beyond their position limits; a joint without limits breaks none."""
    lower = limits([joint.lower for joint in robot.actuated], -np.inf)
    upper = limits([joint.upper for joint in robot.actuated], np.inf)
    beyond = np.maximum(np.maximum(lower - q, q - upper), 0.0)
    stated = np.isfinite(lower) | np.isfinite(upper)
    return count_violations(robot, beyond, POSITION_SLACK_RAD, stated)


def speed_violations(robot: Embodiment, rate_hz: float, q: Array) -> Violations:
    """Steps of joints (T, J) faster than their motors, as a share of the limit."""
    speeds = np.diff(q, axis=0) * rate_hz
    return _shares_beyond(robot, speeds, [one.velocity for one in robot.actuated], SPEED_SLACK)


def effort_violations(robot: Embodiment, efforts: Array) -> Violations:
    """Efforts (T, J) above their limits by more than EFFORT_SLACK, as a share of the limit."""
    return _shares_beyond(robot, efforts, [one.effort for one in robot.actuated], EFFORT_SLACK)


def _shares_beyond(
    robot: Embodiment, values: Array, stated: list[float | None], slack: float
) -> Violations:
    limit = limits([value or None for value in stated], np.inf)
    beyond = np.maximum(np.abs(values) / limit - 1, 0.0)
    return count_violations(robot, beyond, slack, np.isfinite(limit))


def count_violations(
    robot: Embodiment, beyond: Array, slack: float, stated: NDArray[np.bool_]
) -> Violations:
    """Counts what lies more than `slack` beyond its limit, from excesses (T, J)."""
    bad = beyond > slack
    known = int(np.count_nonzero(stated))
    if not bad.any():
        return Violations(stated=known)
    frame, joint = np.unravel_index(int(beyond.argmax()), beyond.shape)
    return Violations(
        count=int(np.count_nonzero(bad)),
        frames=int(np.count_nonzero(bad.any(axis=1))),
        worst=float(beyond[frame, joint]),
        joint=robot.joint_names[int(joint)],
        stated=known,
        where=runs(np.any(bad, axis=1)),
    )


def limits(stated: list[float | None], unknown: float) -> Array:
    """Limits (J,) as stated, or `unknown` where none is."""
    return np.array([unknown if value is None else value for value in stated], np.float64)


# A jump is this many times the usual step of the joint within half a second around it.
JUMP_RATIO = 5.0
# What no motor of a humanoid is faster than, where its speed is not stated: rad/s, m/s if sliding.
FASTEST_TURN, FASTEST_SLIDE = 20.0, 2.0
_AROUND_S = 0.5
QUICK_HZ = 5.0


@dataclass(frozen=True)
class Smoothness:
    """How smooth the joints of a motion are.

    `jumps` counts joints that leap from one frame to the next. `jerk_*` is the absolute third
    difference of positions, rad/s3, over all joints and frames. `quick_share` is the part of the
    power of all joint velocities that lies above QUICK_HZ. `base_gain_*` is the acceleration of
    the base, m/s2: a contact that is forced upon a motion shows here first.
    """

    jumps: int
    jerk_mean_rad_s3: float
    jerk_p95_rad_s3: float
    quick_share: float
    base_gain_p95_m_s2: float
    base_gain_max_m_s2: float


def measure_smoothness(robot: Embodiment, rate_hz: float, q: Array, base: Array) -> Smoothness:
    """Smoothness of joints (T, J) and of the place of the base (T, 7)."""
    gain = np.linalg.norm(np.diff(base[:, :3], n=2, axis=0), axis=1) * rate_hz**2
    jerk = np.abs(np.diff(q, n=3, axis=0)) * rate_hz**3
    return Smoothness(
        jumps=int(np.count_nonzero(jumps_of(robot, rate_hz, q))),
        jerk_mean_rad_s3=_mean(jerk),
        jerk_p95_rad_s3=float(np.quantile(jerk, 0.95)) if jerk.size else 0.0,
        quick_share=quick_share(rate_hz, q),
        base_gain_p95_m_s2=float(np.quantile(gain, 0.95)) if gain.size else 0.0,
        base_gain_max_m_s2=float(gain.max(initial=0.0)),
    )


def jumps_of(robot: Embodiment, rate_hz: float, q: Array) -> NDArray[np.bool_]:
    """Steps (T - 1, J) that are jumps.

    A jump is faster than the joint's motor, or than any motor where its speed is not stated, and
    over JUMP_RATIO times the median step of that joint in the half second around it.
    """
    steps = np.abs(np.diff(q, axis=0))
    any_motor = {"prismatic": FASTEST_SLIDE}
    fastest = np.array(
        [each.velocity or any_motor.get(each.type, FASTEST_TURN) for each in robot.actuated]
    )
    jumps: NDArray[np.bool_] = steps > np.maximum(fastest / rate_hz, POSITION_SLACK_RAD)
    window = max(3, round(_AROUND_S * rate_hz))
    for column in np.flatnonzero(jumps.any(axis=0)):
        usual = median_filter(steps[:, column], window, mode="nearest")
        jumps[:, column] &= steps[:, column] > JUMP_RATIO * usual
    return jumps


def quick_share(rate_hz: float, q: Array) -> float:
    """The part (0 to 1) of the power of the velocities of joints (T, J) above QUICK_HZ."""
    speed = np.diff(q, axis=0) * rate_hz
    if len(speed) < 8:
        return 0.0
    # A window, or the ends of the clip would spread over all frequencies.
    power = np.abs(np.fft.rfft(speed * np.hanning(len(speed))[:, None], axis=0)) ** 2
    frequency = np.fft.rfftfreq(len(speed), 1 / rate_hz)
    total = float(power.sum())
    return float(power[frequency > QUICK_HZ].sum()) / total if total > 0 else 0.0


def _mean(values: Array) -> float:
    return float(values.mean()) if values.size else 0.0


# Links that overlap by less are counted as touching: shapes are rounder than the robot.
OVERLAP_M = 0.005


@dataclass(frozen=True)
class ErrorSpread:
    """Distances over all frames in which they are known, in metres."""

    mean_m: float
    p95_m: float
    max_m: float


@dataclass(frozen=True)
class Overlaps:
    """Frames in which links overlap by over OVERLAP_M, the greatest depth, and whose it is."""

    frames: int = 0
    worst_m: float = 0.0
    pair: tuple[str, str] | None = None


@dataclass(frozen=True)
class Metrics:
    """What is measured of T frames of a robot; lengths in metres, angles in radians.

    `hand_error`, `foot_error`, `far_frames` (an end over FAR_M from its goal) and `limbs` are None
    without goals, `effort` is None where the masses of the robot are not known. `base_path_m` is
    the way of the base over the ground.
    """

    robot: str
    frames: int
    rate_hz: float
    hand_error: ErrorSpread | None
    foot_error: ErrorSpread | None
    far_frames: int | None
    limbs: LimbSpread | None
    grounding: Grounding
    overlaps: Overlaps
    position: Violations
    speed: Violations
    effort: Violations | None
    smoothness: Smoothness
    base_path_m: float

    def to_json(self) -> dict[str, Any]:
        """Plain values, as a report or the metadata of an episode holds them."""
        return asdict(self)


def measure(
    robot: Embodiment,
    rate_hz: float,
    q: Array,
    base: Array,
    *,
    goals: Goals | None = None,
    contacts: NDArray[np.bool_],
    supports: Supports | None = None,
) -> Metrics:
    """Metrics of joints `q` (T, J) and base poses (T, 7); the ground is z = 0.

    `contacts` (T, 2, 2) says which of [left, right] x [heel, toe] are meant to stand, `supports`
    what else is meant to rest on the ground.
    """
    kinematics, soles = model_of(robot, Kinematics), model_of(robot, soles_of)
    joints, root, touching = _checked(kinematics, q, base, contacts)
    poses = kinematics.transforms(joints, root)
    errors = None if goals is None else end_errors(robot, poses, goals)
    efforts = efforts_of(robot, rate_hz, joints, root, touching, supports)
    return Metrics(
        robot=robot.name,
        frames=len(joints),
        rate_hz=float(rate_hz),
        hand_error=None if errors is None else _spread(errors[:, :2]),
        foot_error=None if errors is None else _spread(errors[:, 2:]),
        far_frames=None if errors is None else int((errors > FAR_M).any(axis=1).sum()),
        limbs=None if goals is None else limb_spread(limb_angles(robot, poses, goals.limbs)),
        grounding=measure_grounding(robot, soles, poses, touching, supports),
        overlaps=_overlaps(robot, joints),
        position=position_violations(robot, joints),
        speed=speed_violations(robot, rate_hz, joints),
        effort=None if efforts is None else effort_violations(robot, efforts),
        smoothness=measure_smoothness(robot, rate_hz, joints, root),
        base_path_m=float(np.linalg.norm(np.diff(root[:, :2], axis=0), axis=1).sum()),
    )


def measure_result(result: Retargeted) -> Metrics:
    """Metrics of a result of ours, against the goals it was to follow."""
    return measure(
        result.robot,
        result.rate_hz,
        result.q,
        result.base,
        goals=result.goals,
        contacts=result.goals.contacts,
        supports=result.goals.supports,
    )


def end_errors(robot: Embodiment, poses: Array, goals: Goals) -> Array:
    """Distances (T, 4) of the ENDS from their goals, NaN where a goal is not KNOWN or no end there.

    A hand is the end effector of that name, a foot the middle of the sole that is declared as one.
    """
    errors = np.full((poses.shape[-1], len(ENDS)), np.nan)
    for column, name in enumerate(ENDS):
        place = _place(robot, name)
        if place is None or name not in goals.positions:
            continue
        link, point = place
        where = np.einsum("ikt,k->ti", poses[link][:, :3], point) + poses[link][:, 3].T
        known = goals.confidence[:, column] > KNOWN
        errors[known, column] = np.linalg.norm(where - goals.positions[name], axis=1)[known]
    return errors


def _place(robot: Embodiment, end: str) -> tuple[int, Array] | None:
    side, _, part = end.partition("_")
    if part == "foot":
        number = ("left", "right").index(side)
        soles = model_of(robot, soles_of)
        return int(soles.link[number]), soles.centre[number]
    if end not in robot.end_effectors:
        return None
    link, placement = model_of(robot, Kinematics).place(robot.end_effectors[end])
    return link, placement[:, 3]


def _checked(
    kinematics: Kinematics, q: Array, base: Array, contacts: NDArray[np.bool_]
) -> tuple[Array, Array, NDArray[np.bool_]]:
    joints = kinematics.checked(q)
    root = checked_base(base, len(joints))
    touching = np.asarray(contacts, bool)
    name = kinematics.embodiment.name
    if root is None or not len(joints):
        raise ModelError(f"a motion of robot {name!r} without frames; expected one or more.")
    if not (np.isfinite(joints).all() and np.isfinite(root).all()):
        raise ModelError(
            f"a motion of robot {name!r} holds values that are not finite; expected none. "
            "Fill or cut these frames first."
        )
    if touching.shape != (len(joints), 2, 2):
        raise ModelError(
            f"contacts do not fit {len(joints)} frames, got shape {touching.shape}; expected "
            f"({len(joints)}, 2, 2). Give left and right, heel and toe for every frame."
        )
    return joints, root, touching


def _spread(errors: Array) -> ErrorSpread | None:
    known = errors[np.isfinite(errors)]
    if not known.size:
        return None
    return ErrorSpread(float(known.mean()), float(np.quantile(known, 0.95)), float(known.max()))


def _overlaps(robot: Embodiment, q: Array) -> Overlaps:
    overlaps = model_of(robot, CollisionModel).collisions(q, tolerance_m=OVERLAP_M)
    if not len(overlaps):
        return Overlaps()
    worst = int(overlaps.depths_m.argmax())
    return Overlaps(
        frames=len(np.unique(overlaps.frames)),
        worst_m=float(overlaps.depths_m[worst]),
        pair=overlaps.links[worst],
    )
