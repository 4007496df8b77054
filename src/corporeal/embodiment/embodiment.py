"""The embodiment document: one robot model, the same whatever file it came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import Field, model_validator

from corporeal.schema import Document, Part, Schema

Vector = tuple[float, float, float]
Label = Annotated[str, Field(min_length=1, max_length=128)]

ORIGIN: Vector = (0.0, 0.0, 0.0)
Model = TypeVar("Model")


class Placed(Part):
    """Something with a pose: metres, and roll-pitch-yaw in radians about fixed axes (as URDF)."""

    xyz: Vector = ORIGIN
    rpy: Vector = ORIGIN


class Inertia(Part):
    """Mass, centre of mass and the inertia about it, all in the axes of the link."""

    mass: float = Field(ge=0, description="kg")
    com: Vector = Field(default=ORIGIN, description="centre of mass in the link's frame, m")
    matrix: tuple[float, float, float, float, float, float] = Field(
        default=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0), description="ixx ixy ixz iyy iyz izz, kg m2"
    )


class Shape(Placed):
    """A primitive that collides: box (x y z), sphere (r), capsule or cylinder (r, length along z).

    A capsule's length is that of its straight part: the distance of the two centres.
    """

    type: Literal["box", "sphere", "capsule", "cylinder"]
    size: tuple[Annotated[float, Field(gt=0)], ...] = Field(description="full extents, m")

    @model_validator(mode="after")
    def _size_fits_type(self) -> Self:
        wanted = {"box": 3, "sphere": 1, "capsule": 2, "cylinder": 2}[self.type]
        if len(self.size) != wanted:
            raise ValueError(f"a {self.type} has {wanted} sizes, got {len(self.size)}")
        return self


class Link(Part):
    """A rigid body; what is fixed to it in the robot's file is lumped into it."""

    name: Label
    inertia: Inertia | None = None
    collision: tuple[Shape, ...] = ()


class Mimic(Part):
    """This joint follows another: position = multiplier * other + offset."""

    joint: Label
    multiplier: float = 1.0
    offset: float = 0.0


class Joint(Placed):
    """One degree of freedom between two links; its pose is in the parent's frame.

    A limit that the source does not state is left out, never invented.
    """

    name: Label
    type: Literal["revolute", "prismatic"] = "revolute"
    parent: Label
    child: Label
    axis: Vector
    lower: float | None = Field(default=None, description="rad or m")
    upper: float | None = Field(default=None, description="rad or m")
    velocity: float | None = Field(default=None, ge=0, description="rad/s or m/s")
    effort: float | None = Field(default=None, ge=0, description="N m or N")
    mimic: Mimic | None = None
    actuated: bool = True

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise ValueError(f"lower limit {self.lower} is above upper limit {self.upper}")
        length = sum(component**2 for component in self.axis) ** 0.5
        if abs(length - 1.0) > 1e-3:
            raise ValueError(f"axis has length {length:.4g}; expected a unit vector")
        return self


class Frame(Placed):
    """A named place on a link: a sensor, a sole, a palm."""

    name: Label
    link: Label


class Standing(Part):
    """How the robot stands: joints not named are at zero (or at their nearest limit)."""

    height: float = Field(gt=0, description="height of the base link's origin above the ground, m")
    posture: dict[Label, float] = Field(default={}, description="joint: rad or m")


class Embodiment(Document):
    """One robot: ordered joints with limits, links, frames, collision shapes, groups, feet.

    `joints` is in the robot's own order: the order of its data. Links that no joint moves
    against their parent are lumped into it and stay on as frames.
    """

    kind: ClassVar[str] = "embodiment"

    maker: str | None = None
    base: Label = Field(description="the link that floats, the pelvis of a humanoid")
    floating: bool = True
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    frames: tuple[Frame, ...] = ()
    groups: dict[Label, tuple[Label, ...]] = Field(
        default={}, description="left_leg, right_leg, torso, left_arm, left_hand, neck ..."
    )
    end_effectors: dict[Label, Label] = Field(default={}, description="name: link or frame")
    feet: dict[Label, Label] = Field(default={}, description="left, right: link or frame")
    standing: Standing | None = None
    touching: tuple[tuple[Label, Label], ...] = Field(
        default=(), description="pairs of links that touch by design: no self-collision"
    )
    sources: tuple[str, ...] = Field(default=(), description="where the facts come from")
    estimated: tuple[str, ...] = Field(
        default=(), description="what is not public and was estimated"
    )
    missing_meshes: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _is_one_tree(self) -> Self:
        links = _unique("link", [link.name for link in self.links])
        joints = _unique("joint", [joint.name for joint in self.joints])
        _unique("frame", [frame.name for frame in self.frames])
        _known("base", [self.base], links)
        for joint in self.joints:
            _known(f"joint {joint.name!r}", [joint.parent, joint.child], links)
            if joint.mimic is not None:
                _known(f"mimic of {joint.name!r}", [joint.mimic.joint], joints)
        _reaches_all(self)
        _known("frames", [frame.link for frame in self.frames], links)
        places = links | {frame.name for frame in self.frames}
        _known("end_effectors", self.end_effectors.values(), places)
        _known("feet", self.feet.values(), places)
        for group, members in self.groups.items():
            _known(f"group {group!r}", members, joints)
        for pair in self.touching:
            _known("touching", pair, links)
        if self.standing is not None:
            _known("standing posture", self.standing.posture, joints)
        return self

    @property
    def actuated(self) -> tuple[Joint, ...]:
        """The joints that have a motor of their own, in order: the columns of the data."""
        return tuple(joint for joint in self.joints if joint.actuated and joint.mimic is None)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the actuated joints, in order."""
        return tuple(joint.name for joint in self.actuated)

    def resolve(self, schema: Schema) -> Schema:
        """A schema for this robot: `joints` filled in, in its order and its units."""
        sliding = [joint.name for joint in self.actuated if joint.type == "prismatic"]
        return schema.resolve(self.joint_names, sliding)

    @property
    def mass(self) -> float:
        """Total mass of the links that state one, kg."""
        return sum(link.inertia.mass for link in self.links if link.inertia is not None)

    def group_of(self, joint: str) -> str | None:
        """The group that a joint belongs to, if any."""
        return next((group for group, members in self.groups.items() if joint in members), None)


def _unique(what: str, names: list[str]) -> set[str]:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(
            f"{what} {twice[0]!r} is there {names.count(twice[0])} times; expected once"
        )
    return set(names)


def _known(what: str, names: Iterable[str], known: set[str]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"{what} names {name!r}, which does not exist")


def _reaches_all(robot: Embodiment) -> None:
    children: dict[str, list[str]] = {}
    parents = Counter(joint.child for joint in robot.joints)
    for child, count in parents.items():
        if count > 1:
            raise ValueError(f"link {child!r} hangs on {count} joints; expected a tree")
    for joint in robot.joints:
        children.setdefault(joint.parent, []).append(joint.child)
    reached: set[str] = set()
    front = [robot.base]
    while front:
        link = front.pop()
        if link not in reached:
            reached.add(link)
            front.extend(children.get(link, []))
    lost = [link.name for link in robot.links if link.name not in reached]
    if lost:
        raise ValueError(f"link {lost[0]!r} is not connected to the base {robot.base!r}")


# A process seldom has more robots than this; with one more all are forgotten.
_MOST = 8
_MODELS: dict[str, dict[Callable[[Embodiment], Any], Any]] = {}
# Hashing a document takes milliseconds: the hash of a robot at hand is kept with the robot itself,
# so that nobody else gets its id meanwhile.
_HASHES: dict[int, tuple[Embodiment, str]] = {}


def model_of(robot: Embodiment, build: Callable[[Embodiment], Model]) -> Model:
    """`build(robot)`, the same for every equal robot in this process; nobody may change it."""
    known = _HASHES.get(id(robot))
    if known is None:
        if len(_HASHES) >= _MOST:
            _HASHES.clear()
        known = _HASHES[id(robot)] = robot, robot.hash
    if known[1] not in _MODELS and len(_MODELS) >= _MOST:
        _MODELS.clear()
    models = _MODELS.setdefault(known[1], {})
    if build not in models:
        models[build] = build(robot)
    model: Model = models[build]
    return model
