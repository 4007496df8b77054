"""Two streams of poses on clocks of their own: where they belong together, and the pairs they make.

A hand and a board that hang together turn equally fast, whatever lies between them. So the offset
of the clocks is where the speeds of turning agree; it is then solved with everything else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.calibration.hand_eye.pairs import Adjustable, PosePairs
from corporeal.errors import CorporealError
from corporeal.geometry import Array, matrix_from_vector, quaternion_from_matrix, rotation_vectors

# How exactly the first estimate finds the offset: the solve does the rest.
OFFSET_PRIOR_S = 0.02
_STEP_S = 0.01
_SMOOTH_S = 0.1
# Two poses of a track that lie farther apart in time are not joined.
_LONGEST_GAP_S = 0.25
_LEAST_LIKENESS = 0.5
_APART_RAD = np.radians(6.0)


@dataclass(frozen=True)
class TimedPoses:
    """Poses (T, 4, 4) at times (T,) in seconds that only rise."""

    time_s: Array
    poses: Array

    def at(self, time_s: Array) -> Array:
        """Poses (N, 4, 4) between the stated ones; its ends beyond them."""
        after = np.clip(np.searchsorted(self.time_s, time_s), 1, len(self.time_s) - 1)
        before = after - 1
        span = self.time_s[after] - self.time_s[before]
        share = np.clip((time_s - self.time_s[before]) / span, 0, 1)
        first, second = self.poses[before], self.poses[after]
        turn = rotation_vectors(np.swapaxes(first[:, :3, :3], 1, 2) @ second[:, :3, :3])
        between = np.tile(np.eye(4), (len(time_s), 1, 1))
        between[:, :3, :3] = first[:, :3, :3] @ matrix_from_vector(turn * share[:, None])
        between[:, :3, 3] = (first[:, :3, 3] * (1 - share[:, None])
                             + second[:, :3, 3] * share[:, None])  # fmt: skip
        return between

    def covers(self, time_s: Array) -> NDArray[np.bool_]:
        """Whether a time (N,) lies between two poses that are close in time."""
        after = np.clip(np.searchsorted(self.time_s, time_s), 1, len(self.time_s) - 1)
        gap = self.time_s[after] - self.time_s[after - 1]
        inside = (time_s >= self.time_s[0]) & (time_s <= self.time_s[-1])
        covered: NDArray[np.bool_] = inside & (gap < _LONGEST_GAP_S)
        return covered

    def turning(self, time_s: Array) -> Array:
        """How fast it turns (N,) in rad/s, over a tenth of a second."""
        before, after = self.at(time_s - _SMOOTH_S / 2), self.at(time_s + _SMOOTH_S / 2)
        turn = rotation_vectors(np.swapaxes(before[:, :3, :3], 1, 2) @ after[:, :3, :3])
        return np.asarray(np.linalg.norm(turn, axis=1) / _SMOOTH_S)


def find_offset(hand: TimedPoses, board: TimedPoses) -> tuple[float, float]:
    """By how many seconds the board's clock is to be moved, and how alike both turn then (0..1)."""
    spans = [track.time_s[-1] - track.time_s[0] for track in (hand, board)]
    if min(spans) < 3.0:
        raise CorporealError(
            f"the shorter track is {min(spans):.1f} s long; expected 3 s or more of movement."
        )
    grids = [np.arange(track.time_s[0], track.time_s[-1], _STEP_S) for track in (hand, board)]
    speeds = []
    for track, grid in zip((hand, board), grids, strict=True):
        speed = np.where(track.covers(grid), track.turning(grid), 0.0)
        speeds.append(np.clip(speed, 0, np.quantile(speed, 0.99)))
    first, second = (speed - speed.mean() for speed in speeds)
    size = 1 << int(np.ceil(np.log2(len(first) + len(second))))
    product = np.fft.irfft(np.fft.rfft(first, size) * np.conj(np.fft.rfft(second, size)), size)
    place = int(product.argmax())
    shift = place if place < len(first) else place - size
    offset = grids[0][0] - grids[1][0] + shift * _STEP_S
    shared = grids[0][(grids[0] - offset >= grids[1][0]) & (grids[0] - offset <= grids[1][-1])]
    kept = shared[hand.covers(shared) & board.covers(shared - offset)]
    if len(kept) < 100:
        return float(offset), 0.0
    likeness = np.corrcoef(hand.turning(kept), board.turning(kept - offset))[0, 1]
    return float(offset), float(likeness)


def pairs_of_tracks(hand: TimedPoses, board: TimedPoses, *, most: int = 60) -> PosePairs:
    """Pairs at the board's times, far apart in angle, with the clock's offset left to adjust."""
    offset, likeness = find_offset(hand, board)
    if likeness < _LEAST_LIKENESS:
        raise CorporealError(
            f"hand and board turn alike to {likeness:.2f} at best; expected above "
            f"{_LEAST_LIKENESS:g}. Are both of one recording, and both moved by the hand?"
        )
    times = board.time_s + offset
    usable = np.flatnonzero(hand.covers(times))
    chosen = _far_apart(board.poses[usable], most)
    numbers = usable[chosen]
    at = times[numbers]

    def pose(shift_s: Array) -> Array:
        return hand.at(at + float(shift_s[0]))

    names = tuple(f"{time - times[0]:.2f} s" for time in at)
    adjustable = Adjustable(("clock_s",), np.array([OFFSET_PRIOR_S]), pose)
    return PosePairs(names, pose(np.zeros(1)), board.poses[numbers], adjustable=adjustable)


def _far_apart(poses: Array, most: int) -> list[int]:
    """Numbers of poses that are turned against each other, farthest first, in order of time."""
    quaternions = quaternion_from_matrix(poses[:, :3, :3])
    chosen = [0]
    nearest = 2 * np.arccos(np.clip(np.abs(quaternions @ quaternions[0]), 0, 1))
    while len(chosen) < min(most, len(poses)):
        number = int(nearest.argmax())
        if nearest[number] < _APART_RAD:
            break
        chosen.append(number)
        angle = 2 * np.arccos(np.clip(np.abs(quaternions @ quaternions[number]), 0, 1))
        nearest = np.minimum(nearest, angle)
    return sorted(chosen)
