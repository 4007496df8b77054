"""`python -m bench.calibration.verification`: shifts found and false alarms of the marker check.

Corners are made with a known lens and a fresh seed, with noise of their own in every picture; each
run takes a reference, and looks again with nothing moved, the camera moved, and a marker moved.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.calibration.board import Board, open_board
from corporeal.calibration.camera import transform
from corporeal.calibration.detection import BoardView
from corporeal.calibration.guidance import visible_corners
from corporeal.calibration.lens import Lens, project
from corporeal.calibration.verification import (
    CannotVerifyError,
    MarkerShift,
    compare,
    find_causes,
    make_reference,
    middle_of,
    see_marker,
)
from corporeal.geometry import Array, matrix_from_rpy, matrix_from_vector, rotation_vectors
from corporeal.protocol.calibration import CameraCalibration
from corporeal.protocol.verification import MarkerReference, VerificationPlan

LENS = Lens("pinhole", 640, 480, np.array([520, 523, 322, 238, -0.28, 0.1, 1e-3, -5e-4, 0.01]))
CAMERA = CameraCalibration(
    name="head", width=640, height=480, focal_px=(520, 523), centre_px=(322, 238),
    distortion=(-0.28, 0.1, 1e-3, -5e-4, 0.01), frame="world", xyz=(0.1, 0.0, 1.2),
    rpy=(-2.2, 0.0, -1.57),
)  # fmt: skip
FRAMES = 30
_ONE = open_board("verification_a4")
BOARDS = {"left": _ONE, "right": _ONE.model_copy(update={"name": "right", "first_marker": 4}),
          "small": _ONE.model_copy(update={"columns": 1, "rows": 1, "square_m": 0.06,
                                           "marker_m": 0.05, "name": "small"})}  # fmt: skip


def base_from_camera() -> Array:
    """Where the camera was calibrated to be."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = matrix_from_rpy(CAMERA.rpy or (0.0, 0.0, 0.0)), CAMERA.xyz
    return pose


def placed_marker(across: float, distance_m: float, rng: np.random.Generator) -> Array:
    """A marker in front of the camera, tilted by some 25 degrees: the pose of its middle."""
    tilt = matrix_from_rpy([rng.normal(0.35, 0.08), rng.normal(0.25, 0.08), rng.normal(0, 0.1)])
    pose = np.eye(4)
    pose[:3, :3] = tilt
    pose[:3, 3] = [across * distance_m, rng.normal(0, 0.03), distance_m]
    return pose


def pictures(board: Board, pose: Array, noise_px: float, rng: np.random.Generator,
             frames: int = FRAMES) -> list[BoardView]:  # fmt: skip
    """Views of a marker whose middle is at `pose` (4, 4) in the camera, another noise in each.

    Light moves every corner by 0.02 px for the whole look.
    """
    corner = pose[:3, 3] - pose[:3, :3] @ middle_of(board)
    flat = np.concatenate([rotation_vectors(pose[None, :3, :3])[0], corner])
    corners = visible_corners(LENS, board, flat)
    seen = project(LENS, transform(flat[None], board.points[corners])[0])
    seen = seen + rng.normal(0, 0.02, seen.shape)
    return [
        BoardView(str(number), corners, seen + rng.normal(0, noise_px, seen.shape))
        for number in range(frames)
    ]


def moved(distance_m: float, angle_rad: float, rng: np.random.Generator) -> Array:
    """A shift and a turn of these sizes in random directions, (4, 4)."""
    ways = rng.normal(size=(2, 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    pose = np.eye(4)
    pose[:3, :3] = matrix_from_vector((ways[0] * angle_rad)[None])[0]
    pose[:3, 3] = ways[1] * distance_m
    return pose


def look(
    references: dict[str, MarkerReference], poses: dict[str, Array], noise_px: float,
    rng: np.random.Generator, plan: VerificationPlan,
) -> tuple[MarkerShift, ...]:  # fmt: skip
    """One check of every marker."""
    shifts = []
    for name, reference in references.items():
        views = pictures(BOARDS[name], poses[name], noise_px, rng)
        sight = see_marker(views, LENS, BOARDS[name], near=poses[name])
        shifts.append(compare(reference, plan, CAMERA, sight))
    return find_causes(shifts)


def _run(
    references: dict[str, MarkerReference], poses: dict[str, Array], noise_px: float,
    rng: np.random.Generator, plan: VerificationPlan,
) -> Counter[str]:  # fmt: skip
    """Five checks: nothing moved, the camera by either limit, the left marker by either."""
    still = look(references, poses, noise_px, rng, plan)
    counts = Counter({"checks": 1, "false": int(any(shift.is_shifted for shift in still))})
    for kind, (shift_m, turn_rad) in {"3 mm": (0.003, 0.0),
                                      "1 degree": (0.0, np.radians(1.0))}.items():  # fmt: skip
        # The camera moves about itself: a turn carries far markers by more than their shift.
        step = moved(shift_m, turn_rad, rng)
        seen = {name: np.linalg.inv(step) @ pose for name, pose in poses.items()}
        shifts = look(references, seen, noise_px, rng, plan)
        counts[f"camera {kind}"] += any(shift.is_shifted for shift in shifts)
        counts[f"camera {kind} named"] += all(shift.cause == "camera" for shift in shifts)
        step = moved(shift_m, turn_rad, rng)
        knocked = poses["left"].copy()
        knocked[:3, :3] = step[:3, :3] @ knocked[:3, :3]
        knocked[:3, 3] += step[:3, 3]
        shifts = look(references, {**poses, "left": knocked}, noise_px, rng, plan)
        by_name = {shift.marker: shift.cause for shift in shifts}
        counts[f"marker {kind}"] += shifts[0].is_shifted
        counts[f"marker {kind} named"] += by_name == {"left": "marker", "right": "nothing"}
    return counts


def found_and_false(runs: int, noise_px: float, distance_m: float, seed: int) -> dict[str, Any]:
    """Shares of shifts found, of false alarms, and of causes named rightly, with two markers."""
    counts: Counter[str] = Counter()
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        poses = {"left": placed_marker(-0.15, distance_m, rng),
                 "right": placed_marker(0.2, distance_m, rng)}  # fmt: skip
        references = {
            name: make_reference(
                name, BOARDS[name], CAMERA,
                [see_marker(pictures(BOARDS[name], pose, noise_px, rng), LENS, BOARDS[name])],
            )
            for name, pose in poses.items()
        }  # fmt: skip
        plan = VerificationPlan(markers=tuple(references.values()))
        try:
            one = _run(references, poses, noise_px, rng, plan)
        except CannotVerifyError:
            counts["refused"] += 1
        else:
            counts.update(one)
    checks = max(counts.pop("checks", 0), 1)
    return {"noise_px": noise_px, "distance_m": distance_m, "checks": checks,
            "refused": counts.pop("refused", 0),
            **{name: counts[name] / checks for name in sorted(counts)}}  # fmt: skip


def main() -> None:
    """Print the figures; JSON with --out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, help="fresh by default")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else secrets.randbits(32)
    rows = [
        found_and_false(given.runs, noise, distance, seed)
        for noise, distance in ((0.1, 0.5), (0.1, 0.8), (0.2, 0.5), (0.2, 0.8), (0.3, 1.2))
    ]
    result = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "seed": seed, "rows": rows}
    for row in rows:
        sys.stdout.write("  ".join(
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in row.items()) + "\n")  # fmt: skip
    if given.out:
        given.out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
