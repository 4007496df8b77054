"""Poses as JSON: read from a sender, hostile until checked; a clip sent as if it were live."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from corporeal.geometry import Array
from corporeal.retargeting.cleaning.cleaning import clean
from corporeal.retargeting.motion import POINTS, SEGMENTS, HumanMotion, MotionError
from corporeal.retargeting.reader import read_motion

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
        if all(_is_number(each) for each in value):
            rows[index, : len(value)] = value
            if len(value) == 3:
                rows[index, 3] = 1.0
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
    rotations = {}
    for name in SEGMENTS:
        value = given.get(name)
        if isinstance(value, list) and len(value) == 4 and all(_is_number(each) for each in value):
            w, x, y, z = value
            length = float(np.sqrt(w * w + x * x + y * y + z * z))
            if abs(length - 1.0) < 0.1:
                rotations[name] = up @ _matrix(w / length, x / length, y / length, z / length)
    return rotations


def _matrix(w: float, x: float, y: float, z: float) -> Array:
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _is_number(value: Any) -> bool:
    # A whole number of a thousand digits is a number to JSON and none to a float.
    return type(value) in (int, float) and abs(value) < 1e15


@contextmanager
def play_clip(clip: Path, address: str) -> Iterator[None]:
    """Send a clip to a udp:// address in its own time, again and again, until the block ends."""
    target = urlsplit(address)
    if target.scheme != "udp" or not target.hostname or not target.port:
        raise MotionError(f"{address}: a clip is played to udp://HOST:PORT only. Name one.")
    motion = clean(read_motion(clip))
    stop = threading.Event()
    sender = threading.Thread(
        target=_play, args=(motion, (target.hostname, target.port), stop), daemon=True
    )
    sender.start()
    try:
        yield
    finally:
        stop.set()
        sender.join()


def message_of(motion: HumanMotion, frame: int, t_s: float) -> bytes:
    """One frame as a datagram: all points that are known, with their confidence."""
    rows = np.column_stack([motion.positions[frame], motion.confidence[frame]]).round(5).tolist()
    known = {name: row for name, row in zip(POINTS, rows, strict=True) if row[3] > 0}
    return json.dumps({"t": t_s, "points": known}).encode()


def _play(motion: HumanMotion, target: tuple[str, int], stop: threading.Event) -> None:
    """There and back through the clip, so that its end is no leap."""
    order = [*range(len(motion)), *range(len(motion) - 2, 0, -1)]
    begun, sent = time.monotonic(), 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        while not stop.is_set():
            out.sendto(message_of(motion, order[sent % len(order)], sent / motion.rate_hz), target)
            sent += 1
            stop.wait(max(0.0, begun + sent / motion.rate_hz - time.monotonic()))
