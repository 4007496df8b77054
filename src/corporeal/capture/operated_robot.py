"""A driven robot as a source: what the operator did, what was wanted, told and measured."""

from __future__ import annotations

import base64
import json
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from corporeal.capture.clock import HostClock
from corporeal.capture.driver import Driver, Loss, Mark, RecordingSource, Rig, Sample
from corporeal.capture.operator_mark import OperatorMark
from corporeal.capture.recorder import Recorder
from corporeal.geometry import quaternion_from_matrix
from corporeal.schema import Part, Schema, Stream, roles
from corporeal.teleoperation.control_loop import (
    AskedCommand,
    DeviceClock,
    LoopTurn,
    OperatorArrived,
)
from corporeal.teleoperation.latency import LatencyMeter
from corporeal.teleoperation.operator_input import SIDES, OperatorInput
from corporeal.teleoperation.operator_message import JointMessage, write_joints, write_message
from corporeal.teleoperation.robot_link import RobotLink
from corporeal.teleoperation.session import PolicyAction

_TIMES: Final = ("device", "predicted", "sent", "received", "commanded")
_HAND_JOINTS: Final = 26
# What waits for the recorder: ten seconds of a robot with two cameras.
_WAITING = 20_000


class _NoOptions(Part):
    """A running session has been opened already."""


@dataclass(eq=False)
class OperatedRobot:
    """Turns of a control loop as samples; `is_live` where a recorder that lags must lose some.

    `see` and `see_picture` are listeners of the loop and of the cameras, `mark` says that a
    demonstration begins or ends. `source` is what a recorder reads. With `has_policy` there are
    streams of what a policy wanted, whoever drove; `columns` are the joints that are commanded.
    `lost` counts samples that a recorder which lags cost; it is told of them in their place.
    """

    link: RobotLink
    cameras: Mapping[str, tuple[int, int]]
    camera_hz: float
    is_live: bool
    facts: Mapping[str, Any] = field(default_factory=dict)
    has_policy: bool = False
    columns: tuple[int, ...] = ()
    lost: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        # Live, samples are counted before they are put: a mark never waits, nor does the robot.
        most = 0 if self.is_live else _WAITING
        self._items: queue.Queue[Sample | Mark | Loss | None] = queue.Queue(most)
        self._losses: dict[str, int] = {}
        self._lock = threading.Lock()
        self._meter = LatencyMeter()

    @property
    def source(self) -> RecordingSource:
        """The source for a recorder."""
        driver = Driver(_NoOptions, lambda _: self.rig(), lambda _: self._read(), self.is_live)
        return RecordingSource("teleoperation", driver, _NoOptions())

    def rig(self) -> Rig:
        """Streams, robot and clock: everything is stamped by the host that commands."""
        schema = Schema(
            document="schema",
            name="teleoperated_robot",
            version="1.0.0",
            description="A driven robot: the operator's input, goals, commands and measurements.",
            file_name="{task}_{session}_{index:04d}.h5",
            streams=(
                *self.link.streams,
                *self._camera_streams(),
                *self._told(),
                *(self._wanted_by_policy() if self.has_policy else ()),
                *_operated(),
                self._joint_goal(),
            ),
        )
        return Rig(schema, self.link.robot, metadata={"mode": "teleoperation", **self.facts})

    def see(self, turn: LoopTurn) -> None:
        """All that a turn of the loop knows."""
        now_ns = turn.tick.time_ns
        for path, value in self.link.measure().items():
            self._put(path, now_ns, value)
        sent = turn.sent
        self._put("actions/joint_position_target", now_ns, sent.joints[list(self.link.told)])
        for side in SIDES:
            if side in sent.openings:
                self._put(f"actions/{side}_gripper_target", now_ns, np.array([sent.openings[side]]))
            goal = turn.tick.wanted.get(side)
            if goal is not None and goal.is_finite:
                pose = np.concatenate([goal.position, quaternion_from_matrix(goal.rotation)])
                self._put(f"debug/{side}_hand_goal", now_ns, pose)
        if self._has_legs:
            self._put(f"actions/{roles.BASE_VELOCITY}", now_ns, sent.velocity)
        if turn.tick.policy is not None and self.has_policy:
            self._see_policy(turn.tick.policy, turn)
        if turn.tick.asked is not None and turn.tick.driver == "human":
            self._put("debug/joint_goal", now_ns, turn.tick.asked)
        for given in turn.given:
            self._see_given(given, turn)
        for event in turn.tick.events:
            self._say(now_ns, {"event": event.event, "cause": event.cause})

    def see_picture(self, camera: str, picture: Any, time_ns: int) -> None:
        """A picture of a camera."""
        if camera in self.cameras:
            self._put(_camera_path(camera), time_ns, picture)

    def mark(self, mark: Mark) -> None:
        """A demonstration begins or ends."""
        if mark.what == "start":
            told = mark.metadata.get("instruction") or self.link.instruction
            self._put("observations/instruction", mark.arrival_ns, told)
        self._add(mark)

    def end(self) -> None:
        """No more will come."""
        with self._lock:
            self._tell_losses()
        self._items.put(None)

    def _see_policy(self, action: PolicyAction, turn: LoopTurn) -> None:
        """What the policy wanted, unfiltered; a joint that it does not command is as was sent."""
        now_ns, wanted = turn.tick.time_ns, turn.sent.joints.copy()
        columns = turn.columns[np.isfinite(action.joints)]
        wanted[columns] = action.joints[np.isfinite(action.joints)]
        told = wanted[list(self.link.told)]
        self._put(f"actions/policy_{roles.JOINT_POSITION_TARGET}", now_ns, told)
        for side, opening in action.openings.items():
            value = np.array([opening * self.link.opening_m])
            self._put(f"actions/policy_{side}_gripper_target", now_ns, value)
        if action.velocity is not None and self._has_legs:
            self._put(f"actions/policy_{roles.BASE_VELOCITY}", now_ns, action.velocity)

    def _see_given(self, given: Any, turn: LoopTurn) -> None:
        now_ns = turn.tick.time_ns
        if isinstance(given, AskedCommand):
            self._say(now_ns, {"command": given.command, "reason": given.reason})
            return
        if isinstance(given, DeviceClock):
            self._meter.offset_ns = given.offset_ns
            found = np.array([given.offset_ns, given.round_trip_ns], np.int64)
            self._put("debug/operator_clock", now_ns, found)
            return
        if isinstance(given, OperatorArrived):
            self._meter.offset_ns = None
            self._say(now_ns, {"event": "another page drives", "cause": ""})
            return
        raw = write_message(given) if isinstance(given, OperatorInput) else write_joints(given)
        self._put("debug/operator_message", now_ns, base64.b64encode(raw).decode())
        times = given.times
        stamps = (times.device_ns, times.predicted_ns, times.sent_ns, times.received_ns,
                  turn.commanded_ns)  # fmt: skip
        known = [0 if stamp is None else stamp for stamp in stamps]
        self._put("debug/operator_times", now_ns, np.array(known, np.int64))
        if isinstance(given, JointMessage):
            return
        latency = self._meter.see(times, turn.commanded_ns)
        self._put("debug/operator_latency", now_ns, np.array(latency))
        if given.head is not None:
            self._put("debug/operator_head", now_ns, given.head)
        for side in SIDES:
            hand = given.hand(side)
            if hand is not None and hand.pose is not None:
                self._put(f"debug/operator_{side}_hand", now_ns, hand.pose)
            if hand is not None and hand.joints is not None and np.isfinite(hand.joints).all():
                self._put(f"debug/operator_{side}_joints", now_ns, hand.joints)

    def _say(self, time_ns: int, said: Mapping[str, Any]) -> None:
        self._put("debug/operator_events", time_ns, json.dumps(said, sort_keys=True))

    def _put(self, stream: str, time_ns: int, value: Any) -> None:
        self._add(Sample(stream, time_ns, time_ns, value))

    def _add(self, item: Sample | Mark) -> None:
        if not self.is_live:
            self._items.put(item)
            return
        with self._lock:
            if isinstance(item, Sample) and self._items.qsize() >= _WAITING:
                self.lost += 1
                self._losses[item.stream] = self._losses.get(item.stream, 0) + 1
                return
            self._tell_losses()
            self._items.put(item)

    def _tell_losses(self) -> None:
        for stream, count in self._losses.items():
            self._items.put(Loss(stream, count, "the recorder was behind"))
        self._losses.clear()

    def _read(self) -> Iterator[Sample | Mark | Loss]:
        while (item := self._items.get()) is not None:
            yield item

    def _wanted_by_policy(self) -> tuple[Stream, ...]:
        """The same commands as a policy would have given them, before the safety filter."""
        return tuple(
            stream.model_copy(update={"name": f"policy_{stream.name}", "optional": True})
            for stream in self._told()
            if stream.group == "actions"
        )

    def _told(self) -> tuple[Stream, ...]:
        """The instruction, and what the robot was told to do."""
        grippers = (
            Stream(name=f"{side}_gripper_target", group="actions", shape=(1,), rate_hz=100,
                   unit="m", components=("opening",))
            for side in (SIDES if self.link.opening_m else ())
        )  # fmt: skip
        velocity = Stream(
            name=roles.BASE_VELOCITY, group="actions", shape=(3,), rate_hz=100, frame="pelvis",
            components=("vx", "vy", "wz"), unit=("m/s", "m/s", "rad/s"),
        )  # fmt: skip
        return (
            Stream(name="instruction", group="observations", kind="text"),
            self._joint_targets(),
            *grippers,
            *((velocity,) if self._has_legs else ()),
        )

    def _joint_goal(self) -> Stream:
        """What leader arms ask of the commanded joints, before the safety filter."""
        names = tuple(self.link.robot.joint_names[column] for column in self.columns)
        return Stream(name="joint_goal", group="debug", shape=(len(names),), components=names,
                      unit="rad", optional=True,
                      description="where leader arms want the joints")  # fmt: skip

    @property
    def _has_legs(self) -> bool:
        """Whether the legs are told what to do here, and not by a controller of the robot's own."""
        return len(self.link.told) == len(self.link.robot.joint_names)

    def _joint_targets(self) -> Stream:
        """Of all joints, or of those that the robot is told of."""
        names, told = self.link.robot.joint_names, self.link.told
        stream = Stream(name=roles.JOINT_POSITION_TARGET, group="actions", shape=("joints",),
                        rate_hz=100, unit="rad", components="joints")  # fmt: skip
        if self._has_legs:
            return stream
        parts = tuple(names[column] for column in told)
        return stream.model_copy(update={"shape": (len(parts),), "components": parts})

    def _camera_streams(self) -> tuple[Stream, ...]:
        made = []
        for camera, (height, width) in self.cameras.items():
            group, _, name = _camera_path(camera).partition("/")
            made.append(Stream(
                name=name, group="debug" if group == "debug" else "observations", kind="video",
                shape=(height, width, 3), rate_hz=self.camera_hz, frame=f"{camera}_camera",
                placement="external" if group == "debug" else "robot",
            ))  # fmt: skip
        return tuple(made)


def host_time() -> Callable[[], int]:
    """The clock that a recorder stamps arrivals with: Unix nanoseconds, never going back."""
    return HostClock().now_ns


def mark_outcome(recorder: Recorder, *, success: bool, failure: str | None) -> str | None:
    """Have a recorder keep how the last demonstration ended; why not, where it cannot."""
    outcome = {"success": success, "failure": None if success else failure}
    return recorder.enter(OperatorMark("outcome", {"outcome": outcome}))


def _camera_path(camera: str) -> str:
    return f"{'debug' if camera.startswith('external') else 'observations'}/{camera}"


def _operated() -> tuple[Stream, ...]:
    """What the operator did, raw and as goals; only while there is something of it."""
    streams = []
    for name, what in (
        *((f"{side}_hand_goal", "goal of the hand, from the pelvis") for side in SIDES),
        ("operator_head", "the operator's head in the room"),
        *((f"operator_{side}_hand", "the operator's hand or controller") for side in SIDES),
    ):
        streams.append(Stream(
            name=name, group="debug", shape=(7,), components=roles.POSE, unit=roles.POSE_UNITS,
            frame="pelvis" if name.endswith("goal") else "operator_room", description=what,
            optional=True,
        ))  # fmt: skip
    for side in SIDES:
        streams.append(Stream(
            name=f"operator_{side}_joints", group="debug", shape=(_HAND_JOINTS, 8),
            frame="operator_room", description="26 joints of OpenXR: pose and radius",
            optional=True,
        ))  # fmt: skip
    times = "ns; device, predicted, sent on the device's clock, else the host's; 0: unknown"
    return (
        *streams,
        Stream(name="operator_message", group="debug", kind="text", optional=True,
               description="every message as it was understood, encoded anew: "
                           "docs/spec/teleoperation.md, base64"),
        Stream(name="operator_times", group="debug", dtype="int64", shape=(5,), unit="1",
               components=_TIMES, description=times, optional=True),
        Stream(name="operator_latency", group="debug", shape=(2,), unit="s", optional=True,
               components=("input", "command"),
               description="from frame to reception, from reception to command"),
        Stream(name="operator_clock", group="debug", dtype="int64", shape=(2,), unit="1",
               components=("offset", "round_trip"), optional=True,
               description="ns; the host's clock ahead of the device's, to half the round trip"),
        Stream(name="operator_events", group="debug", kind="text", optional=True,
               description="states, causes and commands, each a line of JSON"),
    )  # fmt: skip
