"""What two robot descriptions do not agree on, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from corporeal.embodiment.comparison.correspondence import Correspondence, match
from corporeal.embodiment.comparison.disagreement import Difference, Tolerance, pose_differences
from corporeal.embodiment.comparison.joint_difference import joint_differences
from corporeal.embodiment.comparison.link_difference import link_differences
from corporeal.embodiment.embodiment import Embodiment

__all__ = ["Difference", "compare", "describe"]


def compare(
    a: Embodiment,
    b: Embodiment,
    *,
    angle_tol_rad: float = 1e-3,
    length_tol_m: float = 1e-4,
    relative_tol: float = 1e-3,
    inertia_tol: float = 1e-2,
) -> tuple[Difference, ...]:
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


def describe(differences: Iterable[Difference]) -> str:
    """One line for each difference; what only one of the two states is counted by topic."""
    found = list(differences)
    lines = [f"{d.topic}: {d.words}" for d in found if d.severity == "differs"]
    unstated: dict[str, list[Difference]] = {}
    for difference in found:
        if difference.severity == "unstated":
            unstated.setdefault(difference.topic, []).append(difference)
    for topic, group in unstated.items():
        more = f" (and {len(group) - 2} more like this)" if len(group) > 2 else ""
        lines.append(f"{topic}: {'; '.join(d.words for d in group[:2])}{more}")
    return "\n".join(lines) or "no differences"


def _base(a: Embodiment, b: Embodiment) -> Iterator[Difference]:
    if a.floating != b.floating:
        words = ["floats" if robot.floating else "is fixed" for robot in (a, b)]
        yield Difference(
            "base", a.base, "differs", f"the base {words[0]} in A, {words[1]} in B",
            a.floating, b.floating,
        )  # fmt: skip


def _names(a: Embodiment, b: Embodiment, same: Correspondence) -> Iterator[Difference]:
    for name, other in same.renamed_joints.items():
        words = f"{name} of A is probably {other} of B under another name"
        yield Difference("names", name, "differs", words, name, other)
    for robot, label, known in ((a, "A", set(same.joints)), (b, "B", set(same.joints.values()))):
        only = tuple(joint.name for joint in robot.joints if joint.name not in known)
        if only:
            values = (only, ()) if label == "A" else ((), only)
            yield Difference(
                "names", "joints", "differs", f"only {label} has: {', '.join(only)}", *values
            )
    for name, other in same.links.items():
        if name != other:
            words = f"link {name} of A is called {other} in B"
            yield Difference("names", name, "differs", words, name, other)


def _order(a: Embodiment, b: Embodiment, same: Correspondence) -> Iterator[Difference]:
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
    yield Difference("order", "joints", "differs", words, tuple(names), tuple(columns_b))


def _joints(
    a: Embodiment, b: Embodiment, same: Correspondence, tol: Tolerance
) -> Iterator[Difference]:
    in_b = {joint.name: joint for joint in b.joints}
    for joint in a.joints:
        if joint.name in same.joints:
            yield from joint_differences(joint, in_b[same.joints[joint.name]], same, tol)


def _links(
    a: Embodiment, b: Embodiment, same: Correspondence, tol: Tolerance
) -> Iterator[Difference]:
    if abs(a.mass - b.mass) > tol.relative * max(a.mass, b.mass):
        words = f"the whole robot weighs {a.mass:.5g} against {b.mass:.5g} kg"
        yield Difference("mass", "robot", "differs", words, a.mass, b.mass)
    in_b = {link.name: link for link in b.links}
    for link in a.links:
        if same.links.get(link.name) in in_b:
            yield from link_differences(link, in_b[same.links[link.name]], tol)


def _frames(
    a: Embodiment, b: Embodiment, same: Correspondence, tol: Tolerance
) -> Iterator[Difference]:
    in_a = {frame.name: frame for frame in a.frames}
    in_b = {frame.name: frame for frame in b.frames}
    for name, frame in in_a.items():
        if name not in in_b:
            words = f"only A has the frame {name}"
            yield Difference("frames", name, "unstated", words, frame.link, None)
        elif same.links.get(frame.link) != in_b[name].link:
            words = f"frame {name}: on {frame.link} in A, on {in_b[name].link} in B"
            yield Difference("frames", name, "differs", words, frame.link, in_b[name].link)
        else:
            yield from pose_differences("frames", name, frame, in_b[name], tol)
    for name, frame in in_b.items():
        if name not in in_a:
            words = f"only B has the frame {name}"
            yield Difference("frames", name, "unstated", words, None, frame.link)


def _groups(a: Embodiment, b: Embodiment, same: Correspondence) -> Iterator[Difference]:
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
                yield Difference("groups", name, "unstated", words, x, y)
            elif x != y:
                shown = [
                    ", ".join(sorted(value)) if isinstance(value, frozenset) else value
                    for value in (x, y)
                ]
                words = f"{what} {name}: {shown[0]} against {shown[1]}"
                yield Difference("groups", name, "differs", words, x, y)
