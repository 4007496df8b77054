"""Long clips in pieces that overlap, so that memory stays small and no seam shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from corporeal.geometry import Array, normalise
from corporeal.retargeting.solver.chain import MotionState

# Frames of a piece, and those that it shares with the next.
LENGTH, SHARED = 2400, 120


@dataclass(frozen=True)
class ClipWindow:
    """Frames from `first` up to, not including, `stop`."""

    first: int
    stop: int


def windows(frames: int, *, length: int = LENGTH, shared: int = SHARED) -> list[ClipWindow]:
    """Pieces of about equal length that cover all frames, each sharing some with the next."""
    if frames <= length:
        return [ClipWindow(0, frames)]
    count = -(-(frames - shared) // (length - shared))
    edges = np.linspace(0, frames - shared, count + 1).astype(int)
    return [ClipWindow(int(a), int(b) + shared) for a, b in pairwise(edges)]


def join_windows(parts: Sequence[tuple[ClipWindow, MotionState]], frames: int) -> MotionState:
    """One state of all frames; where two pieces overlap, one fades into the other."""
    if len(parts) == 1:
        return parts[0][1]
    columns = parts[0][1].base.shape[1] + parts[0][1].q.shape[1]
    total, weights = np.zeros((frames, columns)), np.zeros((frames, 1))
    for number, (window, state) in enumerate(parts):
        span = slice(window.first, window.stop)
        rows = np.concatenate([state.base, state.q], axis=1)
        weight = _faded(window, parts, number)
        if number:
            # A quaternion and its negative are the same turn: add those of one side.
            before = total[span, 3:7] * np.sign(weights[span])
            same = np.einsum("ti,ti->t", rows[:, 3:7], before) >= 0
            rows[:, 3:7] *= np.where(same, 1.0, -1.0)[:, None]
        total[span] += weight * rows
        weights[span] += weight
    total /= weights
    return MotionState(
        np.concatenate([total[:, :3], normalise(total[:, 3:7])], axis=1), total[:, 7:]
    )


def _faded(
    window: ClipWindow, parts: Sequence[tuple[ClipWindow, MotionState]], number: int
) -> Array:
    """Weights (T, 1) of one piece: smooth from 0 to 1 where it overlaps a neighbour."""
    where = np.arange(window.first, window.stop)
    share = np.ones(len(where))
    if number:
        share = np.minimum(share, (where - window.first + 1) / (_shared(parts, number - 1) + 1))
    if number + 1 < len(parts):
        share = np.minimum(share, (window.stop - where) / (_shared(parts, number) + 1))
    smooth: Array = (share * share * (3 - 2 * share))[:, None]
    return smooth


def _shared(parts: Sequence[tuple[ClipWindow, MotionState]], number: int) -> int:
    """How many frames a piece shares with the next."""
    return parts[number][0].stop - parts[number + 1][0].first
