"""Whatever a file's unit and axes, the person comes out in metres, z up and right-handed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from corporeal.errors import UnknownNameError
from corporeal.geometry import Array
from corporeal.retargeting.motion import POINTS, SIDES, MotionError

# CMU's skeletons are scaled by 0.45, and counted in inches.
METRES = {"m": 1.0, "cm": 0.01, "mm": 0.001, "in": 0.0254, "cmu": 0.0254 / 0.45}
STATURE_M = (1.2, 2.3)
# Nobody is outside these, even if the unit was given by a person.
POSSIBLE_M = (0.4, 3.5)
AXES = ("x", "y", "z", "-x", "-y", "-z")
# Lengths between joint centres as parts of the stature, means of adults.
_PARTS = {"leg": 0.491, "trunk": 0.30, "arm": 0.332}
_FRAMES_LOOKED_AT = 2000
# The mean of the body's direction must lie this near to an axis (cosine) to be taken as upright.
_UPRIGHT = 0.8
# Who moves does so along the floor: a lowest point that changes by more is not above it.
_TRAVEL_M = 0.1


@dataclass(frozen=True, eq=False)
class Standardised:
    """Points in metres and z up: `positions` = `scale` * `rotation` @ the file's own."""

    positions: Array
    scale: float
    rotation: Array
    notes: tuple[str, ...]


def standardise(
    positions: Array, *, unit: str | None, up: str | None, source: Path
) -> Standardised:
    """Points (T, P, 3) in the order of POINTS, NaN allowed, in metres with z up.

    The unit and the axis that points up are found from the body where they are not given; a body
    that fits no unit, or one whose left is on its right, raises MotionError.
    """
    step = -(-len(positions) // _FRAMES_LOOKED_AT) or 1
    looked_at = np.asarray(positions[::step], np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        if not np.any(np.isfinite(looked_at)):
            raise MotionError(f"{source}: no point is known in any frame. Export the clip again.")
        scale, about_unit = _scale(looked_at, unit, source)
        axis, about_axis = _up(looked_at * scale, up, source)
        about_sides = _check_sides(looked_at, source)
        rotation = rotation_to_z(axis)
        turned = (np.asarray(positions, np.float64) * scale) @ rotation.T
    return Standardised(turned, scale, rotation, (*about_unit, *about_axis, *about_sides))


def rotation_to_z(axis: str) -> Array:
    """The rotation (3, 3) that takes a signed axis such as `-y` to z by the shortest way."""
    if axis not in AXES:
        raise UnknownNameError("axis", axis, AXES)
    along, sign = "xyz".index(axis[-1]), -1.0 if axis.startswith("-") else 1.0
    if along == 2:
        return np.diag([1.0, sign, sign])
    rotation = np.eye(3)
    rotation[[along, 2]] = 0.0
    rotation[2, along] = sign
    rotation[along, 2] = -sign
    return rotation


def stature(positions: Array) -> float:
    """The person's height, estimated from legs, trunk and arms, in the unit of the points."""
    lengths = {
        "leg": _limb(positions, "hip", "knee", "ankle"),
        "trunk": median(np.linalg.norm(_trunk(positions), axis=1)),
        "arm": _limb(positions, "shoulder", "elbow", "wrist"),
    }
    # Legs say most about the height, so theirs counts twice among the three.
    guesses = [lengths[name] / _PARTS[name] for name in ("leg", "leg", "trunk", "arm")]
    return median(np.array(guesses))


def _scale(positions: Array, unit: str | None, source: Path) -> tuple[float, tuple[str, ...]]:
    height = stature(positions)
    if unit is not None:
        if unit not in METRES:
            raise UnknownNameError("unit", unit, METRES)
        tall = height * METRES[unit]
        if np.isfinite(tall) and not POSSIBLE_M[0] <= tall <= POSSIBLE_M[1]:
            raise MotionError(
                f"{source}: with unit {unit} the person is {tall:.3g} m tall; "
                f"expected {STATURE_M[0]} to {STATURE_M[1]} m. Give another --unit."
            )
        return METRES[unit], ()
    fitting = {
        name: height * metres
        for name, metres in METRES.items()
        if STATURE_M[0] <= height * metres <= STATURE_M[1]
    }
    if len(fitting) != 1:
        size = "cannot be measured" if not np.isfinite(height) else f"is {height:.3g} units tall"
        reason = "fits no unit of length" if not fitting else f"fits {' and '.join(fitting)}"
        raise MotionError(
            f"{source}: the person {size}, which {reason}; expected {STATURE_M[0]} to "
            f"{STATURE_M[1]} m. Give --unit m, cm, mm or in."
        )
    name, tall = next(iter(fitting.items()))
    unit_name = "1/0.45 inch, as CMU's are" if name == "cmu" else name
    return METRES[name], (f"unit {unit_name}: the person is about {tall:.2f} m tall",)


def _up(positions: Array, up: str | None, source: Path) -> tuple[str, tuple[str, ...]]:
    if up is not None:
        if up not in AXES:
            raise UnknownNameError("axis", up, AXES)
        return up, ()
    trunk = _trunk(positions)
    legs = _both(positions, "hip") - _both(positions, "ankle")
    # Whole body and trunk: sitting bends the legs, bowing the trunk, seldom both.
    directions = np.concatenate([_unit(legs + trunk), _unit(trunk)])
    mean = _mean(directions)
    if not np.all(np.isfinite(mean)):
        raise MotionError(
            f"{source}: no frame shows both hips and both shoulders, so there is no body to read. "
            "Map its points with --skeleton, or use another clip."
        )
    along = int(np.argmax(np.abs(mean)))
    strength = float(abs(mean[along]))
    axis = f"{'-' if mean[along] < 0 else ''}{'xyz'[along]}"
    others = float(np.linalg.norm(np.delete(mean, along)))
    # Hardly a file has x up: somebody who moves along it lies or crawls.
    crawls = along == 0 and _floor_spread(positions)[0] > _TRAVEL_M
    if crawls or strength < 0.4 or strength < _UPRIGHT * np.hypot(strength, others):
        return _convention(positions, mean, source)
    lean_deg = float(np.degrees(np.arctan2(others, strength)))
    notes = [f"up is {axis}, found from the body"]
    if along == 0:
        notes.append("x is seldom up: give --up if the person lies or crawls")
    if lean_deg > 20:
        notes.append(f"the body leans by {lean_deg:.0f} degrees on average: check --up")
    return axis, tuple(notes)


def _convention(positions: Array, mean: Array, source: Path) -> tuple[str, tuple[str, ...]]:
    """Between y and z, which nearly all files use, where the body itself does not tell."""
    spread = _floor_spread(positions)[1:]
    if spread.max() > _TRAVEL_M and spread.min() < 0.5 * spread.max():
        axis = "yz"[int(np.argmin(spread))]
        return axis, (f"the body is not upright; up is taken as {axis}, where its floor is level",)
    if max(mean[1], mean[2]) < 0.2:
        raise MotionError(
            f"{source}: the body is upright along neither y nor z, so up is unknown. Give --up, "
            "such as z for somebody who lies or crawls."
        )
    axis = "y" if mean[1] > mean[2] else "z"
    return axis, (f"the body is not upright; up is taken as {axis}: give --up if it is not",)


def _floor_spread(positions: Array) -> Array:
    """How much (3,) the lowest of the points along each axis changes with time."""
    floor = np.where(np.isfinite(positions), positions, np.inf).min(axis=1)
    return np.asarray(np.std(floor[np.all(np.isfinite(floor), axis=1)], axis=0))


def _check_sides(positions: Array, source: Path) -> tuple[str, ...]:
    """Refuse a body whose feet and knees point backwards, given its left and its upper end."""
    hips = _at(positions, "left_hip") - _at(positions, "right_hip")
    shoulders = _at(positions, "left_shoulder") - _at(positions, "right_shoulder")
    if _mean(np.sum(_unit(hips) * _unit(shoulders), axis=1)) < -0.3:
        raise MotionError(
            f"{source}: the left hip and the left shoulder are on opposite sides of the body. "
            "Swap the names of left and right for the arms or for the legs."
        )
    forward = _unit(np.cross(_unit(hips), _unit(_trunk(positions))))
    evidence = {"feet": _feet_forward(positions, forward), "knees": _knees(positions, forward)}
    known = {name: value for name, value in evidence.items() if abs(value) > 0.4}
    if not known:
        return ("whether left and right are mirrored cannot be told: neither toes nor bent knees",)
    if all(value < 0 for value in known.values()):
        raise MotionError(
            f"{source}: left and right are mirrored ({' and '.join(known)} point backwards): its "
            "axes are left-handed or its left and right are swapped. Negate one horizontal axis, "
            "or swap the names, and read it again."
        )
    if any(value < 0 for value in known.values()):
        return ("feet and knees point in opposite directions: check the names of the points",)
    return ()


def _feet_forward(positions: Array, forward: Array) -> float:
    cosines = []
    for side in SIDES:
        foot = _at(positions, f"{side}_toe") - _at(positions, f"{side}_ankle")
        cosines.append(np.sum(_unit(foot) * forward, axis=1))
    return _mean_or_zero(np.concatenate(cosines))


def _knees(positions: Array, forward: Array) -> float:
    """The mean of where knees point, +1 forward, of those bent enough to show it."""
    shown = []
    for side in SIDES:
        hip, knee, ankle = (_at(positions, f"{side}_{part}") for part in ("hip", "knee", "ankle"))
        line = _unit(ankle - hip)
        out = (knee - hip) - line * np.sum((knee - hip) * line, axis=1, keepdims=True)
        bent = np.linalg.norm(out, axis=1) > 0.08 * np.linalg.norm(ankle - hip, axis=1)
        shown.append(np.sum(_unit(out) * forward, axis=1)[bent])
    return _mean_or_zero(np.concatenate(shown))


def _at(positions: Array, name: str) -> Array:
    return positions[:, POINTS.index(name)]


def _trunk(positions: Array) -> Array:
    """From the pelvis to the neck, between hips and shoulders where a file has neither."""
    ends = []
    for name, part in (("pelvis", "hip"), ("neck", "shoulder")):
        end = _at(positions, name)
        ends.append(np.where(np.isfinite(end), end, _both(positions, part)))
    return ends[1] - ends[0]


def _unit(vectors: Array) -> Array:
    """At unit length; NaN where a vector is unknown or zero, so that means leave it out."""
    with np.errstate(divide="ignore"):
        return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def _both(positions: Array, part: str) -> Array:
    left, right = (_at(positions, f"{side}_{part}") for side in SIDES)
    between = (left + right) / 2
    return np.where(np.isfinite(between), between, np.where(np.isfinite(left), left, right))


def _limb(positions: Array, *parts: str) -> float:
    lengths = []
    for upper, lower in pairwise(parts):
        bones = [
            _at(positions, f"{side}_{lower}") - _at(positions, f"{side}_{upper}") for side in SIDES
        ]
        lengths.append(median(np.linalg.norm(np.concatenate(bones), axis=1)))
    return float(np.sum(lengths))


def median(values: Array) -> float:
    """The median of what is known, NaN where nothing is."""
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else float("nan")


def _mean(values: Array) -> Array:
    finite = np.isfinite(values)
    known = values[finite if values.ndim == 1 else np.all(finite, axis=1)]
    return np.asarray(known.mean(axis=0) if len(known) else np.full(values.shape[1:], np.nan))


def _mean_or_zero(cosines: Array) -> float:
    return float(np.nan_to_num(_mean(cosines)))
