"""What the host tells an operator's page: welcome, state and events, as docs/spec decides."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from corporeal.geometry import Array, quaternion_from_matrix
from corporeal.schema import roles
from corporeal.teleoperation.arm_model import ArmModel
from corporeal.teleoperation.control_loop import DeviceClock, LoopTurn, OperatorArrived
from corporeal.teleoperation.latency import LatencyMeter
from corporeal.teleoperation.operator_input import SIDES, OperatorInput, Side
from corporeal.teleoperation.operator_message import VERSION
from corporeal.teleoperation.robot_link import NearbyThing, RobotLink
from corporeal.teleoperation.session import SessionEvent
from corporeal.teleoperation.webxr import to_webxr

# No more names than a page can show.
_MOST_LIMITS = 8
_EASE = 0.2
# Nearer than as the robot stood at first by more than this counts, m.
_NEARER_M = 0.003


@dataclass(frozen=True)
class PageWay:
    """How another device reaches the page, and what has to be done before."""

    name: str
    url: str
    todo: str = ""


def welcome(
    link: RobotLink,
    *,
    task: str,
    cameras: tuple[str, ...],
    now_ns: int,
    records: bool,
    may_drive: bool,
    has_policy: bool = False,
    ways: Sequence[PageWay] = (),
) -> dict[str, Any]:
    """The first message to a page."""
    return {
        "kind": "welcome",
        "version": VERSION,
        "robot": link.robot.name,
        "joints": list(link.robot.joint_names),
        "task": task,
        "instruction": link.instruction,
        "cameras": list(cameras),
        "walks": link.walks,
        "kneels": link.kneels,
        "policy": has_policy,
        "records": records,
        "role": "operator" if may_drive else "spectator",
        "host_ns": now_ns,
        "ways": [asdict(way) for way in ways],
    }


def event_message(event: SessionEvent) -> dict[str, Any]:
    """Something that a person has to know."""
    return {"kind": "event", "event": event.event, "cause": event.cause, "time_ns": event.time_ns}


@dataclass(eq=False)
class StateReport:
    """Keeps what a state says; one per robot, with a model of the arms of its own."""

    arms: ArmModel
    input_s: float | None = field(default=None, init=False)
    command_s: float | None = field(default=None, init=False)
    _rest_m: dict[tuple[str, str], float] | None = field(default=None, init=False)
    _meter: LatencyMeter = field(default_factory=LatencyMeter, init=False)

    def __post_init__(self) -> None:
        self._reach_m = {side: _reach_of(self.arms, side) for side in self.arms.hands}

    def see(self, turn: LoopTurn) -> None:
        """Follow the latencies; cheap, called at every turn."""
        if self._rest_m is None:
            self._rest_m = {(first, second): far for first, second, far in turn.tick.arms.near}
        for given in turn.given:
            if isinstance(given, DeviceClock):
                self._meter.offset_ns = given.offset_ns
            elif isinstance(given, OperatorArrived):
                self._meter.offset_ns = None
            if not isinstance(given, OperatorInput):
                continue
            made = self._meter.see(given.times, turn.commanded_ns)
            self.input_s = _eased(self.input_s, made[0])
            self.command_s = _eased(self.command_s, made[1])

    def message(
        self, turn: LoopTurn, recording: Mapping[str, Any], things: Sequence[NearbyThing] = ()
    ) -> dict[str, Any]:
        """The state after a turn."""
        tick = turn.tick
        # Links that are this near as the robot stands are no news.
        rest_m = self._rest_m or {}
        near = [
            [first, second, round(metres, 4)]
            for first, second, metres in tick.arms.near
            if metres < rest_m.get((first, second), np.inf) - _NEARER_M
        ]
        return {
            "kind": "state", "state": tick.state, "cause": tick.cause, "driver": tick.driver,
            "time_ns": tick.time_ns, "engaged": tick.engaged,
            "hands": {side: self._hand(turn, side) for side in SIDES},
            "limits": list(tick.arms.limits[:_MOST_LIMITS]), "near": near,
            "held_back": tick.arms.held_back,
            roles.BASE_VELOCITY: [round(float(value), 3) for value in tick.velocity],
            "latency_ms": {"input": _ms(self.input_s), "command": _ms(self.command_s)},
            "base": _plain(turn.body.base),
            "positions": _rounded(turn.body.joints),
            "commanded": [
                None if math.isnan(value) else value for value in _rounded(turn.sent.joints)
            ],
            "things": [_thing(thing) for thing in things],
            "recording": dict(recording),
        }  # fmt: skip

    def _hand(self, turn: LoopTurn, side: Side) -> dict[str, Any] | None:
        arms, tick = self.arms, turn.tick
        if side not in arms.hands:
            return None
        arms.move_body(turn.body.joints, turn.body.base)
        arms.place(tick.arms.positions)
        command = self._pose(side)
        arms.place(turn.body.joints[arms.columns])
        measured = self._pose(side)
        goal = tick.wanted.get(side)
        wanted, error, reach = None, None, None
        if goal is not None and goal.is_finite:
            wanted = np.concatenate([goal.position, quaternion_from_matrix(goal.rotation)])
            error = round(float(np.linalg.norm(command[:3] - goal.position)), 4)
            reach = round(self._share(side, goal.position), 3)
        return {
            "goal": None if wanted is None else _plain(wanted), "command": _plain(command),
            "measured": _plain(measured), "error_m": error, "reach": reach,
            "opening": round(float(tick.openings[side]), 3),
        }  # fmt: skip

    def _pose(self, side: Side) -> Array:
        """A hand (7,) in the axes of the base."""
        position, rotation = self.arms.hand(side)
        turn = self.arms.base_rotation.T
        return np.concatenate(
            [turn @ (position - self.arms.base[:3]), quaternion_from_matrix(turn @ rotation)]
        )

    def _share(self, side: Side, position: Array) -> float:
        shoulder, length = self._reach_m[side]
        return float(np.linalg.norm(position - shoulder)) / length


def _reach_of(arms: ArmModel, side: Side) -> tuple[Array, float]:
    """Where the shoulder is in the axes of the base, and how far from it the hand gets."""
    number = arms.model.frames[arms.hands[side]].parentJoint
    chain = [joint for joint in arms.model.supports[number] if joint]
    own = [joint for joint in chain if side in arms.model.names[joint]]
    places = [np.asarray(arms.data.oMi[joint].translation) for joint in own]
    places.append(arms.hand(side)[0])
    length = sum(float(np.linalg.norm(after - before)) for before, after in pairwise(places))
    shoulder = arms.base_rotation.T @ (places[0] - arms.base[:3])
    return shoulder, length


def _eased(before: float | None, now: float) -> float:
    return now if before is None else before + _EASE * (now - before)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(1e3 * seconds, 2)


def _plain(pose: Array) -> list[float]:
    return [round(float(value), 5) for value in to_webxr(pose)]


def _rounded(values: Array) -> list[float]:
    return [round(float(value), 4) for value in values]


def _thing(thing: NearbyThing) -> dict[str, Any]:
    return {
        "name": thing.name, "form": thing.form, "size": _rounded(np.asarray(thing.size)),
        "colour": thing.colour, "pose": _plain(thing.pose),
    }  # fmt: skip
