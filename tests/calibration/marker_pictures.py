"""Pictures of markers at known poses, through a lens without distortion, with noise of a sensor."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from corporeal.calibration.board import Board, draw_board, open_board
from corporeal.calibration.verification import middle_of
from corporeal.geometry import Array, matrix_from_rpy
from corporeal.protocol import Calibration

FOCAL, WIDTH, HEIGHT = 600.0, 640, 480
LEFT = open_board("verification_a4")
RIGHT = LEFT.model_copy(update={"name": "right", "first_marker": 4})
_PER_M = 3000


def station(**more: object) -> Calibration:
    """A calibration with one camera that looks at the table from the front."""
    camera = {"name": "head_left", "width": WIDTH, "height": HEIGHT, "focal_px": [FOCAL, FOCAL],
              "centre_px": [WIDTH / 2, HEIGHT / 2], "frame": "world", "xyz": [0.0, 0.0, 1.0],
              "rpy": [-2.0, 0.0, -1.5]}  # fmt: skip
    values = {"document": "calibration", "name": "cell", "version": "1.0.0",
              "measured": "2026-11-19", "cameras": [camera], **more}  # fmt: skip
    return Calibration.model_validate(values)


def pose(x: float, y: float, z: float, rpy: tuple[float, float, float] = (0.4, 0.3, 0.1)) -> Array:
    """Where the middle of a marker is in the camera (4, 4)."""
    placed = np.eye(4)
    placed[:3, :3], placed[:3, 3] = matrix_from_rpy(rpy), (x, y, z)
    return placed


def draw(markers: list[tuple[Board, Array]], rng: np.random.Generator) -> NDArray[np.uint8]:
    """What the camera sees of some markers, blurred by half a pixel, with noise of 2 levels."""
    picture = np.full((2 * HEIGHT, 2 * WIDTH), 150, np.uint8)
    for board, placed in markers:
        drawn = draw_board(board, _PER_M)
        high, wide = drawn.shape
        edges = np.array([[0, 0], [wide, 0], [wide, high], [0, high]], np.float64)
        flat = np.column_stack([edges / _PER_M, np.zeros(4)]) - middle_of(board)
        seen = flat @ placed[:3, :3].T + placed[:3, 3]
        pixels = FOCAL * seen[:, :2] / seen[:, 2:] + (WIDTH / 2, HEIGHT / 2)
        # A pixel's middle is at a whole number; a drawing's edge lies half a pixel before it.
        map_ = cv2.getPerspectiveTransform(
            (edges - 0.5).astype(np.float32), (2 * pixels + 0.5).astype(np.float32)
        )
        size = (2 * WIDTH, 2 * HEIGHT)
        warped = cv2.warpPerspective(drawn, map_, size, flags=cv2.INTER_AREA)
        mask = cv2.warpPerspective(np.full_like(drawn, 255), map_, size, flags=cv2.INTER_NEAREST)
        picture = np.where(mask > 127, warped, picture)
    small = cv2.resize(cv2.GaussianBlur(picture, (0, 0), 1.0), (WIDTH, HEIGHT),
                       interpolation=cv2.INTER_AREA)  # fmt: skip
    noisy = small + rng.normal(0, 2.0, small.shape)
    grey = np.clip(noisy, 0, 255).astype(np.uint8)
    return np.repeat(grey[..., None], 3, axis=2)


def write_folder(
    folder: Path, markers: list[tuple[Board, Array]], *, seed: int, count: int = 6
) -> Path:
    """A folder of pictures of markers that keep still."""
    folder.mkdir()
    rng = np.random.default_rng(seed)
    for number in range(count):
        Image.fromarray(draw(markers, rng)).save(folder / f"{number}.png")
    return folder
