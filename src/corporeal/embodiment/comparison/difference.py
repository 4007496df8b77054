"""What two robot descriptions do not agree on, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from corporeal.embodiment.comparison.correspondence import Correspondence, match
from corporeal.embodiment.description.assembly import pose_of
from corporeal.embodiment.description.inertia import inertia_matrix
from corporeal.embodiment.embodiment import Embodiment, Inertia, Joint, Link, Placed, Shape
from corporeal.geometry import matrix_from_rpy, rotation_angle

Topic = Literal[
    "base", "names", "order", "axes", "limits", "coupling", "poses",
    "mass", "inertia", "collision", "frames", "groups",
]  # fmt: skip
Severity = Literal["differs", "unstated"]


@dataclass(frozen=True)
class RobotDifference:
    """One disagreement; `unstated` means that only one of the two says anything."""

    topic: Topic
    subject: str
    severity: Severity
    words: str
    a: Any = None
    b: Any = None


@dataclass(frozen=True)
class Tolerance:
    """How far apart two values may be and still count as the same."""

    angle_rad: float
    length_m: float
    relative: float
    inertia: float


def pose_differences(
    topic: Topic, name: str, a: Placed, b: Placed, tol: Tolerance
) -> Iterator[RobotDifference]:
    """Where two things stand: distance and angle, each if beyond its tolerance."""
    shift = float(np.linalg.norm(np.subtract(a.xyz, b.xyz)))
    if shift > tol.length_m:
        values = f"{vector_words(a.xyz)} against {vector_words(b.xyz)} m"
        words = f"{name}: {1000 * shift:.4g} mm apart ({values})"
        yield RobotDifference(topic, name, "differs", words, a.xyz, b.xyz)
    turn = float(rotation_angle(matrix_from_rpy(a.rpy), matrix_from_rpy(b.rpy)))
    if turn > tol.angle_rad:
        values = f"rpy {vector_words(a.rpy)} against {vector_words(b.rpy)}"
        words = f"{name}: turned by {turn:.4g} rad ({values})"
        yield RobotDifference(topic, name, "differs", words, a.rpy, b.rpy)


def vector_words(values: Iterable[float]) -> str:
    """Numbers as people write them: `0 0 -0.1027`."""
    return " ".join(f"{value:.4g}" for value in values)


def link_differences(a: Link, b: Link, tol: Tolerance) -> Iterator[RobotDifference]:
    """Mass, centre of mass, inertia, and the shapes that collide."""
    if a.inertia is not None and b.inertia is not None:
        yield from _inertia(a.name, a.inertia, b.inertia, tol)
    elif a.inertia is not None or b.inertia is not None:
        masses = [None if link.inertia is None else link.inertia.mass for link in (a, b)]
        words = f"{a.name}: only {'B' if a.inertia is None else 'A'} states a mass"
        yield RobotDifference("mass", a.name, "unstated", words, *masses)
    yield from _collision(a, b, tol)


def _inertia(name: str, a: Inertia, b: Inertia, tol: Tolerance) -> Iterator[RobotDifference]:
    if abs(a.mass - b.mass) > tol.relative * max(a.mass, b.mass):
        words = f"{name}: mass {a.mass:.5g} against {b.mass:.5g} kg"
        yield RobotDifference("mass", name, "differs", words, a.mass, b.mass)
    shift = float(np.linalg.norm(np.subtract(a.com, b.com)))
    if shift > tol.length_m:
        words = (
            f"{name}: centre of mass {1000 * shift:.4g} mm apart "
            f"({vector_words(a.com)} against {vector_words(b.com)} m)"
        )
        yield RobotDifference("inertia", f"{name}.com", "differs", words, a.com, b.com)
    matrices = [inertia_matrix(inertia) for inertia in (a, b)]
    size = max(float(np.linalg.norm(matrix)) for matrix in matrices)
    share = float(np.linalg.norm(matrices[0] - matrices[1])) / size if size else 0.0
    if share > tol.inertia:
        words = f"{name}: inertia deviates by {100 * share:.3g} %"
        yield RobotDifference("inertia", name, "differs", words, a.matrix, b.matrix)


def _collision(a: Link, b: Link, tol: Tolerance) -> Iterator[RobotDifference]:
    left, right = list(a.collision), list(b.collision)
    for shape in a.collision:
        partner = next((other for other in right if _same_shape(shape, other, tol)), None)
        if partner is not None:
            left.remove(shape)
            right.remove(partner)
    if left or right:
        severity: Severity = "differs" if a.collision and b.collision else "unstated"
        words = f"{a.name}: collides as {_shapes(left)} in A, {_shapes(right)} in B"
        yield RobotDifference("collision", a.name, severity, words, tuple(left), tuple(right))


def _same_shape(a: Shape, b: Shape, tol: Tolerance) -> bool:
    if a.type != b.type or not np.allclose(a.size, b.size, rtol=0, atol=tol.length_m):
        return False
    if not np.allclose(a.xyz, b.xyz, rtol=0, atol=tol.length_m):
        return False
    turn = np.abs((pose_of(a)[:3, :3]).T @ pose_of(b)[:3, :3])
    # Half turns leave a box as it is, and any turn about z a cylinder; a sphere has no pose.
    if a.type == "box":
        return bool(np.allclose(turn, np.eye(3), atol=tol.angle_rad))
    return a.type == "sphere" or bool(np.hypot(turn[0, 2], turn[1, 2]) < tol.angle_rad)


def _shapes(shapes: list[Shape]) -> str:
    return ", ".join(f"{s.type} {vector_words(s.size)}" for s in shapes) or "nothing"


def joint_differences(
    a: Joint, b: Joint, same: Correspondence, tol: Tolerance
) -> Iterator[RobotDifference]:
    """Axis, limits, coupling and pose."""
    yield from _axis(a, b, tol)
    yield from _limits(a, b, tol)
    yield from _coupling(a, b, same)
    if same.links.get(a.child) != b.child:
        words = f"{a.name}: moves {a.child} in A, {b.child} in B"
        yield RobotDifference("poses", a.name, "differs", words, a.child, b.child)
    if same.links.get(a.parent) != b.parent:
        words = f"{a.name}: hangs on {a.parent} in A, on {b.parent} in B"
        yield RobotDifference("poses", a.name, "differs", words, a.parent, b.parent)
    else:
        yield from pose_differences("poses", a.name, a, b, tol)


def _axis(a: Joint, b: Joint, tol: Tolerance) -> Iterator[RobotDifference]:
    if a.type != b.type:
        words = f"{a.name}: {a.type} against {b.type}"
        yield RobotDifference("axes", a.name, "differs", words, a.type, b.type)
    dot = float(np.dot(a.axis, b.axis))
    angle = float(np.arctan2(np.linalg.norm(np.cross(a.axis, b.axis)), dot))
    if angle > np.pi - max(tol.angle_rad, 1e-3):
        what = "axis is mirrored"
    elif angle > tol.angle_rad:
        what = f"axis is turned by {angle:.4g} rad"
    else:
        return
    words = f"{a.name}: {what} ({vector_words(a.axis)} against {vector_words(b.axis)})"
    yield RobotDifference("axes", a.name, "differs", words, a.axis, b.axis)


def _limits(a: Joint, b: Joint, tol: Tolerance) -> Iterator[RobotDifference]:
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
            yield RobotDifference("limits", f"{a.name}.{key}", "unstated", words, x, y)
            continue
        allowed = position_tol if key in ("lower", "upper") else tol.relative * max(x, y)
        if abs(x - y) > allowed:
            words = f"{a.name}: {key} limit {x:.5g} against {y:.5g} {unit}"
            yield RobotDifference("limits", f"{a.name}.{key}", "differs", words, x, y)


def _coupling(a: Joint, b: Joint, same: Correspondence) -> Iterator[RobotDifference]:
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
        yield RobotDifference("coupling", a.name, "differs", words, *said)


__all__ = ["RobotDifference", "compare", "describe"]


def compare(
    a: Embodiment,
    b: Embodiment,
    *,
    angle_tol_rad: float = 1e-3,
    length_tol_m: float = 1e-4,
    relative_tol: float = 1e-3,
    inertia_tol: float = 1e-2,
) -> tuple[RobotDifference, ...]:
    """Everything on which A and B differ by more than the tolerances; empty for one robot.

    `relative_tol` is for masses, torques and speeds; `inertia_tol` is the share of a link's
    inertia matrix by which it may deviate, since files round principal axes coarsely.
    """
    tol = Tolerance(angle_tol_rad, length_tol_m, relative_tol, inertia_tol)
    same = match(a, b, length_tol_m=length_tol_m)
    return (
        *_base(a, b),
        *_names(a, b, same),
        *_order(a, b, same),
        *_joints(a, b, same, tol),
        *_links(a, b, same, tol),
        *_frames(a, b, same, tol),
        *_groups(a, b, same),
    )


def describe(differences: Iterable[RobotDifference]) -> str:
    """One line for each difference; what only one of the two states is counted by topic."""
    found = list(differences)
    lines = [f"{d.topic}: {d.words}" for d in found if d.severity == "differs"]
    unstated: dict[str, list[RobotDifference]] = {}
    for difference in found:
        if difference.severity == "unstated":
            unstated.setdefault(difference.topic, []).append(difference)
    for topic, group in unstated.items():
        more = f" (and {len(group) - 2} more like this)" if len(group) > 2 else ""
        lines.append(f"{topic}: {'; '.join(d.words for d in group[:2])}{more}")
    return "\n".join(lines) or "no differences"


def _base(a: Embodiment, b: Embodiment) -> Iterator[RobotDifference]:
    if a.floating != b.floating:
        words = ["floats" if robot.floating else "is fixed" for robot in (a, b)]
        yield RobotDifference(
            "base", a.base, "differs", f"the base {words[0]} in A, {words[1]} in B",
            a.floating, b.floating,
        )  # fmt: skip


def _names(a: Embodiment, b: Embodiment, same: Correspondence) -> Iterator[RobotDifference]:
    for name, other in same.renamed_joints.items():
        words = f"{name} of A is probably {other} of B under another name"
        yield RobotDifference("names", name, "differs", words, name, other)
    for robot, label, known in ((a, "A", set(same.joints)), (b, "B", set(same.joints.values()))):
        only = tuple(joint.name for joint in robot.joints if joint.name not in known)
        if only:
            values = (only, ()) if label == "A" else ((), only)
            yield RobotDifference(
                "names", "joints", "differs", f"only {label} has: {', '.join(only)}", *values
            )
    for name, other in same.links.items():
        if name != other:
            words = f"link {name} of A is called {other} in B"
            yield RobotDifference("names", name, "differs", words, name, other)


def _order(a: Embodiment, b: Embodiment, same: Correspondence) -> Iterator[RobotDifference]:
    """The order of the actuated joints that both have: the columns of the data."""
    columns_b = [name for name in b.joint_names if name in set(same.joints.values())]
    names = [name for name in a.joint_names if same.joints.get(name) in columns_b]
    wanted = [same.joints[name] for name in names]
    columns_b = [name for name in columns_b if name in wanted]
    moved = [i for i, (x, y) in enumerate(zip(wanted, columns_b, strict=True)) if x != y]
    if not moved:
        return
    if len(moved) == 2:
        i, j = moved
        words = f"joints {i} and {j} are exchanged: A has {names[i]} at {i}, B {columns_b[i]}"
    else:
        numbers = " ".join(str(wanted.index(name)) for name in columns_b)
        words = f"same joint names in another order (B's joints by A's numbers: {numbers})"
    yield RobotDifference("order", "joints", "differs", words, tuple(names), tuple(columns_b))


def _joints(
    a: Embodiment, b: Embodiment, same: Correspondence, tol: Tolerance
) -> Iterator[RobotDifference]:
    in_b = {joint.name: joint for joint in b.joints}
    for joint in a.joints:
        if joint.name in same.joints:
            yield from joint_differences(joint, in_b[same.joints[joint.name]], same, tol)


def _links(
    a: Embodiment, b: Embodiment, same: Correspondence, tol: Tolerance
) -> Iterator[RobotDifference]:
    if abs(a.mass - b.mass) > tol.relative * max(a.mass, b.mass):
        words = f"the whole robot weighs {a.mass:.5g} against {b.mass:.5g} kg"
        yield RobotDifference("mass", "robot", "differs", words, a.mass, b.mass)
    in_b = {link.name: link for link in b.links}
    for link in a.links:
        if same.links.get(link.name) in in_b:
            yield from link_differences(link, in_b[same.links[link.name]], tol)


def _frames(
    a: Embodiment, b: Embodiment, same: Correspondence, tol: Tolerance
) -> Iterator[RobotDifference]:
    in_a = {frame.name: frame for frame in a.frames}
    in_b = {frame.name: frame for frame in b.frames}
    for name, frame in in_a.items():
        if name not in in_b:
            words = f"only A has the frame {name}"
            yield RobotDifference("frames", name, "unstated", words, frame.link, None)
        elif same.links.get(frame.link) != in_b[name].link:
            words = f"frame {name}: on {frame.link} in A, on {in_b[name].link} in B"
            yield RobotDifference("frames", name, "differs", words, frame.link, in_b[name].link)
        else:
            yield from pose_differences("frames", name, frame, in_b[name], tol)
    for name, frame in in_b.items():
        if name not in in_a:
            words = f"only B has the frame {name}"
            yield RobotDifference("frames", name, "unstated", words, None, frame.link)


def _groups(a: Embodiment, b: Embodiment, same: Correspondence) -> Iterator[RobotDifference]:
    translated = {
        group: frozenset(same.joints.get(name, name) for name in members)
        for group, members in a.groups.items()
    }
    places: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "group": (translated, {group: frozenset(names) for group, names in b.groups.items()}),
        "end-effector": (
            {name: same.links.get(link, link) for name, link in a.end_effectors.items()},
            b.end_effectors,
        ),
        "foot": ({name: same.links.get(link, link) for name, link in a.feet.items()}, b.feet),
    }
    for what, (in_a, in_b) in places.items():
        for name in dict.fromkeys([*in_a, *in_b]):
            x, y = in_a.get(name), in_b.get(name)
            if x is None or y is None:
                words = f"only {'A' if y is None else 'B'} has the {what} {name}"
                yield RobotDifference("groups", name, "unstated", words, x, y)
            elif x != y:
                shown = [
                    ", ".join(sorted(value)) if isinstance(value, frozenset) else value
                    for value in (x, y)
                ]
                words = f"{what} {name}: {shown[0]} against {shown[1]}"
                yield RobotDifference("groups", name, "differs", words, x, y)
