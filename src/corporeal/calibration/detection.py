"""Corners of a board in a picture, to a fraction of a pixel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.calibration.board import Board
from corporeal.calibration.opencv import import_opencv
from corporeal.geometry import Array

# Fewer corners than this say nothing of six numbers of a pose and a lens.
FEWEST_CORNERS = 6
# Half the window of the sub-pixel search reaches over this share of what is plain about a corner:
# beyond it lie other edges, those of a marker or of the next square, and they pull.
_WINDOW_SHARE = 0.9
_SQUARE_SHARE = 0.35
_LARGEST_WINDOW = 9
_SMALLEST_WINDOW = 2
_ENLARGED_BELOW = 5.0


@dataclass(frozen=True)
class BoardView:
    """A board as one picture shows it: numbers of corners (N,) and where they are (N, 2)."""

    name: str
    corners: NDArray[np.int64]
    pixels: Array

    def __len__(self) -> int:
        return len(self.corners)


def detect(picture: NDArray[np.uint8], board: Board, *, name: str = "") -> BoardView | None:
    """The corners of `board` in a picture (H, W) or (H, W, 3); None where too few are seen."""
    grey = grey_of(picture)
    if board.inverted:
        grey = np.subtract(255, grey, dtype=np.uint8)
    if board.pattern == "chessboard":
        found = _chessboard(grey, board)
    elif board.pattern == "charuco":
        found = _charuco(grey, board)
    else:
        found = _markers(grey, board)
    if found is None or len(found[0]) < min(FEWEST_CORNERS, board.corner_count):
        return None
    corners, pixels = found
    pixels = _refined(grey, pixels, _clear_px(board, corners, pixels))
    return BoardView(name, corners, pixels)


def grey_of(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The picture in shades of grey; colours are taken as RGB."""
    if picture.ndim == 2:
        return np.ascontiguousarray(picture)
    grey: NDArray[np.uint8] = import_opencv().cvtColor(
        np.ascontiguousarray(picture[..., :3]), import_opencv().COLOR_RGB2GRAY
    )
    return grey


def is_legacy(picture: NDArray[np.uint8], board: Board) -> bool | None:
    """Whether a ChArUco board has the layout of OpenCV before 4.6; None where none is seen."""
    if board.pattern != "charuco":
        return None
    counts = {}
    for legacy in (False, True):
        found = _charuco(grey_of(picture), board, legacy=legacy)
        counts[legacy] = 0 if found is None else len(found[0])
    return None if counts[False] == counts[True] else counts[True] > counts[False]


def _chessboard(grey: NDArray[np.uint8], board: Board) -> tuple[NDArray[np.int64], Array] | None:
    cv = import_opencv()
    size = (board.columns - 1, board.rows - 1)
    seen, pixels = cv.findChessboardCorners(
        grey, size, flags=cv.CALIB_CB_ADAPTIVE_THRESH + cv.CALIB_CB_NORMALIZE_IMAGE
    )
    if not seen:
        return None
    pixels = pixels.reshape(-1, 2).astype(np.float64)
    # A board without marks looks the same turned by half: the first corner is the one farther
    # up the picture, so that pictures from one side agree.
    if pixels[-1] @ (1e-3, 1.0) < pixels[0] @ (1e-3, 1.0):
        pixels = pixels[::-1]
    return np.arange(len(pixels)), pixels


def _charuco(
    grey: NDArray[np.uint8], board: Board, *, legacy: bool | None = None
) -> tuple[NDArray[np.int64], Array] | None:
    detector = import_opencv().aruco.CharucoDetector(board.opencv(legacy=legacy))
    pixels, corners, _, _ = detector.detectBoard(grey)
    if corners is None:
        return None
    return corners.ravel().astype(np.int64), pixels.reshape(-1, 2).astype(np.float64)


def _markers(grey: NDArray[np.uint8], board: Board) -> tuple[NDArray[np.int64], Array] | None:
    cv = import_opencv()
    made = board.opencv()
    parameters = cv.aruco.DetectorParameters()
    parameters.cornerRefinementMethod = cv.aruco.CORNER_REFINE_SUBPIX
    pixels, ids, _ = cv.aruco.ArucoDetector(made.getDictionary(), parameters).detectMarkers(grey)
    if ids is None:
        return None
    first = board.first_marker or 0
    kept = [(int(number) - first, quad) for number, quad in zip(ids.ravel(), pixels, strict=True)]
    kept = [(number, quad) for number, quad in kept if 0 <= number < board.marker_count]
    if not kept or len({number for number, _ in kept}) < len(kept):
        return None
    corners = np.concatenate([4 * number + np.arange(4) for number, _ in kept])
    return corners, np.concatenate([quad.reshape(4, 2) for _, quad in kept]).astype(np.float64)


def _clear_m(board: Board) -> float:
    """How far in metres there is nothing about a corner but its own edges."""
    square, marker = board.square_m, board.marker_m or 0.0
    if board.pattern == "chessboard":
        return _SQUARE_SHARE * square
    if board.pattern == "charuco":
        return min((square - marker) / 2, _SQUARE_SHARE * square)
    cells = board.opencv().getDictionary().markerSize + 2
    return float(min(marker / cells, square - marker))


def _clear_px(board: Board, corners: NDArray[np.int64], pixels: Array) -> float:
    """The same in pixels, where the picture shows the board smallest."""
    points = board.points[corners][:, :2]
    metres = np.linalg.norm(points[:, None] - points, axis=2)
    metres[metres == 0] = np.inf
    nearest = metres.argmin(axis=1)
    away = metres[np.arange(len(nearest)), nearest]
    scale = np.linalg.norm(pixels - pixels[nearest], axis=1) / away
    return float(np.quantile(scale, 0.1)) * _clear_m(board)


def _refined(grey: NDArray[np.uint8], pixels: Array, clear_px: float) -> Array:
    """Corners by a search in windows that hold nothing else.

    Where those are smaller than the search can be, it looks at a picture twice as large.
    """
    cv = import_opencv()
    times = 1 if _WINDOW_SHARE * clear_px >= _ENLARGED_BELOW else 2
    if times > 1:
        size = (times * grey.shape[1], times * grey.shape[0])
        grey = cv.resize(grey, size, interpolation=cv.INTER_CUBIC)
    # A pixel's middle is at a whole number, and so is that of each of its parts' corners.
    shift = (times - 1) / 2
    half = int(np.clip(np.floor(times * _WINDOW_SHARE * clear_px), _SMALLEST_WINDOW,
                       _LARGEST_WINDOW))  # fmt: skip
    stop = (cv.TERM_CRITERIA_MAX_ITER + cv.TERM_CRITERIA_EPS, 60, 1e-4)
    start = (times * pixels + shift).astype(np.float32).reshape(-1, 1, 2)
    found = cv.cornerSubPix(grey, start.copy(), (half, half), (-1, -1), stop).reshape(-1, 2)
    refined = (found.astype(np.float64) - shift) / times
    # What leaves its window went to another corner: the first estimate is the better one.
    strayed = np.linalg.norm(refined - pixels, axis=1) > max(half / times, 1.0)
    return np.where(strayed[:, None], pixels, refined)
