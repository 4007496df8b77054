"""The embodiment document compiled for Pinocchio, with coal shapes, and the map between both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corporeal.embodiment.collision.collision_model import coal_shape
from corporeal.embodiment.embodiment import Embodiment, Inertia, Joint, Placed
from corporeal.embodiment.joints.joint_map import outward_joints
from corporeal.embodiment.kinematics import Kinematics, checked_base, placement_of
from corporeal.errors import MissingExtraError
from corporeal.geometry import Array, normalise


@dataclass(frozen=True, eq=False)
class PinocchioModel:
    """A `pinocchio.Model` and how its vectors relate to the columns of the data.

    `positions` and `rates` (N,) are the indices of the document's joints, in its order, in
    Pinocchio's configuration and velocity vectors. A floating base comes first in both.
    """

    kinematics: Kinematics
    model: Any
    positions: NDArray[np.int64]
    rates: NDArray[np.int64]

    def configurations(self, q: ArrayLike, base: ArrayLike | None = None) -> Array:
        """Pinocchio's configurations (T, nq) from joints (T, J) and base poses (T, 7)."""
        joints = self.kinematics.joints.positions(self.kinematics.checked(q)).T
        out = np.empty((len(joints), self.model.nq))
        out[:, self.positions] = joints
        if self.kinematics.embodiment.floating:
            rows = checked_base(base, len(joints))
            pose = np.array([[0.0, 0, 0, 1, 0, 0, 0]]) if rows is None else rows
            out[:, :3] = pose[:, :3]
            out[:, 3:7] = normalise(pose[:, [4, 5, 6, 3]])
        return out

    def velocities(self, dq: ArrayLike) -> Array:
        """Pinocchio's velocities or accelerations (T, nv) from joints (T, J), base at rest."""
        joints = self.kinematics.joints.rates(self.kinematics.checked(dq, what="joint rates")).T
        out = np.zeros((len(joints), self.model.nv))
        out[:, self.rates] = joints
        return out

    def columns(self, configurations: ArrayLike) -> Array:
        """Joints (T, J) from Pinocchio's configurations (T, nq)."""
        embodiment = self.kinematics.embodiment
        numbers = {joint.name: index for index, joint in enumerate(embodiment.joints)}
        motors = [numbers[name] for name in self.kinematics.columns]
        columns: Array = np.asarray(configurations, np.float64)[:, self.positions[motors]]
        return columns


def compile_pinocchio(
    embodiment: Embodiment, *, passive: Mapping[str, float] | None = None
) -> PinocchioModel:
    """Build the model joint by joint; every link and every frame becomes a Pinocchio frame.

    Mimic joints are ordinary joints here: the map fills them in from their leaders.
    """
    pin = import_pinocchio()
    model = pin.Model()
    model.name = embodiment.name
    ids = {embodiment.base: _add_base(pin, model, embodiment)}
    for joint in outward_joints(embodiment):
        ids[joint.child] = _add_joint(pin, model, ids[joint.parent], joint)
    for link in embodiment.links:
        identity = pin.SE3.Identity()
        model.addBodyFrame(link.name, ids[link.name], identity, 0)
        if link.inertia is not None:
            model.appendBodyToJoint(ids[link.name], _inertia(pin, link.inertia), identity)
    for frame in embodiment.frames:
        kind = pin.FrameType.OP_FRAME
        parent = model.getFrameId(frame.link, pin.FrameType.BODY)
        model.addFrame(pin.Frame(frame.name, ids[frame.link], parent, _pose(pin, frame), kind))
    joints = [model.joints[model.getJointId(joint.name)] for joint in embodiment.joints]
    return PinocchioModel(
        Kinematics(embodiment, passive or {}),
        model,
        np.array([joint.idx_q for joint in joints], np.int64),
        np.array([joint.idx_v for joint in joints], np.int64),
    )


def geometry_model(compiled: PinocchioModel, pairs: Iterable[tuple[str, str]] = ()) -> Any:
    """The coal `GeometryModel` of all shapes, with every pair of shapes of the link pairs given.

    Shape n of a link is called `<link>_<n>`.
    """
    pin = import_pinocchio()
    model, geometry = compiled.model, pin.GeometryModel()
    shapes: dict[str, list[int]] = {}
    for link in compiled.kinematics.embodiment.links:
        frame = model.getFrameId(link.name, pin.FrameType.BODY)
        shapes[link.name] = [
            geometry.addGeometryObject(
                pin.GeometryObject(
                    f"{link.name}_{number}",
                    model.frames[frame].parentJoint,
                    frame,
                    _pose(pin, shape),
                    coal_shape(shape),
                )
            )
            for number, shape in enumerate(link.collision)
        ]
    for a, b in pairs:
        for first in shapes[a]:
            for second in shapes[b]:
                geometry.addCollisionPair(pin.CollisionPair(first, second))
    return geometry


def import_pinocchio() -> ModuleType:
    """The package pinocchio; raises MissingExtraError when it is not installed."""
    try:
        import pinocchio
    except ModuleNotFoundError:
        raise MissingExtraError("pin", "robot") from None
    module: ModuleType = pinocchio
    return module


def _add_base(pin: ModuleType, model: Any, embodiment: Embodiment) -> int:
    if not embodiment.floating:
        return 0
    root = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint")
    model.addJointFrame(root)
    return int(root)


def _add_joint(pin: ModuleType, model: Any, parent: int, joint: Joint) -> int:
    axis = normalise(joint.axis)
    kind = pin.JointModelPrismaticUnaligned if joint.type == "prismatic" else (
        pin.JointModelRevoluteUnaligned
    )  # fmt: skip
    unlimited = [joint.effort, joint.velocity, joint.upper]
    effort, velocity, upper = (np.inf if limit is None else limit for limit in unlimited)
    lower = -np.inf if joint.lower is None else joint.lower
    number = model.addJoint(
        parent,
        kind(axis),
        _pose(pin, joint),
        joint.name,
        np.array([effort]),
        np.array([velocity]),
        np.array([lower]),
        np.array([upper]),
    )
    model.addJointFrame(number)
    return int(number)


def _inertia(pin: ModuleType, inertia: Inertia) -> Any:
    xx, xy, xz, yy, yz, zz = inertia.matrix
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    values, axes = np.linalg.eigh(matrix)
    if values[0] < 0:
        # Some files state what no body has; the nearest that one could have is what counts.
        matrix = (axes * np.maximum(values, 0.0)) @ axes.T
    return pin.Inertia(inertia.mass, np.array(inertia.com), matrix)


def _pose(pin: ModuleType, placed: Placed) -> Any:
    placement = placement_of(placed)
    return pin.SE3(placement[:, :3], placement[:, 3])
