"""The embodiment document compiled for MuJoCo, and the map to its joint positions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corporeal.embodiment.collision.collision_model import CollisionModel
from corporeal.embodiment.embodiment import Embodiment, Inertia, Joint, Link, Placed, Shape
from corporeal.embodiment.joints.joint_map import standing_positions
from corporeal.embodiment.kinematics import Kinematics, checked_base
from corporeal.errors import MissingExtraError, ModelError
from corporeal.geometry import Array, matrix_from_rpy, normalise, quaternion_from_matrix

Element = ElementTree.Element

# MuJoCo's own name for the fixed world.
WORLD = "world"
# kg and kg m2: MuJoCo refuses to move a body without any; far below what a robot would notice.
LEAST_MASS, LEAST_INERTIA = 1e-6, 1e-9


@dataclass(frozen=True, eq=False)
class MujocoModel:
    """A `mujoco.MjModel` and how its vectors relate to the columns of the data.

    `positions` and `rates` (N,) are the indices of the document's joints, in its order, in `qpos`
    and `qvel`. Controls are torques in the order of the data: column j is actuator j.
    """

    kinematics: Kinematics
    model: Any
    positions: NDArray[np.int64]
    rates: NDArray[np.int64]

    def qpos(self, q: ArrayLike, base: ArrayLike | None = None) -> Array:
        """MuJoCo's positions (T, nq) from joints (T, J) and base poses (T, 7)."""
        joints = self.kinematics.joints.positions(self.kinematics.checked(q)).T
        out = np.tile(self.model.qpos0, (len(joints), 1))
        out[:, self.positions] = joints
        if self.kinematics.embodiment.floating:
            rows = checked_base(base, len(joints))
            out[:, :7] = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0) if rows is None else rows
            out[:, 3:7] = normalise(out[:, 3:7])
        return out


def compile_mujoco(
    embodiment: Embodiment, *, armature: Mapping[str, float] | None = None
) -> MujocoModel:
    """Compile the document; raises ModelError when MuJoCo refuses it."""
    mujoco = import_mujoco()
    try:
        model = mujoco.MjModel.from_xml_string(to_mjcf(embodiment, armature=armature))
    except ValueError as error:
        raise ModelError(
            f"robot {embodiment.name!r} does not compile in MuJoCo, got: {error}; "
            "expected a model it can simulate. Correct the document where MuJoCo points."
        ) from None
    joints = [model.joint(joint.name) for joint in embodiment.joints]
    return MujocoModel(
        Kinematics(embodiment),
        model,
        np.array([int(joint.qposadr[0]) for joint in joints], np.int64),
        np.array([int(joint.dofadr[0]) for joint in joints], np.int64),
    )


def to_mjcf(embodiment: Embodiment, *, armature: Mapping[str, float] | None = None) -> str:
    """The robot as MJCF text: bodies, joints, motors, sites, left-out contacts.

    `armature` {joint: kg m2 or kg} adds the inertia of rotors, which the document does not hold.
    There is no ground and no light: a scene attaches the robot to its own.
    """
    root = ElementTree.Element("mujoco", model=embodiment.name)
    compiler = {"angle": "radian", "autolimits": "true", "balanceinertia": "true"}
    lightest = {"boundmass": _text(LEAST_MASS), "boundinertia": _text(LEAST_INERTIA)}
    ElementTree.SubElement(root, "compiler", {**compiler, **lightest})
    _add_bodies(ElementTree.SubElement(root, "worldbody"), embodiment, armature or {})
    _add_exclusions(ElementTree.SubElement(root, "contact"), embodiment)
    equality = ElementTree.SubElement(root, "equality")
    for joint in embodiment.joints:
        if joint.mimic is not None:
            coefficients = (joint.mimic.offset, joint.mimic.multiplier, 0.0, 0.0, 0.0)
            both = {"joint1": joint.name, "joint2": joint.mimic.joint}
            ElementTree.SubElement(equality, "joint", {**both, "polycoef": _text(*coefficients)})
    motors = ElementTree.SubElement(root, "actuator")
    for joint in embodiment.actuated:
        effort = {} if joint.effort is None else {"ctrlrange": _text(-joint.effort, joint.effort)}
        ElementTree.SubElement(motors, "motor", {"name": joint.name, "joint": joint.name, **effort})
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def standing_qpos(compiled: MujocoModel) -> Array:
    """MuJoCo's positions (nq,) of the robot as it stands, at its height above z = 0."""
    embodiment = compiled.kinematics.embodiment
    height = 0.0 if embodiment.standing is None else embodiment.standing.height
    base = np.array([[0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0]])
    standing: Array = compiled.qpos(standing_positions(embodiment)[None], base)[0]
    return standing


def import_mujoco() -> ModuleType:
    """The package mujoco; raises MissingExtraError when it is not installed."""
    try:
        import mujoco
    except ModuleNotFoundError:
        raise MissingExtraError("mujoco", "robot") from None
    module: ModuleType = mujoco
    return module


def _add_bodies(world: Element, embodiment: Embodiment, armature: Mapping[str, float]) -> None:
    links = {link.name: link for link in embodiment.links}
    children: dict[str, list[Joint]] = {name: [] for name in links}
    for joint in embodiment.joints:
        children[joint.parent].append(joint)
    bodies: dict[str, Element] = {}
    if embodiment.base == WORLD and not embodiment.floating:
        bodies[WORLD] = world
        _add_geoms(world, links[WORLD])
    else:
        bodies[embodiment.base] = _add_body(world, links[embodiment.base], None)
        if embodiment.floating:
            ElementTree.SubElement(bodies[embodiment.base], "freejoint", name="root_joint")
    waiting = [embodiment.base]
    while waiting:
        parent = waiting.pop()
        for joint in children[parent]:
            body = _add_body(bodies[parent], links[joint.child], joint)
            body.insert(0, _joint(joint, armature.get(joint.name)))
            bodies[joint.child] = body
            waiting.append(joint.child)
    for frame in embodiment.frames:
        ElementTree.SubElement(bodies[frame.link], "site", {"name": frame.name, **_pose(frame)})


def _add_body(parent: Element, link: Link, joint: Joint | None) -> Element:
    pose = {} if joint is None else _pose(joint)
    body = ElementTree.SubElement(parent, "body", {"name": link.name, **pose})
    if link.inertia is not None and link.inertia.mass > 0:
        ElementTree.SubElement(body, "inertial", _inertial(link.inertia))
    _add_geoms(body, link)
    return body


def _add_geoms(body: Element, link: Link) -> None:
    # The mass is the link's: without inertial, MuJoCo would weigh the shapes instead.
    for number, shape in enumerate(link.collision):
        name = {"name": f"{link.name}_{number}", "mass": "0"}
        ElementTree.SubElement(body, "geom", {**name, **_geom(shape), **_pose(shape)})


def _add_exclusions(contact: Element, embodiment: Embodiment) -> None:
    tested = {frozenset(pair) for pair in CollisionModel(embodiment).pairs}
    shaped = [link.name for link in embodiment.links if link.collision]
    for a, b in combinations(shaped, 2):
        if frozenset((a, b)) not in tested:
            ElementTree.SubElement(contact, "exclude", body1=a, body2=b)


def _joint(joint: Joint, armature: float | None) -> Element:
    kind = {"revolute": "hinge", "prismatic": "slide"}[joint.type]
    fields = {"name": joint.name, "type": kind, "axis": _text(*joint.axis)}
    if joint.lower is not None and joint.upper is not None:
        fields["range"] = _text(joint.lower, joint.upper)
    if joint.effort is not None:
        fields["actuatorfrcrange"] = _text(-joint.effort, joint.effort)
    if armature is not None:
        fields["armature"] = _text(armature)
    return ElementTree.Element("joint", fields)


def _inertial(inertia: Inertia) -> dict[str, str]:
    xx, xy, xz, yy, yz, zz = inertia.matrix
    fields = {"mass": _text(inertia.mass), "pos": _text(*inertia.com)}
    if max(abs(value) for value in inertia.matrix) <= LEAST_INERTIA:
        return {**fields, "diaginertia": _text(*(LEAST_INERTIA,) * 3)}
    return {**fields, "fullinertia": _text(xx, yy, zz, xy, xz, yz)}


def _geom(shape: Shape) -> dict[str, str]:
    if shape.type == "box":
        halves = [extent / 2 for extent in shape.size]
    else:
        halves = [shape.size[0], *(length / 2 for length in shape.size[1:])]
    return {"type": shape.type, "size": _text(*halves)}


def _pose(placed: Placed) -> dict[str, str]:
    quaternion = quaternion_from_matrix(matrix_from_rpy(placed.rpy))
    return {"pos": _text(*placed.xyz), "quat": _text(*quaternion)}


def _text(*numbers: float) -> str:
    # All digits: the compiled robot must be the document's, not one rounded on the way.
    return " ".join(repr(float(number)) for number in numbers)
