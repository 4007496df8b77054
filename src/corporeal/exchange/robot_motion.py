"""A motion of a robot from any tool, and what its file leaves open: robot, columns, order, rate."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment, open_robot
from corporeal.embodiment.joints import match_joints
from corporeal.embodiment.kinematics import Kinematics
from corporeal.episode.facts import JOINTS, RATE, ROBOT
from corporeal.episode.recording import Recording
from corporeal.errors import EpisodeError
from corporeal.exchange.foreign_stream import EpisodeReading, stream_name
from corporeal.schema import roles
from corporeal.words import listed, some_of

Array = NDArray[np.float64]
QuaternionOrder = Literal["wxyz", "xyzw"]

MAX_FRAMES = 1024
BUILT_IN = ("g1", "g1_23dof", "h1")
# What speaks against a reading, in metres that the standing foot slides between two frames.
_LEAN_M = 0.01
_TURNED_M = 0.001
_DOUBT_M = 0.001
_BEYOND_LIMITS_M = 0.1
_SURE = 0.6
# The cosine of two axes that are the same.
_ALONG = 0.9
_RATES_HZ = (20.0, 24.0, 25.0, 30.0, 50.0, 60.0, 100.0, 120.0, 200.0, 240.0, 250.0, 500.0, 1000.0)


MotionPart = Literal["joints", "base", "velocities", "rate", "names"]


@dataclass(frozen=True, eq=False)
class RobotMotion:
    """Joint angles (T, J) in radians and the base's pose, as a file gives them.

    What is None the file does not say. `axes` (J, 3) are the directions that joints turn about,
    zero for one that never moved; `bodies` (T, B, 3) where its links are in the world. `others`
    are further arrays of one entry per frame.
    """

    name: str
    joints: Array
    position: Array | None = None
    quaternion: Array | None = None
    order: QuaternionOrder | None = None
    rate_hz: float | None = None
    names: tuple[str, ...] | None = None
    velocities: Array | None = None
    axes: Array | None = None
    bodies: Array | None = None
    is_from_simulator: bool = False
    """Whether the columns may be in a simulator's order instead of the model's."""
    others: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    """What the reader of the file assumed, by field."""
    parts: Mapping[str, MotionPart] = field(default_factory=dict)
    """What the file calls them; `others` have their own names."""
    stated: Mapping[str, Any] = field(default_factory=dict)
    """What else the file says of the motion as a whole, such as the names of its bodies."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """What else the file has, and why it is in no stream."""

    def __post_init__(self) -> None:
        frames = len(self.joints)
        for label, values in (("base position", self.position), ("base rotation", self.quaternion)):
            if values is not None and len(values) != frames:
                raise EpisodeError(
                    f"{self.name}: {len(values)} rows of {label}, but {frames} of the joints. "
                    "Replace the file."
                )
        if not frames:
            raise EpisodeError(f"{self.name}: no frame in it. Leave the file out.")


@dataclass(frozen=True)
class MotionReading:
    """One way to read a motion: which robot, which joint each column is, how rotations stand."""

    kinematics: Kinematics
    columns: tuple[str, ...]
    order: QuaternionOrder
    doubt_m: float = _DOUBT_M
    """How unusual it is, before anything is looked at."""
    column_confidence: float = 1.0
    order_confidence: float = 1.0

    @property
    def robot(self) -> Embodiment:
        """The robot that it is read for."""
        return self.kinematics.embodiment


def read_motion(
    motion: RobotMotion,
    source: Path,
    index: int,
    *,
    robot: Embodiment | None,
    stated_hz: float | None,
    assumed_hz: float,
) -> Recording:
    """The motion as a recording; what had to be assumed is in its metadata under `assumed`.

    `stated_hz` is the rate that the user gives, `assumed_hz` the one where nothing tells.
    """
    if stated_hz is not None:
        motion = replace(motion, rate_hz=stated_hz)
    assumed = dict(motion.notes)
    reading = interpret_motion(motion, robot)
    if robot is None and reading is not None and motion.names is None:
        count = motion.joints.shape[1]
        assumed[ROBOT] = f"{reading.robot.name}: it has {count} joints, and the motion fits it"
    if reading is None:
        named = motion.names or tuple(f"joint_{n}" for n in range(motion.joints.shape[1]))
        order = motion.order or "wxyz"
        if motion.quaternion is not None and motion.order is None:
            assumed["quaternion_order"] = f"{order}: without the robot nothing tells"
    else:
        named, order = reading.columns, reading.order
        if reading.column_confidence < _SURE:
            assumed[JOINTS] = f"those of {reading.robot.name}: other orders fit almost as well"
        if reading.order_confidence < _SURE:
            assumed["quaternion_order"] = f"{order}: the other fits almost as well"
    rate_hz, why = settle_rate(motion, assumed_hz)
    if why is not None:
        assumed[RATE] = why
    metadata: dict[str, Any] = {**motion.stated, "fps": rate_hz}
    if motion.quaternion is not None:
        metadata["quaternion_order"] = order
    if reading is not None and motion.quaternion is not None and motion.order is None:
        metadata["quaternion_order_confidence"] = round(reading.order_confidence, 3)
    streams = EpisodeReading(index, rate_hz, robot if reading is None else reading.robot)
    streams.assumed = assumed
    _take_motion(streams, motion, named, order)
    _account(streams, motion)
    return streams.to_recording(motion.name, source, metadata, regridded=True)


def interpret_motion(motion: RobotMotion, robot: Embodiment | None) -> MotionReading | None:
    """The reading that fits best, and how sure it is, from 0.5 to 1; None if no robot fits.

    In the right one joints turn about the robot's own axes and stay within its limits, links are
    where the file has them, the robot is upright and the lower foot stays where it is.
    """
    readings = list(_readings(motion, robot))
    if robot is not None:
        _require_axes(motion, readings)
    if not readings:
        if robot is not None and motion.names is None:
            raise EpisodeError(
                f"{motion.name}: has {motion.joints.shape[1]} joints, but {robot.name} has "
                f"{len(robot.joint_names)}. Name the right robot with --robot."
            )
        return None
    costs = [(reading, _cost(motion, reading)) for reading in readings]
    best, least = min(costs, key=itemgetter(1))
    joints = best.robot.name, best.columns

    def confidence(rivals: Iterable[float]) -> float:
        return min((cost / (cost + least) for cost in rivals), default=1.0)

    return replace(
        best,
        column_confidence=confidence(
            cost for rival, cost in costs if (rival.robot.name, rival.columns) != joints
        ),
        order_confidence=confidence(cost for rival, cost in costs if rival.order != best.order),
    )


def _require_axes(motion: RobotMotion, readings: Sequence[MotionReading]) -> None:
    """Raise EpisodeError if the file's own axes say that it is of another robot than the named."""
    wrong = min((_other_axes(motion, reading) for reading in readings), key=len, default=())
    if not wrong:
        return
    fit = {each.robot.name for each in _readings(motion, None) if not _other_axes(motion, each)}
    known = f"they turn as those of {listed(sorted(fit))}" if fit else "no built-in robot fits"
    raise EpisodeError(
        f"{motion.name}: columns {some_of(map(str, wrong))} of its joints turn about other axes "
        f"than those of {readings[0].robot.name}; {known}. Name the right robot with --robot."
    )


def _other_axes(motion: RobotMotion, reading: MotionReading) -> tuple[int, ...]:
    """Columns that turn about another axis than their joint does, by what the file says of both."""
    if motion.axes is None:
        return ()
    joints = {joint.name: joint for joint in reading.robot.joints}
    own = np.array([joints[name].axis for name in reading.columns])
    moved = np.linalg.norm(motion.axes, axis=1) > 0.5
    along = np.abs((own * motion.axes).sum(axis=1))
    return tuple(np.flatnonzero(moved & (along < _ALONG)).tolist())


def settle_rate(motion: RobotMotion, assumed_hz: float) -> tuple[float, str | None]:
    """The rate, and what it was taken from where the file does not state it."""
    if motion.rate_hz is not None:
        return motion.rate_hz, None
    if motion.velocities is not None and len(motion.joints) > 2:
        steps = np.diff(motion.joints, axis=0)
        speeds = (motion.velocities[1:] + motion.velocities[:-1]) / 2
        good = np.isfinite(steps) & np.isfinite(speeds)
        moved = float((steps[good] ** 2).sum())
        if moved > 0:
            rate = float((steps[good] * speeds[good]).sum()) / moved
            usual = min(_RATES_HZ, key=lambda known: abs(np.log(known / max(rate, 1e-9))))
            if abs(usual / rate - 1.0) < 0.05:
                return usual, f"{usual:g} Hz, from its joint velocities: it states none"
    return assumed_hz, f"{assumed_hz:g} Hz: the file states none"


def _readings(motion: RobotMotion, robot: Embodiment | None) -> Iterator[MotionReading]:
    orders: Sequence[QuaternionOrder] = ("wxyz",) if motion.quaternion is None else (
        (motion.order,) if motion.order is not None else ("wxyz", "xyzw")
    )  # fmt: skip
    for kinematics in (Kinematics(robot),) if robot is not None else map(_built_in, BUILT_IN):
        for columns, doubt in _column_orders(motion, kinematics.embodiment):
            for order in orders:
                yield MotionReading(kinematics, columns, order, _DOUBT_M * doubt)


def _column_orders(
    motion: RobotMotion, robot: Embodiment
) -> Iterator[tuple[tuple[str, ...], float]]:
    """What the columns may be, and how unusual that is: nothing else tells where little moves."""
    width = motion.joints.shape[1]
    if motion.names is not None:
        matched = match_joints(motion.names, robot)
        if all(name is not None for name in matched) and len(set(matched)) == width:
            yield tuple(name for name in matched if name is not None), 1.0
        return
    usual = [(robot.joint_names, 1.0)]
    if motion.is_from_simulator:
        usual.append((breadth_first(robot), 1.0))
    for columns, doubt in usual:
        if len(columns) == width:
            yield columns, doubt
        elif len(kept := tuple(name for name in columns if "wrist" not in name)) == width:
            yield kept, 1.3 * doubt


def breadth_first(robot: Embodiment) -> tuple[str, ...]:
    """Joints level by level from the base, as simulators on PhysX number them."""
    roots = {joint.parent for joint in robot.joints} - {joint.child for joint in robot.joints}
    waiting = deque(sorted(roots))
    actuated = set(robot.joint_names)
    names: list[str] = []
    while waiting:
        link = waiting.popleft()
        for joint in robot.joints:
            if joint.parent == link:
                waiting.append(joint.child)
                names += [joint.name] if joint.name in actuated else []
    return tuple(names)


@cache
def _built_in(name: str) -> Kinematics:
    return Kinematics(open_robot(name))


def _cost(motion: RobotMotion, reading: MotionReading) -> float:
    """What speaks against a reading: doubt, and all that is as it would not be on that robot."""
    frames = slice(MAX_FRAMES)
    joints, cost = motion.joints[frames], reading.doubt_m
    limits = {joint.name: joint for joint in reading.robot.joints}
    columns = [limits[name] for name in reading.columns]
    lower = np.array([-np.inf if joint.lower is None else joint.lower for joint in columns])
    upper = np.array([np.inf if joint.upper is None else joint.upper for joint in columns])
    cost += _BEYOND_LIMITS_M * float(((joints < lower - 0.1) | (joints > upper + 0.1)).mean())
    if motion.axes is not None:
        moved = int((np.linalg.norm(motion.axes, axis=1) > 0.5).sum())
        cost += len(_other_axes(motion, reading)) / max(1, moved)
    if motion.position is None or motion.quaternion is None:
        return cost
    good = np.isfinite(joints).all(axis=1) & np.isfinite(motion.position[frames]).all(axis=1)
    lengths = np.linalg.norm(motion.quaternion[frames], axis=1)
    good &= np.isfinite(lengths) & (lengths > 0.5)
    if not good.any():
        return cost
    wxyz = _as_wxyz(motion.quaternion[frames][good], reading.order) / lengths[good, None]
    base = np.concatenate((motion.position[frames][good], wxyz), axis=1)
    whole = np.zeros((len(base), len(reading.robot.joint_names)))
    for column, name in enumerate(reading.columns):
        whole[:, reading.robot.joint_names.index(name)] = joints[good][:, column]
    if motion.bodies is not None:
        cost += _misplaced(reading.kinematics, whole, base, motion.bodies[frames][good])
    return cost + _unsteady(reading.kinematics, whole, base)


def _unsteady(kinematics: Kinematics, joints: Array, base: Array) -> float:
    """How far it leans and turns its back, and how far the lower foot slides, in metres."""
    wxyz = base[:, 3:]
    upright = 1.0 - 2.0 * (wxyz[:, 1] ** 2 + wxyz[:, 2] ** 2)
    cost = _LEAN_M * float(1.0 - upright.mean())
    cost += _TURNED_M * float(1.0 - np.abs(wxyz[:, 0]).mean())
    feet = kinematics.feet(joints, base).positions
    if len(feet) > 1 and feet.shape[1]:
        frame = np.arange(len(feet) - 1)
        lower = feet[:-1, :, 2].argmin(axis=1)
        moved = feet[frame + 1, lower] - feet[frame, lower]
        cost += float(np.median(np.linalg.norm(moved, axis=1)))
    return cost


def _misplaced(kinematics: Kinematics, joints: Array, base: Array, bodies: Array) -> float:
    """How far the file's links are from the nearest links of the robot, in metres."""
    some = np.linspace(0, len(joints) - 1, min(len(joints), 16)).astype(int)
    links = kinematics.link_poses(joints[some], base[some]).positions
    apart = np.linalg.norm(bodies[some][:, :, None] - links[:, None], axis=3)
    return float(apart.mean(axis=0).min(axis=1).mean())


def _as_wxyz(quaternion: Array, order: QuaternionOrder) -> Array:
    return quaternion[:, [order.index(part) for part in "wxyz"]]


def _account(reading: EpisodeReading, motion: RobotMotion) -> None:
    """Say what became of everything that the file has."""
    signals = reading.signals
    held: dict[MotionPart, str] = {"rate": "stamps", "names": "names of the joints"}
    streams: dict[MotionPart, str] = {
        "joints": roles.JOINT_POSITION,
        "velocities": roles.JOINT_VELOCITY,
        "base": roles.BASE_POSE,
    }
    held |= {part: signals[name].spec.path for part, name in streams.items() if name in signals}
    for name, part in motion.parts.items():
        if name in motion.others:
            continue
        count = None if part == "names" else 1 if part == "rate" else len(motion.joints)
        if part in held:
            reading.account(name, held[part], samples=count)
        else:
            reading.leave_out(name, "its shape is not that of the joints", lost=True)
    for name, reason in motion.unread.items():
        reading.leave_out(name, reason, lost=True)
    for name in motion.stated:
        reading.account(name, f"metadata {name}")
    for name in motion.others:
        signal = signals[stream_name(name)]
        also = (held[motion.parts[name]],) if name in motion.parts else ()
        reading.account(name, signal.spec.path, *also, samples=len(signal))


def _take_motion(
    reading: EpisodeReading, motion: RobotMotion, names: Sequence[str], order: QuaternionOrder
) -> None:
    stamps = reading.row_stamps(len(motion.joints))
    if motion.position is not None and motion.quaternion is not None:
        pose = np.concatenate((motion.position, _as_wxyz(motion.quaternion, order)), axis=1)
        reading.take_stream(roles.BASE_POSE, pose, stamps, name=roles.BASE_POSE, group="debug",
                            names=roles.POSE, unit=roles.POSE_UNITS, frame="world")  # fmt: skip
    measured = {
        roles.JOINT_POSITION: (motion.joints, "rad"),
        roles.JOINT_VELOCITY: (motion.velocities, "rad/s"),
    }
    for name, (values, unit) in measured.items():
        if values is not None:
            reading.take_stream(name, values, stamps, name=name, names=names, unit=unit)
    for label, values in motion.others.items():
        name = stream_name(label)
        reading.take_stream(name, values, stamps, name=name, group="debug")
