"""Pairs of an effector's pose and a board's: what they hold, and what they say without a solve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corporeal.calibration.camera import cross_matrices
from corporeal.geometry import Array, matrix_from_vector, rotation_angle, rotation_vectors


@dataclass(frozen=True)
class Adjustable:
    """What else the effector's poses depend on: offsets of joints, or of a clock.

    `pose` gives the poses (N, 4, 4) for values (K,); `prior` (K,) is how large those may be, one
    sigma. All zero is what was measured.
    """

    names: tuple[str, ...]
    prior: Array
    pose: Callable[[Array], Array]

    def part(self, numbers: NDArray[np.intp]) -> Adjustable:
        """The same of the poses with these numbers."""
        return replace(self, pose=lambda values: self.pose(values)[numbers])


@dataclass(frozen=True)
class PosePairs:
    """What was seen: effectors in the base (N, 4, 4), boards in the camera (N, 4, 4).

    `board_covariance` (N, 6, 6) is of a small turn and shift of the board on its left side, in
    the camera's frame; zeros where only poses are known. `others` (N, 4, 4) are the second poses
    that flat boards may have, NaN where there is none.
    """

    names: tuple[str, ...]
    effectors: Array
    boards: Array
    board_covariance: Array | None = None
    others: Array | None = None
    adjustable: Adjustable | None = None

    def __len__(self) -> int:
        return len(self.effectors)

    def part(self, kept: NDArray[Any]) -> PosePairs:
        """Those that `kept` (a mask or numbers) names."""
        numbers = np.arange(len(self))[kept]
        covariance = None if self.board_covariance is None else self.board_covariance[numbers]
        others = None if self.others is None else self.others[numbers]
        adjustable = None if self.adjustable is None else self.adjustable.part(numbers)
        names = tuple(self.names[number] for number in numbers)
        return PosePairs(names, self.effectors[numbers], self.boards[numbers], covariance, others,
                         adjustable)  # fmt: skip

    def adjusted(self, values: Array) -> Array:
        """The effectors (N, 4, 4) for these values of what can be adjusted."""
        return self.effectors if self.adjustable is None else self.adjustable.pose(values)


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


def mean_pose(poses: Array) -> Array:
    """The middle of poses (N, 4, 4): mean position, and the rotation nearest to the mean one."""
    left, _, right = np.linalg.svd(poses[:, :3, :3].mean(axis=0))
    result = np.eye(4)
    result[:3, :3] = left @ np.diag([1, 1, np.linalg.det(left @ right)]) @ right
    result[:3, 3] = np.median(poses[:, :3, 3], axis=0)
    return result


def adjoint(poses: Array) -> Array:
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
