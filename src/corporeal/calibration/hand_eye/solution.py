"""Where a camera sits on a robot, or beside it, from pairs of an effector's pose and a board's.

A X B = Y for every pair: A is the effector in the base (its inverse where the camera stands beside
the robot), B the board in the camera; X and Y are solved together. What is left over is taken as
an error of the robot at its effector, constant in metres and radians, beside that of the board's
pose: what the corners say of it, and where only poses are known one more constant turn of the
board (its shift looks like one of the robot). All sizes are estimated, so that the spread of X
is in them. Offsets of joints or of a clock are solved with them where the pairs say how the
effector follows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from corporeal.calibration.camera import cross_matrices
from corporeal.calibration.hand_eye.pairs import (
    PosePairs,
    adjoint,
    inverse,
    mean_pose,
    pose_matrix,
)
from corporeal.calibration.opencv import import_opencv
from corporeal.errors import CorporealError
from corporeal.geometry import Array, matrix_from_vector, rotation_angle, rotation_vectors

Mount = Literal["eye_in_hand", "eye_to_hand"]
FEWEST_PAIRS = 5
METHODS = ("tsai", "park", "horaud", "andreff", "daniilidis")
# Errors that no robot is better than, so that weights stay finite.
_LEAST = 1e-5
# How often the sizes of the errors are bettered between two steps.
_SIZE_STEPS = 6
# Degrees of freedom of the heavy-tailed error: what lies far off pulls little.
_TAIL = 4.0
# A turn of the camera counts as the shift it makes at this distance.
_REACH_M = 0.3


@dataclass(frozen=True)
class HandEyeSolution:
    """The camera's pose X (4, 4) in the effector, the board's Y in the base; eye to hand: swapped.

    `covariance` (12, 12): turn and shift of X, then of Y, on their right sides, in rad and m.
    `robot_m` and `robot_rad` are the estimated errors of the robot; where no corners tell of the
    board, its shifts are in `robot_m` and its turns in `board_rad`. `weights` (N,) fall below 1 for
    pairs that do not fit; `residual_m` and `residual_rad` (N,) are how far the board is seen from
    where it is solved to be; `scale` multiplies the board's size, with its own spread. `offsets`
    are what was adjusted beside them, each with its spread.
    """

    mount: Mount
    camera: Array
    board: Array
    covariance: Array
    robot_m: float
    robot_rad: float
    board_rad: float
    residual_m: Array
    residual_rad: Array
    weights: Array
    scale: float
    scale_sigma: float
    offsets: Array
    offset_sigma: Array

    @property
    def sigma_m(self) -> Array:
        """The spread (3,) of the camera's position."""
        return np.sqrt(np.diag(self.covariance)[3:6])

    @property
    def sigma_rad(self) -> Array:
        """The spread (3,) of the camera's rotation."""
        return np.sqrt(np.diag(self.covariance)[:3])

    @property
    def smallest_singular_value(self) -> float:
        """Of what the pairs say of the camera, turns counted at 0.3 m: 1 over the largest spread.

        In 1/m: 1000 is a camera that is known to 1 mm, or its turn to 0.2 degrees, at worst.
        """
        scale = np.array([_REACH_M] * 3 + [1.0] * 3)
        known = self.covariance[:6, :6] * scale * scale[:, None]
        return float(1 / np.sqrt(np.linalg.eigvalsh(known)[-1]))

    @property
    def board_sigma_m(self) -> Array:
        """The spread (3,) of the board's position."""
        return np.sqrt(np.diag(self.covariance)[9:12])


def solve_hand_eye(pairs: PosePairs, mount: Mount = "eye_in_hand") -> HandEyeSolution:
    """Solve X and Y of all pairs together, from the closed form that fits best."""
    if len(pairs) < FEWEST_PAIRS:
        raise CorporealError(
            f"{len(pairs)} pairs of poses; expected {FEWEST_PAIRS} or more. Take 15 to 20 with "
            "the hand turned about two axes by 30 degrees and more."
        )
    ordered = pairs.part(_order(pairs))
    hands = ordered.effectors if mount == "eye_in_hand" else inverse(ordered.effectors)
    starts = [start for method in METHODS if (start := closed_form(method, hands, ordered.boards))
              is not None]  # fmt: skip
    if not starts:
        raise CorporealError(
            "no closed form finds a camera; expected poses that turn about two axes. Turn the "
            "hand more between pictures."
        )
    problem = _HandEyeProblem(ordered, mount)
    # Closed forms that agree lead to the same solve: the two that fit best are enough.
    starts.sort(key=lambda start: float(np.median(np.abs(problem.residuals(_State(*start))))))
    solved = min((problem.solve(*start) for start in starts[:2]), key=lambda state: state.cost)
    for _ in range(2):
        better = problem.take_better_boards(solved)
        if better is None:
            break
        problem = _HandEyeProblem(better, mount)
        solved = problem.solve(solved.camera, solved.board)
    return problem.solution(solved, np.argsort(_order(pairs)))


def _order(pairs: PosePairs) -> NDArray[np.intp]:
    """The same order whatever order they came in, so that shuffling changes nothing."""
    return np.lexsort(pairs.effectors[:, :3, :].reshape(len(pairs), -1).T)


def closed_form(method: str, hands: Array, boards: Array) -> tuple[Array, Array] | None:
    """X and Y by one of OpenCV's methods; None where it finds none."""
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


@dataclass
class _State:
    camera: Array
    board: Array
    offsets: Array | float = 0.0
    scale: float = 1.0
    sizes: Array | None = None
    weights: Array | None = None
    cost: float = np.inf


class _HandEyeProblem:
    """Residuals at the effector: what the robot must have been wrong by, were X and Y right."""

    def __init__(self, pairs: PosePairs, mount: Mount) -> None:
        self.pairs, self.mount, self.seen = pairs, mount, pairs.boards
        covariance = pairs.board_covariance
        self.known = np.zeros((len(pairs), 6, 6)) if covariance is None else covariance
        adjustable = pairs.adjustable
        self.prior = np.zeros(0) if adjustable is None else adjustable.prior
        # Half of what X and Y take is of turns, half of shifts.
        self.taken = (12 + len(self.prior)) / 2

    def hands(self, state: _State) -> Array:
        """The effectors, or their inverses, with what was adjusted."""
        offsets = np.broadcast_to(state.offsets, self.prior.shape)
        effectors = self.pairs.adjusted(offsets) if len(self.prior) else self.pairs.effectors
        return effectors if self.mount == "eye_in_hand" else inverse(effectors)

    def residuals(self, state: _State) -> Array:
        """Turn and shift (N, 6) of the effector that would explain the pair."""
        boards = self.seen.copy()
        boards[:, :3, 3] *= state.scale
        hands = self.hands(state)
        between = state.board @ inverse(boards) @ inverse(state.camera)
        # In both mounts the error sits at the effector: where the hand carries the board, that is
        # on the other side of the product.
        error = (inverse(hands) @ between if self.mount == "eye_in_hand"
                 else between @ inverse(hands))  # fmt: skip
        return np.concatenate([rotation_vectors(error[:, :3, :3]), error[:, :3, 3]], axis=1)

    def slopes(self, state: _State, error: Array) -> Array:
        """How residuals (N, 6) change by turn and shift of X, then of Y, the scale, the offsets."""
        boards = self.seen.copy()
        boards[:, :3, 3] *= state.scale
        camera, count = state.camera, len(boards)
        by_camera = -np.tile(adjoint(camera[None]), (count, 1, 1))
        by_board = adjoint(camera @ boards)
        by_scale = np.zeros((count, 6, 1))
        by_scale[:, 3:, 0] = -self.seen[:, :3, 3] @ camera[:3, :3].T
        twist = np.concatenate([by_camera, by_board, by_scale], axis=2)
        if self.mount == "eye_to_hand":
            twist = adjoint(self.hands(state)) @ twist
        turned = np.tile(np.eye(6), (count, 1, 1))
        turned[:, :3, :3] += cross_matrices(error[:, :3]) / 2
        turned[:, 3:, 3:] = matrix_from_vector(error[:, :3])
        return np.concatenate([turned @ twist, self._by_offsets(state)], axis=2)

    def _by_offsets(self, state: _State) -> Array:
        slopes = np.zeros((len(self.pairs), 6, len(self.prior)))
        offsets = np.broadcast_to(state.offsets, self.prior.shape)
        for number, step in enumerate(1e-3 * self.prior):
            change = np.zeros(len(self.prior))
            change[number] = step
            ahead = self.residuals(replace(state, offsets=offsets + change))
            behind = self.residuals(replace(state, offsets=offsets - change))
            slopes[:, :, number] = (ahead - behind) / (2 * step)
        return slopes

    def shares(self, state: _State) -> Array:
        """What each kind of error, of size 1, adds to the covariance of residuals (K, N, 6, 6).

        Turn and shift of the robot at its effector; where no corners tell, the turn of the board.
        """
        count = len(self.pairs)
        turn, shift = np.diag([1.0] * 3 + [0.0] * 3), np.diag([0.0] * 3 + [1.0] * 3)
        robot = [np.tile(each, (count, 1, 1)) for each in (turn, shift)]
        if self.known.any():
            return np.array(robot)
        boards = self.seen.copy()
        boards[:, :3, 3] *= state.scale
        carry = adjoint(state.camera @ boards)
        if self.mount == "eye_to_hand":
            carry = adjoint(self.hands(state)) @ carry
        back = np.swapaxes(carry, 1, 2)
        return np.array([*robot, carry @ turn @ back])

    def corners_spread(self, state: _State) -> Array:
        """The covariance (N, 6, 6) of each residual by what corners say of the board's pose."""
        if not self.known.any():
            return self.known
        # A turn and shift of the board on its left comes back through the camera's pose.
        carry = adjoint(state.camera[None])
        if self.mount == "eye_to_hand":
            carry = adjoint(self.hands(state)) @ carry
        return np.asarray(carry @ self.known @ np.swapaxes(carry, 1, 2))

    def spread(self, state: _State, sizes: Array) -> Array:
        """The covariance (N, 6, 6) of each residual for errors of these sizes (K,)."""
        total = np.tensordot(sizes**2, self.shares(state), 1)
        return np.asarray(total + self.corners_spread(state), np.float64)

    def solve(self, camera: Array, board: Array, *, with_scale: bool = False) -> _State:
        """Gauss and Newton with weights, sizes of the robot's errors estimated in turn."""
        state = _State(camera, board, np.zeros(len(self.prior)))
        weights = np.ones(len(self.pairs))
        sizes = self._sizes(state, weights, None)
        kept = np.r_[np.arange(12), [12] if with_scale else [], 13 + np.arange(len(self.prior))]
        for _ in range(60):
            residual = self.residuals(state)
            spread = np.asarray(np.linalg.inv(self.spread(state, sizes)), np.float64)
            weights = (_TAIL + 6) / (_TAIL + np.einsum("ni,nij,nj->n", residual, spread, residual))
            step = self._step(state, residual, spread, weights, kept.astype(np.intp))
            state = _State(
                state.camera @ pose_matrix(step[:3], step[3:6]),
                state.board @ pose_matrix(step[6:9], step[9:12]),
                state.offsets + step[13:], state.scale + step[12],
            )  # fmt: skip
            before, sizes = sizes, self._sizes(state, weights, sizes)
            if np.abs(step).max() < 1e-8 and np.allclose(before, sizes, rtol=1e-4, atol=1e-6):
                break
        residual, spread = self.residuals(state), self.spread(state, sizes)
        distance = np.einsum("ni,nij,nj->n", residual, np.linalg.inv(spread), residual)
        cost = float(
            (_TAIL + 6) / 2 * np.log1p(distance / _TAIL).sum()
            + 0.5 * np.linalg.slogdet(spread)[1].sum()
        )
        return replace(state, sizes=sizes, weights=weights, cost=cost)

    def _step(
        self, state: _State, residual: Array, spread: Array, weights: Array, kept: NDArray[np.intp]
    ) -> Array:
        slopes = self.slopes(state, residual)
        weighted = np.einsum("nik,nij,n->nkj", slopes, spread, weights)
        normal = np.einsum("nkj,njl->kl", weighted, slopes)
        right = np.einsum("nkj,nj->k", weighted, residual)
        normal[13:, 13:] += np.diag(1 / self.prior**2)
        right[13:] += np.broadcast_to(state.offsets, self.prior.shape) / self.prior**2
        step = np.zeros(len(right))
        chosen = normal[np.ix_(kept, kept)]
        step[kept] = -np.linalg.lstsq(chosen, right[kept], rcond=1e-12)[0]
        return step

    def _sizes(self, state: _State, weights: Array, before: Array | None) -> Array:
        """The sizes (K,) of all errors that make these residuals likeliest, in rad and m.

        Squares are compared with what they are expected to be, over and over; robot and board
        share what is left over, and with it what X and Y have taken of it.
        """
        counted = np.minimum(weights, 1)
        number = 6 * float(counted.sum())
        share = number / max(number - 2 * self.taken, 1)
        residual = self.residuals(state)
        shares, corners = self.shares(state), self.corners_spread(state)
        if before is None:
            turn, shift = (residual**2).reshape(-1, 2, 3).mean(axis=(0, 2))
            before = np.sqrt(np.array([turn, shift, turn])[: len(shares)])
        squares = np.maximum(before, _LEAST) ** 2
        for _ in range(_SIZE_STEPS):
            weight = np.linalg.inv(np.tensordot(squares, shares, 1) + corners)
            pulled = np.einsum("nij,nj->ni", weight, residual)
            by_size = np.einsum("knij,nj->kni", shares, pulled)
            seen = share * np.einsum("n,ni,kni->k", counted, pulled, by_size)
            expected = np.einsum("n,nij,knji->k", counted, weight, shares)
            squares = np.maximum(squares * seen / expected, _LEAST**2)
        return np.asarray(np.sqrt(squares), np.float64)

    def take_better_boards(self, state: _State) -> PosePairs | None:
        """The pairs with the second pose of a flat board where that fits better; None if nowhere.

        Two tilts of a board look alike from far away: only the robot tells which it was.
        """
        others = self.pairs.others
        if others is None or not np.isfinite(others).any():
            return None
        has_other = np.asarray(np.isfinite(others).all(axis=(1, 2)))
        swapped = np.where(has_other[:, None, None], others, self.pairs.boards)
        tried = _HandEyeProblem(replace(self.pairs, boards=swapped), self.mount)
        ours = np.linalg.norm(self.residuals(state)[:, :3], axis=1)
        theirs = np.linalg.norm(tried.residuals(state)[:, :3], axis=1)
        better = has_other & (theirs < ours)
        if not better.any():
            return None
        boards = np.where(better[:, None, None], others, self.pairs.boards)
        kept = np.where(better[:, None, None], self.pairs.boards, others)
        return replace(self.pairs, boards=boards, others=kept)

    def solution(self, state: _State, back: NDArray[np.intp]) -> HandEyeSolution:
        """What was solved, with its covariance, in the order in which the pairs came."""
        assert state.sizes is not None
        assert state.weights is not None
        residual = self.residuals(state)
        spread = np.linalg.inv(self.spread(state, state.sizes))
        slopes = self.slopes(state, residual)
        counted = np.minimum(state.weights, 1)
        normal = np.einsum("nik,nij,njl,n->kl", slopes, spread, slopes, counted)
        normal[13:, 13:] += np.diag(1 / self.prior**2)
        fixed = np.delete(np.arange(len(normal)), 12)
        covariance = np.linalg.pinv(normal[np.ix_(fixed, fixed)], hermitian=True, rcond=1e-14)
        free = self.solve(state.camera, state.board, with_scale=True)
        scale_sigma = float(np.sqrt(np.linalg.pinv(normal, hermitian=True, rcond=1e-14)[12, 12]))
        seen = self.hands(state) @ state.camera @ self.seen
        robot_rad, robot_m, board_rad = (float(size) for size in (*state.sizes, 0.0)[:3])
        return HandEyeSolution(
            self.mount, state.camera, state.board, covariance[:12, :12], robot_m, robot_rad,
            board_rad, np.linalg.norm(seen[:, :3, 3] - state.board[:3, 3], axis=1)[back],
            rotation_angle(seen[:, :3, :3], state.board[:3, :3])[back], counted[back],
            free.scale, scale_sigma, np.broadcast_to(state.offsets, self.prior.shape),
            np.sqrt(np.diag(covariance)[12:]),
        )  # fmt: skip
