"""Captures of a headset as IWER's ActionRecorder writes them, every defect of the device kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.files import refuse_pointer
from corporeal.geometry import Array, normalise
from corporeal.teleoperation.operator_input import (
    InputError,
    InputSource,
    InputTimes,
    OperatorHand,
    OperatorInput,
    Side,
)
from corporeal.teleoperation.webxr import WEBXR_JOINTS, beyond, from_webxr, hand_from_webxr

# Parsed it takes twenty times as much memory; half an hour of two controllers has so much.
_MAX_BYTES = 128 << 20
_MS = 1_000_000
_HEAD = slice(1, 8)
_RAY = slice(1, 8)
_GRIP = 8


@dataclass(frozen=True)
class _Device:
    """What the capture says of one input source."""

    side: Side
    has_hand: bool
    buttons: int
    axes: int


def accepts(path: Path) -> bool:
    """Whether a file begins as a capture does."""
    if path.suffix != ".json":
        return False
    refuse_pointer(path)
    with path.open("rb") as file:
        return file.read(64).lstrip().startswith(b'{"schema"')


def read(path: Path) -> Iterator[OperatorInput]:
    """The frames of a capture; raises InputError for a file that is none."""
    refuse_pointer(path)
    if path.stat().st_size > _MAX_BYTES:
        raise InputError(f"capture {path}, got more than 128 MiB; expected a shorter one. Cut it.")
    try:
        document = json.loads(path.read_bytes())
        devices = {int(number): _device(fields) for number, fields in document["schema"]}
        for sequence, frame in enumerate(document["frames"]):
            yield _input(sequence, frame, devices)
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise InputError(
            f"capture {path}, got what cannot be read ({error!r}); expected schema and frames as "
            "IWER's ActionRecorder writes them. Record it again."
        ) from None


def _device(fields: dict[str, Any]) -> _Device:
    side = fields["handedness"]
    if side not in ("left", "right"):
        raise ValueError(f"an input source in the hand {side!r}")
    if fields.get("hasHand") and len(fields["jointSequence"]) != WEBXR_JOINTS:
        raise ValueError(f"a hand with {len(fields['jointSequence'])} joints")
    counts = int(fields["numButtons"]), int(fields["numAxes"])
    return _Device(side, bool(fields.get("hasHand")), *counts)


def _input(sequence: int, frame: list[Any], devices: dict[int, _Device]) -> OperatorInput:
    hands: dict[Side, OperatorHand] = {}
    for source in frame[8:]:
        device = devices[int(source[0])]
        hands[device.side] = _hand(source, device)
    moment_ns = round(float(frame[0]) * _MS)
    return OperatorInput(
        sequence,
        InputTimes(moment_ns, moment_ns),
        head=_pose(frame[_HEAD]),
        left=hands.get("left"),
        right=hands.get("right"),
    )


def _hand(source: list[Any], device: _Device) -> OperatorHand:
    joints = None
    pose = _pose(source[_GRIP])
    if device.has_hand:
        rows = _numbers(source[_GRIP + 1], 8 * WEBXR_JOINTS).reshape(-1, 8)
        # They are kept relative to the pointing ray; the hand itself is where its wrist is.
        ray = _pose(source[_RAY])
        rows[:, 3:7] = normalise(rows[:, 3:7])
        joints = hand_from_webxr(rows)
        joints[:, :7] = beyond(ray, joints[:, :7])
        pose = joints[1, :7]
    gamepad = source[-1]
    buttons = np.array([_numbers(row, 3) for row in gamepad[: device.buttons]]).reshape(-1, 3)
    axes = _numbers(gamepad[device.buttons :], device.axes)
    return OperatorHand(
        "hand" if device.has_hand else "controller",
        int(source[0]),
        pose,
        buttons=buttons[:, 2],
        pressed=buttons[:, 0] > 0,
        axes=axes,
        joints=joints,
    )


def _pose(values: list[Any]) -> Array:
    pose = from_webxr(_numbers(values, 7))
    # The file has three digits of a quaternion.
    pose[3:] = normalise(pose[3:])
    return pose


def _numbers(values: list[Any], count: int) -> Array:
    numbers = np.array(values, np.float64)
    if numbers.shape != (count,) or not np.isfinite(numbers).all():
        raise ValueError(f"{len(values)} values where {count} numbers are due")
    return numbers


INPUT = InputSource(read, accepts)
