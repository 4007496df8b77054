"""Poses as JSON, read from a sender: hostile until checked."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corporeal.geometry import Array, matrix_from_quaternion
from corporeal.retargeting.motion import POINTS, SEGMENTS, MotionError

MAX_BYTES = 65_536
MAX_NAMES = 256
# Nobody stands further from the origin of a capture volume.
FAR_AWAY_M = 100.0
_INDEX = {name: index for index, name in enumerate(POINTS)}
_UPWARDS = {
    "z": np.eye(3),
    "y": np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]),
}


@dataclass(frozen=True, eq=False)
class PoseMessage:
    """A person at one time of the sender's clock, in metres, z up.

    `positions` (P, 3) and `confidence` (P,) are in the order of POINTS, NaN and 0 where a point
    is not known. `rotations` holds rotation matrices (3, 3) of the SEGMENTS that are known.
    """

    t_s: float
    positions: Array
    confidence: Array
    rotations: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class Announcement:
    """How the sender's next messages are to be read: the order of its points, its upward axis."""

    names: tuple[str, ...] = ()
    up: str = "z"


def parse_message(data: bytes | str, announced: Announcement) -> PoseMessage | Announcement:
    """A pose, or what a sender announces; raises MotionError for anything else."""
    if len(data) > MAX_BYTES:
        raise MotionError(f"a message of {len(data)} bytes; expected at most {MAX_BYTES}.")
    try:
        message = json.loads(data)
    except (ValueError, RecursionError):
        raise MotionError("a message that is no JSON; send one object per message.") from None
    if not isinstance(message, dict):
        raise MotionError('a message that is no object; send {"t": ..., "points": ...}.')
    if "points" not in message:
        return _announcement(message, announced)
    stamp: Any = message.get("t")
    if not _is_number(stamp):
        raise MotionError(f"a message with t = {str(stamp)[:40]}; expected seconds.")
    points = message["points"]
    if isinstance(points, list):
        points = dict(zip(announced.names, points, strict=False))
    if not isinstance(points, dict):
        raise MotionError("a message whose points are no object and no list.")
    up = _UPWARDS[announced.up]
    return make_pose(float(stamp), points, _rotations(message.get("turns"), up), up)


def make_pose(
    t_s: float, points: Mapping[str, Any], rotations: Mapping[str, Array], up: Array
) -> PoseMessage:
    """A pose from points by name, each [x, y, z] or [x, y, z, confidence]; others are left out."""
    rows = np.full((len(POINTS), 4), np.nan)
    for name, value in points.items():
        index = _INDEX.get(name)
        if index is None or not isinstance(value, (list, tuple)) or len(value) not in (3, 4):
            continue
        if all(map(_is_number, value)):
            rows[index] = [*value, 1.0][:4]
    positions, confidence = rows[:, :3] @ up.T, np.clip(np.nan_to_num(rows[:, 3]), 0.0, 1.0)
    unknown = ~np.isfinite(positions).all(axis=1) | (np.abs(positions) > FAR_AWAY_M).any(axis=1)
    unknown |= confidence <= 0
    positions[unknown], confidence[unknown] = np.nan, 0.0
    if unknown.all():
        raise MotionError(f"a message without one known point; expected some of {POINTS[0]} ...")
    return PoseMessage(t_s, positions, confidence, rotations)


def upward(axis: str) -> Array:
    """The rotation (3, 3) from axes whose `axis` points up (y or z) to ours, where z does."""
    if axis not in _UPWARDS:
        raise MotionError(f"upward axis {axis[:20]!r}; expected one of {', '.join(_UPWARDS)}.")
    return _UPWARDS[axis]


def _announcement(message: dict[str, Any], announced: Announcement) -> Announcement:
    names, up = message.get("names", list(announced.names)), message.get("up", announced.up)
    if "names" not in message and "up" not in message:
        raise MotionError('a message without points; send {"t": ..., "points": ...}.')
    if not isinstance(names, list) or len(names) > MAX_NAMES:
        raise MotionError(f"an announcement of names; expected a list of at most {MAX_NAMES}.")
    upward(str(up))
    return Announcement(tuple(str(name)[:64] for name in names), str(up))


def _rotations(given: Any, up: Array) -> dict[str, Array]:
    """Rotations by segment from quaternions [w, x, y, z]; what is none is left out."""
    if not isinstance(given, dict):
        return {}
    return {
        name: up @ matrix_from_quaternion(given[name])
        for name in SEGMENTS
        if _is_quaternion(given.get(name))
    }


def _is_quaternion(value: Any) -> bool:
    if not (isinstance(value, list) and len(value) == 4 and all(map(_is_number, value))):
        return False
    return abs(math.hypot(*value) - 1.0) < 0.1


def _is_number(value: Any) -> bool:
    # A whole number of a thousand digits is a number to JSON and none to a float.
    return type(value) in (int, float) and abs(value) < 1e15
