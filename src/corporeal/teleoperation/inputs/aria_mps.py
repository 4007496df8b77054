"""Hands as Project Aria's machine perception tells them, put into the world by its trajectory."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corporeal.files import refuse_pointer
from corporeal.geometry import Array, quaternion_from_matrix
from corporeal.teleoperation.hands.aria_device import HEAD_FROM_DEVICE, device_poses
from corporeal.teleoperation.hands.hand_layout import ARIA_21
from corporeal.teleoperation.hands.hand_track import wrist_axes
from corporeal.teleoperation.operator_input import (
    HAND_JOINTS,
    PALM,
    WRIST,
    InputError,
    InputSource,
    InputTimes,
    OperatorHand,
    OperatorInput,
    Side,
)

_STAMP = "tracking_timestamp_us"
_MAX_BYTES, _MAX_ROWS = 256 << 20, 2_000_000
_KNUCKLES = ("index_finger_phalanx_proximal", "pinky_finger_phalanx_proximal")
# The head is where its trajectory was told at most so long before or after, us.
_NEAR_US = 100_000
# Beyond it no clock counts, and nanoseconds have no room.
_LATEST_US = 9e15
_SIDES: tuple[Side, ...] = ("left", "right")
_WORLD = ("tx", "ty", "tz", "qx", "qy", "qz", "qw")


def accepts(path: Path) -> bool:
    """Whether a file begins as a table of hands does."""
    if path.suffix != ".csv":
        return False
    refuse_pointer(path)
    with path.open("rb") as file:
        head = file.read(256)
    return head.startswith(_STAMP.encode()) and b"left_tracking_confidence" in head


def read(path: Path) -> Iterator[OperatorInput]:
    """The rows of a table of hands; raises InputError for one that cannot be put into the world.

    The device's trajectory is looked for in the folder `trajectory` beside the table's.
    """
    hands = _table(path)
    _require(hands, path, (_STAMP, *(f"{side}_tracking_confidence" for side in _SIDES)))
    _require(hands, path, [
        f"{axis}_{point}_device" for side in _SIDES for point in _points(hands, side)
        for axis in ("tx", "ty", "tz")
    ])  # fmt: skip
    trajectory = path.parent.parent / "trajectory" / "closed_loop_trajectory.csv"
    if not trajectory.is_file():
        raise InputError(
            f"hands {path}, got no ../trajectory/closed_loop_trajectory.csv; expected the device's "
            "trajectory, without which nobody knows where up is. Put both folders side by side."
        )
    world = _table(trajectory)
    _require(world, trajectory, (_STAMP, *(f"{name}_world_device" for name in _WORLD)))
    poses = np.stack([world[f"{name}_world_device"] for name in _WORLD], axis=1)
    order = np.argsort(_stamps(world, trajectory), kind="stable")
    stamps, poses = _stamps(world, trajectory)[order], poses[order]
    times = _stamps(hands, path)
    if not _covered(stamps, times).any():
        raise InputError(
            f"hands {path}, got times {times[0] / 1e6:.1f} to {times[-1] / 1e6:.1f} s; expected "
            f"those of the trajectory, {stamps[0] / 1e6:.1f} to {stamps[-1] / 1e6:.1f} s. "
            "Both have to come from one recording."
        )
    placed = device_poses(stamps, poses[:, [0, 1, 2, 6, 3, 4, 5]], times, _NEAR_US)
    for sequence, (place, turn, is_near) in enumerate(zip(*placed, strict=True)):
        if not is_near:
            continue
        time_ns = int(times[sequence]) * 1000
        yield OperatorInput(
            sequence,
            InputTimes(time_ns, time_ns),
            head=np.concatenate([place, quaternion_from_matrix(turn @ HEAD_FROM_DEVICE)]),
            left=_hand(hands, sequence, "left", place, turn),
            right=_hand(hands, sequence, "right", place, turn),
        )


def _require(table: dict[str, Array], path: Path, names: Iterable[str]) -> None:
    absent = next((name for name in names if name not in table), None)
    if absent is not None:
        raise InputError(
            f"hands {path}, got no numbers for {absent}; expected a whole table of Aria's MPS. "
            "Download it again."
        )


def _points(table: dict[str, Array], side: Side) -> list[str]:
    """What the file tells of a hand: all its landmarks, or wrist and palm alone."""
    if f"tx_{side}_landmark_0_device" in table:
        return [f"{side}_landmark_{number}" for number in range(len(ARIA_21))]
    return [f"{side}_{name}" for name in ("wrist", "palm")]


def _stamps(table: dict[str, Array], path: Path) -> NDArray[np.int64]:
    """Times of a table, us."""
    stamps = table[_STAMP]
    if not (np.abs(stamps) < _LATEST_US).all():
        raise InputError(f"hands {path}, got a row without a time; expected microseconds.")
    return stamps.astype(np.int64)


def _hand(
    table: dict[str, Array], row: int, side: Side, place: Array, turn: Array
) -> OperatorHand | None:
    """A hand in the world; None where it was not tracked, which the file says with zeros."""
    if not table[f"{side}_tracking_confidence"][row] > 0:
        return None
    joints = np.full((len(HAND_JOINTS), 8), np.nan)
    points = _points(table, side)
    known = ARIA_21 if len(points) == len(ARIA_21) else ("wrist", "palm")
    for name, point in zip(known, points, strict=True):
        joints[HAND_JOINTS.index(name), :3] = _point(table, row, point)
    joints[:, :3] = joints[:, :3] @ turn.T + place
    pose = np.concatenate([joints[WRIST, :3], _axes(joints, side)])
    sure = np.full(len(HAND_JOINTS), min(float(table[f"{side}_tracking_confidence"][row]), 1.0))
    return OperatorHand("hand", 1 if side == "left" else 2, pose, joints=joints, confidence=sure)


def _axes(joints: Array, side: Side) -> Array:
    """The rotation of a wrist: from the knuckles, or along the palm where these are not told."""
    knuckles = [joints[HAND_JOINTS.index(name), :3] for name in _KNUCKLES]
    if np.isfinite(knuckles).all():
        return wrist_axes(joints[WRIST, :3], knuckles[0], knuckles[1], side)
    # Two points tell one axis; the back of the hand is taken to look up.
    along = joints[PALM, :3] - joints[WRIST, :3]
    aside = np.cross([0.0, 0.0, 1.0], along)
    if np.linalg.norm(aside) < 1e-6:
        aside = np.array([0.0, 1.0, 0.0])
    near, far = joints[WRIST, :3] + along + aside, joints[WRIST, :3] + along - aside
    first, second = (far, near) if side == "left" else (near, far)
    return wrist_axes(joints[WRIST, :3], first, second, side)


def _point(table: dict[str, Array], row: int, name: str) -> Array:
    return np.array([table[f"{axis}_{name}_device"][row] for axis in ("tx", "ty", "tz")])


def _covered(stamps: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.asarray((times >= stamps[0] - _NEAR_US) & (times <= stamps[-1] + _NEAR_US))


def _table(path: Path) -> dict[str, Array]:
    """The columns of numbers of a CSV; those that are no numbers are left out."""
    refuse_pointer(path)
    if path.stat().st_size > _MAX_BYTES:
        raise InputError(f"table {path}, got more than 256 MiB; expected a shorter one. Cut it.")
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = csv.reader(file)
            names = next(rows, [])
            values: list[list[str]] = []
            for row in rows:
                if len(row) != len(names) or len(values) >= _MAX_ROWS:
                    raise ValueError(f"{len(row)} fields in line {len(values) + 2}")
                values.append(row)
        columns = {}
        for number, name in enumerate(names):
            try:
                columns[name] = np.array([row[number] or "nan" for row in values], np.float64)
            except ValueError:
                continue
    except (ValueError, csv.Error) as error:
        raise InputError(
            f"table {path}, got what cannot be read ({error}); expected CSV of Aria's MPS. "
            "Download it again."
        ) from None
    if not values:
        raise InputError(f"table {path}, got no rows; expected tracked hands.")
    return columns


INPUT = InputSource(read, accepts)
