"""Real hands of a headset written as the files of other devices, with their own sentinels."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from tests.teleoperation.captures import quest_inputs

from corporeal.geometry import Array, matrix_from_quaternion
from corporeal.teleoperation.hands.hand_layout import MEDIAPIPE_21, columns_of
from corporeal.teleoperation.operator_input import HAND_JOINTS, SIDES, WRIST

ROOM = np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
_PARTS = {
    "metacarpal": "Metacarpal", "phalanx_proximal": "Knuckle",
    "phalanx_intermediate": "IntermediateBase", "phalanx_distal": "IntermediateTip", "tip": "Tip",
}  # fmt: skip
_THUMB = {
    "metacarpal": "Knuckle", "phalanx_proximal": "IntermediateBase",
    "phalanx_distal": "IntermediateTip", "tip": "Tip",
}  # fmt: skip


@cache
def real_hands() -> tuple[Array, Array, dict[str, Array]]:
    """Times in s (T,), heads (T, 7) and joints (T, 26, 3) of each hand, where both were seen."""
    rows = [
        given
        for given in quest_inputs()
        if given.head is not None
        and all(
            (hand := given.hand(side)) is not None and hand.joints is not None for side in SIDES
        )
    ][:200]
    times = np.array([given.times.device_ns for given in rows]) / 1e9
    heads = np.array([given.head for given in rows])
    joints: dict[str, Array] = {
        side: np.array(
            [hand.joints[:, :3] for given in rows
             if (hand := given.hand(side)) is not None and hand.joints is not None]
        )
        for side in SIDES
    }  # fmt: skip
    return times - times[0], heads, joints


def arkit_name(joint: str) -> str:
    """What ARKit calls one of HAND_JOINTS; empty for the palm, which it has not."""
    if joint == "wrist":
        return "wrist"
    if joint == "palm":
        return ""
    finger, _, bone = joint.partition("_")
    if finger == "thumb":
        return f"thumb{_THUMB[bone]}"
    name = "little" if finger == "pinky" else finger
    return f"{name}Finger{_PARTS[bone.removeprefix('finger_')]}"


def _camera_matrices(heads: Array) -> Array:
    """Cameras (T, 4, 4) in a world with y up: x right, y down, z ahead."""
    turn = matrix_from_quaternion(heads[:, 3:])
    optical = np.stack([-turn[:, :, 1], -turn[:, :, 2], turn[:, :, 0]], axis=2)
    out = np.tile(np.eye(4), (len(heads), 1, 1))
    out[:, :3, :3] = ROOM.T @ optical
    out[:, :3, 3] = heads[:, :3] @ ROOM
    return out


def write_egodex(path: Path, *, looks: float = 1.0) -> None:
    """EgoDex's HDF5; `looks` -1 has a camera whose z is behind it and whose y is up."""
    _, heads, joints = real_hands()
    camera = _camera_matrices(heads)
    camera[:, :3, 1:3] *= looks
    with h5py.File(path, "w") as file:
        file["transforms/camera"] = camera.astype(np.float32)
        file["camera/intrinsic"] = np.array([[736.6, 0, 960], [0, 736.6, 540], [0, 0, 1]])
        for side, rows in joints.items():
            for number, joint in enumerate(HAND_JOINTS):
                name = arkit_name(joint)
                if not name:
                    continue
                full = f"{side}Hand" if joint == "wrist" else f"{side}{name[0].upper()}{name[1:]}"
                matrix = np.tile(np.eye(4), (len(rows), 1, 1))
                matrix[:, :3, 3] = rows[:, number] @ ROOM
                file[f"transforms/{full}"] = matrix.astype(np.float32)
                file[f"confidences/{full}"] = np.full(len(rows), 0.9, np.float32)


def avp_frames() -> list[dict[str, Any]]:
    """Samples as avp_stream has them: matrices by columns, joints relative to the wrist."""
    times, heads, joints = real_hands()
    turn = ROOM.T @ matrix_from_quaternion(heads[:, 3:]) @ ROOM
    frames = []
    for row, time in enumerate(times):
        head = _columns(turn[row], heads[row, :3] @ ROOM)
        frame: dict[str, Any] = {"timestamp": float(time), "headMatrix": head}
        for side, rows in joints.items():
            wrist = rows[row, WRIST]
            hand = {"wrist": _columns(np.eye(3), wrist @ ROOM)}
            for number, joint in enumerate(HAND_JOINTS):
                name = arkit_name(joint).replace("Finger", "")
                if name and name != "wrist":
                    hand[name] = _columns(np.eye(3), (rows[row, number] - wrist) @ ROOM)
            frame[f"{side}Hand"] = hand
        frames.append(frame)
    return frames


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    """One JSON object a line."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def mediapipe_frames() -> list[dict[str, Any]]:
    """Results of MediaPipe's tasks: 21 points about the hand's middle, in the camera's axes."""
    times, _, joints = real_hands()
    frames = []
    for row, time in enumerate(times):
        hands = []
        for rows in joints.values():
            points = rows[row, columns_of(MEDIAPIPE_21)]
            hands.append([dict(zip("xyz", map(float, point - points.mean(axis=0)), strict=True))
                          for point in points])  # fmt: skip
        names = [[{"categoryName": side.title(), "score": 0.97}] for side in joints]
        frames.append({"timestampMs": 1000 * float(time), "worldLandmarks": hands,
                       "landmarks": [], "handedness": names})  # fmt: skip
    return frames


def write_table(path: Path, *, scale: float = 1.0, mirrored: bool = False) -> None:
    """A CSV of a glove beside trackers, in metres times `scale`."""
    times, heads, joints = real_hands()
    titles = ["time_s", *(f"head_{part}" for part in ("x", "y", "z", "qw", "qx", "qy", "qz"))]
    columns = [times[:, None], heads]
    for side, rows in joints.items():
        for number, joint in enumerate(HAND_JOINTS):
            if joint != "palm":
                titles += [f"{side}_{joint}_{axis}" for axis in "xyz"]
                columns.append(rows[:, number] * scale * ([1, -1, 1] if mirrored else [1, 1, 1]))
    table = np.concatenate(columns, axis=1)
    np.savetxt(path, table, delimiter=",", header=",".join(titles), comments="", fmt="%.6f")


def _columns(turn: Array, place: Array) -> list[float]:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = turn, place
    return [float(value) for value in matrix.T.ravel()]
