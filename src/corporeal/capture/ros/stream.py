"""From the pieces of ROS messages to streams: names, groups, shapes, and what did not fit."""

from __future__ import annotations

import hashlib
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.capture.ros.message import MessagePart, NotMappedError
from corporeal.capture.ros.timing import rate_of
from corporeal.capture.ros.unitree import imu_frame, motor_joints
from corporeal.embodiment import Embodiment
from corporeal.schema import Schema, Stream, roles
from corporeal.schema.stream import Group
from corporeal.signal.recognition import claim_joints, says_command, sensor_name
from corporeal.words import some_of

Key = tuple[str, str, tuple[str, ...]]
Signature = tuple[Any, ...]
PROBLEMS = Stream(
    name="source_problems",
    group="debug",
    kind="text",
    optional=True,
    description="what the source delivered and no stream could hold, said once for each reason",
)
_MAX_NAME = 64
_MAX_JOINT_SETS = 8
_TARGETS = {
    roles.JOINT_POSITION: roles.JOINT_POSITION_TARGET,
    roles.JOINT_VELOCITY: roles.JOINT_VELOCITY_TARGET,
    roles.JOINT_TORQUE: roles.JOINT_TORQUE_TARGET,
}
# Of these there is one in a robot, whatever its columns are called.
_ALONE = (roles.BASE_POSE, roles.BASE_VELOCITY, roles.INSTRUCTION)
_BASES = {"base", "base_link", "pelvis", "trunk", "body"}


def stream_name(topic: str, suffix: str = "", *, rename: Mapping[str, str] | None = None) -> str:
    """A valid stream name for a piece of a topic: lower case, digits and _, 64 at most."""
    stem = (rename or {}).get(topic, topic)
    parts = [part for part in (stem, suffix) if part]
    name = re.sub(r"[^a-z0-9]+", "_", "_".join(parts).lower()).strip("_") or "topic"
    if not name[0].isalpha():
        name = f"t_{name}"
    if len(name) > _MAX_NAME:
        name = f"{name[: _MAX_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return name


def group_of(topic: str, piece: MessagePart) -> Group:
    """Commands are actions; what is fixed to the world is debug; the rest is observed."""
    # The schema's word for a frame that a deployed policy does not have.
    if piece.frame == "world" or piece.on_change:
        return piece.group or ("debug" if piece.frame == "world" else _natural_group(topic))
    return "actions" if says_command(topic) else piece.group or "observations"


def _natural_group(topic: str) -> Group:
    return "actions" if says_command(topic) else "observations"


def signature(piece: MessagePart) -> Signature:
    """What must stay the same for pieces to share a stream; joint order may differ."""
    components = None if piece.variant else piece.components
    return piece.kind, piece.dtype, piece.shape, piece.unit, components


@dataclass
class TopicLane:
    """What was seen of one piece of a topic; `filled` are its columns that were ever not zero.

    They are looked at where it matters: motors, and poses that may be the base's.
    """

    key: Key
    seen: Counter[Signature] = field(default_factory=Counter)
    first: dict[Signature, MessagePart] = field(default_factory=dict)
    times: array[int] = field(default_factory=lambda: array("q"))
    frames: Counter[str | None] = field(default_factory=Counter)
    orders: Counter[tuple[str, ...]] = field(default_factory=Counter)
    filled: NDArray[np.bool_] | None = None
    is_latched: bool = False

    def add(self, piece: MessagePart, time_ns: int) -> None:
        """Count one piece."""
        mark = signature(piece)
        self.seen[mark] += 1
        if mark not in self.first and len(self.first) < 64:
            self.first[mark] = replace(piece, value=None)
        self.times.append(time_ns)
        self.frames[piece.frame] += 1
        if piece.variant and piece.components is not None:
            self.orders[piece.components] += 1
        if piece.is_motor or piece.role == roles.BASE_POSE:
            given = np.asarray(piece.value) != 0
            alike = self.filled is not None and self.filled.shape == given.shape
            self.filled = self.filled | given if alike else given

    @property
    def usual(self) -> MessagePart:
        """The piece as most messages had it."""
        return self.first[max(self.first, key=lambda mark: self.seen[mark])]


@dataclass(frozen=True)
class StreamFit:
    """The stream that holds one lane, or its `columns` alone.

    `spare` are motors that say something and are no joints of the robot.
    """

    stream: Stream
    signature: Signature
    order: tuple[str, ...] | None
    columns: tuple[int, ...] | None = None
    spare: tuple[str, ...] = ()

    def value(self, piece: MessagePart) -> Any:
        """The piece's value for this stream; NotMappedError when it has another shape."""
        if signature(piece) != self.signature:
            # Without the shape itself: a list whose length changes would be news every time.
            raise NotMappedError(f"another shape than the stream's {_layout(self.stream)}")
        value = piece.load()
        if self.columns is not None:
            return value[list(self.columns)]
        if self.order is not None and piece.components != self.order:
            assert piece.components is not None
            value = value[[piece.components.index(name) for name in self.order]]
        return value


def fit_lanes(
    lanes: Iterable[TopicLane],
    *,
    bursts: Iterable[str] = (),
    rename: Mapping[str, str] | None = None,
    robot: Embodiment | None = None,
) -> tuple[dict[Key, StreamFit], list[str]]:
    """A stream for each lane, and sentences about what does not fit.

    `bursts` are topics whose rate cannot be told from their stamps. A stream that holds what its
    type says, of the robot where that is known, has the name of that role, unless it is renamed.
    """
    lanes = list(lanes)
    motors = {lane.key: _place_motors(lane, robot) for lane in lanes}
    names = _role_names(lanes, rename or {}, robot, motors)
    fits: dict[Key, StreamFit] = {}
    problems: list[str] = []
    taken: set[str] = set()
    sets: dict[str, list[tuple[str, ...]]] = {}
    unknown = set(bursts)
    for lane in lanes:
        topic, suffix, variant = lane.key
        known = sets.setdefault(topic, [])
        if variant and variant not in known:
            known.append(variant)
        number = known.index(variant) if variant else 0
        if number >= _MAX_JOINT_SETS:
            problems.append(
                f"Topic {topic}: {len(lane.times)} messages not mapped because of too many "
                f"different joint sets; the first {_MAX_JOINT_SETS} are kept."
            )
            continue
        piece, columns = motors[lane.key]
        label = f"{number + 1}_{suffix}" if number else suffix
        stream = _stream(topic, label, piece, lane, topic in unknown, rename, taken,
                         names.get(lane.key), robot)  # fmt: skip
        taken.add(stream.name)
        order = max(lane.orders, key=lambda names: lane.orders[names]) if lane.orders else None
        if piece.is_motor and columns is None and lane.key[1] == "position":
            of = "no robot is named" if robot is None else f"{robot.name} is none of them"
            problems.append(
                f"Topic {topic}: {piece.shape[0]} motors of a Unitree G1, H1 or H1-2 keep their "
                f"numbers, since {of}. Name the right one with --robot."
            )
        spare = _spare_motors(lane, columns)
        fits[lane.key] = StreamFit(stream, signature(lane.usual), order, columns, spare)
        problems += _lane_problems(lane, stream, order)
        if spare and robot is not None:
            problems.append(
                f"Topic {topic}: the {lane.key[1]} of {some_of(spare)} is not taken: no joint of "
                f"{robot.name} is there."
            )
    for topic, known in sets.items():
        if len(known) > 1:
            sizes = ", ".join(str(len(names)) for names in known)
            problems.append(
                f"Topic {topic}: the set of joints changes between messages; {len(known)} sets "
                f"(of {sizes} joints) became streams of their own."
            )
    return fits, problems


def _place_motors(
    lane: TopicLane, robot: Embodiment | None
) -> tuple[MessagePart, tuple[int, ...] | None]:
    """The lane's usual piece as this robot's joints or IMU, and the columns that those are."""
    piece = lane.usual
    if not piece.is_motor or robot is None:
        return piece, None
    if piece.role in (roles.IMU, roles.ORIENTATION):
        sensor = imu_frame(robot)
        return (piece if sensor is None else replace(piece, frame=sensor[0], child=sensor[1])), None
    joints = motor_joints(piece.shape[0], robot)
    if joints is None:
        return piece, None
    by_joint = {joint: column for column, joint in enumerate(joints) if joint is not None}
    names = tuple(joint for joint in robot.joint_names if joint in by_joint)
    placed = replace(piece, components=names, shape=(len(names),))
    return placed, tuple(by_joint[name] for name in names)


def _spare_motors(lane: TopicLane, columns: tuple[int, ...] | None) -> tuple[str, ...]:
    if columns is None or lane.filled is None:
        return ()
    filled = set(np.flatnonzero(lane.filled).tolist()) - set(columns)
    return tuple(f"motor {column}" for column in sorted(filled))


def _role_names(
    lanes: Iterable[TopicLane],
    rename: Mapping[str, str],
    robot: Embodiment | None,
    motors: Mapping[Key, tuple[MessagePart, tuple[int, ...] | None]],
) -> dict[Key, str]:
    """The names of roles for the lanes that hold them.

    Where several topics state the same joints, the one with most joints of the robot has the
    role; without a clear one, all keep the names of their topics.
    """
    names: dict[Key, str] = {}
    rivals: dict[str, list[tuple[int, Key]]] = {}
    for lane in lanes:
        piece, topic = motors[lane.key][0], lane.key[0]
        if piece.role is None or topic in rename:
            continue
        if piece.role.startswith("_"):
            # Where the robot tells which link carries it, that says more than the topic.
            label = piece.child or topic
            names[lane.key] = sensor_name(label, piece.frame, piece.role)
            continue
        role: str | None = piece.role
        if says_command(topic) and piece.role not in _TARGETS.values():
            role = _TARGETS.get(piece.role)
        count = _joint_count(piece, robot)
        if role in _ALONE:
            count = int(_is_alone(piece, topic, robot) and not _is_planar(lane))
        if role is not None and count:
            rivals.setdefault(role, []).append((count, lane.key))
    for role, candidates in rivals.items():
        most = max(count for count, _ in candidates)
        best = [key for count, key in candidates if count == most]
        if len(best) == 1:
            names[best[0]] = role
    return names


def _is_alone(piece: MessagePart, topic: str, robot: Embodiment | None) -> bool:
    """Whether a pose or velocity is the base's, by the frame that it is of, else by its topic."""
    if piece.role == roles.INSTRUCTION:
        return True
    bases = _BASES | ({robot.base.lower()} if robot is not None else set())
    if piece.child is not None:
        return piece.child.lower().rpartition("/")[2] in bases
    words = re.split(r"[^a-z0-9]+", topic.lower().rpartition("/")[2])
    name = "_".join(word for word in words if word not in ("pose", "stamped", "state"))
    return name in bases or name == "robot"


def _is_planar(lane: TopicLane) -> bool:
    """Whether a pose only ever lies in the plane: dead reckoning of wheels, no floating base."""
    if lane.filled is None or lane.usual.role != roles.BASE_POSE:
        return False
    return not any(lane.filled[roles.POSE.index(name)] for name in ("z", "qx", "qy"))


def _joint_count(piece: MessagePart, robot: Embodiment | None) -> int:
    """How many of a piece's columns are joints of the robot; any name will do without a robot."""
    names = piece.components or ()
    if robot is None:
        return len(names)
    claimed = claim_joints(names, "1", robot)
    return 0 if claimed is None else len(set(claimed[0]) & set(robot.joint_names))


def _stream(
    topic: str, suffix: str, piece: MessagePart, lane: TopicLane, is_burst: bool,
    rename: Mapping[str, str] | None, taken: set[str], role: str | None, robot: Embodiment | None,
) -> Stream:  # fmt: skip
    name = base = role or stream_name(topic, suffix, rename=rename)
    number = 1
    while name in taken:
        number += 1
        name = f"{base[: _MAX_NAME - 4]}_{number}"
    events = piece.on_change or piece.is_event or is_burst or piece.kind == "text"
    events = events or lane.is_latched
    rate = None if events else rate_of(np.frombuffer(lane.times, np.int64))
    group = group_of(topic, piece)
    if lane.is_latched and piece.kind == "text" and role != roles.INSTRUCTION:
        # A document such as the robot's description, said once: no policy observes it.
        group = "debug"
    order = max(lane.orders, key=lambda names: lane.orders[names]) if lane.orders else None
    components, unit = order or piece.components, piece.unit
    if order is not None and robot is not None and isinstance(unit, str):
        components, unit = claim_joints(order, unit, robot) or (components, unit)
    notes = [f"ROS topic {topic}"]
    notes += [piece.note] if piece.note else []
    notes += ["stored when it changes"] if piece.on_change else []
    values: dict[str, Any] = {
        "name": name, "group": group, "kind": piece.kind, "dtype": piece.dtype,
        "shape": piece.shape, "rate_hz": rate, "unit": unit, "frame": piece.frame,
        "components": _clean(components), "description": "; ".join(notes).replace("\0", ""),
        "interpolation": "hold" if piece.on_change else None,
    }  # fmt: skip
    return Stream.model_validate(values)


def _clean(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(name.replace("\0", "") for name in names)


def _lane_problems(lane: TopicLane, stream: Stream, order: tuple[str, ...] | None) -> list[str]:
    topic = lane.key[0]
    problems = []
    others = Counter({m: n for m, n in lane.seen.items() if m != signature(lane.usual)})
    if others:
        ((mark, _),) = others.most_common(1)
        other = lane.first.get(mark)
        shape = "a shape of their own" if other is None else _described(other)
        more = f" (and {len(others) - 1} other shapes)" if len(others) > 1 else ""
        problems.append(
            f"Topic {topic}: {others.total()} of {len(lane.times)} messages not mapped to "
            f"{stream.path} because they hold {shape}{more} where the others hold "
            f"{_layout(stream)}."
        )
    turned = sum(lane.orders.values()) - (lane.orders[order] if order else 0)
    if turned and lane.key[1] == "position":
        problems.append(
            f"Topic {topic}: {turned} of {len(lane.times)} messages name their joints in another "
            f"order; their values are put into the order of {stream.path}."
        )
    if len(lane.frames) > 1:
        named = ", ".join(str(frame) for frame in list(lane.frames)[:8])
        problems.append(
            f"Topic {topic}: its frame changes between messages ({named}); {stream.path} names "
            f"only {stream.frame}."
        )
    if says_command(topic) and stream.frame == "world":
        problems.append(
            f"Topic {topic}: a command in the world frame, which a deployed policy does not have; "
            f"it is kept as {stream.path}."
        )
    if lane.usual.note and stream.kind in ("video", "depth", "points"):
        problems.append(f"Topic {topic}: {lane.usual.note}.")
    return problems


def _described(piece: MessagePart) -> str:
    columns = "" if piece.components is None or piece.variant else (
        f" ({', '.join(piece.components[:4])}{', ...' if len(piece.components) > 4 else ''})"
    )  # fmt: skip
    return f"{piece.kind} of {piece.dtype} {list(piece.shape)}{columns}"


def _layout(stream: Stream) -> str:
    return f"{stream.kind} of {stream.dtype} {list(stream.shape)}"


def rig_schema(name: str, streams: Iterable[Stream], description: str) -> Schema:
    """The schema document of what a source holds."""
    clean = stream_name(name)
    return Schema(
        document="schema", name=clean, version="1.0.0", description=description,
        streams=tuple(streams),
    )  # fmt: skip
