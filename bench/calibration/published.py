"""Cameras beside each other on a set of others, held against the solution they published."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path

import numpy as np

from corporeal.calibration.board import Board
from corporeal.calibration.detection import BoardView
from corporeal.calibration.lens import Lens
from corporeal.calibration.rig import KnownLens, solve_cameras
from corporeal.geometry import Array, rotation_vectors

SET = Path("../shared/data/calib/multicam_charuco")


def beside_published() -> dict[str, float]:
    """Poses of three webcams from corners and lenses of caliscope, beside its bundle adjustment.

    Differences are stated in our own sigmas; six numbers for each camera but the first. The webcams
    have no common trigger, and the lenses are taken as published: neither error is in the sigmas.
    """
    listed = tomllib.loads((SET / "camera_array.toml").read_text())["cameras"]
    board = Board(document="board", name="caliscope", version="1.0.0", pattern="charuco",
                  columns=4, rows=5, square_m=0.054, marker_m=0.0405,
                  dictionary="DICT_4X4_1000")  # fmt: skip
    views = _views()
    lenses, placed = {}, {}
    for name in views:
        camera = listed[name]
        matrix, bends = np.array(camera["matrix"]), camera["distortions"]
        values = np.array([matrix[0, 0], matrix[1, 1], matrix[0, 2], matrix[1, 2], *bends])
        width, height = camera["size"]
        lenses[name] = KnownLens(Lens("pinhole", width, height, values), 0.3)
        placed[name] = _from_world(camera)
    solved = solve_cameras(views, lenses, board)
    offsets, scaled = [], []
    for name, pose in solved.poses.items():
        if name == solved.first:
            continue
        theirs = placed[solved.first] @ np.linalg.inv(placed[name])
        off = np.asarray(np.linalg.inv(pose) @ theirs, np.float64)
        error = np.concatenate([rotation_vectors(off[None, :3, :3])[0], off[:3, 3]])
        offsets.append(error)
        scaled.append(error / np.sqrt(np.diag(solved.covariance[name])))
    turns, shifts = np.array(offsets)[:, :3], np.array(offsets)[:, 3:]
    return {
        "moments": len(solved.moments), "cameras": len(solved.poses),
        "rms_px": float(np.sqrt(np.mean(np.concatenate(list(solved.residual_px.values())) ** 2))),
        "differs_mm": float(1e3 * np.linalg.norm(shifts, axis=1).max()),
        "differs_degrees": float(np.degrees(np.linalg.norm(turns, axis=1).max())),
        "inside_two_sigma": float((np.abs(scaled) < 2).mean()),
        "rms_sigmas": float(np.sqrt(np.mean(np.square(scaled)))),
    }  # fmt: skip


def _views() -> dict[str, list[BoardView]]:
    corners: dict[tuple[str, int], list[tuple[int, float, float]]] = {}
    path = SET / "calibration" / "extrinsic" / "CHARUCO" / "xy_CHARUCO.csv"
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            moment = int(row["sync_index"])
            if row["cam_id"] != "3":
                corners.setdefault((row["cam_id"], moment), []).append(
                    (int(row["keypoint_id"]), float(row["img_loc_x"]), float(row["img_loc_y"]))
                )
    views: dict[str, list[BoardView]] = {}
    for (camera, moment), seen in sorted(corners.items()):
        if len(seen) >= 6:
            numbers = np.array([number for number, _, _ in seen])
            pixels = np.array([(x, y) for _, x, y in seen])
            views.setdefault(camera, []).append(BoardView(str(moment), numbers, pixels))
    return views


def _from_world(camera: dict[str, list[float]]) -> Array:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = np.array(camera["rotation"]), np.array(camera["translation"])
    return pose
