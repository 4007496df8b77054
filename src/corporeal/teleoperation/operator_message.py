"""What an operator's page sends over its socket, as docs/spec/teleoperation.md decides."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

import numpy as np

from corporeal.geometry import Array
from corporeal.teleoperation.operator_input import (
    InputError,
    InputTimes,
    OperatorHand,
    OperatorInput,
)
from corporeal.teleoperation.webxr import (
    WEBXR_JOINTS,
    from_webxr,
    hand_from_webxr,
    to_webxr,
)

VERSION: Final = 1
_POSES, _JOINTS = b"CTIN", b"CTJN"
_HEAD = struct.Struct("<4sHHIIddd7f3fI")
_HAND = struct.Struct("<BBH7fBBH")
_STREAM = struct.Struct("<4sHHIddHH")
_VISIBLE, _HAS_HEAD, _HAS_VELOCITY = 1, 2, 4
_TRACKED, _EMULATED, _HAS_JOINTS, _CLUTCH_STATED, _CLUTCH_HELD = 1, 2, 4, 8, 16
_TRACKERS: Final = {0: None, 1: "controller", 2: "hand"}
_MOST_BUTTONS, _MOST_AXES, _MOST_JOINTS = 16, 8, 256
# Metres and the like: beyond this a number is no place in a room.
_FARTHEST = 1e3
_MS = 1_000_000
# Nanoseconds of later times than this would not fit into 64 bits.
_LATEST_MS = 4e12
_LONGEST_MESSAGE = 1 << 14


@dataclass(frozen=True, eq=False)
class JointMessage:
    """One sample of a joint stream: the number it was announced with, joints in rad (n,)."""

    stream: int
    sequence: int
    times: InputTimes
    positions: Array


def read_message(message: bytes, received_ns: int) -> OperatorInput | JointMessage:
    """The input in a binary message; raises InputError, in one sentence, for anything else."""
    if len(message) > _LONGEST_MESSAGE:
        raise InputError(f"message of {len(message)} bytes; expected {_LONGEST_MESSAGE} at most.")
    kind, version = message[:4], int.from_bytes(message[4:6], "little")
    if kind not in (_POSES, _JOINTS):
        raise InputError("message, got other first bytes; expected CTIN or CTJN.")
    if version != VERSION:
        raise InputError(f"message, got version {version}; expected {VERSION}. Reload the page.")
    try:
        return (_read_poses if kind == _POSES else _read_joints)(message, received_ns)
    except (struct.error, ValueError) as error:
        raise InputError(f"message, got {error}; expected the layout of version 1.") from None


def write_message(input_: OperatorInput) -> bytes:
    """An input as a page would send it; joint streams are messages of their own."""
    times, head = input_.times, input_.head
    flags = _VISIBLE * input_.is_visible
    flags |= _HAS_HEAD * (head is not None) | _HAS_VELOCITY * (input_.base_velocity is not None)
    velocity = np.zeros(3) if input_.base_velocity is None else input_.base_velocity
    packed = _HEAD.pack(
        _POSES, VERSION, flags, input_.sequence, input_.origin,
        times.device_ns / _MS, _to_ms(times.predicted_ns), _to_ms(times.sent_ns),
        *(np.zeros(7) if head is None else to_webxr(head)), *velocity, 0,
    )  # fmt: skip
    return packed + _packed_hand(input_.left) + _packed_hand(input_.right)


def write_joints(message: JointMessage) -> bytes:
    """A sample of a joint stream as its sender would send it."""
    times, count = message.times, len(message.positions)
    packed = _STREAM.pack(
        _JOINTS, VERSION, 0, message.sequence, times.device_ns / _MS, _to_ms(times.sent_ns),
        message.stream, count,
    )  # fmt: skip
    return packed + np.asarray(message.positions, "<f4").tobytes()


def _to_ms(time_ns: int | None) -> float:
    return math.nan if time_ns is None else time_ns / _MS


def _to_ns(time_ms: float) -> int | None:
    if math.isinf(time_ms) or abs(time_ms) > 1e13:
        raise ValueError(f"the time {time_ms} ms")
    return None if math.isnan(time_ms) else round(time_ms * _MS)


def _read_poses(message: bytes, received_ns: int) -> OperatorInput:
    values = _HEAD.unpack_from(message)
    flags, sequence, origin = values[2:5]
    device_ns = _to_ns(values[5])
    if device_ns is None:
        raise ValueError("no time of the frame")
    times = InputTimes(device_ns, received_ns, _to_ns(values[6]), _to_ns(values[7]))
    left, offset = _read_hand(message, _HEAD.size)
    right, offset = _read_hand(message, offset)
    if offset != len(message):
        raise ValueError(f"{len(message)} bytes where {offset} are due")
    velocity = _bounded(values[15:18]) if flags & _HAS_VELOCITY else None
    return OperatorInput(
        sequence,
        times,
        is_visible=bool(flags & _VISIBLE),
        origin=origin,
        head=_pose(values[8:15]) if flags & _HAS_HEAD else None,
        left=left,
        right=right,
        base_velocity=velocity,
    )


def _read_hand(message: bytes, offset: int) -> tuple[OperatorHand | None, int]:
    kind, flags, source, *numbers = _HAND.unpack_from(message, offset)
    pose, (buttons, axes, pressed) = numbers[:7], numbers[7:]
    offset += _HAND.size
    if kind not in _TRACKERS or buttons > _MOST_BUTTONS or axes > _MOST_AXES:
        raise ValueError(f"a hand of kind {kind} with {buttons} buttons and {axes} axes")
    values = _bounded(np.frombuffer(message, "<f4", buttons + axes, offset))
    offset += 4 * (buttons + axes)
    joints = None
    if flags & _HAS_JOINTS:
        rows = np.frombuffer(message, "<f4", WEBXR_JOINTS * 8, offset).reshape(-1, 8)
        joints = hand_from_webxr(rows)
        joints[~(np.abs(joints) < _FARTHEST).all(axis=1)] = np.nan
        offset += rows.nbytes
    tracker = _TRACKERS[kind]
    if tracker is None:
        return None, offset
    clutch = bool(flags & _CLUTCH_HELD) if flags & _CLUTCH_STATED else None
    hand = OperatorHand(
        "hand" if tracker == "hand" else "controller",
        source,
        _pose(pose) if flags & _TRACKED else None,
        is_emulated=bool(flags & _EMULATED),
        buttons=values[:buttons],
        pressed=np.array([bool(pressed >> bit & 1) for bit in range(buttons)], np.bool_),
        axes=values[buttons:],
        joints=joints,
        clutch=clutch,
    )
    return hand, offset


def _packed_hand(hand: OperatorHand | None) -> bytes:
    if hand is None:
        return _HAND.pack(0, 0, 0, *np.zeros(7), 0, 0, 0)
    flags = _TRACKED * (hand.pose is not None) | _EMULATED * hand.is_emulated
    flags |= _HAS_JOINTS * (hand.joints is not None) | _CLUTCH_STATED * (hand.clutch is not None)
    flags |= _CLUTCH_HELD * bool(hand.clutch)
    pose = np.zeros(7) if hand.pose is None else to_webxr(hand.pose)
    pressed = sum(1 << bit for bit, is_down in enumerate(hand.pressed) if is_down)
    packed = _HAND.pack(
        2 if hand.tracker == "hand" else 1, flags, hand.source, *pose,
        len(hand.buttons), len(hand.axes), pressed,
    )  # fmt: skip
    packed += np.concatenate([hand.buttons, hand.axes]).astype("<f4").tobytes()
    if hand.joints is not None:
        rows = np.concatenate([to_webxr(hand.joints[1:, :7]), hand.joints[1:, 7:]], axis=1)
        packed += rows.astype("<f4").tobytes()
    return packed


def _read_joints(message: bytes, received_ns: int) -> JointMessage:
    _, _, _, sequence, device_ms, sent_ms, stream, count = _STREAM.unpack_from(message)
    device_ns = _to_ns(device_ms)
    if count > _MOST_JOINTS or len(message) != _STREAM.size + 4 * count or device_ns is None:
        raise ValueError(f"{count} joints in {len(message)} bytes")
    positions = _bounded(np.frombuffer(message, "<f4", count, _STREAM.size))
    times = InputTimes(device_ns, received_ns, sent_ns=_to_ns(sent_ms))
    return JointMessage(stream, sequence, times, positions)


def _pose(values: Sequence[float]) -> Array:
    """A pose (7,) with a quaternion of length one."""
    pose = from_webxr(_bounded(values))
    length = float(np.linalg.norm(pose[3:]))
    if not 0.5 < length < 2.0:
        raise ValueError(f"a quaternion of length {length:.3g}")
    pose[3:] /= length
    return pose


def _bounded(values: Any) -> Array:
    numbers = np.asarray(values, np.float64)
    if not (np.abs(numbers) < _FARTHEST).all():
        raise ValueError("a number that is not finite, or beyond 1000")
    return numbers


Command = Literal[
    "engage", "disengage", "recenter", "hold", "stop", "kneel", "stand", "reset",
    "start", "end", "discard", "success", "failure", "policy", "human",
]  # fmt: skip
COMMANDS: Final[tuple[Command, ...]] = get_args(Command)
_LONGEST_TEXT = 200
_MOST_STREAMS = 8


@dataclass(frozen=True)
class PageHello:
    """The first message of a page: what it is, and the joint streams that it will send."""

    device: str
    profile: str = ""
    time_origin_ms: float | None = None
    joint_streams: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class PageCommand:
    """What a page asks for: one of COMMANDS, for a reason in words."""

    command: Command
    reason: str = ""


@dataclass(frozen=True)
class PagePing:
    """A page measures the way: it is answered at once with the host's time.

    `host_offset_ms` is how far it found the host's clock ahead of its own, to half `round_trip_ms`.
    """

    sent_ms: float
    host_offset_ms: float | None = None
    round_trip_ms: float | None = None


def read_text(message: str) -> PageHello | PageCommand | PagePing:
    """What a text message says; raises InputError, in one sentence, for anything else."""
    if len(message) > _LONGEST_MESSAGE:
        raise InputError(f"message of {len(message)} bytes; expected {_LONGEST_MESSAGE} at most.")
    try:
        values = json.loads(message)
    except (ValueError, RecursionError):
        raise InputError("message, got no JSON; expected an object with kind.") from None
    kind = values.get("kind") if isinstance(values, dict) else None
    if kind == "hello":
        return _read_hello(values)
    if kind == "ping":
        found = [None if values.get(name) is None else _number(values, name)
                 for name in ("host_offset_ms", "round_trip_ms")]  # fmt: skip
        if any(value is not None and abs(value) > _LATEST_MS for value in found):
            raise InputError("host_offset_ms, got no time of this century; expected milliseconds.")
        return PagePing(_number(values, "sent_ms"), *found)
    if kind != "command":
        raise InputError("message, got another kind; expected hello, command or ping.")
    name = values.get("command")
    if name not in COMMANDS:
        raise InputError(f"command, got {name!r:.40}; expected one of: {', '.join(COMMANDS)}.")
    return PageCommand(name, _text(values, "reason"))


def _read_hello(values: Mapping[str, Any]) -> PageHello:
    if values.get("version") != VERSION:
        raise InputError(f"hello, got version {values.get('version')!r:.20}; expected {VERSION}. "
                         "Reload the page.")  # fmt: skip
    origin = None if values.get("time_origin_ms") is None else _number(values, "time_origin_ms")
    streams = values.get("joint_streams") or {}
    if not isinstance(streams, dict) or len(streams) > _MOST_STREAMS:
        raise InputError(f"joint_streams; expected an object with {_MOST_STREAMS} names at most.")
    named = {str(name)[:_LONGEST_TEXT]: _names(name, joints) for name, joints in streams.items()}
    return PageHello(_text(values, "device"), _text(values, "profile"), origin, named)


def _number(values: Mapping[str, Any], name: str) -> float:
    value = values.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < 1e15:
        raise InputError(f"{name}, got no number; expected milliseconds.")
    return float(value)


def _names(stream: str, joints: Any) -> tuple[str, ...]:
    if not isinstance(joints, list) or not 0 < len(joints) <= _MOST_JOINTS:
        raise InputError(f"joint stream {stream!r:.40}; expected a list of names of joints.")
    return tuple(str(joint)[:_LONGEST_TEXT] for joint in joints)


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name, "")
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
        raise InputError(f"{name}; expected at most {_LONGEST_TEXT} characters.")
    return value
