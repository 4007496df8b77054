"""Which joint and link of one robot is which of another, also under another name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from corporeal.embodiment.description.body_words import split_name
from corporeal.embodiment.embodiment import Embodiment, Joint

FILLER = frozenset(["joint", "link", "motor", "act", "actuator", "dof"])


@dataclass(frozen=True)
class Correspondence:
    """Names of A to names of B; what has no partner is left out."""

    joints: dict[str, str]
    links: dict[str, str]

    @property
    def renamed_joints(self) -> dict[str, str]:
        """Joints that are probably the same under another name."""
        return {a: b for a, b in self.joints.items() if a != b}


def match(a: Embodiment, b: Embodiment, *, length_tol_m: float) -> Correspondence:
    """Joints by name first; then, from the base outwards, by their place in the tree.

    Two joints of unlike names are the same one if they move the same way, and either stand at
    the same place on the same link or differ in words like `joint` alone.
    """
    in_a = {joint.name: joint for joint in a.joints}
    in_b = {joint.name: joint for joint in b.joints}
    joints = {name: name for name in in_a if name in in_b}
    links = _links(a, b, joints)
    for joint in _outwards(a):
        if joint.name in joints:
            continue
        taken = set(joints.values())
        open_b = [
            other for other in b.joints if other.name not in taken and other.type == joint.type
        ]
        partner = _partner(joint, open_b, links, length_tol_m)
        if partner is not None:
            joints[joint.name] = partner.name
            if joint.child not in links and partner.child not in links.values():
                links[joint.child] = partner.child
    return Correspondence(
        {joint.name: joints[joint.name] for joint in a.joints if joint.name in joints}, links
    )


def _links(a: Embodiment, b: Embodiment, joints: dict[str, str]) -> dict[str, str]:
    """Links by name first; then what hangs on the same joint."""
    names_b = {link.name for link in b.links}
    links = {link.name: link.name for link in a.links if link.name in names_b}
    in_b = {joint.name: joint for joint in b.joints}
    pairs = [(a.base, b.base)]
    pairs += [(joint.child, in_b[joints[joint.name]].child)
              for joint in a.joints if joint.name in joints]  # fmt: skip
    for here, there in pairs:
        if here not in links and there not in links.values():
            links[here] = there
    return links


def _partner(
    joint: Joint, candidates: list[Joint], links: dict[str, str], length_tol_m: float
) -> Joint | None:
    alike = [other for other in candidates if _essence(other.name) == _essence(joint.name)]
    if len(alike) == 1:
        return alike[0]
    here = [
        other
        for other in candidates
        if links.get(joint.parent) == other.parent
        and np.allclose(joint.xyz, other.xyz, rtol=0, atol=length_tol_m)
        and abs(float(np.dot(joint.axis, other.axis))) > 0.99
    ]
    return here[0] if len(here) == 1 else None


def _essence(name: str) -> list[str]:
    words = [word.rstrip("0123456789") for word in split_name(name)]
    return [word for word in words if word and word not in FILLER] or [name]


def _outwards(robot: Embodiment) -> Iterator[Joint]:
    below: dict[str, list[Joint]] = {}
    for joint in robot.joints:
        below.setdefault(joint.parent, []).append(joint)
    front = [robot.base]
    while front:
        found = below.get(front.pop(0), [])
        yield from found
        front.extend(joint.child for joint in found)
