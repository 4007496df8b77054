"""Where a camera sits on a robot, or beside it, from pairs of an effector's pose and a board's.

A X B = Y for every pair: A is the effector in the base (its inverse where the camera stands beside
the robot), B the board in the camera; X and Y are solved together. What is left over is taken as
an error of the robot at its effector, constant in metres and radians, beside what the corners
say of the board's own pose; both sizes are estimated, so that the spread of X is in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corporeal.calibration.camera import cross_matrices
from corporeal.calibration.opencv import import_opencv
from corporeal.errors import CorporealError
from corporeal.geometry import Array, matrix_from_vector, rotation_angle, rotation_vectors

Mount = Literal["eye_in_hand", "eye_to_hand"]
FEWEST_PAIRS = 5
METHODS = ("tsai", "park", "horaud", "andreff", "daniilidis")
# Errors that no robot is better than, so that weights stay finite.
_LEAST_M, _LEAST_RAD = 1e-5, 1e-5
# Degrees of freedom of the heavy-tailed error: what lies far off pulls little.
_TAIL = 4.0
# Poses nearer to each other than this are one when one is left out.
_SAME_M, _SAME_RAD = 0.01, 0.05


@dataclass(frozen=True)
class PosePairs:
    """What was seen: effectors in the base (N, 4, 4), boards in the camera (N, 4, 4).

    `board_covariance` (N, 6, 6) is of a small turn and shift of the board on its left side, in
    the camera's frame; zeros where only poses are known.
    """

    names: tuple[str, ...]
    effectors: Array
    boards: Array
    board_covariance: Array | None = None

    def __len__(self) -> int:
        return len(self.effectors)

    def part(self, kept: NDArray[Any]) -> PosePairs:
        """Those that `kept` (a mask or numbers) names."""
        numbers = np.arange(len(self))[kept]
        covariance = None if self.board_covariance is None else self.board_covariance[numbers]
        names = tuple(self.names[number] for number in numbers)
        return PosePairs(names, self.effectors[numbers], self.boards[numbers], covariance)


@dataclass(frozen=True)
class HandEyeSolution:
    """The camera's pose X (4, 4) in the effector, the board's Y in the base; eye to hand: swapped.

    `covariance` (12, 12): turn and shift of X, then of Y, on their right sides, in rad and m.
    `robot_m` and `robot_rad` are the estimated errors of the robot; `weights` (N,) fall below 1
    for pairs that do not fit; `scale` multiplies the board's size, with its own spread.
    """

    mount: Mount
    camera: Array
    board: Array
    covariance: Array
    robot_m: float
    robot_rad: float
    residual_m: Array
    residual_rad: Array
    weights: Array
    scale: float
    scale_sigma: float

    @property
    def sigma_m(self) -> Array:
        """The spread (3,) of the camera's position."""
        return np.sqrt(np.diag(self.covariance)[3:6])

    @property
    def sigma_rad(self) -> Array:
        """The spread (3,) of the camera's rotation."""
        return np.sqrt(np.diag(self.covariance)[:3])


@dataclass(frozen=True)
class LeftOut:
    """What pairs that took no part in a solve say of it: where the board was expected, and was."""

    position_m: Array
    rotation_rad: Array

    @property
    def rms_m(self) -> float:
        """Root mean square distance of the board."""
        return float(np.sqrt((self.position_m**2).mean()))

    @property
    def rms_rad(self) -> float:
        """Root mean square angle of the board."""
        return float(np.sqrt((self.rotation_rad**2).mean()))


def solve_hand_eye(pairs: PosePairs, mount: Mount = "eye_in_hand") -> HandEyeSolution:
    """Solve X and Y of all pairs together, from the closed form that fits best."""
    if len(pairs) < FEWEST_PAIRS:
        raise CorporealError(
            f"{len(pairs)} pairs of poses; expected {FEWEST_PAIRS} or more. Take 15 to 20 with "
            "the hand turned about two axes by 30 degrees and more."
        )
    ordered = _ordered(pairs)
    hands = ordered.effectors if mount == "eye_in_hand" else inverse(ordered.effectors)
    starts = [start for method in METHODS if (start := _closed_form(method, hands, ordered.boards))
              is not None]  # fmt: skip
    if not starts:
        raise CorporealError(
            "no closed form finds a camera; expected poses that turn about two axes. Turn the "
            "hand more between pictures."
        )
    problem = _HandEyeProblem(hands, ordered)
    # Closed forms that agree lead to the same solve: the two that fit best are enough.
    starts.sort(key=lambda start: float(np.median(np.abs(problem.residuals(*start)))))
    solved = min((problem.solve(*start) for start in starts[:2]), key=lambda state: state.cost)
    return problem.solution(solved, mount, np.argsort(_order(pairs)))


def leave_out(pairs: PosePairs, mount: Mount = "eye_in_hand", method: str = "joint") -> LeftOut:
    """Solve without each pair in turn (and those almost equal to it), and predict it."""
    hands = pairs.effectors if mount == "eye_in_hand" else inverse(pairs.effectors)
    position, rotation = np.zeros(len(pairs)), np.zeros(len(pairs))
    for number in range(len(pairs)):
        near = (np.linalg.norm(hands[:, :3, 3] - hands[number, :3, 3], axis=1) < _SAME_M) & (
            rotation_angle(hands[:, :3, :3], hands[number, :3, :3]) < _SAME_RAD
        )
        rest = pairs.part(~near)
        if method == "joint":
            solution = solve_hand_eye(rest, mount)
            camera, board = solution.camera, solution.board
        else:
            kept = hands[~near]
            start = _closed_form(method, kept, rest.boards)
            if start is None:
                position[number] = rotation[number] = np.nan
                continue
            camera, board = start
        seen = hands[number] @ camera @ pairs.boards[number]
        position[number] = np.linalg.norm(seen[:3, 3] - board[:3, 3])
        rotation[number] = rotation_angle(seen[:3, :3], board[:3, :3])
    return LeftOut(position, rotation)


def inverse(poses: Array) -> Array:
    """The inverse of poses (..., 4, 4)."""
    turned = np.swapaxes(poses[..., :3, :3], -1, -2)
    result = np.zeros_like(poses)
    result[..., :3, :3] = turned
    result[..., :3, 3] = -np.einsum("...ij,...j->...i", turned, poses[..., :3, 3])
    result[..., 3, 3] = 1
    return result


def pose_matrix(turn: ArrayLike, place: ArrayLike) -> Array:
    """A pose (4, 4) of a rotation vector and a translation."""
    pose = np.eye(4)
    pose[:3, :3] = matrix_from_vector(np.asarray(turn, np.float64)[None])[0]
    pose[:3, 3] = place
    return pose


def _order(pairs: PosePairs) -> NDArray[np.intp]:
    """The same order whatever order they came in, so that shuffling changes nothing."""
    return np.lexsort(pairs.effectors[:, :3, :].reshape(len(pairs), -1).T)


def _ordered(pairs: PosePairs) -> PosePairs:
    return pairs.part(_order(pairs))


def _closed_form(method: str, hands: Array, boards: Array) -> tuple[Array, Array] | None:
    cv = import_opencv()
    flag = getattr(cv, f"CALIB_HAND_EYE_{method.upper()}")
    try:
        turn, place = cv.calibrateHandEye(
            hands[:, :3, :3], hands[:, :3, 3], boards[:, :3, :3], boards[:, :3, 3], method=flag
        )
    except cv.error:
        return None
    camera = np.eye(4)
    camera[:3, :3], camera[:3, 3] = turn, place.ravel()
    if not np.isfinite(camera).all() or np.linalg.det(turn) < 0.5:
        return None
    return camera, mean_pose(hands @ camera @ boards)


def mean_pose(poses: Array) -> Array:
    """The middle of poses (N, 4, 4): mean position, and the rotation nearest to the mean one."""
    left, _, right = np.linalg.svd(poses[:, :3, :3].mean(axis=0))
    result = np.eye(4)
    result[:3, :3] = left @ np.diag([1, 1, np.linalg.det(left @ right)]) @ right
    result[:3, 3] = np.median(poses[:, :3, 3], axis=0)
    return result


@dataclass
class _State:
    camera: Array
    board: Array
    scale: float
    robot: Array
    weights: Array
    cost: float


class _HandEyeProblem:
    """Residuals at the effector: what the robot must have been wrong by, were X and Y right."""

    def __init__(self, hands: Array, pairs: PosePairs) -> None:
        self.hands, self.seen = hands, pairs.boards
        covariance = pairs.board_covariance
        self.known = np.zeros((len(pairs), 6, 6)) if covariance is None else covariance

    def residuals(self, camera: Array, board: Array, scale: float = 1.0) -> Array:
        """Turn and shift (N, 6) of the effector that would explain the pair."""
        boards = self.seen.copy()
        boards[:, :3, 3] *= scale
        error = inverse(self.hands) @ board @ inverse(boards) @ inverse(camera)
        return np.concatenate([rotation_vectors(error[:, :3, :3]), error[:, :3, 3]], axis=1)

    def slopes(self, camera: Array, scale: float, error: Array) -> Array:
        """How the residuals (N, 6) change by turn and shift of X, then of Y, and by the scale."""
        boards = self.seen.copy()
        boards[:, :3, 3] *= scale
        count = len(boards)
        by_camera = -np.tile(_adjoint(camera[None]), (count, 1, 1))
        by_board = _adjoint(camera @ boards)
        by_scale = np.zeros((count, 6, 1))
        by_scale[:, 3:, 0] = -self.seen[:, :3, 3] @ camera[:3, :3].T
        twist = np.concatenate([by_camera, by_board, by_scale], axis=2)
        turned = np.tile(np.eye(6), (count, 1, 1))
        turned[:, :3, :3] += cross_matrices(error[:, :3]) / 2
        turned[:, 3:, 3:] = matrix_from_vector(error[:, :3])
        return np.asarray(turned @ twist)

    def spread(self, camera: Array, robot: Array) -> Array:
        """The covariance (N, 6, 6) of each residual: the robot's own, and the board's as seen."""
        total = np.tile(np.diag(np.repeat(robot**2, 3)), (len(self.hands), 1, 1))
        if self.known.any():
            # A turn and shift of the board on its left comes back through the camera's pose.
            carry = _adjoint(camera[None])[0]
            total = total + carry @ self.known @ carry.T
        return total

    def solve(self, camera: Array, board: Array, *, with_scale: bool = False) -> _State:
        """Gauss and Newton with weights, sizes of the robot's errors estimated in turn."""
        scale, weights = 1.0, np.ones(len(self.hands))
        robot = self._robot(self.residuals(camera, board), weights, camera)
        size = 13 if with_scale else 12
        for _ in range(60):
            residual = self.residuals(camera, board, scale)
            spread = np.linalg.inv(self.spread(camera, robot))
            distance = np.einsum("ni,nij,nj->n", residual, spread, residual)
            weights = (_TAIL + 6) / (_TAIL + distance)
            slopes = self.slopes(camera, scale, residual)[:, :, :size]
            weighted = np.einsum("nik,nij,n->nkj", slopes, spread, weights)
            normal = np.einsum("nkj,njl->kl", weighted, slopes)
            right = np.einsum("nkj,nj->k", weighted, residual)
            step = np.zeros(13)
            step[:size] = -np.linalg.lstsq(normal, right, rcond=1e-12)[0]
            camera = camera @ pose_matrix(step[:3], step[3:6])
            board = board @ pose_matrix(step[6:9], step[9:12])
            scale = scale + step[12]
            before = robot
            robot = self._robot(self.residuals(camera, board, scale), weights, camera)
            if np.abs(step).max() < 1e-9 and np.allclose(before, robot, rtol=1e-6):
                break
        residual = self.residuals(camera, board, scale)
        spread = self.spread(camera, robot)
        distance = np.einsum("ni,nij,nj->n", residual, np.linalg.inv(spread), residual)
        cost = float(
            (_TAIL + 6) / 2 * np.log1p(distance / _TAIL).sum()
            + 0.5 * np.linalg.slogdet(spread)[1].sum()
        )
        return _State(camera, board, scale, robot, weights, cost)

    def _robot(self, residual: Array, weights: Array, camera: Array) -> Array:
        """The robot's errors in rad and m, by what the corners' own spread does not explain."""
        freedom = max(3 * float(np.minimum(weights, 1).sum()) - 6, 1)
        share = 3 * float(np.minimum(weights, 1).sum()) / freedom
        known = np.einsum("nii->ni", self.spread(camera, np.zeros(2)))
        sizes = []
        for part, least in ((slice(0, 3), _LEAST_RAD), (slice(3, 6), _LEAST_M)):
            squares = (np.minimum(weights, 1)[:, None] * residual[:, part] ** 2).sum()
            squares /= 3 * np.minimum(weights, 1).sum()
            sizes.append(np.sqrt(max(share * squares - float(known[:, part].mean()), least**2)))
        return np.array(sizes)

    def solution(self, state: _State, mount: Mount, back: NDArray[np.intp]) -> HandEyeSolution:
        residual = self.residuals(state.camera, state.board, state.scale)
        spread = np.linalg.inv(self.spread(state.camera, state.robot))
        slopes = self.slopes(state.camera, state.scale, residual)
        counted = np.minimum(state.weights, 1)
        normal = np.einsum("nik,nij,njl,n->kl", slopes, spread, slopes, counted)
        covariance = np.linalg.pinv(normal[:12, :12], hermitian=True)
        free = self.solve(state.camera, state.board, with_scale=True)
        scale_sigma = float(np.sqrt(np.linalg.pinv(normal, hermitian=True)[12, 12]))
        return HandEyeSolution(
            mount, state.camera, state.board, covariance, float(state.robot[1]),
            float(state.robot[0]), np.linalg.norm(residual[:, 3:], axis=1)[back],
            np.linalg.norm(residual[:, :3], axis=1)[back], counted[back], free.scale, scale_sigma,
        )  # fmt: skip


def _adjoint(poses: Array) -> Array:
    """What carries a turn and shift (6,) on the right of a pose to its left, (N, 6, 6)."""
    result = np.zeros((len(poses), 6, 6))
    rotations = poses[:, :3, :3]
    result[:, :3, :3] = result[:, 3:, 3:] = rotations
    result[:, 3:, :3] = cross_matrices(poses[:, :3, 3]) @ rotations
    return result


def rotation_mismatch(pairs: PosePairs) -> Array:
    """How far (N,) a pair's turns against all others differ in angle: needs no X.

    The median over the others, in radians: a wrong pair differs from most, a right one from few.
    """
    hands = rotation_angle(pairs.effectors[:, None, :3, :3], pairs.effectors[None, :, :3, :3])
    boards = rotation_angle(pairs.boards[:, None, :3, :3], pairs.boards[None, :, :3, :3])
    difference = np.abs(hands - boards)
    np.fill_diagonal(difference, np.nan)
    return np.asarray(np.nanmedian(difference, axis=1))


def turning_axes(pairs: PosePairs) -> tuple[float, float]:
    """The largest turn between two poses, and the largest about an axis across it, in radians."""
    rotations = pairs.effectors[:, :3, :3]
    turns = rotation_vectors(np.swapaxes(rotations[:, None], -1, -2) @ rotations[None])
    turns = turns.reshape(-1, 3)
    longest = turns[np.linalg.norm(turns, axis=1).argmax()]
    size = float(np.linalg.norm(longest))
    if size < 1e-9:
        return 0.0, 0.0
    across = turns - (turns @ longest / size**2)[:, None] * longest
    return size, float(np.linalg.norm(across, axis=1).max())


def effector_poses(entries: Sequence[Sequence[float]]) -> Array:
    """Poses (N, 4, 4) of numbers: 16 (rows first, or columns first as Franka has them), or 12."""
    numbers = np.asarray(entries, np.float64)
    if numbers.ndim == 3:
        return numbers
    poses = numbers.reshape(len(numbers), 4, 4)
    if np.allclose(poses[:, :3, 3], 0) and np.allclose(poses[:, 3, 3], 1):
        poses = np.swapaxes(poses, 1, 2)
    return poses
