"""A Unitree G1, H1 or H1-2 over DDS: what its joints and IMU measure, and what they were told."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from pydantic import Field

from corporeal.capture.clock import HostClock
from corporeal.capture.driver import ROBOT_CLOCK, Driver, Mark, Rig, Sample
from corporeal.capture.ros.stream import rig_schema
from corporeal.dds.link import LOOPBACK, DdsLink, DomainId, Interface, Wire
from corporeal.dds.unitree_message import (
    LOW_CMD_TOPIC,
    LOW_STATE_TOPIC,
    UnitreeModel,
    dds_types,
    read_low_cmd,
    read_low_state,
    unitree_model,
)
from corporeal.embodiment import open_robot
from corporeal.schema import Part, Stream, roles

COMMAND_CLOCK = "command"
_TICK_NS = 1_000_000
_TICKS = 1 << 32
_SLICE_S = 0.1
# (stream, field of the message, unit)
_STATE = (
    (roles.JOINT_POSITION, "q", "rad"),
    (roles.JOINT_VELOCITY, "dq", "rad/s"),
    (roles.JOINT_TORQUE, "tau_est", "N m"),
)
_COMMAND = (
    (roles.JOINT_POSITION_TARGET, "q", "rad"),
    (roles.JOINT_VELOCITY_TARGET, "dq", "rad/s"),
    (roles.JOINT_TORQUE_TARGET, "tau", "N m"),
)
_GAINS = (("joint_stiffness", "kp", "1"), ("joint_damping", "kd", "1"))
_IMU = ("ax", "ay", "az", "wx", "wy", "wz")


class UnitreeDdsOptions(Part):
    """Where the robot is, and what to take of it."""

    interface: Interface = Field(default=LOOPBACK, description="network interface, such as eth0")
    domain: DomainId = 0
    robot: str = Field(default="g1", description="g1, g1_23dof, h1, or a file (of an H1-2, say)")
    rate_hz: float = Field(default=500.0, gt=0, le=10_000, description="what the robot publishes")
    commands: bool = Field(default=True, description="record LowCmd too")
    extras: bool = Field(default=False, description="gains, motor temperature and voltage, remote")
    give_up_s: float | None = Field(
        default=None, gt=0, description="end when silent for so long; by default wait for ever"
    )


def describe(options: UnitreeDdsOptions) -> Rig:
    """The streams; nothing is opened."""
    robot = open_robot(options.robot)
    model = unitree_model(robot.name, robot.joint_names)
    frame = model.imu_frame if model.imu_frame in {each.name for each in robot.frames} else None
    streams = [_joint_stream(name, "observations", unit, options) for name, _, unit in _STATE]
    streams.append(
        Stream(
            name=f"{model.imu}_imu", group="observations", shape=(6,), rate_hz=options.rate_hz,
            frame=frame, components=_IMU, unit=("m/s2",) * 3 + ("rad/s",) * 3,
        )
    )  # fmt: skip
    streams.append(
        Stream(
            name=f"{model.imu}_orientation", group="observations", shape=(4,), frame=frame,
            rate_hz=options.rate_hz, components=roles.QUATERNION,
        )
    )  # fmt: skip
    if options.extras:
        streams += _extra_streams(options, model)
    sources = {stream.path: ROBOT_CLOCK for stream in streams}
    if options.commands:
        told = _COMMAND + (_GAINS if options.extras else ())
        for name, _, unit in told:
            stream = _joint_stream(name, "actions", unit, options)
            streams.append(stream)
            sources[stream.path] = COMMAND_CLOCK
    schema = rig_schema("unitree_dds", streams, "a Unitree humanoid over DDS")
    return Rig(robot.resolve(schema), robot, sources=sources)


def read(options: UnitreeDdsOptions) -> Iterator[Sample | Mark]:
    """Samples as they arrive; a robot that falls silent is waited for.

    LowState is stamped by its own tick (milliseconds since the robot started), LowCmd, which has
    none, by the time its sender put on it.
    """
    robot = open_robot(options.robot)
    model = unitree_model(robot.name, robot.joint_names)
    motors = [model.motors.index(name) for name in robot.joint_names]
    types = dds_types(model.family)
    topics = {LOW_STATE_TOPIC: types.LowState}
    if options.commands:
        topics[LOW_CMD_TOPIC] = types.LowCmd
    clock, ticks = HostClock(), _Ticks()
    with DdsLink(topics, domain=options.domain, interface=options.interface) as link:
        heard_s = time.monotonic()
        while options.give_up_s is None or time.monotonic() - heard_s < options.give_up_s:
            wires = link.take(_SLICE_S)
            arrival_ns = clock.now_ns()
            for wire in wires:
                heard_s = time.monotonic()
                if wire.topic == LOW_STATE_TOPIC:
                    message = read_low_state(wire.data, model.family)
                    stamp = ticks.to_ns(int(message["tick"]))
                    yield from _state(message, (stamp, arrival_ns), motors, model, options.extras)
                else:
                    message = read_low_cmd(wire.data, model.family)
                    yield from _command(message, wire, arrival_ns, motors, options.extras)


class _Ticks:
    """The robot's 32-bit counter of milliseconds, without its wrap after 49 days."""

    def __init__(self) -> None:
        self._last = 0
        self._turns = 0

    def to_ns(self, tick: int) -> int:
        if tick < self._last - _TICKS // 2:
            self._turns += 1
        self._last = tick
        return (self._turns * _TICKS + tick) * _TICK_NS


def _state(
    message: Any, times_ns: tuple[int, int], motors: list[int], model: UnitreeModel, extras: bool
) -> Iterator[Sample]:
    joints = message["motor_state"][motors]
    for name, field, _ in _STATE:
        yield Sample(f"observations/{name}", *times_ns, joints[field])
    imu = message["imu_state"]
    moving = [*imu["accelerometer"], *imu["gyroscope"]]
    yield Sample(f"observations/{model.imu}_imu", *times_ns, moving)
    yield Sample(f"observations/{model.imu}_orientation", *times_ns, imu["quaternion"])
    if extras:
        yield Sample("debug/motor_temperature", *times_ns, joints["temperature"])
        if model.family == "unitree_hg":
            yield Sample("debug/motor_voltage", *times_ns, joints["vol"])
        else:
            battery = [message["power_v"], message["power_a"]]
            yield Sample("debug/battery", *times_ns, battery)
        yield Sample("debug/wireless_remote", *times_ns, message["wireless_remote"])


def _command(
    message: Any, wire: Wire, arrival_ns: int, motors: list[int], extras: bool
) -> Iterator[Sample]:
    joints = message["motor_cmd"][motors]
    for name, field, _ in _COMMAND + (_GAINS if extras else ()):
        yield Sample(f"actions/{name}", wire.sent_ns, arrival_ns, joints[field])


def _joint_stream(name: str, group: Any, unit: str, options: UnitreeDdsOptions) -> Stream:
    return Stream(
        name=name, group=group, shape=("joints",), components="joints", rate_hz=options.rate_hz,
        unit=unit,
    )  # fmt: skip


def _extra_streams(options: UnitreeDdsOptions, model: UnitreeModel) -> list[Stream]:
    rate = options.rate_hz
    if model.family == "unitree_hg":
        own = [
            Stream(
                name="motor_temperature", group="debug", dtype="int16", shape=("joints", 2),
                rate_hz=rate, unit="degC", components=("sensor_0", "sensor_1"),
            ),
            Stream(
                name="motor_voltage", group="debug", shape=("joints",), rate_hz=rate, unit="V",
                components="joints",
            ),
        ]  # fmt: skip
    else:
        own = [
            Stream(
                name="motor_temperature", group="debug", dtype="uint8", shape=("joints",),
                rate_hz=rate, unit="degC", components="joints",
            ),
            Stream(
                name="battery", group="debug", shape=(2,), rate_hz=rate, unit=("V", "A"),
                components=("voltage", "current"),
            ),
        ]  # fmt: skip
    return [
        *own,
        Stream(
            name="wireless_remote", group="debug", dtype="uint8", shape=(40,), rate_hz=rate,
            description="the bytes of the hand-held remote, as the robot reports them",
        ),
    ]  # fmt: skip


DRIVER = Driver(UnitreeDdsOptions, describe, read, is_live=True)
