"""Joints of a compiled MuJoCo model: limits, motors and couplings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from corporeal.embodiment.description.assembly import (
    BALLS_AS_HINGES,
    JointDescription,
    ball_hinges,
)
from corporeal.embodiment.embodiment import Mimic

# MuJoCo's enumerations, which are part of its file format and do not change.
FREE, BALL, SLIDE, HINGE = range(4)
BY_JOINT, BY_JOINT_IN_PARENT, BY_TENDON = 0, 1, 3
EQUALITY_JOINT = 2
WRAPS_JOINT = 1
FIXED_GAIN, NO_BIAS = 0, 0
PASSIVE_BALLS = "Ball joints without a motor, what they carry stays still: {}."


def read_motions(
    model: Any, names: Sequence[str]
) -> tuple[list[tuple[JointDescription, ...]], list[str]]:
    """Motions by joint number, and notes on what gets lost.

    A free joint has none. A ball joint is three hinges, or none where it is passive: a rod that
    it carries stays as the file draws it.
    """
    drives = _drives(model)
    actuated = {joint for _, joint in drives} if model.nu else set(range(model.njnt))
    mimics, notes = _mimics(model, names, actuated)
    order = list(dict.fromkeys(joint for _, joint in drives if joint not in mimics))
    if order != sorted(order):
        listed = ", ".join(names[joint] for joint in order)
        notes.append(f"The file's actuators are in another order than its joints: {listed}.")
    motions: list[tuple[JointDescription, ...]] = []
    split, passive = list[str](), list[str]()
    for joint in range(model.njnt):
        if int(model.jnt_type[joint]) != BALL:
            motion = _motion(model, joint, names, actuated, mimics.get(joint), drives)
            motions.append(() if motion is None else (motion,))
        elif model.nu and not _moves_any(model, joint, actuated):
            motions.append(())
            passive.append(names[joint])
        else:
            motions.append(ball_hinges(names[joint], actuated=joint in actuated))
            split.append(names[joint])
    if split:
        notes.append(BALLS_AS_HINGES.format(", ".join(split)))
    if passive:
        notes.append(PASSIVE_BALLS.format(", ".join(passive)))
    return motions, notes


def _moves_any(model: Any, joint: int, actuated: set[int]) -> bool:
    """Whether a joint, or one farther out, has a motor."""
    moved = {int(model.jnt_bodyid[joint])}
    for body in range(model.nbody):
        if int(model.body_parentid[body]) in moved:
            moved.add(body)
    return any(int(model.jnt_bodyid[other]) in moved for other in actuated)


def _motion(
    model: Any,
    joint: int,
    names: Sequence[str],
    actuated: set[int],
    mimic: Mimic | None,
    drives: list[tuple[int, int]],
) -> JointDescription | None:
    kind = {SLIDE: "prismatic", HINGE: "revolute"}.get(int(model.jnt_type[joint]))
    if kind is None:
        return None
    x, y, z = (float(value) for value in model.jnt_axis[joint])
    lower = upper = None
    if model.jnt_limited[joint]:
        lower, upper = (float(f"{value:.12g}") for value in model.jnt_range[joint])
    return JointDescription(
        names[joint],
        kind,
        (x, y, z),
        lower,
        upper,
        None,
        _effort(model, joint, [actuator for actuator, driven in drives if driven == joint]),
        mimic,
        joint in actuated,
    )


def _drives(model: Any) -> list[tuple[int, int]]:
    """Pairs of actuator and joint that it moves, directly or by a tendon."""
    found = []
    for actuator in range(model.nu):
        target = int(model.actuator_trnid[actuator, 0])
        kind = int(model.actuator_trntype[actuator])
        if kind in (BY_JOINT, BY_JOINT_IN_PARENT):
            found.append((actuator, target))
        elif kind == BY_TENDON:
            first, count = int(model.tendon_adr[target]), int(model.tendon_num[target])
            found.extend(
                (actuator, int(model.wrap_objid[wrap]))
                for wrap in range(first, first + count)
                if int(model.wrap_type[wrap]) == WRAPS_JOINT
            )
    return found


def _effort(model: Any, joint: int, actuators: Sequence[int]) -> float | None:
    """The joint's own force limit, else its actuator's, else what a motor's control allows.

    The control of a position or velocity servo is no force and says nothing here.
    """
    if model.jnt_actfrclimited[joint]:
        return _largest(model.jnt_actfrcrange[joint])
    for actuator in actuators:
        if int(model.actuator_trntype[actuator]) == BY_TENDON:
            continue
        gear = abs(float(model.actuator_gear[actuator, 0]))
        if model.actuator_forcelimited[actuator]:
            return _largest(model.actuator_forcerange[actuator], gear)
        is_motor = (
            int(model.actuator_gaintype[actuator]) == FIXED_GAIN
            and int(model.actuator_biastype[actuator]) == NO_BIAS
            and int(model.actuator_dyntype[actuator]) == 0
        )
        if is_motor and model.actuator_ctrllimited[actuator]:
            gain = abs(float(model.actuator_gainprm[actuator, 0]))
            return _largest(model.actuator_ctrlrange[actuator], gear * gain)
    return None


def _largest(values: Any, scale: float = 1.0) -> float | None:
    """The larger side of a range; a range of zero is a placeholder and says nothing."""
    return float(f"{max(abs(float(value)) for value in values) * scale:.12g}") or None


def _mimics(
    model: Any, names: Sequence[str], actuated: set[int]
) -> tuple[dict[int, Mimic], list[str]]:
    """Followers by joint number: of two coupled joints the one without a motor follows."""
    mimics: dict[int, Mimic] = {}
    notes: list[str] = []
    for follower, leader, coefficients in _couplings(model):
        offset, slope, *rest = coefficients
        if any(rest) or not slope:
            notes.append(
                f"The coupling of {names[follower]} to {names[leader]} is not linear and is "
                "left out."
            )
            continue
        zero, other_zero = (
            float(model.qpos0[model.jnt_qposadr[joint]]) for joint in (follower, leader)
        )
        offset += zero - slope * other_zero
        if follower in actuated and leader not in actuated:
            follower, leader = leader, follower
            slope, offset = 1 / slope, -offset / slope
        if follower not in mimics and leader not in mimics:
            mimics[follower] = Mimic(
                joint=names[leader],
                multiplier=float(f"{slope:.12g}"),
                offset=float(f"{offset:.12g}") + 0.0,
            )
    return mimics, notes


def _couplings(model: Any) -> Iterator[tuple[int, int, list[float]]]:
    for equality in range(model.neq):
        leader = int(model.eq_obj2id[equality])
        if int(model.eq_type[equality]) == EQUALITY_JOINT and leader >= 0:
            coefficients = [float(value) for value in model.eq_data[equality, :5]]
            if model.eq_active0[equality]:
                yield int(model.eq_obj1id[equality]), leader, coefficients
