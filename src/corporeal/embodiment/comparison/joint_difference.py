"""What two descriptions of the same joint do not agree on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from corporeal.embodiment.comparison.correspondence import Correspondence
from corporeal.embodiment.comparison.disagreement import (
    Difference,
    Tolerance,
    pose_differences,
    vector_words,
)
from corporeal.embodiment.embodiment import Joint


def joint_differences(
    a: Joint, b: Joint, same: Correspondence, tol: Tolerance
) -> Iterator[Difference]:
    """Axis, limits, coupling and pose."""
    yield from _axis(a, b, tol)
    yield from _limits(a, b, tol)
    yield from _coupling(a, b, same)
    if same.links.get(a.child) != b.child:
        words = f"{a.name}: moves {a.child} in A, {b.child} in B"
        yield Difference("poses", a.name, "differs", words, a.child, b.child)
    if same.links.get(a.parent) != b.parent:
        words = f"{a.name}: hangs on {a.parent} in A, on {b.parent} in B"
        yield Difference("poses", a.name, "differs", words, a.parent, b.parent)
    else:
        yield from pose_differences("poses", a.name, a, b, tol)


def _axis(a: Joint, b: Joint, tol: Tolerance) -> Iterator[Difference]:
    if a.type != b.type:
        words = f"{a.name}: {a.type} against {b.type}"
        yield Difference("axes", a.name, "differs", words, a.type, b.type)
    dot = float(np.dot(a.axis, b.axis))
    angle = float(np.arctan2(np.linalg.norm(np.cross(a.axis, b.axis)), dot))
    if angle > np.pi - max(tol.angle_rad, 1e-3):
        what = "axis is mirrored"
    elif angle > tol.angle_rad:
        what = f"axis is turned by {angle:.4g} rad"
    else:
        return
    words = f"{a.name}: {what} ({vector_words(a.axis)} against {vector_words(b.axis)})"
    yield Difference("axes", a.name, "differs", words, a.axis, b.axis)


def _limits(a: Joint, b: Joint, tol: Tolerance) -> Iterator[Difference]:
    turns = a.type == "revolute"
    position_tol = tol.angle_rad if turns else tol.length_m
    for key, unit in (
        ("lower", "rad" if turns else "m"),
        ("upper", "rad" if turns else "m"),
        ("velocity", "rad/s" if turns else "m/s"),
        ("effort", "N m" if turns else "N"),
    ):
        x, y = getattr(a, key), getattr(b, key)
        if x is None and y is None:
            continue
        if x is None or y is None:
            label, value = ("A", x) if y is None else ("B", y)
            words = f"{a.name}: only {label} states the {key} limit, {value:.5g} {unit}"
            yield Difference("limits", f"{a.name}.{key}", "unstated", words, x, y)
            continue
        allowed = position_tol if key in ("lower", "upper") else tol.relative * max(x, y)
        if abs(x - y) > allowed:
            words = f"{a.name}: {key} limit {x:.5g} against {y:.5g} {unit}"
            yield Difference("limits", f"{a.name}.{key}", "differs", words, x, y)


def _coupling(a: Joint, b: Joint, same: Correspondence) -> Iterator[Difference]:
    """A follower is no column of the data, so stating it on one side only is a difference."""
    said = []
    for joint, rename in ((a, same.joints), (b, {})):
        if joint.mimic is not None:
            leader = rename.get(joint.mimic.joint, joint.mimic.joint)
            factor, offset = round(joint.mimic.multiplier, 6), round(joint.mimic.offset, 6)
            said.append(f"follows {leader} times {factor:g} plus {offset:g}")
        else:
            said.append("has a motor" if joint.actuated else "has no motor")
    if said[0] != said[1]:
        words = f"{a.name}: {said[0]} in A, {said[1]} in B"
        yield Difference("coupling", a.name, "differs", words, *said)
