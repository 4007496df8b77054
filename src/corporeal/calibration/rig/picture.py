"""What a camera with a known lens sees of boards at known poses, pixel by pixel.

Every pixel is nine rays through the true lens; each meets the boards' planes where the drawing of
the board says black or white. So corners are where the lens puts them, to a hundredth of a pixel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from corporeal.calibration.board import Board, draw_board
from corporeal.calibration.lens import Lens, project, rays
from corporeal.calibration.opencv import import_opencv
from corporeal.geometry import Array

# Rays of a pixel along each side, and how finely a square is drawn.
_RAYS = 3
_TEXELS = 240
_WALL, _PAPER, _INK = 150.0, 225.0, 25.0


@dataclass(frozen=True)
class PlacedBoard:
    """A board and where it is in the camera (4, 4)."""

    board: Board
    pose: Array


@dataclass(frozen=True)
class SensorFlaws:
    """How a camera's picture is worse than its lens: blur in pixels, noise in shades of 255."""

    blur_px: float = 0.5
    noise: float = 2.0


def take_picture(
    lens: Lens,
    boards: Sequence[PlacedBoard],
    rng: np.random.Generator,
    sensor: SensorFlaws = SensorFlaws(),
) -> NDArray[np.uint8]:
    """A picture in grey (H, W); boards do not hide each other."""
    fine = np.full((lens.height * _RAYS, lens.width * _RAYS), _WALL, np.float32)
    for placed in boards:
        _draw(fine, lens, placed)
    cv = import_opencv()
    picture = cv.resize(fine, (lens.width, lens.height), interpolation=cv.INTER_AREA)
    if sensor.blur_px > 0:
        picture = cv.GaussianBlur(picture, (0, 0), sensor.blur_px)
    noisy = picture + rng.normal(0, max(sensor.noise, 1e-9), picture.shape)
    return np.asarray(np.clip(np.round(noisy), 0, 255), np.uint8)


def _draw(fine: Array | NDArray[np.float32], lens: Lens, placed: PlacedBoard) -> None:
    """Paint the part of a picture in which the board can be."""
    rows, columns = _window(lens, placed)
    if rows.stop <= rows.start or columns.stop <= columns.start:
        return
    directions = _directions(lens.model, lens.width, lens.height, tuple(lens.values.tolist()))
    towards = directions[rows, columns] @ placed.pose[:3, :3]
    eye = -placed.pose[:3, :3].T @ placed.pose[:3, 3]
    drawing, per_m = _drawing(placed.board.model_dump_json())
    away = -eye[2] / np.where(np.abs(towards[..., 2]) < 1e-9, np.nan, towards[..., 2])
    away = np.where(away > 0, away, np.nan)
    # Texel 0 reaches from 0 to 1, so its middle lies half a texel in.
    x = ((eye[0] + away * towards[..., 0]) * per_m - 0.5).astype(np.float32)
    y = ((eye[1] + away * towards[..., 1]) * per_m - 0.5).astype(np.float32)
    cv = import_opencv()
    seen = cv.remap(drawing, np.nan_to_num(x, nan=-9e3), np.nan_to_num(y, nan=-9e3),
                    cv.INTER_LINEAR, borderMode=cv.BORDER_CONSTANT, borderValue=-1.0)  # fmt: skip
    part = fine[rows, columns]
    part[seen >= 0] = seen[seen >= 0]


def _window(lens: Lens, placed: PlacedBoard) -> tuple[slice, slice]:
    """Rows and columns of rays that may meet the board; all where it reaches behind the camera."""
    width, height = placed.board.size_m
    x, y = np.meshgrid(np.linspace(0, width, 9), np.linspace(0, height, 9))
    flat = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1)
    spots = flat @ placed.pose[:3, :3].T + placed.pose[:3, 3]
    whole = slice(0, lens.height * _RAYS), slice(0, lens.width * _RAYS)
    if (spots[:, 2] <= 0.02).all():
        return slice(0, 0), slice(0, 0)
    if (spots[:, 2] <= 0.02).any():
        return whole
    pixels = project(lens, spots)
    # Where the whole grid is known to fold back, only the middle of the picture can be trusted.
    least = np.floor(pixels.min(axis=0) - 4) * _RAYS
    most = np.ceil(pixels.max(axis=0) + 4) * _RAYS
    size = np.array([lens.width, lens.height]) * _RAYS
    (left, top), (right, bottom) = (np.clip(each, 0, size).astype(int) for each in (least, most))
    return slice(top, bottom), slice(left, right)


@lru_cache(maxsize=8)
def _directions(model: str, width: int, height: int, values: tuple[float, ...]) -> Array:
    """Unit vectors (H * rays, W * rays, 3) that the rays of all pixels look along."""
    lens = Lens(model, width, height, np.array(values))  # type: ignore[arg-type]  # A model's name.
    middle = (_RAYS - 1) / 2
    x = (np.arange(width * _RAYS) - middle) / _RAYS
    y = (np.arange(height * _RAYS) - middle) / _RAYS
    columns, rows = np.meshgrid(x, y)
    pixels = np.stack([columns.ravel(), rows.ravel()], axis=1)
    return rays(lens, pixels).reshape(height * _RAYS, width * _RAYS, 3)


@lru_cache(maxsize=8)
def _drawing(board_json: str) -> tuple[NDArray[np.float32], float]:
    """The board in shades, and its texels per metre; a corner lies on the edge of a texel."""
    board = Board.model_validate_json(board_json)
    per_m = _TEXELS / board.square_m
    black = draw_board(board, per_m) < 128
    return np.where(black, np.float32(_INK), np.float32(_PAPER)), per_m
