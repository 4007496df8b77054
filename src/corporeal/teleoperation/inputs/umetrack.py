"""HOT3D and UmeTrack: angles of a hand's joints, made points by the profile of whose hand it is."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.files import refuse_pointer
from corporeal.geometry import (
    Array,
    matrix_from_quaternion,
    matrix_from_vector,
    quaternion_from_matrix,
)
from corporeal.teleoperation.hands.aria_device import HEAD_FROM_DEVICE, device_poses
from corporeal.teleoperation.hands.hand_layout import ARIA_21, columns_of
from corporeal.teleoperation.hands.hand_rows import (
    HandRows,
    hand_rows,
    operator_inputs,
    require_hand,
)
from corporeal.teleoperation.operator_input import (
    HAND_JOINTS,
    InputError,
    InputSource,
    OperatorInput,
    Side,
)

PROFILE, HEADSET, METADATA = (
    "umetrack_hand_user_profile.json", "headset_trajectory.csv", "metadata.json",
)  # fmt: skip
_MAX_BYTES = 128 << 20
_ANGLES, _FINGERS, _EACH, _BONES = 20, 5, 4, 17
# The head is where its trajectory was told at most so long before or after, ns.
_NEAR_NS = 100_000_000
_POSE = ("t_wo_x[m]", "t_wo_y[m]", "t_wo_z[m]", "q_wo_w", "q_wo_x", "q_wo_y", "q_wo_z")
_KEYS: dict[Side, str] = {"left": "0", "right": "1"}
# A head's own up is along an axis of the world at least so much, on the whole.
_UPRIGHT = 0.7


def accepts(path: Path) -> bool:
    """Whether its first line has poses of hands with angles of joints."""
    if path.suffix != ".jsonl":
        return False
    refuse_pointer(path)
    with path.open("rb") as file:
        head = file.read(1 << 16)
    return b'"hand_poses"' in head


def read(path: Path) -> Iterator[OperatorInput]:
    """The samples; raises InputError without the profile, which says how long each bone is."""
    with path.open("rb") as file:
        if b'"joint_angles"' not in file.read(1 << 16):
            raise InputError(
                f"hands {path}, got poses without angles of joints; expected UmeTrack's: those of "
                "MANO need a model that may not be passed on. Take umetrack_hand_pose_trajectory."
            )
    profile = path.with_name(PROFILE)
    for needed, why in (
        (profile, "how long the bones are"),
        (path.with_name(HEADSET), "where the head was"),
    ):
        if not needed.is_file():
            raise InputError(
                f"hands {path}, got no {needed.name} beside it; expected it, since nothing else "
                f"tells {why}. Put it into the same folder."
            )
        refuse_pointer(needed)
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ValueError("more than 128 MiB")
        with path.open(encoding="utf-8") as file:
            lines = [json.loads(line) for line in file if line.strip()]
        times = np.array([int(line["timestamp_ns"]) for line in lines], np.int64)
        model = _Model(json.loads(profile.read_bytes())["hand_model"])
        hands: dict[Side, HandRows] = {}
        for side, key in _KEYS.items():
            hands[side] = hand_rows(model.joints([line["hand_poses"].get(key) for line in lines],
                                                 is_mirrored=side == "right"))  # fmt: skip
            require_hand(hands[side], side)
        head = _head(path.with_name(HEADSET), times)
        if head is not None:
            room = _up(head)
            head = np.concatenate([head[:, :3] @ room.T, _turned(room, head[:, 3:])], axis=1)
            hands = {
                side: replace(rows, joints=rows.joints @ room.T) for side, rows in hands.items()
            }
    except (
        OSError,
        ValueError,
        ArithmeticError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise InputError(
            f"hands {path}, got what cannot be read ({error}); expected poses, profile and "
            "trajectory of one recording of HOT3D. Download it again."
        ) from None
    yield from operator_inputs(times, head, hands)


class _Model:
    """A person's left hand at rest: axes and places of 20 joints, and 21 points that hang on them.

    Each finger has four joints one after the other; a point moves with up to three bones: 0 and 1
    are the wrist, then three of each finger, the thumb first.
    """

    def __init__(self, values: dict[str, Any]) -> None:
        self.axes = self._array(values, "joint_rotation_axes", (None, 3))[:_ANGLES]
        self.rest_m = self._array(values, "joint_rest_positions", (None, 3))[:_ANGLES] / 1000
        self.points_m = self._array(values, "landmark_rest_positions", (21, 3)) / 1000
        weights = self._array(values, "landmark_rest_bone_weights", (21, None))
        bones = self._array(values, "landmark_rest_bone_indices", (21, None)).astype(int)
        if len(self.axes) != _ANGLES or len(self.rest_m) != _ANGLES:
            raise ValueError(f"a profile of {len(self.axes)} joints")
        if bones.shape != weights.shape or bones.min() < 0 or bones.max() >= _BONES:
            raise ValueError("points of the profile that hang on no bone")
        # A bone that is named again with no weight takes nothing away.
        self.shares = np.zeros((21, _BONES))
        point, number = np.nonzero(weights)
        self.shares[point, bones[point, number]] = weights[point, number]

    @staticmethod
    def _array(values: dict[str, Any], name: str, shape: tuple[int | None, ...]) -> Array:
        array = np.array(values[name], np.float64)
        fits = array.ndim == len(shape) and all(
            size in (None, length) for size, length in zip(shape, array.shape, strict=True)
        )
        if not fits or not np.isfinite(array).all():
            raise ValueError(f"a profile whose {name} is {array.shape}")
        return array

    def joints(self, hands: list[Any], *, is_mirrored: bool) -> Array:
        """Joints (T, 26, 3) in the world, NaN where the hand was not seen."""
        out = np.full((len(hands), len(HAND_JOINTS), 3), np.nan)
        rows = [row for row, hand in enumerate(hands) if hand]
        if not rows:
            return out
        angles = np.array([hands[row]["joint_angles"][:_ANGLES] for row in rows], np.float64)
        wrists = np.array([
            [*hands[row]["wrist_xform"]["t_xyz"], *hands[row]["wrist_xform"]["q_wxyz"]]
            for row in rows
        ], np.float64)  # fmt: skip
        if angles.shape[1:] != (_ANGLES,) or wrists.shape[1:] != (7,):
            raise ValueError("a hand without 20 angles and the pose of its wrist")
        points = self._points(angles)
        if is_mirrored:
            points = points * [-1.0, 1.0, 1.0]
        turn = matrix_from_quaternion(wrists[:, 3:])
        placed = np.einsum("tij,tkj->tki", turn, points) + wrists[:, None, :3]
        # A turn of zeros is that of a hand that was not there.
        placed[~(np.abs(wrists[:, 3:]).sum(axis=1) > 0.5)] = np.nan
        out[np.ix_(rows, columns_of(ARIA_21))] = placed
        return out

    def _points(self, angles: Array) -> Array:
        """The 21 points (T, 21, 3) beside the wrist."""
        count = len(angles)
        turns = matrix_from_vector(angles[..., None] * self.axes)
        moves = self.rest_m - np.einsum("tkij,kj->tki", turns, self.rest_m)
        bones: list[tuple[Array, Array]] = [
            (np.broadcast_to(np.eye(3), (count, 3, 3)), np.zeros((count, 3)))
        ] * 2
        for finger in range(_FINGERS):
            turn, move = bones[0]
            for joint in range(_EACH):
                number = _EACH * finger + joint
                move = np.einsum("tij,tj->ti", turn, moves[:, number]) + move
                turn = turn @ turns[:, number]
                if joint:
                    bones.append((turn, move))
        turn = np.stack([each for each, _ in bones], axis=1)
        move = np.stack([each for _, each in bones], axis=1)
        placed = np.einsum("tbij,pj->tbpi", turn, self.points_m) + move[:, :, None]
        return np.asarray(np.einsum("pb,tbpi->tpi", self.shares, placed))


def _head(path: Path, times: NDArray[np.int64]) -> Array | None:
    """Poses (T, 7) of the head at the hands' own times, NaN where the trajectory has a hole.

    None for a headset other than Aria: what the axes of its device are is written nowhere.
    """
    about = path.with_name(METADATA)
    headset = json.loads(about.read_bytes()).get("headset") if about.is_file() else None
    if headset != "Aria":
        return None
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    stamps = np.array([int(row["timestamp[ns]"]) for row in rows], np.int64)
    poses = np.array([[float(row[name]) for name in _POSE] for row in rows]).reshape(-1, 7)
    if len(stamps) < 2 or (np.diff(stamps) <= 0).any() or not np.isfinite(poses).all():
        raise ValueError(f"a trajectory of {len(stamps)} places, or not in order of time")
    place, turn, is_near = device_poses(stamps, poses, times, _NEAR_NS)
    if not is_near.any():
        raise ValueError("a trajectory of other times than the hands'")
    head = np.concatenate([place, quaternion_from_matrix(turn @ HEAD_FROM_DEVICE)], axis=1)
    head[~is_near] = np.nan
    return head


def _turned(room: Array, quaternions: Array) -> Array:
    return quaternion_from_matrix(room @ matrix_from_quaternion(quaternions))


def _up(head: Array) -> Array:
    """Turns (3, 3) the world of a recording so that z is up: which axis is, heads tell."""
    known = head[np.isfinite(head[:, 0])]
    above = matrix_from_quaternion(known[:, 3:])[:, :, 2].mean(axis=0)
    axis = int(np.argmax(np.abs(above)))
    if abs(above[axis]) < _UPRIGHT:
        raise ValueError("heads that are upright along no axis of the world")
    up = np.eye(3)[axis] * np.sign(above[axis])
    ahead = np.eye(3)[(axis + 1) % 3]
    return np.stack([ahead, np.cross(up, ahead), up])


INPUT = InputSource(read, accepts)
