"""Gloves and trackers over UDP: a datagram of JSON for every sample, joints by name."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import numpy as np
from pydantic import Field

from corporeal.capture.clock import HostClock
from corporeal.capture.driver import Driver, DriverError, Mark, Rig, Sample
from corporeal.capture.hand_stream import hand_samples, hand_streams
from corporeal.capture.ros.stream import rig_schema
from corporeal.schema import Part
from corporeal.teleoperation.hands import hand_layout
from corporeal.teleoperation.operator_input import (
    HAND_JOINTS,
    SIDES,
    InputTimes,
    OperatorHand,
    OperatorInput,
    Side,
)
from corporeal.units import SECOND_NS

_LARGEST = 65_536
_MODE = "egocentric demonstration"
# Others than this many malformed datagrams are no accident any more.
_MOST_BROKEN = 100


class GloveOptions(Part):
    """Where the datagrams come in."""

    host: str = Field(default="127.0.0.1", description="the address to listen on")
    port: int = Field(default=9763, ge=1, le=65535)
    timeout_s: float = Field(default=5.0, gt=0, description="silent for so long: it is gone")


def describe(options: GloveOptions) -> Rig:
    """All streams that gloves and trackers may have; nothing is opened."""
    del options
    schema = rig_schema("gloves", hand_streams(), "gloves and trackers over UDP")
    return Rig(schema, metadata={"mode": _MODE})


def read(options: GloveOptions) -> Iterator[Sample | Mark]:
    """Samples as they come, stamped by the sender's `time_s`, else by their reception.

    A datagram is `{"time_s": 1.2, "head": [x, y, z, qw, qx, qy, qz], "left": {"wrist": [x, y, z],
    "thumb_tip": [x, y, z], ...}, "right": null}` in metres; a hand without a wrist is
    relative to it.
    """
    clock = HostClock()
    broken = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        try:
            listener.bind((options.host, options.port))
        except OSError as error:
            raise DriverError(
                f"gloves, got {error.strerror} for port {options.port} of {options.host}; expected "
                "one that is free. Name another with port=."
            ) from None
        listener.settimeout(options.timeout_s)
        while True:
            try:
                message = listener.recv(_LARGEST)
            except TimeoutError:
                raise DriverError(
                    f"gloves, got nothing on port {options.port} for {options.timeout_s:g} s; "
                    "expected datagrams. Is the sender's address this machine's?"
                ) from None
            arrival_ns = clock.now_ns()
            try:
                given, source_ns = _input(message, arrival_ns)
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
                broken += 1
                if broken >= _MOST_BROKEN:
                    raise DriverError(
                        f"gloves, got {broken} datagrams that cannot be read ({error}); expected "
                        "JSON of joints in metres. See the guide to egocentric demonstrations."
                    ) from None
                continue
            yield from hand_samples(given, source_ns, arrival_ns)


def _input(message: bytes, arrival_ns: int) -> tuple[OperatorInput, int]:
    values = json.loads(message)
    stamp = values.get("time_s")
    source_ns = arrival_ns if stamp is None else round(_number(stamp) * SECOND_NS)
    head = values.get("head")
    hands = {side: _hand(values.get(side), side) for side in SIDES}
    return OperatorInput(
        0, InputTimes(source_ns, arrival_ns), head=None if head is None else _numbers(head, 7),
        left=hands["left"], right=hands["right"],
    ), source_ns  # fmt: skip


def _hand(values: Any, side: Side) -> OperatorHand | None:
    if not values:
        return None
    joints = np.full((len(HAND_JOINTS), 8), np.nan)
    for name, place in values.items():
        known = hand_layout.joint_named(name)
        if known is None or known[0] not in (None, side):
            raise ValueError(f"a joint {name[:40]!r} of the {side} hand")
        joints[known[1], :3] = np.nan if place is None else _numbers(place, 3)
    wrist = joints[HAND_JOINTS.index("wrist"), :3]
    pose = None
    if np.isfinite(wrist).all() and wrist.any():
        pose = np.array([*wrist, 1.0, 0.0, 0.0, 0.0])
    return OperatorHand("hand", 1 if side == "left" else 2, pose, joints=joints)


def _numbers(values: Any, count: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    numbers = np.array(values, np.float64)
    if numbers.shape != (count,) or not np.isfinite(numbers).all():
        raise ValueError(f"{np.size(numbers)} values where {count} numbers are due")
    return numbers


def _number(value: Any) -> float:
    return float(_numbers([value], 1)[0])


DRIVER = Driver(GloveOptions, describe, read, is_live=True)
