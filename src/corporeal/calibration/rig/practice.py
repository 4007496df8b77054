"""Recordings of a simulated station as somebody would make them: to practise on, with the truth."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from PIL import Image

from corporeal.calibration.board import Board, open_board
from corporeal.calibration.force import StaticPoses
from corporeal.calibration.guidance import next_views
from corporeal.calibration.rig.picture import PlacedBoard, take_picture
from corporeal.calibration.rig.recordings import FILE
from corporeal.calibration.rig.simulated import SimulatedCamera, SimulatedRig
from corporeal.calibration.verification import middle_of
from corporeal.files import atomic_write
from corporeal.geometry import (
    Array,
    matrix_from_rpy,
    matrix_from_vector,
    quaternion_from_matrix,
    rpy_from_matrix,
)
from corporeal.protocol import Calibration
from corporeal.schema import Document, roles
from corporeal.simulation.rig import exact_calibration

BESIDE = {"head_right": "head_left"}
_WRENCH = ("fx", "fy", "fz", "tx", "ty", "tz")
_LOOK_PICTURES = 8


def write_recordings(
    rig: SimulatedRig, folder: Path, *, seed: int, views: int = 10, hands: int = 15
) -> Path:
    """Everything that `corporeal calibrate rig` takes, beside `truth.yaml`; the document's path.

    `robot.yaml` is the truth of another station: of the cameras of the simulated robot.
    """
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "board.yaml", rig.board)
    cameras = []
    for camera in rig.cameras:
        entry: dict[str, Any] = {"name": camera.name, "pictures": f"{camera.name}/lens"}
        _write_lens_views(rig, camera, folder / camera.name / "lens", rng, views)
        other = BESIDE.get(camera.name)
        if other is not None:
            entry["beside"] = {"camera": other, "pictures": f"{camera.name}/together",
                               "others": f"{other}/hand"}  # fmt: skip
        else:
            mount = "in-hand" if camera.mount == "eye_in_hand" else "to-hand"
            entry["hand"] = {"mount": mount, "pictures": f"{camera.name}/hand",
                             "poses": f"{camera.name}/hand.csv", "frame": camera.frame}  # fmt: skip
            _write_hand_views(rig, camera, folder, rng, hands)
        cameras.append(entry)
    _write_rests(folder / "rests.csv", rig.rests(rng))
    document = {"document": "recordings", "name": "practice", "version": "1.0.0",
                "board": "board.yaml", "cameras": cameras,
                "force_sensors": [
                    {"name": "tool_wrench", "rests": "rests.csv"}]}  # fmt: skip
    atomic_write(folder / FILE, yaml.safe_dump(document, sort_keys=False))
    _write(folder / "truth.yaml", true_calibration(rig))
    _write(folder / "robot.yaml", exact_calibration())
    return folder / FILE


def marker_boards() -> dict[str, Board]:
    """Two markers of a station: whatever moves, one of them can be compared with the other."""
    left = open_board("verification_a4").model_copy(update={"name": "marker_left"})
    right = left.model_copy(update={"name": "marker_right", "first_marker": 4})
    return {"marker_left": left, "marker_right": right}


def write_looks(rig: SimulatedRig, folder: Path, *, seed: int, name: str = "look") -> list[Path]:
    """Pictures of the station's markers by each camera that stands beside the robot."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for called, board in marker_boards().items():
        _write(folder / f"{called}.yaml", board)
    written = []
    for camera in rig.cameras:
        if camera.mount == "eye_in_hand":
            continue
        boards = [PlacedBoard(board, np.linalg.inv(camera.pose) @ place)
                  for board, place in _marker_places(rig, camera.name)]  # fmt: skip
        target = folder / name / camera.name
        target.mkdir(parents=True, exist_ok=True)
        for number in range(_LOOK_PICTURES):
            _save(target / f"{number + 1:02d}.png", take_picture(camera.lens, boards, rng))
        written.append(target)
    return written


def true_calibration(rig: SimulatedRig) -> Calibration:
    """The station as it truly is, as a calibration document."""
    cameras = []
    for camera in rig.cameras:
        values = camera.lens.values
        cameras.append({
            "name": camera.name, "width": camera.lens.width, "height": camera.lens.height,
            "focal_px": values[:2].tolist(), "centre_px": values[2:4].tolist(),
            "distortion": values[4:].tolist(), "lens": camera.lens.model, "frame": camera.frame,
            "xyz": camera.pose[:3, 3].tolist(),
            "rpy": rpy_from_matrix(camera.pose[:3, :3]).tolist(),
        })  # fmt: skip
    tool = rig.tool
    sensor = {"name": "tool_wrench", "mass_kg": tool.mass_kg,
              "centre_m": tool.centre_m.tolist(), "force_bias_n": tool.force_bias.tolist(),
              "torque_bias_nm": tool.torque_bias.tolist(), "sign": 1,
              "mounting_rpy": rpy_from_matrix(tool.mounting).tolist()}  # fmt: skip
    return Calibration.model_validate({
        "document": "calibration", "name": "truth", "version": "1.0.0", "measured": "2026-01-01",
        "cameras": cameras, "force_sensors": [sensor],
    })  # fmt: skip


def _marker_places(rig: SimulatedRig, name: str) -> Iterator[tuple[Board, Array]]:
    """Markers in the base, where the camera was when they were put up: they do not follow it."""
    camera = rig.home(name)
    for (_, board), across, turn in zip(
        marker_boards().items(), (-0.12, 0.12), (0.35, -0.3), strict=True
    ):
        place = np.eye(4)
        place[:3, :3] = matrix_from_rpy((0.35, turn, 0.05))
        place[:3, 3] = [across, 0.02, 0.55]
        place[:3, 3] -= place[:3, :3] @ middle_of(board)
        yield board, camera @ place


def _write_lens_views(
    rig: SimulatedRig, camera: SimulatedCamera, folder: Path, rng: np.random.Generator, count: int
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, asked in enumerate(next_views(None, rig.board, camera.lens, count=count), 1):
        flat = asked.pose * (1 + rng.normal(0, 0.03, 6))
        placed = np.eye(4)
        placed[:3, :3], placed[:3, 3] = matrix_from_vector(flat[None, :3])[0], flat[3:]
        picture = take_picture(camera.lens, [PlacedBoard(rig.board, placed)], rng)
        _save(folder / f"{number:02d}.png", picture)


def _write_hand_views(
    rig: SimulatedRig, camera: SimulatedCamera, folder: Path, rng: np.random.Generator, count: int
) -> None:
    """Pictures at rests of the hand, its reported poses, and what cameras beside it see then."""
    rows = []
    beside = [name for name, other in BESIDE.items() if other == camera.name]
    for number, hand in enumerate(rig.hands(camera.name, count, rng), 1):
        called = f"{number:02d}"
        for name in (camera.name, *beside):
            target = folder / name / ("hand" if name == camera.name else "together")
            target.mkdir(parents=True, exist_ok=True)
            placed = PlacedBoard(rig.board, rig.seen_board(name, hand))
            _save(target / f"{called}.png", take_picture(rig.camera(name).lens, [placed], rng))
        pose = rig.reported(hand, rng)
        quaternion = quaternion_from_matrix(pose[:3, :3])
        rows.append([called, *np.round(pose[:3, 3], 6), *np.round(quaternion, 8)])
    columns = ["name", *(f"effector_{part}" for part in roles.POSE)]
    atomic_write(folder / camera.name / "hand.csv", _table(columns, rows))


def _write_rests(path: Path, rests: StaticPoses) -> None:
    quaternions = quaternion_from_matrix(rests.rotations)
    rows = [[name, *np.round(turn, 8), *np.round(force, 5), *np.round(torque, 6)]
            for name, turn, force, torque in zip(rests.names, quaternions, rests.forces,
                                                 rests.torques, strict=True)]  # fmt: skip
    atomic_write(path, _table(["name", "qw", "qx", "qy", "qz", *_WRENCH], rows))


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def _write(path: Path, document: Document) -> None:
    values = document.model_dump(mode="json", exclude_none=True)
    atomic_write(path, yaml.safe_dump({"document": document.kind, **values}, sort_keys=False))


def _save(path: Path, picture: Any) -> None:
    Image.fromarray(picture).save(path, compress_level=1)
