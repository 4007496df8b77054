"""Mistakes that files show before anything is solved: degrees, an old layout, pictures resized."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from corporeal.calibration.board import draw_board, open_board
from corporeal.calibration.files import read_joint_pairs, read_pose_pairs
from corporeal.calibration.views import find_views
from corporeal.embodiment import open_robot
from corporeal.errors import CorporealError


def mistaken_files(runs: int, first: int) -> dict[str, float]:
    """The share of each mistake that is refused by its words."""
    named = dict.fromkeys(_MISTAKES, 0)
    for seed in range(first, first + runs):
        for name, (words, make) in _MISTAKES.items():
            with tempfile.TemporaryDirectory() as folder:
                try:
                    make(Path(folder), np.random.default_rng(seed))
                except CorporealError as error:
                    named[name] += words in str(error)
    return {name: count / runs for name, count in named.items()}


def _degrees(folder: Path, rng: np.random.Generator) -> None:
    pairs = [{"T_base_gripper": np.eye(4).tolist(), "O_T_EE": np.eye(4).tolist(),
              "T_cam_target_rvec": np.degrees(rng.normal(0, 1, 3)).tolist(),
              "T_cam_target_tvec": [0.0, 0.0, 0.5]} for _ in range(12)]  # fmt: skip
    path = folder / "pairs.json"
    path.write_text(json.dumps(pairs))
    read_pose_pairs(path)


def _joints_in_degrees(folder: Path, rng: np.random.Generator) -> None:
    robot = open_robot("g1")
    names = robot.joint_names[:6]
    board = [f"board_{part}" for part in ("x", "y", "z", "qw", "qx", "qy", "qz")]
    rows = [[*np.degrees(rng.normal(0, 0.5, 6)), 0, 0, 0.5, 1, 0, 0, 0] for _ in range(12)]
    path = folder / "joints.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in ([*names, *board], *rows)))
    read_joint_pairs(path, robot, robot.base)


def _legacy(folder: Path, rng: np.random.Generator) -> None:
    said = open_board("charuco_a4").model_copy(update={"rows": 6, "columns": 9})
    drawn = draw_board(said.model_copy(update={"legacy": True}), 3000)
    margin = int(rng.integers(20, 60))
    Image.fromarray(np.pad(drawn, margin, constant_values=255)).save(folder / "01.png")
    find_views(folder, said)


def _resized(folder: Path, rng: np.random.Generator) -> None:
    board = open_board("charuco_a4")
    picture = Image.fromarray(np.pad(draw_board(board, 2000), 30, constant_values=255))
    share = float(rng.uniform(0.4, 0.9))
    picture.save(folder / "01.png")
    picture.resize([int(share * size) for size in picture.size]).save(folder / "02.png")
    find_views(folder, board)


_MISTAKES: dict[str, tuple[str, Callable[[Path, np.random.Generator], None]]] = {
    "rotation vectors in degrees": ("degrees", _degrees),
    "joints in degrees": ("degrees", _joints_in_degrees),
    "board of the layout before OpenCV 4.6": ("legacy: true", _legacy),
    "pictures resized": ("not resized", _resized),
}
