"""The pieces of a robot's file put together: what is fixed to a link is lumped into it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from pydantic import ValidationError

from corporeal.embodiment.description.anatomy import RobotAnatomy, infer_anatomy
from corporeal.embodiment.description.inertia import combined, dusted, moved
from corporeal.embodiment.embodiment import (
    Embodiment,
    Frame,
    Inertia,
    Joint,
    Link,
    Mimic,
    Placed,
    Shape,
    Vector,
)
from corporeal.errors import ModelError
from corporeal.geometry import Array, matrix_from_rpy, rpy_from_matrix

# A base that floats by joints of its own has so many, and links on the way that weigh nothing.
DUMMIES, MASSLESS_KG = 6, 0.05
BALLS_AS_HINGES = "Ball joints are read as three hinges about x, y and z: {}."
PINNED = "The file holds the base by the world; having two legs, it is taken to float."
FLOATS_BY_JOINTS = "Six joints that only let the base float are left out: it floats."


@dataclass(frozen=True)
class JointDescription:
    """How a piece moves against its parent: about or along one axis through its own origin."""

    name: str
    type: str
    axis: Vector
    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None
    mimic: Mimic | None = None
    actuated: bool = True


@dataclass(frozen=True)
class LinkPiece:
    """One body of a robot's file; without a motion it is fixed to its parent.

    `parent_from_piece` is the 4x4 pose at joint position zero; `marks` are named poses in it.
    """

    name: str
    parent: str | None
    parent_from_piece: Array
    motion: JointDescription | None = None
    inertia: Inertia | None = None
    shapes: tuple[Shape, ...] = ()
    marks: tuple[tuple[str, Array], ...] = ()


@dataclass(frozen=True)
class RobotAssembly:
    """Links, joints in the order of the robot's data, and frames; the first link is the base."""

    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    frames: tuple[Frame, ...]
    link_of: dict[str, str]


def assemble(pieces: Sequence[LinkPiece], *, joint_order: Sequence[str]) -> RobotAssembly:
    """Lump fixed pieces; parents must come before their children, the first piece is the base."""
    link_of: dict[str, str] = {}
    link_from: dict[str, Array] = {}
    parts: dict[str, list[LinkPiece]] = {}
    joints: dict[str, Joint] = {}
    frames: list[Frame] = []
    for piece in pieces:
        if piece.parent is None or piece.motion is not None:
            link_of[piece.name], link_from[piece.name] = piece.name, np.eye(4)
            parts[piece.name] = []
        else:
            link_of[piece.name] = link_of[piece.parent]
            link_from[piece.name] = link_from[piece.parent] @ piece.parent_from_piece
            frames.append(_frame(piece.name, link_of[piece.name], link_from[piece.name]))
        if piece.parent is not None and piece.motion is not None:
            joint_pose = link_from[piece.parent] @ piece.parent_from_piece
            stated = dict(vars(piece.motion))
            # What follows another joint has no column of its own, whatever the file drives it by.
            stated |= {"actuated": piece.motion.actuated and piece.motion.mimic is None}
            joints[piece.motion.name] = Joint(
                parent=link_of[piece.parent],
                child=piece.name,
                xyz=xyz_of(joint_pose),
                rpy=rpy_of(joint_pose),
                **stated,
            )
        parts[link_of[piece.name]].append(piece)
    for piece in pieces:
        for name, mark in piece.marks:
            frames.append(_frame(name, link_of[piece.name], link_from[piece.name] @ mark))
    ordered = tuple(joints[name] for name in joint_order)
    names = [pieces[0].name, *(joint.child for joint in ordered)]
    links = tuple(_link(name, parts[name], link_from) for name in names)
    return RobotAssembly(links, ordered, _distinct(frames, set(names)), link_of)


def ball_hinges(name: str, *, actuated: bool = True) -> tuple[JointDescription, ...]:
    """A ball joint as three hinges about x, y and z, one after the other."""
    axes = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
    return tuple(
        JointDescription(f"{name}_{letter}", "revolute", axis, actuated=actuated)
        for letter, axis in axes.items()
    )


def without_dummy_base(pieces: Sequence[LinkPiece]) -> list[LinkPiece] | None:
    """The pieces without the six joints that only let the base float; None if there are none.

    They are three slides and three hinges in a row on the root, each along another axis, and
    move nothing that weighs; the link after them is the base.
    """
    below: dict[str | None, list[LinkPiece]] = {}
    for piece in pieces:
        below.setdefault(piece.parent, []).append(piece)
    base, axes = pieces[0], {"prismatic": list[Array](), "revolute": list[Array]()}
    rotation = np.eye(3)
    while sum(map(len, axes.values())) < DUMMIES:
        under = below.get(base.name, [])
        if len(under) != 1 or (base.inertia is not None and base.inertia.mass > MASSLESS_KG):
            return None
        base = under[0]
        rotation = rotation @ base.parent_from_piece[:3, :3]
        if base.motion is not None:
            if base.motion.mimic is not None:
                return None
            axes[base.motion.type].append(rotation @ np.array(base.motion.axis))
    for directions in axes.values():
        if len(directions) != 3 or abs(np.linalg.det(np.array(directions))) < 0.9:
            return None
    kept = pieces[next(n for n, piece in enumerate(pieces) if piece is base) :]
    first = replace(base, parent=None, parent_from_piece=np.eye(4), motion=None)
    return [first if piece is base else piece for piece in kept]


def embody(
    assembly: RobotAssembly,
    path: Path,
    raw: bytes,
    *,
    name: str,
    floating: bool | None,
    pinned: bool = False,
    notes: Sequence[str] = (),
    missing_meshes: Sequence[str] = (),
    touching: Sequence[tuple[str, str]] = (),
) -> Embodiment:
    """The document of an assembly read from `raw`, the content of `path`.

    A file that does not say whether its base floats (None) gets a floating base when the names
    or the tree of its joints show two legs: a humanoid walks, an arm is bolted down; `pinned`
    says that the file holds it by the world.
    """
    joints, strays = _mend_mimics(assembly.joints)
    _check_mimics(joints, path)
    anatomy = infer_anatomy(joints, assembly.links)
    floats = len(anatomy.feet) == 2 if floating is None else floating
    if pinned and floats:
        strays.append(PINNED)
    frames, places = _place_tips(assembly, anatomy)
    return Embodiment(
        document=Embodiment.kind,
        name=document_name(name or path.stem),
        version="1.0.0",
        description=" ".join((*notes, *strays)) or None,
        base=assembly.links[0].name,
        floating=floats,
        links=assembly.links,
        joints=joints,
        frames=frames,
        groups=anatomy.groups,
        end_effectors={
            name: places.get(link, link) for name, link in anatomy.end_effectors.items()
        },
        feet={name: places.get(link, link) for name, link in anatomy.feet.items()},
        touching=tuple(touching),
        sources=(f"{path.name} (sha256:{hashlib.sha256(raw).hexdigest()})",),
        missing_meshes=tuple(dict.fromkeys(missing_meshes)),
    )


@contextmanager
def as_model_errors(source: Path) -> Iterator[None]:
    """Turn a refusal by the document model into a ModelError that names the file."""
    try:
        yield
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        words = first["msg"].removeprefix("Value error, ")
        where = f"{error.title} {place}".strip()
        got = f", got {str(first['input'])[:60]!r}" if place else ""
        raise ModelError(f"{source}: {where}{got}: {words}. Correct the file.") from None


def document_name(text: str) -> str:
    """Any text as the name of a document: lower case letters, digits and underscores."""
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    if not name[:1].isalpha():
        name = f"robot_{name}".strip("_")
    return name[:64].rstrip("_")


def pose(xyz: ArrayLike = (0, 0, 0), rotation: Array | None = None) -> Array:
    """The 4x4 pose of a translation and a rotation matrix."""
    matrix = np.eye(4)
    matrix[:3, 3] = xyz
    if rotation is not None:
        matrix[:3, :3] = rotation
    return matrix


def pose_of(placed: Placed) -> Array:
    """The 4x4 pose of something placed."""
    return pose(placed.xyz, matrix_from_rpy(placed.rpy))


def xyz_of(matrix: Array) -> Vector:
    """Translation of a 4x4 pose, without the dust of arithmetic."""
    return dusted(matrix[:3, 3])


def rpy_of(matrix: Array) -> Vector:
    """Roll, pitch, yaw of a 4x4 pose, without the dust of arithmetic."""
    return dusted(rpy_from_matrix(matrix[:3, :3]))


def _frame(name: str, link: str, matrix: Array) -> Frame:
    return Frame(name=name, link=link, xyz=xyz_of(matrix), rpy=rpy_of(matrix))


def _link(name: str, parts: Sequence[LinkPiece], link_from: dict[str, Array]) -> Link:
    inertias, shapes = [], []
    for piece in parts:
        into = link_from[piece.name]
        same = np.array_equal(into, np.eye(4))
        if piece.inertia is not None:
            inertias.append(piece.inertia if same else moved(piece.inertia, into))
        for shape in piece.shapes:
            matrix = into @ pose_of(shape)
            placed = {"xyz": xyz_of(matrix), "rpy": rpy_of(matrix)}
            shapes.append(shape if same else shape.model_copy(update=placed))
    return Link(name=name, inertia=combined(inertias), collision=tuple(shapes))


def _distinct(frames: Sequence[Frame], taken: set[str]) -> tuple[Frame, ...]:
    """Frames under names of their own: MJCF lets a site and a body share one."""
    kept = []
    for frame in frames:
        name, number = frame.name, 1
        while name in taken:
            number += 1
            name = f"{frame.name}_{number}"
        taken.add(name)
        kept.append(frame if name == frame.name else frame.model_copy(update={"name": name}))
    return tuple(kept)


def _place_tips(
    assembly: RobotAssembly, anatomy: RobotAnatomy
) -> tuple[tuple[Frame, ...], dict[str, str]]:
    """The frames with one at the end of every limb without a wrist or ankle, and its link's.

    A frame of the file that lies about there is the end itself.
    """
    frames, places = list(assembly.frames), dict[str, str]()
    for link, tip in anatomy.tips.items():
        reach = float(np.linalg.norm(tip))
        near = [
            frame
            for frame in assembly.frames
            if frame.link == link and np.linalg.norm(np.subtract(frame.xyz, tip)) < 0.4 * reach
        ]
        if near:
            places[link] = min(
                near, key=lambda frame: float(np.linalg.norm(np.subtract(frame.xyz, tip)))
            ).name
            continue
        frames.append(Frame(name=f"{link}_end", link=link, xyz=tip))
        places[link] = frames[-1].name
    return _distinct(frames, {link.name for link in assembly.links}), places


def _mend_mimics(joints: Sequence[Joint]) -> tuple[tuple[Joint, ...], list[str]]:
    """The joints with leaders that are there, and notes on those that were meant.

    `left_index_q2` that follows `index_q1` follows the one of its own hand, `left_index_q1`.
    """
    names = {joint.name for joint in joints}
    mended, notes = list[Joint](), list[str]()
    for joint in joints:
        mimic = joint.mimic
        if mimic is None or mimic.joint in names or not mimic.joint:
            mended.append(joint)
            continue
        meant = [
            name
            for name in names - {joint.name}
            if name.endswith(mimic.joint) and joint.name.startswith(name.removesuffix(mimic.joint))
        ]
        if len(meant) == 1:
            mimic = mimic.model_copy(update={"joint": meant[0]})
            notes.append(f"{joint.name} follows {meant[0]}; the file leaves out its side.")
        mended.append(joint.model_copy(update={"mimic": mimic}))
    return tuple(mended), notes


def _check_mimics(joints: Sequence[Joint], path: Path) -> None:
    leader = {joint.name: joint.mimic.joint for joint in joints if joint.mimic is not None}
    for start in leader:
        seen = [start]
        while seen[-1] in leader:
            following = leader[seen[-1]]
            if following in seen:
                raise ModelError(
                    f"{path}: joint {start!r} mimics itself through {' -> '.join(seen)}; "
                    "expected a joint with a motor. Remove one <mimic>."
                )
            seen.append(following)
