"""MJCF: read a robot from a MuJoCo file, with everything resolved by MuJoCo itself."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.embodiment.description.assembly import (
    FLOATS_BY_JOINTS,
    JointDescription,
    LinkPiece,
    as_model_errors,
    assemble,
    embody,
    pose,
    rpy_of,
    without_dummy_base,
    xyz_of,
)
from corporeal.embodiment.description.inertia import inertia_of, moved
from corporeal.embodiment.description.mjcf_joints import BALL, FREE, SLIDE, read_motions
from corporeal.embodiment.description.mjcf_model import Compiled, compile_without_missing
from corporeal.embodiment.embodiment import Embodiment, Inertia, Shape
from corporeal.errors import ModelError
from corporeal.geometry import Array, matrix_from_quaternion


def read_mjcf(path: Path | str) -> Embodiment:
    """The robot in an MJCF file or in a scene that includes it; joints in MuJoCo's order.

    Bodies without a joint are lumped and stay as frames, sites become frames. A link's frame
    lies at its joint's anchor. Things on the world that have no joint are not the robot.
    MJCF states no velocity limit. Collision is what collides and is a primitive: a geom with a
    contype or conaffinity, in a contact pair, or in group 3, the collision group by custom.
    """
    path = Path(path)
    compiled = compile_without_missing(path)
    model = compiled.model
    with as_model_errors(path):
        roots, floating = _find_roots(model, path)
        names = _Names(model)
        motions, notes = read_motions(model, names.joints)
        pieces = list(_pieces(compiled, roots, names, motions))
        freed = without_dummy_base(pieces)
        if freed is not None:
            pieces, floating = freed, True
            notes.append(FLOATS_BY_JOINTS)
        kept = {piece.motion.name for piece in pieces if piece.motion is not None}
        order = [motion.name for slot in motions for motion in slot if motion.name in kept]
        assembly = assemble(pieces, joint_order=order)
        touching = [
            (assembly.link_of.get(names.bodies[a]), assembly.link_of.get(names.bodies[b]))
            for a, b in _excluded(model)
        ]
        if compiled.massless:
            unknown = ", ".join(sorted(compiled.massless))
            notes.append(f"Mass not known, it comes from a mesh that is missing: {unknown}.")
        return embody(
            assembly,
            path,
            compiled.raw,
            name=compiled.name,
            floating=floating,
            notes=notes,
            missing_meshes=compiled.missing_meshes,
            touching=[(a, b) for a, b in touching if a and b and a != b],
        )


class _Names:
    """A name for every body and joint, also for joints that the file leaves without."""

    def __init__(self, model: Any) -> None:
        self.bodies = [model.body(i).name for i in range(model.nbody)]
        self.joints = [
            model.jnt(i).name or f"{self.bodies[model.jnt_bodyid[i]]}_joint{i}"
            for i in range(model.njnt)
        ]


@dataclass(frozen=True)
class _Anchored:
    """A body in the document: its name there, and where MuJoCo's frame lies in it."""

    name: str
    link_from_body: Array


def _find_roots(model: Any, path: Path) -> tuple[list[int], bool | None]:
    """Bodies of the robot that hang on the world, and whether they float (None: not said)."""
    roots = [int(model.body_rootid[body]) for body in model.jnt_bodyid]
    kinds = [int(kind) for kind in model.jnt_type]
    free = {root for root, kind in zip(roots, kinds, strict=True) if kind == FREE}
    jointed = {root for root, kind in zip(roots, kinds, strict=True) if kind != FREE}
    if not jointed:
        raise ModelError(f"{path}: no hinge or slide joint; expected a robot. Check the file.")
    walking = sorted(free & jointed)
    if len(walking) > 1:
        names = ", ".join(repr(model.body(root).name) for root in walking)
        raise ModelError(
            f"{path}: floating robots, got {names}; expected one. Give each a file of its own."
        )
    if walking:
        return walking, True
    standing = sorted(jointed)
    is_one_base = len(standing) == 1 and not _slots(model, standing[0])
    return standing, None if is_one_base else False


def _pieces(
    compiled: Compiled,
    roots: list[int],
    names: _Names,
    motions: list[tuple[JointDescription, ...]],
) -> Iterator[LinkPiece]:
    """Parents before children; the world is the base of what hangs on it by joints of its own."""
    model = compiled.model
    anchored: dict[int, _Anchored] = {}
    root_is_base = len(roots) == 1 and not _slots(model, roots[0])
    if not root_is_base:
        anchored[0] = _Anchored("world", np.eye(4))
        yield LinkPiece("world", None, np.eye(4))
    for body in range(1, model.nbody):
        if int(model.body_rootid[body]) not in roots:
            continue
        above, placed, shift, motion = None, np.eye(4), np.eye(4), None
        if not (root_is_base and body == roots[0]):
            parent = anchored[int(model.body_parentid[body])]
            rotation = matrix_from_quaternion(model.body_quat[body])
            above = parent.name
            placed = parent.link_from_body @ pose(model.body_pos[body], rotation)
        for joint in _slots(model, body):
            for number, following in enumerate(motions[joint]):
                if motion is not None:
                    # All joints of a body but the last move a link of their own, without a mass.
                    name = f"{names.bodies[body]}_{motion.name}"
                    yield LinkPiece(name, above, placed, motion)
                    above, placed = name, np.eye(4) if number else shift
                motion = following
                if not number:
                    placed, shift = _at_anchor(model, joint, placed)
        anchored[body] = _Anchored(names.bodies[body], shift)
        inertia = _inertia(compiled, body, shift)
        shapes = tuple(_shapes(compiled, body, shift))
        marks = tuple(_marks(model, body, shift))
        yield LinkPiece(names.bodies[body], above, placed, motion, inertia, shapes, marks)


def _slots(model: Any, body: int) -> list[int]:
    """The joints of a body, a free one left out."""
    first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
    return [j for j in range(first, first + count) if int(model.jnt_type[j]) != FREE]


def _at_anchor(model: Any, joint: int, parent_from_body: Array) -> tuple[Array, Array]:
    """Pose of a frame at the joint's anchor with the joint at zero, and of the body in it.

    The file draws the body at the joint's reference position, which need not be zero.
    """
    anchor, axis = np.array(model.jnt_pos[joint]), np.array(model.jnt_axis[joint])
    back = -float(model.qpos0[model.jnt_qposadr[joint]])
    undone = np.eye(4)
    if int(model.jnt_type[joint]) == BALL:
        return parent_from_body @ pose(anchor), pose(-anchor)
    if int(model.jnt_type[joint]) == SLIDE:
        undone = pose(back * axis)
    elif back:
        quaternion = [math.cos(back / 2), *(math.sin(back / 2) * axis)]
        undone = pose(rotation=matrix_from_quaternion(quaternion))
    return parent_from_body @ pose(anchor) @ undone, pose(-anchor)


def _inertia(compiled: Compiled, body: int, shift: Array) -> Inertia | None:
    model = compiled.model
    mass = float(model.body_mass[body])
    if mass <= 0 or model.body(body).name in compiled.massless:
        return None
    rotation = matrix_from_quaternion(model.body_iquat[body])
    matrix = rotation @ np.diag(model.body_inertia[body]) @ rotation.T
    return moved(inertia_of(mass, model.body_ipos[body], matrix), shift)


def _shapes(compiled: Compiled, body: int, shift: Array) -> Iterator[Shape]:
    model = compiled.model
    first, count = int(model.body_geomadr[body]), int(model.body_geomnum[body])
    for geom in range(first, first + count):
        if not (
            model.geom_contype[geom]
            or model.geom_conaffinity[geom]
            or model.geom_group[geom] == 3
            or model.geom(geom).name in compiled.paired
        ):
            continue
        kind = {2: "sphere", 3: "capsule", 5: "cylinder", 6: "box"}.get(int(model.geom_type[geom]))
        if kind is None:
            continue
        a, b, c = (float(f"{value:.12g}") for value in model.geom_size[geom])
        size = {"sphere": (a,), "box": (2 * a, 2 * b, 2 * c)}.get(kind, (a, 2 * b))
        rotation = matrix_from_quaternion(model.geom_quat[geom])
        placed = shift @ pose(model.geom_pos[geom], rotation)
        yield Shape.model_validate(
            {"type": kind, "size": size, "xyz": xyz_of(placed), "rpy": rpy_of(placed)}
        )


def _marks(model: Any, body: int, shift: Array) -> Iterator[tuple[str, Array]]:
    for site in np.flatnonzero(model.site_bodyid == body):
        name = model.site(int(site)).name
        if name:
            rotation = matrix_from_quaternion(model.site_quat[site])
            yield name, shift @ pose(model.site_pos[site], rotation)


def _excluded(model: Any) -> list[tuple[int, int]]:
    """Pairs of bodies that the file excludes from contact."""
    signatures = (int(value) for value in model.exclude_signature)
    return [(signature >> 16, signature & 0xFFFF) for signature in signatures]
