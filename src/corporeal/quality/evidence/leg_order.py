"""How much better legs and waist would fit ground and momentum with joints exchanged or turned."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.embodiment.embodiment import model_of
from corporeal.embodiment.kinematics import Kinematics, base_transforms
from corporeal.errors import NotAssessed
from corporeal.quality.evidence.arm_order import OrderChange, changes_of, variants_of
from corporeal.quality.evidence.base_and_feet import base_order
from corporeal.quality.evidence.columns import columns_of
from corporeal.quality.evidence.rigid_motion import foot_links
from corporeal.quality.subject import Subject, attempt, once_per_subject
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.track import Array

LEGS, WAIST = "leg_order/", "waist_order/"
AS_IS = "as it is"
"""The measure that says that the limb was looked at; for legs, how askew they stand."""

# Instants that are looked at, with the steps that speeds are taken over.
INSTANTS, STEP_S = 40, 0.04
# Corners of a sole around its middle, m, ahead and to the left.
CORNERS = np.array([[x, y, 0.0] for x in (0.1, -0.06) for y in (0.03, -0.03)])
# One unit each: tilt of the lower sole, its speed over the ground, how far it is from the floor,
# how far a joint is beyond its limit; and how many units count at most.
TILT_RAD, SLIDE_M_S, HEIGHT_M, BEYOND_RAD = 0.1, 0.15, 0.03, 0.1
MOST, MOST_BEYOND = 4.0, 5.0
# The other foot stands beside the lower one for part of the time: it counts by this much.
BESIDE = 0.25
# Lower soles are at the floor in this part of the instants at least.
FLOOR_SHARE = 0.3
# Added before shares are taken: feet that stand well gain nothing.
SOME = 0.5
# Soles that are tilted by more than this, in units, even after a change do not stand: no evidence.
STANDS = 2.5
# The body is upright where its base leans less than this, and must be so most of the time.
UPRIGHT, MOSTLY = 0.5, 0.8
# Momenta are looked at over so many steps; a joint that turns less tells nothing, rad, and neither
# does a body that seldom lifts a foot, m: on two planted feet the chest may turn alone.
MOMENTS, LEAST_TURN, LIFTED_M, LIFTED_SHARE = 200, 0.02, 0.03, 0.1


@dataclass(frozen=True, eq=False)
class LegPair:
    """The two legs of a robot: joints from the hip down, their columns, and their limits."""

    names: tuple[tuple[str, ...], tuple[str, ...]]
    columns: tuple[list[int], list[int]]
    limits: Array


@dataclass(frozen=True, eq=False)
class _Steps:
    """One foot in every variant (V, T): how low, how tilted, how fast, and (V,) beyond limits."""

    low: Array
    tilt: Array
    slide: Array
    beyond: Array


@once_per_subject
def leg_order_gains(subject: Subject) -> tuple[float, dict[OrderChange, float]]:
    """How askew the feet stand, and the share of it that every change of the legs would mend.

    The lower sole of a body that stands or walks is level, on the floor and at rest. Raises
    NotAssessed without the pose of an upright base, or without two legs.
    """
    legs = model_of(subject.robot, _legs)
    base = _upright_base(subject)
    q, places = _chosen(subject, INSTANTS)
    missing = ~subject.posture.present[legs.columns[0] + legs.columns[1]]
    if missing.any():
        raise NotAssessed(f"not every joint of both legs is in {subject.posture.label}")
    kept, variants = variants_of(len(legs.columns[0]))
    seconds = subject.posture.time_ns[places] / 1e9
    feet = _feet(subject, legs, q, base[places], seconds, variants)
    plain = _cost(feet, 0, 0)
    costs = {
        change: _cost(feet, left, right)
        for change, left, right in changes_of(legs.names, kept, "leg")
    }
    if min((plain, *costs.values()), key=np.sum)[0] > STANDS:
        raise NotAssessed("the soles stand level in no order of the joints")
    total = float(plain.sum())
    return total, {
        each: (total - float(cost.sum())) / (total + SOME) for each, cost in costs.items()
    }


@once_per_subject
def waist_order_gains(subject: Subject) -> dict[OrderChange, float]:
    """How much less angular momentum the body would have with joints of the waist changed.

    Who turns the chest one way turns arms and legs the other way: the momentum about the centre of
    mass, and what the ground must do to change it, stay small. Logarithms, added up over the axes.
    Raises NotAssessed without the pose of an upright base, for one that stands on both feet, or
    where the waist rests.
    """
    robot = subject.robot
    names = tuple(name for name in robot.groups.get("torso", ()) if name in robot.joint_names)
    columns = [robot.joint_names.index(name) for name in names]
    if not names or not subject.posture.present[columns].all():
        raise NotAssessed(f"no joint of a waist is in {subject.posture.label}")
    base = _upright_base(subject)
    q, places = _chosen(subject, MOMENTS, in_a_row=True)
    step_s = float(np.median(np.diff(subject.posture.time_ns[places]))) / 1e9
    if _lifted(subject, q, base[places]) < LIFTED_SHARE:
        raise NotAssessed("the robot stands on both feet")
    moving = np.ptp(q[:, columns], axis=0) > LEAST_TURN
    changes: list[tuple[OrderChange, Array]] = []
    for number in np.flatnonzero(moving).tolist():
        tried = q.copy()
        tried[:, columns[number]] *= -1
        changes.append((OrderChange(turned=(names[number],)), tried))
    for one, other in combinations(range(len(names)), 2):
        if moving[one] or moving[other]:
            tried = q.copy()
            tried[:, [columns[one], columns[other]]] = q[:, [columns[other], columns[one]]]
            changes.append((OrderChange(pairs=((names[one], names[other]),)), tried))
    if not changes:
        raise NotAssessed("the waist does not move")
    swings = _swings(
        subject.kinematics, [q, *(tried for _, tried in changes)], base[places], step_s
    )
    gains = np.log(swings[0] / swings[1:]).sum(axis=1)
    return {change: float(gain) for (change, _), gain in zip(changes, gains, strict=True)}


def leg_order_measures(subject: Subject) -> dict[str, float]:
    """Both for a synopsis: what is gained at all, by the words for the change."""
    measures: dict[str, float] = {}
    judged = attempt(leg_order_gains, subject)
    if judged is not None:
        measures[LEGS + AS_IS] = judged[0]
        measures |= {f"{LEGS}{change}": gain for change, gain in judged[1].items() if gain > 0}
    gains = attempt(waist_order_gains, subject)
    if gains is not None:
        measures[WAIST + AS_IS] = 0.0
        measures |= {f"{WAIST}{change}": gain for change, gain in gains.items() if gain > 0}
    return measures


def _legs(robot: Embodiment) -> LegPair:
    places = {name: number for number, name in enumerate(robot.joint_names)}
    names = tuple(
        tuple(name for name in robot.groups.get(f"{side}_leg", ()) if name in places)
        for side in ("left", "right")
    )
    left, right = names
    if len(left) < 2 or len(left) != len(right):
        raise NotAssessed(f"the legs of {robot.name} have {len(left)} and {len(right)} joints")
    bounds = [
        (
            -np.inf if joint.lower is None else joint.lower,
            np.inf if joint.upper is None else joint.upper,
        )
        for joint in robot.actuated
    ]
    columns = ([places[name] for name in left], [places[name] for name in right])
    return LegPair((left, right), columns, np.array(bounds))


def _upright_base(subject: Subject) -> Array:
    """The base pose (T, 7), in its true order, of a robot that is upright nearly all the time."""
    posture = subject.posture
    if posture.base is None:
        raise NotAssessed("no base_pose stream")
    if (columns_of(subject, posture.label).radian > 1.0).any():
        raise NotAssessed(f"{posture.label} is not in radians")
    base = base_order(subject).base
    up = 1 - 2 * (base[:, 4] ** 2 + base[:, 5] ** 2)
    if float((up > np.cos(UPRIGHT)).mean()) < MOSTLY:
        raise NotAssessed("the robot is not upright")
    return base


def _lifted(subject: Subject, q: Array, base: Array) -> float:
    """For what share of the time one foot is higher than the other."""
    poses = subject.kinematics.link_poses(q, base)
    heights = [
        poses.position(link)[:, 2] + poses.rotation(link)[:, 2] @ sole[:, 3]
        for link, sole in foot_links(subject).values()
    ]
    return float((np.ptp(heights, axis=0) > LIFTED_M).mean())


def _chosen(
    subject: Subject, most: int, *, in_a_row: bool = False
) -> tuple[Array, NDArray[np.int64]]:
    """Postures (T, J) and their rows: pairs a step apart, or a run of steps in the middle."""
    time_ns = subject.posture.time_ns
    step = max(1, round(STEP_S * 1e9 / max(1.0, float(np.median(np.diff(time_ns))))))
    if len(time_ns) < 25 * step:
        raise NotAssessed(f"{subject.posture.label} is shorter than a second")
    if in_a_row:
        rows = np.arange(0, len(time_ns), step)
        first = max(0, (len(rows) - most) // 2)
        rows = rows[first : first + most]
    else:
        begins = np.linspace(0, len(time_ns) - 1 - step, most).astype(np.int64)
        rows = np.concatenate((begins, begins + step))
    return np.asarray(bridge_gaps(subject.posture.q)[rows]), np.asarray(rows, np.int64)


def _feet(
    subject: Subject, legs: LegPair, q: Array, base: Array, seconds: Array, variants: list[Array]
) -> list[_Steps]:
    """The left and the right foot in every variant."""
    kinematics = subject.kinematics
    columns = legs.columns[0] + legs.columns[1]
    count, frames = len(variants), len(q)
    tried = np.tile(q, (count, 1)).reshape(count, frames, -1)
    tried[:, :, columns] = np.einsum("vij,tj->vti", np.stack(variants), q[:, columns])
    poses = kinematics.transforms(tried.reshape(count * frames, -1))
    world = base_transforms(base, frames).transpose(2, 0, 1)
    half = frames // 2
    feet = foot_links(subject)
    if not {"left", "right"} <= set(feet):
        raise NotAssessed(f"{subject.robot.name} has no left and right foot in the data")
    steps = []
    for side, own in zip(("left", "right"), legs.columns, strict=True):
        link, sole = feet[side]
        pose = poses[kinematics.names.index(link)].transpose(2, 0, 1)
        pose = pose.reshape(count, frames, 3, 4)
        turned = np.einsum("tij,vtjk->vtik", world[:, :, :3], pose[..., :3])
        place = np.einsum("tij,vtj->vti", world[:, :, :3], pose[..., 3]) + world[:, :, 3]
        centre = place + turned @ sole[:, 3]
        axes = turned @ sole[:, :3]
        corners = centre[..., 2, None] + np.einsum("vtj,cj->vtc", axes[..., 2, :], CORNERS)
        way = np.linalg.norm(centre[:, half:, :2] - centre[:, :half, :2], axis=2)
        values = tried[:, :half, own]
        beyond = np.maximum(legs.limits[own, 0] - values, values - legs.limits[own, 1])
        steps.append(
            _Steps(
                low=corners[:, :half].min(axis=2),
                tilt=np.arccos(np.clip(axes[:, :half, 2, 2], -1.0, 1.0)),
                slide=way / (seconds[half:] - seconds[:half]),
                beyond=beyond.clip(0).max(axis=2).mean(axis=1),
            )
        )
    return steps


def _cost(feet: list[_Steps], left: int, right: int) -> Array:
    """Tilt, speed and distance from the floor of the lower foot, how the other one stands beside
    it, and what is beyond limits."""
    pairs = [(feet[0], left), (feet[1], right)]
    low = np.stack([foot.low[variant] for foot, variant in pairs])
    tilts = np.stack([foot.tilt[variant] for foot, variant in pairs])
    slides = np.stack([foot.slide[variant] for foot, variant in pairs])
    lower, instants = low.argmin(axis=0), np.arange(low.shape[1])
    lowest = low.min(axis=0)
    apart = np.abs(lowest - np.quantile(lowest, FLOOR_SHARE))
    beyond = sum(float(foot.beyond[variant]) for foot, variant in pairs)
    beside = _units(tilts[1 - lower, instants], TILT_RAD) + _units(low[0] - low[1], HEIGHT_M)
    return np.array(
        [
            _units(tilts[lower, instants], TILT_RAD),
            _units(slides[lower, instants], SLIDE_M_S),
            _units(apart, HEIGHT_M),
            BESIDE * beside,
            min(beyond / BEYOND_RAD, MOST_BEYOND),
        ]
    )


def _units(values: Array, unit: float) -> float:
    return float(np.minimum(np.abs(values) / unit, MOST).mean())


def _swings(kinematics: Kinematics, tried: list[Array], base: Array, step_s: float) -> Array:
    """How much the angular momentum about the centre of mass varies (V, 6), and its rate."""
    masses, centres, _ = kinematics.inertias
    count, frames = len(tried), len(base)
    poses = kinematics.transforms(np.concatenate(tried), np.tile(base, (count, 1)))
    place = np.einsum("lijt,lj->lti", poses[:, :, :3], centres) + poses[:, :, 3].transpose(0, 2, 1)
    place = place.reshape(len(masses), count, frames, 3)
    centre = np.tensordot(masses, place, axes=1) / masses.sum()
    speed = np.gradient(place, step_s, axis=2) - np.gradient(centre, step_s, axis=1)
    momentum = np.einsum("l,lvti->vti", masses, np.cross(place - centre, speed))
    rate = np.diff(momentum, axis=1) / step_s
    swings = np.concatenate((momentum.std(axis=1), rate.std(axis=1)), axis=1)
    return np.asarray(np.maximum(swings, 1e-9))
