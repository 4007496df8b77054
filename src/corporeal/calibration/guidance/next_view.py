"""Which view of the board to take next: the one that makes the camera surest where it is used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from corporeal.calibration.board import Board
from corporeal.calibration.camera import (
    WARP,
    CameraSolution,
    bend_shape,
    board_pose,
    cross_matrices,
    transform,
)
from corporeal.calibration.detection import BoardView
from corporeal.calibration.lens import (
    Lens,
    LensModel,
    parameter_count,
    pixel_grid,
    project_with_slopes,
    rays,
)
from corporeal.geometry import Array, matrix_from_rpy, matrix_from_vector, rotation_vectors

# Before anything was seen: focal lengths and centre known to a tenth of the width, a bend of 3 mm.
_GUESS_SIGMA_PX = 0.3
_PRIOR_SHARE, _PRIOR_DISTORTION, _PRIOR_WARP_M = 0.1, 0.3, 0.003
_GUESS_FOCAL = {"pinhole": 0.9, "rational": 0.7, "fisheye": 0.4}
# Where boards are tried: middle in shares of the picture, size in shares of it, tilts in radians.
_PLACES = (0.15, 0.33, 0.5, 0.67, 0.85)
_FILLED = (0.45, 0.7, 1.0)
_TILT = 0.7
_MARGIN_PX = 4.0
_ROLL_SAID_DEG = 15.0
_LEAST_SHOWN = 0.5


@dataclass(frozen=True)
class NextView:
    """A board pose (6,) to take a picture of, and the mean spread that it would leave."""

    pose: Array
    mean_px: float
    outline: Array
    words: str


def guessed_lens(model: LensModel, width: int, height: int) -> Lens:
    """A lens nobody has measured: to draw where the board should be for the first pictures."""
    values = np.zeros(parameter_count(model))
    focal = _GUESS_FOCAL[model] * width
    values[:4] = focal, focal, width / 2, height / 2
    return Lens(model, width, height, values)


def information_before(lens: Lens, board: Board, views: Sequence[BoardView]) -> Array:
    """What is known of the lens and the warp, as a matrix, from too few views for a solve."""
    scale = np.full(len(lens.values) + WARP, _PRIOR_DISTORTION)
    scale[:4] = _PRIOR_SHARE * lens.width
    scale[-WARP:] = _PRIOR_WARP_M
    known: Array = np.diag(1 / scale**2)
    for view in views:
        pose = board_pose(lens, view, board)
        if pose is not None:
            known = known + _information(lens, board, pose, view.corners) / _GUESS_SIGMA_PX**2
    return known


@dataclass(frozen=True)
class ViewPlan:
    """What is known of a camera as a matrix (K, K), and what views of a board would add to it.

    `reach` are the slopes (2N, K) of the picture by what is known, at the distance of use.
    """

    lens: Lens
    board: Board
    known: Array
    sigma_px: float
    reach: Array

    @property
    def now_px(self) -> float:
        """The mean spread as it is."""
        return _spread(self.reach, self.known)

    def left_px(self, pose: Array, corners: NDArray[np.int64]) -> float:
        """The mean spread once these corners were seen of a board at `pose` (6,)."""
        return _spread(self.reach, self.known + self._gain(pose, corners))

    def best(self, count: int = 1, *, without: Sequence[Array] = ()) -> list[NextView]:
        """The views that together make the mean spread smallest; each counts as taken.

        Places `without` are left out: poses that cannot be held there.
        """
        candidates = []
        for pose in _poses(self.lens, self.board):
            shown = visible_corners(self.lens, self.board, pose)
            is_wanted = not any(np.allclose(pose, other, atol=1e-6) for other in without)
            if is_wanted and len(shown) >= max(6, _LEAST_SHOWN * self.board.corner_count):
                candidates.append((pose, self._gain(pose, shown)))
        known, chosen = self.known, list[NextView]()
        for _ in range(count):
            spreads = [_spread(self.reach, known + gain) for _, gain in candidates]
            if not spreads:
                break
            first = int(np.argmin(spreads))
            pose, gain = candidates.pop(first)
            known = known + gain
            chosen.append(NextView(pose, spreads[first], board_outline(self.lens, self.board, pose),
                                   _in_words(self.lens, self.board, pose)))  # fmt: skip
        return chosen

    def _gain(self, pose: Array, corners: NDArray[np.int64]) -> Array:
        return _information(self.lens, self.board, pose, corners) / self.sigma_px**2


def plan_views(
    solution: CameraSolution | None, board: Board, lens: Lens, *,
    views: Sequence[BoardView] = (), distance_m: float | None = None,
) -> ViewPlan:  # fmt: skip
    """What the views so far tell: those of the solution, or `views` where there are too few."""
    if solution is None:
        known = information_before(lens, board, views)
        away = distance_m or _distance(lens, board, 0.7)
        return ViewPlan(lens, board, known, _GUESS_SIGMA_PX, _free_slopes(lens, away))
    size = len(solution.lens.values) + WARP
    held = solution.globals_count
    known = np.zeros((size, size))
    known[:held, :held] = np.linalg.pinv(solution.covariance[:held, :held], hermitian=True)
    known[held:, held:] = np.eye(size - held) / _PRIOR_WARP_M**2
    away = distance_m or float(np.median(solution.distances_m()))
    reach = _free_slopes(solution.lens, away)
    return ViewPlan(solution.lens, board, known, solution.sigma_px, reach)


def next_views(
    solution: CameraSolution | None, board: Board, lens: Lens, *,
    views: Sequence[BoardView] = (), count: int = 1, distance_m: float | None = None,
) -> list[NextView]:  # fmt: skip
    """The views that together make the mean spread smallest, best first; each counts as taken."""
    return plan_views(solution, board, lens, views=views, distance_m=distance_m).best(count)


def _free_slopes(lens: Lens, distance_m: float) -> Array:
    """Slopes of the picture by the lens (2N, K), less what a turn or shift of the camera is."""
    points = rays(lens, pixel_grid(lens, 9, 7)) * distance_m
    _, by_lens, by_point = project_with_slopes(lens, points)
    moves = by_point @ np.concatenate(
        [-cross_matrices(points) / distance_m, np.tile(np.eye(3), (len(points), 1, 1))], axis=2
    )
    flat, still = by_lens.reshape(-1, by_lens.shape[2]), moves.reshape(-1, 6)
    return np.asarray(flat - still @ np.linalg.lstsq(still, flat, rcond=1e-9)[0])


def _spread(reach: Array, known: Array) -> float:
    scale = 1 / np.sqrt(np.diag(known))
    covariance = np.linalg.inv(known * scale * scale[:, None]) * scale * scale[:, None]
    lens = covariance[: reach.shape[1], : reach.shape[1]]
    variances = np.einsum("nk,kl,nl->n", reach, lens, reach).reshape(-1, 2)
    return float(np.sqrt(np.maximum(variances.sum(axis=1) / 2, 0)).mean())


def _information(lens: Lens, board: Board, pose: Array, corners: NDArray[np.int64]) -> Array:
    """What a view at `pose` says of lens and warp once its pose is solved too, for one pixel."""
    rotation = matrix_from_vector(pose[None, :3])[0]
    placed = board.points[corners] @ rotation.T
    _, by_lens, by_point = project_with_slopes(lens, placed + pose[3:])
    height = (by_point @ rotation[:, 2])[:, :, None] * bend_shape(board)[corners][:, None, :]
    common = np.concatenate([by_lens, height], axis=2).reshape(2 * len(corners), -1)
    turn = by_point @ -cross_matrices(placed)
    own = np.concatenate([turn, by_point], axis=2).reshape(2 * len(corners), 6)
    between = common.T @ own
    return np.asarray(common.T @ common - between @ np.linalg.pinv(own.T @ own) @ between.T)


def _distance(lens: Lens, board: Board, filled: float) -> float:
    """How far a board is that fills this share of the picture."""
    width, height = board.size_m
    fx, fy = lens.values[:2]
    return float(max(fx * width / lens.width, fy * height / lens.height) / filled)


def _poses(lens: Lens, board: Board) -> list[Array]:
    middle = board.points.mean(axis=0)
    tilts = ((0.0, 0.0), (_TILT, 0.0), (-_TILT, 0.0), (0.0, _TILT), (0.0, -_TILT),
             (_TILT, _TILT), (-_TILT, -_TILT))  # fmt: skip
    places = np.array(list(product(_PLACES, _PLACES))) * (lens.width, lens.height)
    directions = rays(lens, places)
    poses = []
    for direction, filled, (about_x, about_y), roll in product(
        directions, _FILLED, tilts, (0.0, 0.6)
    ):
        if direction[2] < 0.2:
            continue
        rotation = matrix_from_rpy((about_x, about_y, roll))
        place = direction / direction[2] * _distance(lens, board, filled)
        turn = rotation_vectors(rotation[None])[0]
        poses.append(np.concatenate([turn, place - rotation @ middle]))
    return poses


def visible_corners(lens: Lens, board: Board, pose: Array) -> NDArray[np.int64]:
    """The corners that a picture would show of a board at `pose`; none of a cut chessboard."""
    placed = transform(pose[None], board.points)[0]
    if (placed[:, 2] <= 0.02).any():
        return np.zeros(0, np.int64)
    seen = _inside(lens, project_with_slopes(lens, placed)[0])
    if board.pattern == "chessboard" and not _inside(lens, board_outline(lens, board, pose)).all():
        return np.zeros(0, np.int64)
    return np.flatnonzero(seen).astype(np.int64)


def _inside(lens: Lens, pixels: Array) -> NDArray[np.bool_]:
    far = np.array([lens.width, lens.height]) - _MARGIN_PX
    return np.asarray(((pixels >= _MARGIN_PX) & (pixels <= far)).all(axis=1))


def board_outline(lens: Lens, board: Board, pose: Array) -> Array:
    """The corners (4, 2) of the board in the picture, to draw it as a ghost."""
    width, height = board.size_m
    edges = np.array([[0, 0, 0], [width, 0, 0], [width, height, 0], [0, height, 0]])
    return project_with_slopes(lens, transform(pose[None], edges)[0])[0]


def _in_words(lens: Lens, board: Board, pose: Array) -> str:
    middle = transform(pose[None], board.points.mean(axis=0))[0]
    share = project_with_slopes(lens, middle[None])[0][0] / (lens.width, lens.height)
    across = ("left", "", "right")[int(np.searchsorted((0.4, 0.6), share[0]))]
    along = ("top", "", "bottom")[int(np.searchsorted((0.4, 0.6), share[1]))]
    place = " ".join(word for word in (along, across) if word) or "middle"
    normal = matrix_from_vector(pose[None, :3])[0][:, 2]
    tilt = np.degrees(np.arccos(np.clip(abs(normal[2]), 0, 1)))
    if tilt < 10:
        tilted = "facing the camera"
    else:
        sides = (("its left side", "its right side"), ("its upper edge", "its lower edge"))
        axis = 0 if abs(normal[0]) > abs(normal[1]) else 1
        # A board whose far side looks to the right has its right side nearer to the camera.
        near = sides[axis][0 if normal[axis] * np.sign(normal[2]) < 0 else 1]
        tilted = f"{near} {tilt:.0f} degrees nearer"
    across_board = matrix_from_vector(pose[None, :3])[0][:, 0]
    roll = float(np.degrees(np.arctan2(across_board[1], across_board[0])))
    if abs(roll) > _ROLL_SAID_DEG:
        tilted += f", turned {abs(roll):.0f} degrees {'' if roll > 0 else 'counter'}clockwise"
    return f"board in the {place} of the picture, {middle[2]:.2f} m away, {tilted}"
