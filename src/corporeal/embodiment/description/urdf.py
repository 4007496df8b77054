"""URDF: read a robot from the XML of ROS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from corporeal.embodiment.description.assembly import (
    BALLS_AS_HINGES,
    FLOATS_BY_JOINTS,
    JointDescription,
    LinkPiece,
    as_model_errors,
    assemble,
    ball_hinges,
    embody,
    pose,
    rpy_of,
    without_dummy_base,
    xyz_of,
)
from corporeal.embodiment.description.inertia import inertia_of
from corporeal.embodiment.embodiment import Embodiment, Inertia, Mimic, Shape, Vector
from corporeal.errors import ModelError
from corporeal.geometry import Array, matrix_from_rpy
from corporeal.xml_text import (
    mesh_exists,
    parse_xml,
    read_bytes,
    read_numbers,
)

MOVING = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic"}
BALLS = ("spherical", "ball")
TYPES = (*MOVING, *BALLS, "fixed", "floating")


def read_urdf(path: Path | str) -> Embodiment:
    """The robot in a URDF file; joints in the order of the file, fixed links lumped.

    A limit of zero for effort or velocity is a placeholder of exporters and counts as not
    stated. The base floats if a floating joint or six joints of its own say so, and when the robot
    has two legs, even if a link called `world` holds it. A spherical joint becomes three hinges.
    Meshes are never opened: their collision geometry is not used, and those whose file is absent
    are listed.
    """
    path = Path(path)
    raw = read_bytes(path)
    root = parse_xml(raw, source=str(path))
    if root.tag != "robot":
        raise ModelError(f"{path}: got <{root.tag}>; expected <robot>. Give a URDF file.")
    macro = next((e.tag for e in root.iter() if e.tag.startswith("xacro:")), None)
    if macro is not None:
        raise ModelError(f"{path}: got <{macro}>; expected plain URDF. Run xacro on it first.")
    with as_model_errors(path):
        links = _by_name(root, "link", path)
        joints = [_read_joint(e, path) for e in _by_name(root, "joint", path).values()]
        tree = _Tree(links, joints, path)
        base, floating, pinned = _find_base(tree)
        pieces = list(_pieces(tree, base, path))
        freed = without_dummy_base(pieces)
        if freed is not None:
            pieces, floating = freed, True
        notes = [] if freed is None else [FLOATS_BY_JOINTS]
        kept = {piece.motion.name for piece in pieces if piece.motion is not None}
        order = [m.name for joint in joints for m in joint.motions if m.name in kept]
        return embody(
            assemble(pieces, joint_order=order),
            path,
            raw,
            name=root.get("name", ""),
            floating=floating,
            pinned=pinned,
            notes=[*notes, *_ball_notes(joints)],
            missing_meshes=_missing_meshes(root, path),
        )


@dataclass(frozen=True)
class _Joint:
    name: str
    type: str
    parent: str
    child: str
    parent_from_child: Array
    motions: tuple[JointDescription, ...] = ()


class _Tree:
    """Links hung on joints: one root, no loops, every end known."""

    def __init__(self, links: dict[str, Element], joints: list[_Joint], path: Path) -> None:
        self.links, self.path = links, path
        self.above: dict[str, _Joint] = {}
        self.below: dict[str, list[_Joint]] = {name: [] for name in links}
        for joint in joints:
            for role, link in (("parent", joint.parent), ("child", joint.child)):
                if link not in links:
                    raise ModelError(
                        f"{path}: joint {joint.name!r}: {role} link, got {link!r}; "
                        "expected a <link> of this file. Correct the name."
                    )
            if joint.child in self.above:
                raise ModelError(
                    f"{path}: link {joint.child!r} hangs on joints "
                    f"{self.above[joint.child].name!r} and {joint.name!r}; expected a tree. "
                    "Cut the loop at one of them."
                )
            self.above[joint.child] = joint
            self.below[joint.parent].append(joint)
        roots = [name for name in links if name not in self.above]
        if len(roots) != 1:
            got = ", ".join(repr(name) for name in roots[:4]) or "none, the joints form a loop"
            raise ModelError(
                f"{path}: root links, got {got}; expected one. Connect all links by joints."
            )
        self.root = roots[0]


def _find_base(tree: _Tree) -> tuple[str, bool | None, bool]:
    """The base link, whether it floats (None: if it has legs), and whether the world holds it."""
    below = tree.below[tree.root]
    heavy = tree.links[tree.root].find("inertial") is not None
    for joint in tree.above.values():
        if joint.type == "floating" and (joint.parent != tree.root or len(below) > 1 or heavy):
            raise ModelError(
                f"{tree.path}: joint {joint.name!r} is floating; expected so only between a "
                "massless root link and the one robot on it. Give each robot a file of its own."
            )
    if len(below) == 1 and below[0].type == "floating":
        return below[0].child, True, False
    if tree.root == "world":
        if len(below) == 1 and below[0].type == "fixed":
            # Files are pinned to the world for a simulator: legs are made to walk all the same.
            return below[0].child, None, True
        return tree.root, False, False
    return tree.root, None, False


def _pieces(tree: _Tree, base: str, path: Path) -> Iterator[LinkPiece]:
    reached = 0
    front: list[str] = [base]
    while front:
        name = front.pop()
        reached += 1
        link = tree.links[name]
        joint = tree.above.get(name) if name != base else None
        above = None if joint is None else joint.parent
        placed = np.eye(4) if joint is None else joint.parent_from_child
        motions = () if joint is None else joint.motions
        for motion in motions[:-1]:
            # All hinges of a ball joint but the last move a link of their own, without a mass.
            yield LinkPiece(f"{name}_{motion.name}", above, placed, motion)
            above, placed = f"{name}_{motion.name}", np.eye(4)
        yield LinkPiece(
            name,
            above,
            placed,
            motions[-1] if motions else None,
            _read_inertia(link, path),
            tuple(_read_shapes(link, path)),
        )
        front.extend(joint.child for joint in reversed(tree.below[name]))
    dropped = 0 if base == tree.root else 1
    if reached + dropped != len(tree.links):
        raise ModelError(
            f"{path}: {len(tree.links) - reached - dropped} links form a loop apart from the "
            f"root {tree.root!r}; expected one tree. Connect all links by joints."
        )


def _by_name(root: Element, tag: str, path: Path) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for element in root.findall(tag):
        name = element.get("name", "").strip()
        if not name:
            raise ModelError(f"{path}: a <{tag}> has no name; expected one. Name it.")
        if name in found:
            raise ModelError(f"{path}: {tag} {name!r} is there twice; expected once. Rename one.")
        found[name] = element
    if tag == "link" and not found:
        raise ModelError(f"{path}: no <link>; expected a robot with links. Check the file.")
    return found


def _read_joint(element: Element, path: Path) -> _Joint:
    name, kind = element.get("name", "").strip(), element.get("type", "")
    where = f"{path}: joint {name!r}"
    if kind not in TYPES:
        raise ModelError(
            f"{where}: type, got {kind!r}; expected one of: {', '.join(TYPES)}. "
            "Write a joint with more freedom as several joints."
        )
    ends = []
    for role in ("parent", "child"):
        end = element.find(role)
        if end is None or not end.get("link", "").strip():
            raise ModelError(f"{where}: no <{role} link=...>; expected one. Add it.")
        ends.append(end.get("link", "").strip())
    motions: tuple[JointDescription, ...] = ()
    if kind in MOVING:
        motions = (_read_motion(element, name, kind, where),)
    elif kind in BALLS:
        motions = ball_hinges(name)
    return _Joint(name, kind, ends[0], ends[1], _read_origin(element, where), motions)


def _ball_notes(joints: list[_Joint]) -> list[str]:
    balls = [joint.name for joint in joints if joint.type in BALLS]
    return [BALLS_AS_HINGES.format(", ".join(balls))] if balls else []


def _read_motion(element: Element, name: str, kind: str, where: str) -> JointDescription:
    axis_element = element.find("axis")
    text = "1 0 0" if axis_element is None else axis_element.get("xyz", "1 0 0")
    axis = np.array(read_numbers(text, 3, where=f"{where}: axis"))
    length = float(np.linalg.norm(axis))
    if not 1e-6 < length < 1e6:
        raise ModelError(f"{where}: axis, got {text!r}; expected a direction. Correct it.")
    x, y, z = (float(value) for value in axis / length)
    lower, upper, velocity, effort = (
        _limit(element, key, where) for key in ("lower", "upper", "velocity", "effort")
    )
    if kind == "continuous":
        lower = upper = None
    follows = element.find("mimic")
    mimic = None
    if follows is not None:
        multiplier, offset = (
            read_numbers(follows.get(key, default), 1, where=f"{where}: mimic {key}")[0]
            for key, default in (("multiplier", "1"), ("offset", "0"))
        )
        mimic = Mimic(joint=follows.get("joint", ""), multiplier=multiplier, offset=offset)
    # Zero torque or speed would be a joint that cannot move: exporters write it for "unknown".
    return JointDescription(
        name, MOVING[kind], (x, y, z), lower, upper, velocity or None, effort or None, mimic
    )


def _limit(element: Element, key: str, where: str) -> float | None:
    limit = element.find("limit")
    text = None if limit is None else limit.get(key)
    return None if text is None else read_numbers(text, 1, where=f"{where}: limit {key}")[0]


def _read_origin(element: Element | None, where: str) -> Array:
    origin = None if element is None else element.find("origin")
    if origin is None:
        return np.eye(4)
    xyz = read_numbers(origin.get("xyz", "0 0 0"), 3, where=f"{where}: origin xyz")
    rpy = read_numbers(origin.get("rpy", "0 0 0"), 3, where=f"{where}: origin rpy")
    return pose(xyz, matrix_from_rpy(rpy))


def _read_inertia(link: Element, path: Path) -> Inertia | None:
    inertial = link.find("inertial")
    if inertial is None:
        return None
    where = f"{path}: link {link.get('name')!r}: inertial"
    mass_element, inertia = inertial.find("mass"), inertial.find("inertia")
    text = "0" if mass_element is None else mass_element.get("value", "0")
    (mass,) = read_numbers(text, 1, where=f"{where} mass")
    if mass == 0:
        return None
    origin = _read_origin(inertial, where)
    values = [
        read_numbers("0" if inertia is None else inertia.get(key, "0"), 1, where=f"{where} {key}")
        for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    ]
    ixx, ixy, ixz, iyy, iyz, izz = (value for (value,) in values)
    matrix = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    rotation = origin[:3, :3]
    return inertia_of(mass, origin[:3, 3], rotation @ matrix @ rotation.T)


def _read_shapes(link: Element, path: Path) -> Iterator[Shape]:
    where = f"{path}: link {link.get('name')!r}: collision"
    for collision in link.findall("collision"):
        geometry = collision.find("geometry")
        if geometry is None:
            continue
        origin = _read_origin(collision, where)
        placed: dict[str, Vector] = {"xyz": xyz_of(origin), "rpy": rpy_of(origin)}
        for element in geometry:
            if element.tag == "box":
                size = read_numbers(element.get("size", ""), 3, where=f"{where} box size")
            elif element.tag in ("sphere", "cylinder", "capsule"):
                keys = ("radius",) if element.tag == "sphere" else ("radius", "length")
                size = tuple(
                    read_numbers(element.get(key, ""), 1, where=f"{where} {element.tag} {key}")[0]
                    for key in keys
                )
            else:
                continue
            # A shape without volume is how some exporters switch collision off.
            if 0 not in size:
                yield Shape.model_validate({"type": element.tag, "size": size, **placed})


def _missing_meshes(root: Element, path: Path) -> list[str]:
    names = dict.fromkeys(mesh.get("filename", "") for mesh in root.iter("mesh"))
    return [name for name in names if name and not mesh_exists(name, path)]
