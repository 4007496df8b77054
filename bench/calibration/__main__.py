"""`python -m bench.calibration`: one table of figures, and JSON with --out.

mrcal is Debian's python3-mrcal, run by the system's Python; where it is absent that row says so.
Truth is made with a known lens, hand and tool; the real sets are those of ../shared/data/calib.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from tests.calibration.test_camera import TRUE, seen
from tests.calibration.test_force import CENTRE, FORCE_BIAS, MASS, rests

from bench.calibration.halves import halves
from bench.calibration.hands import (
    asked_poses,
    documents_changed,
    planted_mistakes,
    real_halves,
    real_sets,
)
from bench.calibration.mistaken_files import mistaken_files
from bench.calibration.published import beside_published
from bench.calibration.quarantine import quarantine
from bench.calibration.rig import stations
from corporeal.calibration.board import Board, open_board
from corporeal.calibration.camera import CameraSettings, calibrate_camera
from corporeal.calibration.certainty import projection_covariance, uncertainty_map
from corporeal.calibration.detection import BoardView, detect
from corporeal.calibration.force import (
    USUAL_RESTS,
    find_wrong_rests,
    next_rests,
    solve_force,
    standing_drift,
)
from corporeal.calibration.guidance import guessed_lens, next_views
from corporeal.calibration.lens import pixel_grid, project, rays
from corporeal.geometry import Array, matrix_from_quaternion, matrix_from_vector, rotation_angle

REAL = Path("../shared/data/calib")
ORACLE = Path(__file__).with_name("mrcal_oracle.py")
SYSTEM_PYTHON = Path("/usr/bin/python3")


def photographed(side: str) -> tuple[list[BoardView], Board]:
    """OpenCV's photographs of a chessboard."""
    board = Board(document="board", name="photographed", version="1.0.0", pattern="chessboard",
                  columns=10, rows=7, square_m=0.025)  # fmt: skip
    views = []
    for path in sorted((REAL / "opencv_chessboard_stereo").glob(f"{side}[01]*.jpg")):
        view = detect(np.asarray(Image.open(path).convert("RGB")), board, name=path.stem)
        if view is not None:
            views.append(view)
    return views, board


def beside_mrcal(side: str) -> dict[str, Any]:
    """Our uncertainty over mrcal's, on the same corners and the same model."""
    views, board = photographed(side)
    solution = calibrate_camera(views, board, 640, 480, CameraSettings(drop_outliers=False))
    ours = uncertainty_map(solution)
    rows, columns = board.rows - 1, board.columns - 1
    corners = np.full((len(views), rows, columns, 3), -1.0)
    for number, view in enumerate(views):
        flat = np.column_stack([view.pixels, np.ones(len(view))])
        corners[number].reshape(-1, 3)[view.corners] = flat
    poses = solution.poses.copy()
    poses[:, 3:] += matrix_from_vector(poses[:, :3]) @ board.points[0]
    with tempfile.TemporaryDirectory() as folder:
        given, told = Path(folder, "in.npz"), Path(folder, "out.npz")
        np.savez(given, observations=corners, intrinsics=solution.lens.values, poses=poses,
                 lensmodel="LENSMODEL_OPENCV5", size=[640, 480], warp=True,
                 spacing=board.square_m,
                 points=rays(solution.lens, ours.pixels) * ours.distance_m)  # fmt: skip
        done = subprocess.run([SYSTEM_PYTHON, ORACLE, given, told], env={"PATH": "/usr/bin"},
                              capture_output=True, text=True, check=False)  # fmt: skip
        if done.returncode:
            return {"left_out": "python3-mrcal is not installed"}
        spread = np.sqrt(np.einsum("nii->n", np.load(told)["covariance"]) / 2)
    ratio = ours.spread_px / spread
    return {"ours_px": ours.mean_px, "mrcal_px": float(spread.mean()),
            "ratio_least": float(ratio.min()), "ratio_most": float(ratio.max())}  # fmt: skip


def truth_inside(runs: int, first: int) -> dict[str, float]:
    """How often the true pixel lies inside two sigma, over the picture and all runs."""
    board = open_board("charuco_a4")
    asked = next_views(None, board, guessed_lens("pinhole", 640, 480), count=6)
    inside, squares = [], []
    pixels = pixel_grid(TRUE, 5, 4)
    for seed in range(first, first + runs):
        rng = np.random.default_rng(seed)
        poses = [view.pose * (1 + rng.normal(0, 0.03, 6)) for view in asked]
        views = [seen(TRUE, pose, rng) for pose in poses]
        solution = calibrate_camera(views, board, 640, 480, CameraSettings(drop_outliers=False))
        points = rays(solution.lens, pixels) * float(np.median(solution.distances_m()))
        error = project(TRUE, _carried(points, solution.poses, np.array(poses))) - pixels
        spread = np.sqrt(np.einsum("nii->ni", projection_covariance(solution, points)))
        inside.append((np.abs(error) < 2 * spread).mean())
        squares.append((error**2).mean())
    return {"inside_two_sigma": float(np.mean(inside)), "rms_px": float(np.sqrt(np.mean(squares)))}


def _carried(points: Array, solved: Array, true: Array) -> Array:
    """Points of the solved camera as the boards carry them into the true one."""
    total = np.zeros_like(points)
    for pose, other in zip(solved, true, strict=True):
        held = (points - pose[3:]) @ matrix_from_vector(pose[None, :3])[0]
        total += held @ matrix_from_vector(other[None, :3])[0].T + other[3:]
    return np.asarray(total / len(true))


def guided_against_random(goal_px: float, first: int, runs: int) -> dict[str, Any]:
    """Views until the mean uncertainty is below the goal: asked for one by one, or at random."""
    board, asked_counts, random_counts = open_board("charuco_a4"), [], []
    for seed in range(first, first + runs):
        rng = np.random.default_rng(seed)
        views: list[BoardView] = []
        solution = None
        for _ in range(20):
            lens = guessed_lens("pinhole", 640, 480) if solution is None else solution.lens
            (asked,) = next_views(solution, board, lens, views=views)
            views.append(seen(TRUE, asked.pose * (1 + rng.normal(0, 0.03, 6)), rng))
            if len(views) < 4:
                continue
            solution = calibrate_camera(views, board, 640, 480)
            if uncertainty_map(solution).mean_px <= goal_px:
                break
        asked_counts.append(len(views))
        random: list[BoardView] = []
        while len(random) < 100:
            turn, place = rng.normal(0, 0.3, 3), rng.normal([-0.1, -0.07, 0.55], 0.08)
            view = seen(TRUE, np.concatenate([turn, place]), rng)
            if len(view) < 12:
                continue
            random.append(view)
            if len(random) >= 4 and len(random) % 4 == 0:
                solved = calibrate_camera(random, board, 640, 480)
                if uncertainty_map(solved).mean_px <= goal_px:
                    break
        random_counts.append(len(random))
    return {"goal_px": goal_px, "guided": float(np.median(asked_counts)),
            "random": float(np.median(random_counts))}  # fmt: skip


def sensors(runs: int, first: int, rotations: Array | None = None) -> dict[str, float]:
    """Errors of a tool of 0.8 kg with 0.05 N of noise, from nine rests or those of `rotations`."""
    mass, centre, bias, turns = [], [], [], []
    for seed in range(first, first + runs):
        rng = np.random.default_rng(seed)
        mounting = matrix_from_vector(rng.normal(0, 1, (1, 3)))[0]
        solution = solve_force(rests(rng, mounting=mounting, rotations=rotations))
        turns.append(float(rotation_angle(solution.mounting, mounting)))
        mass.append(solution.mass_kg / MASS - 1)
        centre.append(solution.centre_m - CENTRE)
        bias.append(solution.force_bias - FORCE_BIAS)
    return {"mass_percent": float(100 * np.sqrt(np.mean(np.square(mass)))),
            "centre_mm": float(1e3 * np.sqrt(np.mean(np.square(centre)) * 3)),
            "bias_n": float(np.sqrt(np.mean(np.square(bias)) * 3)),
            "rotation_degrees": float(np.degrees(np.sqrt(np.mean(np.square(turns)))))}  # fmt: skip


def wrong_rests(runs: int, first: int) -> dict[str, float]:
    """Rests of which one or two are wrong by 3 N: exactly those named; good ones that are."""
    shares: dict[str, float] = {"good_named": 0.0}
    for name, rotations in (("nine", None), ("twelve", asked_rests(USUAL_RESTS))):
        for count in (0, 1, 2):
            right = 0
            for seed in range(first, first + runs):
                rng = np.random.default_rng(seed)
                poses = rests(rng, rotations=rotations)
                wrong = rng.choice(len(poses), count, replace=False)
                turns = rng.normal(0, 1, (count, 3))
                poses.forces[wrong] += 3 * turns / np.linalg.norm(turns, axis=1, keepdims=True)
                named = {rest.name for rest in find_wrong_rests(poses)}
                right += named == {poses.names[number] for number in wrong}
            if count:
                shares[f"{name}_{count}_wrong_named"] = right / runs
            else:
                shares["good_named"] = max(shares["good_named"], 1 - right / runs)
    return shares


def asked_rests(count: int) -> Array:
    """The rests that the guide asks for, the first one again at the end: rotations (N, 3, 3)."""
    asked = next_rests(np.zeros((0, 3, 3)), count)
    return matrix_from_quaternion(np.array([each.quaternion for each in (*asked, asked[0])]))


def standing(runs: int, first: int) -> dict[str, float]:
    """A creep of 1.2 N in 175 s of standing: when it is told, and alarms where nothing creeps."""
    time_s, alarms, false = np.arange(0, 175, 0.01), [], 0
    for seed in range(first, first + runs):
        noise = np.random.default_rng(seed).normal(0, 0.2, (2, len(time_s), 3))
        creep = np.outer(time_s / 175, [0.8, -0.2, -1.2])
        told = standing_drift(time_s, noise[0] + creep, max_drift_n=0.5).alarm_s
        alarms.append(np.inf if told is None else told)
        false += standing_drift(time_s, noise[1], max_drift_n=0.05).alarm_s is not None
    return {"alarm_s_median": float(np.median(alarms)), "alarm_s_latest": float(max(alarms)),
            "false_alarms": false / runs}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first", type=int, default=5000, help="the first seed")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    begin = time.process_time()
    figures: dict[str, Any] = {"date": datetime.now(UTC).date().isoformat()}
    if REAL.is_dir():
        figures["mrcal"] = {side: beside_mrcal(side) for side in ("left", "right")}
        figures["left_out_mm"] = real_sets()
        figures["real_halves_over_sigma"] = real_halves(10, options.first)
        figures["published"] = beside_published()
    figures["camera"] = truth_inside(options.runs, options.first)
    figures["guided"] = guided_against_random(0.25, options.first, max(options.runs // 50, 2))
    figures["halves_apart"] = halves(max(options.runs // 10, 2), options.first)
    figures["hand_eye"] = asked_poses(max(options.runs // 4, 2), options.first)
    figures["mistakes"] = planted_mistakes(max(options.runs // 25, 2), options.first)
    figures["documents_changed_by_mistakes"] = documents_changed(1, options.first)
    figures["mistaken_files"] = mistaken_files(max(options.runs // 25, 2), options.first)
    figures["quarantine"] = quarantine(10_000)
    figures["force"] = sensors(options.runs, options.first)
    for count in (8, USUAL_RESTS):
        figures[f"force_asked_{count}"] = sensors(options.runs, options.first, asked_rests(count))
    figures["wrong_rests"] = wrong_rests(options.runs, options.first)
    figures["standing"] = standing(max(options.runs // 5, 5), options.first)
    figures["rig"] = stations(max(options.runs // 125, 1), options.first)
    figures["cpu_s"] = time.process_time() - begin
    sys.stdout.write(json.dumps(figures, indent=2) + "\n")
    if options.out is not None:
        options.out.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
