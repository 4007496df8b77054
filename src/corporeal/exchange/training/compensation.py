"""Wrenches without the weight of the tool and the bias of the sensor, by an episode's calibration.

A sensor at a wrist feels the hand's own weight as the wrist turns; what is left without it is what
touches. Values are made when they are asked for; what is missing is said when a recording opens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.calibration.force import compensate_wrench
from corporeal.embodiment import Embodiment
from corporeal.embodiment.joints import match_joints
from corporeal.embodiment.kinematics import Kinematics, ancestors, mount_of
from corporeal.episode.recording import Dataset, Recording, Signal
from corporeal.errors import EpisodeError, UnknownNameError
from corporeal.exchange.table import on_grid
from corporeal.geometry import Array, matrix_from_quaternion, normalise
from corporeal.protocol import Calibration
from corporeal.protocol.calibration import ForceCalibration
from corporeal.schema import Stream, roles

_FORCE_AXES = ("ax", "ay", "az")


def compensated_dataset(dataset: Dataset, names: Sequence[str]) -> Dataset:
    """The dataset with these wrench streams compensated in every episode."""
    return replace(dataset, open=partial(_open_compensated, dataset, tuple(names)))


def _open_compensated(dataset: Dataset, names: tuple[str, ...], number: int) -> Recording:
    return compensated(dataset.open(number), names)


def compensated(recording: Recording, names: Sequence[str]) -> Recording:
    """The recording with the wrench streams of these names without tool and bias.

    Raises EpisodeError where the episode does not say what hangs at a sensor, where the sensor
    sits, how the joints before it stand or where down is.
    """
    if not names:
        return recording
    signals = dict(recording.signals)
    wrenches = {
        signal.spec.name: label
        for label, signal in signals.items()
        if signal.spec.kind == "array" and signal.spec.name.endswith(roles.WRENCH)
    }
    for name in names:
        if name not in wrenches:
            raise UnknownNameError("wrench", name, wrenches)
        signal = signals[wrenches[name]]
        known = _known_tool(recording, name)
        signals[wrenches[name]] = CompensatedWrench(
            signal, known, _forces_of(recording, signal.spec), _flange_of(recording, signal.spec)
        )
    return replace(recording, signals=signals)


@dataclass(frozen=True, eq=False)
class Flange:
    """The link that a sensor sits on, and what tells where up is in its axes."""

    robot: Embodiment
    link: str
    joints: Signal
    columns: tuple[int | None, ...]
    base: Signal | None
    up_of_base: Array

    def up(self, time_ns: NDArray[np.int64]) -> Array:
        """Where up is (T, 3) in the axes of the link at these times."""
        held = np.asarray(on_grid(self.joints, time_ns)[0], np.float64)
        angles = np.zeros((len(time_ns), len(self.columns)))
        for place, column in enumerate(self.columns):
            if column is not None:
                angles[:, place] = held[:, column]
        turns = Kinematics(self.robot).link_poses(angles).rotation(self.link)
        return np.asarray(np.einsum("tji,tj->ti", turns, self._vertical(time_ns)))

    def _vertical(self, time_ns: NDArray[np.int64]) -> Array:
        if self.base is None:
            return np.tile(self.up_of_base, (len(time_ns), 1))
        rows = np.asarray(on_grid(self.base, time_ns)[0], np.float64)
        columns = list(self.base.spec.quaternion_columns or ())
        return matrix_from_quaternion(rows[:, columns])[:, 2]


@dataclass(frozen=True, eq=False)
class CompensatedWrench:
    """A wrench stream without its tool's weight and its biases; `forces` are its columns in N."""

    source: Signal
    known: ForceCalibration
    forces: tuple[int, ...]
    flange: Flange

    @property
    def spec(self) -> Stream:
        """The stream as it was recorded."""
        return self.source.spec

    @property
    def time_ns(self) -> NDArray[np.int64]:
        """The stamps of the signal."""
        return self.source.time_ns

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, selection: Any) -> Any:
        return self._values[selection]

    @cached_property
    def _values(self) -> NDArray[Any]:
        measured = np.asarray(self.source[:])
        values = measured.astype(np.float64)
        forces = list(self.forces)
        torques = [place for place in range(values.shape[1]) if place not in forces]
        up = self.flange.up(self.time_ns)
        force, torque = compensate_wrench(self.known, up, values[:, forces], values[:, torques])
        values[:, forces], values[:, torques] = force, torque
        return values.astype(measured.dtype)


def _known_tool(recording: Recording, name: str) -> ForceCalibration:
    text = recording.documents.get("calibration")
    if text is None:
        raise EpisodeError(
            f"{recording.source}: tool and bias of {name}, got no calibration in the episode; "
            "expected one, as the recorder takes it along (corporeal calibrate force makes it). "
            "Leave the episode out, or the stream out of compensate."
        )
    calibration = Calibration.parse(text, source=f"{recording.source}: calibration", suffix=".json")
    sensors = {each.name: each for each in calibration.force_sensors or ()}
    if name not in sensors:
        raise EpisodeError(
            f"{recording.source}: tool and bias of {name}, got a calibration ({calibration.name}) "
            f"of {', '.join(sensors) or 'no force sensor'}; expected one of it. Leave the episode "
            "out, or the stream out of compensate."
        )
    return sensors[name]


def _forces_of(recording: Recording, spec: Stream) -> tuple[int, ...]:
    forces = tuple(place for place, unit in enumerate(spec.units) if unit == "N")
    if spec.sizes != (6,) or len(forces) != 3:
        raise EpisodeError(
            f"{recording.source}: {spec.path}, got {list(spec.sizes)} entries in {spec.unit}; "
            "expected three forces in N and three torques, which tool and bias can be taken off."
        )
    return forces


def _flange_of(recording: Recording, spec: Stream) -> Flange:
    """Where a sensor sits and what tells its posture; raises EpisodeError where nothing does."""
    robot, label = recording.embodiment, recording.named(*roles.MEASURED)
    where = f"{recording.source}: {spec.path} cannot be compensated"
    if robot is None or label is None:
        raise EpisodeError(
            f"{where}: got {'no robot' if robot is None else 'no joints'}; expected both, since "
            "the posture says where the tool's weight points. Leave the stream out of compensate."
        )
    mount = mount_of(robot, spec)
    if mount is None:
        raise EpisodeError(
            f"{where}: no link of {robot.name} is called as its frame or its name begins. "
            "Name the link as the stream's frame in the schema."
        )
    joints = recording.signals[label]
    matched = match_joints(joints.spec.names, robot)
    columns = tuple(matched.index(name) if name in matched else None for name in robot.joint_names)
    leaders = {joint.name: joint.mimic.joint for joint in robot.joints if joint.mimic is not None}
    chain = {leaders.get(name, name) for name in ancestors(robot, mount.link)}
    lacking = [name for name, column in zip(robot.joint_names, columns, strict=True)
               if column is None and name in chain]  # fmt: skip
    if lacking or not len(joints):
        raise EpisodeError(
            f"{where}: {label} has no {', '.join(lacking) or 'sample'}, on which the direction of "
            "gravity depends. Leave the stream out of compensate."
        )
    base = _base_pose(recording)
    up = np.array([0.0, 0.0, 1.0]) if base is not None else _up_of_base(recording, robot)
    if up is None:
        raise EpisodeError(
            f"{where}: nothing tells where down is, got neither a {roles.BASE_POSE} nor an IMU of "
            f"{robot.base}. Leave the stream out of compensate."
        )
    return Flange(robot, mount.link, joints, columns, base, up)


def _base_pose(recording: Recording) -> Signal | None:
    label = recording.named(roles.BASE_POSE)
    signal = recording.signals[label] if label is not None else None
    if signal is None or not len(signal) or signal.spec.quaternion_columns is None:
        return None
    return signal


def _up_of_base(recording: Recording, robot: Embodiment) -> Array | None:
    """Up (3,) in the base's axes: as it is bolted down, or what its IMU feels in the middle."""
    if not robot.floating:
        return np.array([0.0, 0.0, 1.0])
    for signal in recording.signals.values():
        spec = signal.spec
        if not spec.name.endswith(roles.IMU) or not set(_FORCE_AXES) <= set(spec.names):
            continue
        mount = mount_of(robot, spec)
        if mount is not None and mount.link == robot.base and len(signal):
            columns = [spec.names.index(name) for name in _FORCE_AXES]
            felt = np.asarray(signal[:], np.float64)[:, columns] @ mount.axes.T
            return normalise(np.nanmedian(felt, axis=0))
    return None
