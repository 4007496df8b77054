"""Hand and eye: poses that were asked for, both mounts, planted mistakes, real sets of others."""

from __future__ import annotations

import json
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tests.calibration.test_hand_eye import BOARD, CAMERA, error_of, real_pairs
from typer.testing import CliRunner

from corporeal.calibration.board import open_board
from corporeal.calibration.detection import BoardView
from corporeal.calibration.files import keep_pose, read_joint_pairs, read_pose_track
from corporeal.calibration.guidance import visible_corners
from corporeal.calibration.hand_eye import (
    METHODS,
    Mount,
    PosePairs,
    find_mistakes,
    inverse,
    leave_out,
    next_hand_poses,
    pairs_of_tracks,
    pairs_of_views,
    pose_matrix,
    solve_hand_eye,
)
from corporeal.calibration.lens import Lens, project
from corporeal.cli.program import program
from corporeal.embodiment import open_robot
from corporeal.geometry import (
    matrix_from_quaternion,
    quaternion_from_matrix,
    rotation_vectors,
)

REAL = Path("../shared/data/calib")
LENS = Lens("pinhole", 640, 480, np.array([520, 523, 322, 238, -0.28, 0.1, 1e-3, -5e-4, 0.01]))
TARGET = open_board("charuco_a4")
HELD = pose_matrix([0.2, 0.1, 0.4], [0.02, -0.03, 0.12])
# A robot off by half a millimetre and a tenth of a degree in each direction, corners by 0.2 px.
ROBOT_M, ROBOT_RAD, NOISE_PX = 0.0005, np.radians(0.1), 0.2


def seen_pairs(rng: np.random.Generator, mount: Mount, count: int = 15) -> PosePairs:
    """Pairs from corners at the poses that the guide asks for."""
    board = BOARD if mount == "eye_in_hand" else HELD
    asked = next_hand_poses(CAMERA, board, LENS, TARGET, mount=mount, count=count)
    views, hands = [], {}
    for number, each in enumerate(asked):
        flat = np.concatenate([rotation_vectors(each.board[None, :3, :3])[0], each.board[:3, 3]])
        corners = visible_corners(LENS, TARGET, flat)
        spots = TARGET.points[corners] @ each.board[:3, :3].T + each.board[:3, 3]
        pixels = project(LENS, spots) + rng.normal(0, NOISE_PX, (len(corners), 2))
        views.append(BoardView(str(number), corners, pixels))
        error = pose_matrix(rng.normal(0, ROBOT_RAD, 3), rng.normal(0, ROBOT_M, 3))
        hands[str(number)] = each.effector @ error
    return pairs_of_views(views, hands, LENS, TARGET, NOISE_PX)


def asked_poses(runs: int, first: int) -> dict[str, Any]:
    """Errors and their own spread of fifteen poses that the guide asks for, both mounts."""
    figures: dict[str, Any] = {}
    mounts: tuple[Mount, ...] = ("eye_in_hand", "eye_to_hand")
    for mount in mounts:
        errors, scaled, changed = [], [], 0.0
        for seed in range(first, first + runs):
            rng = np.random.default_rng(seed)
            pairs = seen_pairs(rng, mount)
            solution = solve_hand_eye(pairs, mount)
            again = solve_hand_eye(pairs.part(rng.permutation(len(pairs))), mount)
            changed = max(changed, float(np.abs(again.camera - solution.camera).max()))
            errors.append(error_of(solution.camera))
            sigma = np.concatenate([solution.sigma_rad, solution.sigma_m])
            scaled.append(errors[-1] / sigma)
        turn, place = np.array(errors)[:, :3], np.array(errors)[:, 3:]
        figures[mount] = {
            "rms_mm": float(np.sqrt((place**2).sum(axis=1).mean()) * 1e3),
            "rms_degrees": float(np.degrees(np.sqrt((turn**2).sum(axis=1).mean()))),
            "error_over_sigma": float(np.sqrt(np.mean(np.square(scaled)))),
            "shuffle_changes": changed,
        }
    return figures


def planted_mistakes(runs: int, first: int) -> dict[str, Any]:
    """How many of each planted mistake are named by its words, and good pairs that are doubted."""
    named = dict.fromkeys(_MISTAKES, 0)
    doubted = 0
    for seed in range(first, first + runs):
        for number, (name, words) in enumerate(_MISTAKES.items()):
            rng = np.random.default_rng(1000 * seed + number)
            pairs = seen_pairs(rng, "eye_in_hand", 18)
            spoiled, mount = _spoil(name, pairs, rng)
            said = " ".join(find_mistakes(spoiled, solve_hand_eye(spoiled, mount)))
            named[name] += words in said
        good = seen_pairs(np.random.default_rng(seed), "eye_in_hand", 18)
        doubted += bool(find_mistakes(good, solve_hand_eye(good)))
    return {"named_share": {name: count / runs for name, count in named.items()},
            "good_doubted": doubted / runs}  # fmt: skip


def documents_changed(runs: int, first: int) -> float:
    """The share of planted mistakes after which `hand-eye -o` left another document than before."""
    changed = 0
    for seed in range(first, first + runs):
        for number, name in enumerate(_MISTAKES):
            rng = np.random.default_rng(1000 * seed + number)
            spoiled, mount = _spoil(name, seen_pairs(rng, "eye_in_hand", 18), rng)
            with tempfile.TemporaryDirectory() as folder:
                table, station = Path(folder, "pairs.json"), Path(folder, "cell.yaml")
                both = zip(spoiled.effectors.tolist(), spoiled.boards.tolist(), strict=True)
                table.write_text(json.dumps(list(both)))
                keep_pose(station, "wrist", "hand", CAMERA, np.full(6, 1e-3))
                before = station.read_bytes()
                where = "in-hand" if mount == "eye_in_hand" else "to-hand"
                words = ["calibrate", "hand-eye", table, "--mount", where, "--name", "wrist", "-o",
                         station]  # fmt: skip
                CliRunner().invoke(program(), [str(word) for word in words])
                changed += station.read_bytes() != before
    return changed / (runs * len(_MISTAKES))


_MISTAKES = {
    "a fifth of the pairs exchanged": "do not belong together",
    "board moved by 20 mm": "the board was moved before pair",
    "board 10 % smaller than said": "times as large as was said",
    "mount exchanged": "--mount",
    "mirrored": "mirrored",
    "millimetres": "millimetres",
    "quaternion order": "another order",
    "poses inverted": "--inverted",
}


def _spoil(name: str, pairs: PosePairs, rng: np.random.Generator) -> tuple[PosePairs, Mount]:
    plain = replace(pairs, others=None, board_covariance=None)
    boards = pairs.boards.copy()
    mount: Mount = "eye_in_hand"
    if name.startswith("a fifth"):
        wrong = rng.choice(len(pairs), max(len(pairs) // 5, 2), replace=False)
        boards[wrong] = boards[np.roll(wrong, 1)]
    elif name.startswith("board moved"):
        boards[9:] = boards[9:] @ pose_matrix([0, 0, 0], [0.02, 0, 0])
    elif name.startswith("board 10 %"):
        boards[:, :3, 3] *= 1.1
    elif name == "mount exchanged":
        mount = "eye_to_hand"
    elif name == "mirrored":
        boards[:, :3, 3] *= -1
    elif name == "millimetres":
        boards[:, :3, 3] *= 1000
    elif name == "quaternion order":
        quaternions = quaternion_from_matrix(boards[:, :3, :3])
        boards[:, :3, :3] = matrix_from_quaternion(np.roll(quaternions, -1, axis=1))
    else:
        boards = inverse(boards)
    return replace(plain, boards=boards), mount


def real_sets() -> dict[str, dict[str, float]]:
    """The error of a left out pair in mm on sets nobody here made, ours and each of OpenCV's."""
    sets = dict(real_pairs())
    with tempfile.TemporaryDirectory() as folder:
        sets |= {"ur3": (_ur3(Path(folder)), "eye_to_hand"), **_tracks(Path(folder))}
    figures = {}
    for name, (pairs, mount) in sets.items():
        figures[name] = {method: leave_out(pairs, mount, method).rms_m * 1e3
                         for method in ("joint", *METHODS)}  # fmt: skip
        figures[name]["pairs"] = len(pairs)
    return figures


def real_halves(splits: int, first: int) -> dict[str, float]:
    """How far halves of real pairs differ, over what both claim: 1 where that is right."""
    figures = {}
    for name, (pairs, mount) in real_pairs().items():
        scaled = []
        for seed in range(first, first + splits):
            order = np.random.default_rng(seed).permutation(len(pairs))
            parts = np.array_split(order, 2)
            one, other = (solve_hand_eye(pairs.part(np.sort(part)), mount) for part in parts)
            between = np.linalg.inv(one.camera) @ other.camera
            apart = np.concatenate([rotation_vectors(between[None, :3, :3])[0], between[:3, 3]])
            sigmas = [np.sqrt(np.diag(each.covariance)[:6]) for each in (one, other)]
            scaled.append(apart / np.hypot(*sigmas))
        figures[name] = float(np.sqrt(np.mean(np.square(scaled))))
    return figures


def _tracks(folder: Path) -> dict[str, tuple[PosePairs, Mount]]:
    found: dict[str, tuple[PosePairs, Mount]] = {}
    for archive in ("robot_arm_w_color_camera_real", "prime_sense_color_w_vicon_2"):
        with zipfile.ZipFile(REAL / "handeye_poses_ethz" / f"{archive}.zip") as zipped:
            zipped.extractall(folder / archive)
        files = sorted((folder / archive).rglob("*.csv"))
        board = next(path for path in files if "target" in path.name or "_W_" in path.name)
        hand = next(path for path in files if path != board)
        pairs = pairs_of_tracks(read_pose_track(hand), read_pose_track(board), most=40)
        found[archive] = replace(pairs, boards=inverse(pairs.boards)), "eye_in_hand"
    with zipfile.ZipFile(REAL / "handeye_poses_ethz" / "tango_triplet_easy.zip") as zipped:
        zipped.extractall(folder / "tango")
    devices = {path.name.partition("_")[0]: path for path in (folder / "tango").rglob("*.csv")}
    for other in ("NERO", "MARS"):
        # Two devices that were carried together, each with a track of its own.
        tracks = (read_pose_track(devices[name]) for name in ("CALIGULA", other))
        pairs = pairs_of_tracks(*tracks, most=40)
        found[f"tango_caligula_{other.lower()}"] = (
            replace(pairs, boards=inverse(pairs.boards)), "eye_in_hand"
        )  # fmt: skip
    return found


def _ur3(folder: Path) -> PosePairs:
    """Forty postures of an arm with its nominal geometry, boards by a camera beside it."""
    root = REAL / "ur3_kinematic" / "03_extrinsic_calibration"
    arm = json.loads((root / "shared_inputs" / "robot_model_dh_nominal_ur3a.json").read_text())
    results = root / "1cam_experiment" / "results" / "01_pnp_cam1"
    said = json.loads((results / "ur3a_joints_data_cam1.json").read_text())["poses"]
    seen = json.loads((results / "pnp_cam1_poses_corrected.json").read_text())["poses"]
    poses = {each["pose_id"]: np.array(each["T_board_to_cam_4x4"]) for each in seen
             if each["success"]}  # fmt: skip
    names = [f"joint_{number}" for number in range(1, 7)]
    lines = [",".join(["name", *names, *(f"board_{part}" for part in
                                         ("x", "y", "z", "qw", "qx", "qy", "qz"))])]  # fmt: skip
    for each in said:
        pose = poses.get(each["pose_id"])
        if pose is not None:
            values = [*each["joints_rad"], *pose[:3, 3], *quaternion_from_matrix(pose[:3, :3])]
            lines.append(",".join([str(each["pose_id"]), *(f"{value:.9f}" for value in values)]))
    table, robot = folder / "joints.csv", folder / "ur3.urdf"
    table.write_text("\n".join(lines))
    robot.write_text(_urdf(arm["joints"]))
    return read_joint_pairs(table, open_robot(str(robot)), "link_6")


def _urdf(joints: list[dict[str, float]]) -> str:
    """The arm as URDF: each joint turns about z, then its fixed part of the table follows."""
    parts = ['<robot name="ur3"><link name="base"/>']
    for number, each in enumerate(joints, 1):
        fixed, turned = f"link_{number}", f"turned_{number}"
        parent = "base" if number == 1 else f"link_{number - 1}"
        parts.append(
            f'<link name="{turned}"/><link name="{fixed}"/>'
            f'<joint name="joint_{number}" type="revolute"><parent link="{parent}"/>'
            f'<child link="{turned}"/><origin xyz="0 0 0" rpy="0 0 {each["theta_offset"]}"/>'
            '<axis xyz="0 0 1"/><limit lower="-7" upper="7" velocity="3" effort="100"/></joint>'
            f'<joint name="fixed_{number}" type="fixed"><parent link="{turned}"/>'
            f'<child link="{fixed}"/><origin xyz="{each["a"]} 0 {each["d"]}" '
            f'rpy="{each["alpha"]} 0 0"/></joint>'
        )
    return "".join(parts) + "</robot>"
