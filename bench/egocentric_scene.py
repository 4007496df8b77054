"""A head with a camera and two hands whose truth is known: pictures, keypoints and an episode."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from corporeal.calibration.lens import Lens, LensModel, project
from corporeal.geometry import (
    Array,
    matrix_from_quaternion,
    matrix_from_rpy,
    quaternion_from_vector,
)
from corporeal.teleoperation.hands.hand_layout import FINGERS, MEDIAPIPE_21, columns_of
from corporeal.teleoperation.operator_input import HAND_JOINTS, SIDES

CAMERA = "head_left"
PICTURES_HZ, HANDS_HZ = 30.0, 90.0
# The camera between the eyes, looking 35 degrees down; x right, y down, z ahead.
CAMERA_XYZ = (0.08, 0.03, 0.0)
_DOWN = np.radians(35.0)
_LENSES: dict[LensModel, tuple[float, ...]] = {
    "pinhole": (420, 420, 319.5, 239.5, -0.12, 0.05, 0.001, -0.0008, 0.0),
    "rational": (420, 420, 319.5, 239.5, 0.3, 0.1, 0.0, 0.0, 0.02, 0.35, 0.12, 0.01),
    "fisheye": (300, 300, 319.5, 239.5, 0.02, -0.01, 0.003, -0.0005),
}
SIZE = (480, 640)
_COLOURS = {"left": (70, 150, 240), "right": (240, 130, 60)}


@dataclass(frozen=True, eq=False)
class EgoScene:
    """Times in s of hands (T,), heads (T, 7) and joints (T, 26, 3) of each hand, in the room."""

    times_s: Array
    head: Array
    joints: dict[str, Array]
    lens: Lens

    def at(self, times_s: Array) -> EgoScene:
        """The same at other times; the truth between samples is as good as straight."""
        head = np.stack(
            [np.interp(times_s, self.times_s, column) for column in self.head.T], axis=1
        )
        head[:, 3:] /= np.linalg.norm(head[:, 3:], axis=1, keepdims=True)
        joints = {
            side: np.stack([np.interp(times_s, self.times_s, column)
                            for column in rows.reshape(len(rows), -1).T], axis=1)
            .reshape(len(times_s), -1, 3)
            for side, rows in self.joints.items()
        }  # fmt: skip
        return replace(self, times_s=times_s, head=head, joints=joints)

    def pixels(self, side: str) -> Array:
        """Where the camera sees the joints (T, 26, 2), NaN behind it."""
        turn = matrix_from_quaternion(self.head[:, 3:])
        beside = np.einsum("tji,tkj->tki", turn, self.joints[side] - self.head[:, None, :3])
        seen = (beside - CAMERA_XYZ) @ camera_rotation()
        flat = project(self.lens, seen.reshape(-1, 3)).reshape(*seen.shape[:2], 2)
        return np.asarray(np.where(seen[..., 2:] > 0.05, flat, np.nan))


def camera_rotation() -> Array:
    """Columns right, down and ahead of the camera in the head's axes."""
    ahead = np.array([np.cos(_DOWN), 0.0, -np.sin(_DOWN)])
    right = np.array([0.0, -1.0, 0.0])
    return np.stack([right, np.cross(ahead, right), ahead], axis=1)


def make_scene(
    seconds: float = 6.0,
    *,
    lens: LensModel = "fisheye",
    seed: int = 0,
    rate_hz: float = HANDS_HZ,
) -> EgoScene:
    """Hands that work in front of a head that looks around a little."""
    rng = np.random.default_rng(seed)
    times = np.arange(round(seconds * rate_hz)) / rate_hz
    sway = rng.uniform(0.5, 1.0, 3)
    turn = np.stack([0.03 * np.sin(sway[0] * times), 0.06 * np.sin(sway[1] * times + 1),
                     0.25 * np.sin(sway[2] * times)], axis=1)  # fmt: skip
    place = np.stack([0.02 * np.sin(times), 0.02 * np.cos(times), 1.6 + 0.01 * np.sin(2 * times)],
                     axis=1)  # fmt: skip
    head = np.concatenate([place, quaternion_from_vector(turn)], axis=1)
    joints: dict[str, Array] = {}
    for side in SIDES:
        aside = 0.14 if side == "left" else -0.14
        phase = rng.uniform(0, 6)
        wrist = np.stack([
            0.34 + 0.06 * np.sin(1.7 * times + phase),
            aside + 0.08 * np.sin(1.1 * times + phase),
            1.22 + 0.05 * np.sin(2.3 * times + phase),
        ], axis=1)  # fmt: skip
        grip = 0.5 + 0.45 * np.sin(2.0 * times + phase)
        tilt = [0.3 * np.sin(times), 0.25 * np.sin(1.3 * times), 0 * times]
        roll = matrix_from_rpy(np.stack(tilt, axis=1))
        joints[side] = wrist[:, None] + np.einsum("tij,tkj->tki", roll, _hand(grip, side))
    numbers = np.array(_LENSES[lens])
    return EgoScene(times, head, joints, Lens(lens, SIZE[1], SIZE[0], numbers))


def _hand(grip: Array, side: str) -> Array:
    """Joints (T, 26, 3) of an open to shut hand: fingers along x, the back up."""
    out = np.zeros((len(grip), len(HAND_JOINTS), 3))
    inward = -1.0 if side == "left" else 1.0
    for number, finger in enumerate(FINGERS):
        names = [name for name in HAND_JOINTS if name.startswith(finger)]
        across = inward * (0.045 - 0.022 * number)
        start = np.array([0.03, across * 0.6, 0.0])
        angle, place = np.zeros(len(grip)), np.tile(start, (len(grip), 1))
        steps = [0.0, 0.06, 0.04, 0.025, 0.022] if number else [0.0, 0.045, 0.035, 0.03]
        for joint, step in enumerate(steps):
            bend = 0.0 if joint < 2 else (1.1 if number else 0.5)
            angle = angle + bend * grip
            heading = np.arctan2(across * (0.5 if number else 1.6), 0.1)
            way = np.stack([np.cos(angle) * np.cos(heading), np.cos(angle) * np.sin(heading),
                            -np.sin(angle)], axis=1)  # fmt: skip
            place = place + step * way
            out[:, HAND_JOINTS.index(names[joint])] = place
    out[:, HAND_JOINTS.index("palm")] = [0.06, 0.0, 0.0]
    return out


def draw(scene: EgoScene, row: int) -> NDArray[np.uint8]:
    """What the camera sees: a chequered table far away, and the hands as sharp dots and bones."""
    height, width = SIZE
    picture = np.empty((height, width, 3), np.float64)
    across, down = np.meshgrid(np.arange(width), np.arange(height))
    turn = matrix_from_quaternion(scene.head[row, 3:])
    shift = turn[:, 0] @ [0, 300, 300]
    chequer = ((across + shift) // 40 + (down + shift / 2) // 40) % 2
    picture[:] = (60 + 20 * chequer)[..., None]
    for side in SIDES:
        points = scene.pixels(side)[row]
        for finger in FINGERS:
            chain = [0, *(k for k, name in enumerate(HAND_JOINTS) if name.startswith(finger))]
            chain[0] = HAND_JOINTS.index("wrist")
            for a, b in pairwise(chain):
                for part in np.linspace(0, 1, 12):
                    _dot(picture, points[a] + part * (points[b] - points[a]), 7.0, (150, 120, 105))
        for point in points:
            _dot(picture, point, 2.5, _COLOURS[side])
    return picture.clip(0, 255).astype(np.uint8)


def _dot(picture: Array, at: Array, radius: float, colour: tuple[int, int, int]) -> None:
    if not np.isfinite(at).all():
        return
    height, width = picture.shape[:2]
    left, top = (int(v - radius - 2) for v in at)
    right, low = left + int(2 * radius) + 5, top + int(2 * radius) + 5
    x0, x1, y0, y1 = max(left, 0), min(right, width), max(top, 0), min(low, height)
    if x0 >= x1 or y0 >= y1:
        return
    across, down = np.meshgrid(np.arange(x0, x1), np.arange(y0, y1))
    cover = np.clip(radius + 0.5 - np.hypot(across - at[0], down - at[1]), 0, 1)[..., None]
    patch = picture[y0:y1, x0:x1]
    patch += cover * (np.array(colour) - patch)


def write_movie(scene: EgoScene, path: Path) -> EgoScene:
    """Its pictures as a movie; returns the scene at their times."""
    times = np.arange(int(scene.times_s[-1] * PICTURES_HZ) + 1) / PICTURES_HZ
    shown = scene.at(times)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=int(PICTURES_HZ))
        stream.width, stream.height = SIZE[1], SIZE[0]
        stream.pix_fmt = "yuv420p"
        stream.options = {"crf": "12", "bf": "0"}
        for row in range(len(times)):
            frame = av.VideoFrame.from_ndarray(draw(shown, row), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return shown


def calibration(lens: Lens) -> dict[str, Any]:
    """The document of its camera, whose pose is in the frame of the head."""
    from corporeal.geometry import rpy_from_matrix

    fx, fy, cx, cy, *bends = (float(value) for value in lens.values)
    return {
        "document": "calibration", "name": "ego_head", "version": "1.0.0", "measured": "2026-11-19",
        "cameras": [{
            "name": CAMERA, "width": lens.width, "height": lens.height, "focal_px": [fx, fy],
            "centre_px": [cx, cy], "distortion": bends, "lens": lens.model, "frame": "head",
            "xyz": list(CAMERA_XYZ),
            "rpy": [float(value) for value in rpy_from_matrix(camera_rotation())],
        }],
    }  # fmt: skip


def write_table(scene: EgoScene, path: Path, *, hidden: dict[str, slice] | None = None) -> None:
    """The hands and the head as a CSV of trackers; `hidden` rows of a hand are empty."""
    titles = ["time_s", *(f"head_{part}" for part in ("x", "y", "z", "qw", "qx", "qy", "qz"))]
    columns = [scene.times_s[:, None], scene.head]
    for side in SIDES:
        rows = scene.joints[side].reshape(len(scene.times_s), -1).copy()
        rows[(hidden or {}).get(side, slice(0, 0))] = np.nan
        titles += [f"{side}_{joint}_{axis}" for joint in HAND_JOINTS for axis in "xyz"]
        columns.append(rows)
    table = np.concatenate(columns, axis=1)
    lines = [",".join("" if np.isnan(v) else f"{v:.6f}" for v in row) for row in table]
    path.write_text("\n".join([",".join(titles), *lines]) + "\n")


def write_detections(
    scene: EgoScene, path: Path, *, noise_px: float = 2.0, late_s: float = 0.0
) -> None:
    """What a detector sees in the pictures, as MediaPipe writes it; the pictures may be late."""
    rng = np.random.default_rng(11)
    times = np.arange(int((scene.times_s[-1] - late_s) * PICTURES_HZ)) / PICTURES_HZ
    shown = scene.at(times + late_s)
    columns = columns_of(MEDIAPIPE_21)
    seen = {side: shown.pixels(side) for side in SIDES}
    frames: list[dict[str, Any]] = []
    for row, seconds in enumerate(times):
        hands = []
        for side in SIDES:
            pixels = seen[side][row, columns] + rng.normal(0, noise_px, (21, 2))
            shares = (pixels + 0.5) / [SIZE[1], SIZE[0]]
            hands.append([{"x": float(x), "y": float(y), "z": 0.0} for x, y in shares])
        names = [[{"categoryName": side.title(), "score": 0.9}] for side in SIDES]
        frames.append({"timestampMs": 1000 * float(seconds), "landmarks": hands,
                       "handedness": names})  # fmt: skip
    path.write_text("".join(json.dumps(frame) + "\n" for frame in frames))


def write_rig(scene: EgoScene, folder: Path, *, hidden: dict[str, slice] | None = None) -> Path:
    """Movie, hands, calibration and the rig document that records them as one episode."""
    folder.mkdir(parents=True, exist_ok=True)
    write_movie(scene, folder / "head_left.mp4")
    write_table(scene, folder / "hands.csv", hidden=hidden)
    write_detections(scene, folder / "detected.jsonl")
    (folder / "calibration.yaml").write_text(json.dumps(calibration(scene.lens)))
    rig = folder / "rig.yaml"
    rig.write_text(json.dumps({
        "document": "rig", "name": "ego", "version": "1.0.0",
        "sources": [
            {"name": CAMERA, "driver": "video_file", "clock": "headset",
             "options": {"path": "head_left.mp4", "name": CAMERA}},
            {"name": "hands", "driver": "hands", "options": {"path": "hands.csv"},
             "clock": "headset"},
            {"name": "detector", "driver": "hand_pixels", "clock": "headset",
             "options": {"path": "detected.jsonl", "camera": CAMERA, "width": SIZE[1],
                         "height": SIZE[0]}},
        ],
        "follows": {"calibration": "calibration.yaml"},
        "mode": "egocentric demonstration",
        "metadata": {"station": "s1", "environment": "lab"},
    }))  # fmt: skip
    return rig
