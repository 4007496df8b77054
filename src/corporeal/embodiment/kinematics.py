"""Forward kinematics of a whole recording at once: it loops over joints, never over frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from pydantic import BaseModel

from corporeal.embodiment.embodiment import (
    Embodiment,
    Frame,
    Joint,
    Placed,
    Shape,
    Standing,
)
from corporeal.embodiment.joints import standing_positions
from corporeal.embodiment.joints.joint_map import JointMap, joint_map, outward_joints
from corporeal.errors import ModelError, UnknownNameError
from corporeal.geometry import Array, matrix_from_quaternion, matrix_from_rpy, normalise
from corporeal.schema import Stream, roles

# Enough frames to forget numpy's cost per call, few enough that the arrays stay in the cache.
BLOCK = 2048
# What a stream of a sensor ends in, and what its place on the robot is called without it.
SENSORS = (roles.IMU, roles.WRENCH, roles.TACTILE)
# Words for the link that floats, whatever the robot's own document calls it.
BASE_WORDS = ("pelvis", "base", "trunk", "body", "imu", "root")


@dataclass(frozen=True, eq=False)
class Poses:
    """Where named places are: positions (T, L, 3) in metres and rotations (T, L, 3, 3)."""

    names: tuple[str, ...]
    positions: Array
    rotations: Array

    def position(self, name: str) -> Array:
        """Positions (T, 3) of one place."""
        return self.positions[:, self._index(name)]

    def rotation(self, name: str) -> Array:
        """Rotation matrices (T, 3, 3) of one place."""
        return self.rotations[:, self._index(name)]

    def _index(self, name: str) -> int:
        if name not in self.names:
            raise UnknownNameError("place", name, self.names)
        return self.names.index(name)


@dataclass(frozen=True, eq=False)
class KinematicStep:
    """One joint on the way outwards: which links it connects, and the constants of its motion."""

    joint: int
    parent: int
    child: int
    prismatic: bool
    axis: Array
    gains: Array


@dataclass(frozen=True, eq=False)
class Kinematics:
    """Forward kinematics of one robot, built once and used on arrays.

    `q` is always (T, J) in the order of `embodiment.joint_names`; `base` is (T, 7), the pose of
    the base link in the world as x y z qw qx qy qz, and the world's origin when left out.
    `passive` places joints that have neither a motor nor a leader (zero unless named).
    """

    embodiment: Embodiment
    passive: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the links, in the document's order."""
        return tuple(link.name for link in self.embodiment.links)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the joints that have a column in the data, in order."""
        return self.embodiment.joint_names

    @cached_property
    def joints(self) -> JointMap:
        """How the columns of the data move every joint."""
        return joint_map(self.embodiment, self.passive)

    @cached_property
    def steps(self) -> tuple[KinematicStep, ...]:
        """The joints, depth first from the base."""
        links = {name: index for index, name in enumerate(self.names)}
        numbers = {joint.name: index for index, joint in enumerate(self.embodiment.joints)}
        return tuple(
            _step(joint, numbers[joint.name], links[joint.parent], links[joint.child])
            for joint in outward_joints(self.embodiment)
        )

    @cached_property
    def inertias(self) -> tuple[Array, Array, Array]:
        """Masses (L,), centres of mass (L, 3) and inertias about them (L, 3, 3), in link axes."""
        given = [link.inertia for link in self.embodiment.links]
        masses = np.array([0.0 if one is None else one.mass for one in given])
        centres = np.array([(0.0,) * 3 if one is None else one.com for one in given])
        upper = np.array([(0.0,) * 6 if one is None else one.matrix for one in given])
        return masses, centres, upper[:, [[0, 1, 2], [1, 3, 4], [2, 4, 5]]]

    def transforms(self, q: ArrayLike, base: ArrayLike | None = None) -> Array:
        """Poses of all links as (L, 3, 4, T): three columns of rotation, one of position.

        Time comes last so that numpy runs along neighbouring frames; made for array code.
        """
        positions = self.joints.positions(self.checked(q))
        frames = positions.shape[1]
        poses = np.empty((len(self.names), 3, 4, frames))
        poses[self.names.index(self.embodiment.base)] = base_transforms(base, frames)
        sines, cosines = np.sin(positions), np.cos(positions)
        for block in blocks(frames):
            for step in self.steps:
                parent, child = poses[step.parent, ..., block], poses[step.child, ..., block]
                moved = step.gains @ parent[:, :3]
                if step.prismatic:
                    child[:, :3] = moved[:, :3]
                    moved[:, 4] += moved[:, 3] * positions[step.joint, block]
                else:
                    moved[:, 3:6] *= cosines[step.joint, block]
                    moved[:, 6:9] *= sines[step.joint, block]
                    np.add(moved[:, :3], moved[:, 3:6], out=child[:, :3])
                    child[:, :3] += moved[:, 6:9]
                np.add(parent[:, 3], moved[:, -1], out=child[:, 3])
        return poses

    def link_poses(self, q: ArrayLike, base: ArrayLike | None = None) -> Poses:
        """Poses of all links in the world (views with time contiguous, not copies)."""
        return _poses(self.names, self.transforms(q, base))

    def frame_poses(self, q: ArrayLike, base: ArrayLike | None = None) -> Poses:
        """Poses of all named frames in the world."""
        names = [frame.name for frame in self.embodiment.frames]
        return self.place_poses(dict(zip(names, names, strict=True)), q, base)

    def end_effectors(self, q: ArrayLike, base: ArrayLike | None = None) -> Poses:
        """Poses of the end effectors, under the names that the document gives them."""
        return self.place_poses(self.embodiment.end_effectors, q, base)

    def feet(self, q: ArrayLike, base: ArrayLike | None = None) -> Poses:
        """Poses of the feet, under the names that the document gives them (left, right)."""
        return self.place_poses(self.embodiment.feet, q, base)

    def place_poses(
        self, places: Mapping[str, str], q: ArrayLike, base: ArrayLike | None = None
    ) -> Poses:
        """Poses of chosen places, given as {name in the result: link or frame}."""
        found = [self.place(place) for place in places.values()]
        links = self.transforms(q, base)
        poses = np.empty((len(found), *links.shape[1:]))
        for pose, (link, placement) in zip(poses, found, strict=True):
            np.matmul(placement.T, links[link][:, :3], out=pose)
            pose[:, 3] += links[link][:, 3]
        return _poses(tuple(places), poses)

    def place(self, name: str) -> tuple[int, Array]:
        """The link's number and the pose (3, 4) on it of a frame or link, by name."""
        for frame in self.embodiment.frames:
            if frame.name == name:
                return self.names.index(frame.link), placement_of(frame)
        if name in self.names:
            return self.names.index(name), np.eye(3, 4)
        frames = [frame.name for frame in self.embodiment.frames]
        raise UnknownNameError("link or frame", name, [*self.names, *frames])

    def centre_of_mass(self, q: ArrayLike, base: ArrayLike | None = None) -> Array:
        """Centre of mass (T, 3) of the whole robot in the world, m."""
        masses, centres, _ = self.inertias
        if masses.sum() <= 0:
            raise ModelError(
                f"robot {self.embodiment.name!r} has no centre of mass, got a mass of 0 kg; "
                "expected links with an inertia. Add their masses to the document."
            )
        moments = np.column_stack([centres, np.ones(len(masses))]) * masses[:, None]
        joints = self.checked(q)
        rows = checked_base(base, len(joints))
        centre = np.zeros((3, len(joints)))
        for block in blocks(len(joints)):
            poses = self.transforms(joints[block], None if rows is None else rows[block])
            for pose, moment in zip(poses, moments, strict=True):
                centre[:, block] += moment @ pose
        return centre.T / float(masses.sum())

    def checked(self, values: ArrayLike, *, what: str = "joint positions") -> Array:
        """The values as float64, if they are (T, J) for this robot; raises ModelError if not."""
        array = np.asarray(values, np.float64)
        columns = len(self.columns)
        if array.ndim != 2 or array.shape[1] != columns:
            raise ModelError(
                f"{what} do not fit robot {self.embodiment.name!r}, got shape {array.shape}; "
                f"expected (frames, {columns}). Give one column per actuated joint, in its order."
            )
        return array


def placement_of(placed: Placed) -> Array:
    """The pose (3, 4) of something placed on a link: rotation, then position."""
    return np.column_stack([matrix_from_rpy(placed.rpy), placed.xyz])


def checked_base(base: ArrayLike | None, frames: int) -> Array | None:
    """The base poses as float64, if they are (T, 7) or none; raises ModelError if not."""
    if base is None:
        return None
    rows = np.asarray(base, np.float64)
    if rows.shape != (frames, 7):
        raise ModelError(
            f"base poses do not fit {frames} frames of joints, got shape {rows.shape}; "
            f"expected ({frames}, 7). Give x y z qw qx qy qz for every frame."
        )
    return rows


def base_transforms(base: ArrayLike | None, frames: int) -> Array:
    """Poses (3, 4, T) from rows x y z qw qx qy qz; all at the origin from None."""
    rows = checked_base(base, frames)
    poses = np.empty((3, 4, frames))
    poses[...] = np.eye(3, 4)[..., None]
    if rows is not None:
        poses[:, :3] = np.moveaxis(matrix_from_quaternion(rows[:, 3:]), 0, -1)
        poses[:, 3] = rows[:, :3].T
    return poses


def blocks(frames: int) -> Iterator[slice]:
    """Slices that cover all frames, each small enough for the cache."""
    return (slice(start, min(start + BLOCK, frames)) for start in range(0, frames, BLOCK))


def _poses(names: Iterable[str], transforms: Array) -> Poses:
    turned = np.moveaxis(transforms, -1, 0)
    return Poses(tuple(names), turned[..., 3], turned[..., :3])


def _step(joint: Joint, number: int, parent: int, child: int) -> KinematicStep:
    placement = placement_of(joint)
    rotation, origin = placement[:, :3], placement[:, 3:]
    axis = normalise(joint.axis)
    if joint.type == "prismatic":
        columns = [rotation, rotation @ axis[:, None], origin]
        return KinematicStep(number, parent, child, True, axis, np.hstack(columns).T)
    # Rodrigues: a turn by q is along + cos(q) * (1 - along) + sin(q) * across.
    along = np.outer(axis, axis)
    across = np.cross(axis, np.eye(3), axisb=0, axisc=0)
    columns = [rotation @ along, rotation @ (np.eye(3) - along), rotation @ across, origin]
    return KinematicStep(number, parent, child, False, axis, np.hstack(columns).T)


@dataclass(frozen=True, eq=False)
class Mount:
    """The link that a sensor is fixed to, and its axes (3, 3) and place (3,) on that link."""

    link: str
    axes: Array
    place: Array


def mount_of(robot: Embodiment, spec: Stream) -> Mount | None:
    """Where the sensor of a stream sits; None when the robot has no such place."""
    frames = {frame.name: frame for frame in robot.frames}
    links = [link.name for link in robot.links]
    for name in (spec.frame, spec.name):
        if name in frames:
            placed = placement_of(frames[name])
            return Mount(frames[name].link, placed[:, :3], placed[:, 3])
        if name in links:
            return Mount(name, np.eye(3), np.zeros(3))
    for stem in dict.fromkeys((_stem(spec.frame or ""), _stem(spec.name))):
        link = _named_after(robot, stem) if stem else None
        if link is not None:
            return Mount(link, np.eye(3), np.zeros(3))
    return None


def ancestors(robot: Embodiment, link: str) -> tuple[str, ...]:
    """The joints between the base and a link, from the base outwards."""
    above = {joint.child: joint for joint in robot.joints}
    chain = []
    while link in above:
        chain.append(above[link].name)
        link = above[link].parent
    return tuple(reversed(chain))


def _stem(name: str) -> str:
    for ending in SENSORS:
        name = name.removesuffix(ending)
    return name.lower()


def _named_after(robot: Embodiment, stem: str) -> str | None:
    """The outermost link whose name begins with the stem, or the link of such a frame."""
    depth = {link.name: len(ancestors(robot, link.name)) for link in robot.links}
    links = [name for name in depth if name.lower().startswith(stem)]
    if links:
        return max(links, key=lambda name: depth[name])
    for frame in robot.frames:
        if frame.name.lower().startswith(stem):
            return frame.link
    return robot.base if stem in BASE_WORDS else None


class LinkFacts(BaseModel):
    """A rigid body: its shapes, its mass in kg and its centre of mass in its own frame, m."""

    name: str
    shapes: list[Shape]
    mass: float | None
    com: tuple[float, float, float] | None


class RobotModel(BaseModel):
    """The kinematic tree; `joints` go outwards from the base, `rest` is how it stands."""

    name: str
    maker: str | None
    base: str
    floating: bool
    links: list[LinkFacts]
    joints: list[Joint]
    frames: list[Frame]
    groups: dict[str, list[str]]
    end_effectors: dict[str, str]
    feet: dict[str, str]
    standing: Standing | None
    rest: dict[str, float]


def robot_model(robot: Embodiment) -> RobotModel:
    """What a page needs to draw a robot."""
    posture = dict(zip(robot.joint_names, standing_positions(robot).tolist(), strict=True))
    links = [
        LinkFacts(
            name=link.name,
            shapes=list(link.collision),
            mass=None if link.inertia is None else link.inertia.mass,
            com=None if link.inertia is None else link.inertia.com,
        )
        for link in robot.links
    ]
    return RobotModel(
        **dict(robot) | {"links": links, "joints": outward_joints(robot)}, rest=posture
    )
