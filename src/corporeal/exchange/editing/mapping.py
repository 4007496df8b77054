"""Which entries of foreign signals are which joints of the robot, and why others are not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from corporeal.embodiment import Embodiment, open_robot, robot_names
from corporeal.embodiment.joints import are_joints, match_joints, matched_share
from corporeal.episode.recording import Dataset, Recording, Signal
from corporeal.errors import CorporealError, EpisodeError
from corporeal.schema import roles
from corporeal.words import some_of

ROLES = (
    roles.JOINT_POSITION,
    roles.JOINT_POSITION_TARGET,
    roles.JOINT_VELOCITY,
    roles.JOINT_TORQUE,
)
_POSITIONS = ROLES[:2]
# No joint turns this far; what says so is in degrees, or counts of an encoder.
_MAX_ANGLE_RAD = 4 * math.pi
_LOOKED_AT = 4096


@dataclass(frozen=True)
class ColumnMapping:
    """One column of a signal: the robot's joint that it is, or why it is none."""

    name: str
    unit: str
    joint: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class SignalMapping:
    """One signal: what its source calls it, which stream it becomes, and what its columns are.

    `role` is None for a signal that does not hold joints; its columns are not looked at.
    """

    label: str
    path: str
    kind: str
    shape: tuple[int, ...]
    role: str | None = None
    entries: tuple[ColumnMapping, ...] = ()

    @property
    def mapped(self) -> int:
        """How many columns are joints of the robot, in a known unit."""
        return sum(entry.joint is not None and entry.reason is None for entry in self.entries)

    @property
    def unmapped(self) -> tuple[ColumnMapping, ...]:
        """The columns that are not, each with its reason."""
        return tuple(entry for entry in self.entries if entry.reason is not None)

    @property
    def remark(self) -> str:
        """Why columns are not mapped, in one line."""
        by_reason: dict[str, list[str]] = {}
        for entry in self.unmapped:
            by_reason.setdefault(entry.reason or "", []).append(entry.name)
        return "; ".join(
            f"{reason}: {some_of(names)}" if len(names) < len(self.entries) else reason
            for reason, names in by_reason.items()
        )


@dataclass(frozen=True)
class RobotMapping:
    """Every signal of a recording against its robot."""

    robot: str | None
    signals: tuple[SignalMapping, ...]

    @cached_property
    def jointed(self) -> tuple[SignalMapping, ...]:
        """The signals that hold joints."""
        return tuple(signal for signal in self.signals if signal.role is not None)

    @property
    def mapped(self) -> int:
        """How many columns of all signals are joints of the robot."""
        return sum(signal.mapped for signal in self.jointed)

    def rows(self) -> list[tuple[str, str, str, str]]:
        """A table: the source's name, the stream, joints that are mapped, what is not and why."""
        return [
            (
                signal.label,
                signal.path,
                f"{signal.mapped} of {len(signal.entries)} joints"
                if signal.entries
                else _content(signal),
                signal.remark,
            )
            for signal in self.signals
        ]


def mapping_of(recording: Recording) -> RobotMapping:
    """What became of every signal and column; nothing is guessed here that the reader did not."""
    robot = recording.embodiment
    return RobotMapping(
        robot=robot.name if robot is not None else None,
        signals=tuple(_signal(label, signal, robot) for label, signal in recording.signals.items()),
    )


def require_robot(dataset: Dataset, robot_given: bool) -> RobotMapping:
    """The mapping of the first episode that can be read.

    Raises EpisodeError when it has joints but no robot is known (and nobody said that there is
    none), or when not one of them is a joint of the robot.
    """
    recording = first_readable(dataset)
    mapping = mapping_of(recording)
    # Joints by name in a unit that is none of joints are still its joints: checks judge that.
    are_its = any(entry.joint for signal in mapping.jointed for entry in signal.entries)
    if not mapping.jointed or are_its or (mapping.robot is None and robot_given):
        return mapping
    names = max((_names(signal) for signal in mapping.jointed), key=len)
    what = f"{len(names)} columns that look like joints ({some_of(names)})"
    if mapping.robot is None:
        fault = f"found {what}, but the dataset does not name a robot that is known"
    else:
        fault = f"found {what}, but none of them is a joint of {mapping.robot}"
    robots = candidates(names)
    shares = ", ".join(f"{name} ({100 * share:.0f} %)" for name, share in robots)
    listed = f"Robots that have such joints: {shares}" if robots else "No built-in robot has them"
    raise EpisodeError(
        f"{dataset.source}: {fault}. {listed}. Name the robot with --robot NAME (or the path of "
        "its URDF or MJCF), or keep the columns as they are named with --robot none."
    )


def first_readable(dataset: Dataset) -> Recording:
    """The first episode that can be opened; the error of the first one when none can."""
    failure: CorporealError | None = None
    for number in dataset.episodes:
        try:
            return dataset.open(number)
        except CorporealError as error:
            failure = failure or error
    raise failure or EpisodeError(f"{dataset.source}: no episode in it. Give another path.")


def candidates(names: Sequence[str]) -> list[tuple[str, float]]:
    """Built-in robots by the share of these columns that are joints of theirs, the best first."""
    shares = []
    for name in robot_names():
        joints = match_joints(names, open_robot(name))
        if any(joints):
            shares.append((name, matched_share(names, joints)))
    return sorted(shares, key=lambda pair: (-pair[1], pair[0]))


def _signal(label: str, signal: Signal, robot: Embodiment | None) -> SignalMapping:
    spec = signal.spec
    shape = spec.sizes
    has_role = spec.name in ROLES
    if spec.kind != "array" or len(shape) != 1 or not (has_role or are_joints(spec.names)):
        return SignalMapping(label, spec.path, spec.kind, shape)
    names = spec.names or tuple(map(str, range(shape[0])))
    largest = _largest(signal) if spec.name in _POSITIONS else np.zeros(len(names))
    entries = tuple(_entries(names, spec.units, largest, robot))
    return SignalMapping(label, spec.path, spec.kind, shape, spec.name, entries)


def _entries(
    names: Sequence[str], units: Sequence[str], largest: np.ndarray, robot: Embodiment | None
) -> Iterator[ColumnMapping]:
    joints = set(robot.joint_names) if robot is not None else set()
    for name, unit, value in zip(names, units, largest.tolist(), strict=True):
        if robot is None:
            yield ColumnMapping(name, unit, reason="no robot is known")
        elif name not in joints:
            yield ColumnMapping(name, unit, reason=_why_not(name, names, robot))
        elif unit == "1":
            yield ColumnMapping(name, unit, name, "unit unknown")
        elif unit == "rad" and value > _MAX_ANGLE_RAD:
            yield ColumnMapping(name, unit, name, f"up to {value:.0f}, which cannot be radians")
        else:
            yield ColumnMapping(name, unit, name)


def _why_not(name: str, names: Sequence[str], robot: Embodiment) -> str:
    """Why a column is none of the robot's joints."""
    plain = name.removesuffix("_given")
    (joint,) = match_joints([plain], robot)
    if joint is None:
        return f"{robot.name} has no such joint"
    if joint in names:
        return f"{joint} is another column already"
    sliding = {each.name for each in robot.actuated if each.type != "revolute"}
    if joint in sliding:
        return f"{joint} slides, in metres; the source does not say its unit"
    return "unit unknown"


def _largest(signal: Signal) -> np.ndarray:
    """The largest size that each column reaches, in some thousand samples of it."""
    count = len(signal)
    if not count:
        return np.zeros(signal.spec.sizes[-1])
    values = np.abs(np.asarray(signal[: min(count, _LOOKED_AT)], np.float64))
    largest: np.ndarray = np.nan_to_num(values, posinf=0.0).max(axis=0)
    return largest


def _names(signal: SignalMapping) -> tuple[str, ...]:
    return tuple(entry.name for entry in signal.entries)


def _content(signal: SignalMapping) -> str:
    size = " x ".join(map(str, signal.shape[:2] if signal.kind == "video" else signal.shape))
    kind = {"array": "numbers"}.get(signal.kind, signal.kind)
    return f"{kind} {size}".strip()
