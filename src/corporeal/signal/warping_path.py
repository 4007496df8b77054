"""How two motions are walked through in step: the path of dynamic time warping.

D[i, j] = |a_i - b_j| + min(D[i-1, j], D[i, j-1], D[i-1, j-1]), as in `quality.scoring.dtw`, which
gives distances of many pairs; here the table of one pair is kept, and walked back.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
MOST = 1500
"""Frames of each; the table of two has 9 MB."""
BAND = 0.3


def warping_path(a: Array, b: Array, *, band: float = BAND) -> NDArray[np.int64]:
    """Pairs (K, 2) of frames of `a` (T, D) and `b` (U, D) that belong together, both ends in it.

    The walk stays where |i / (T - 1) - j / (U - 1)| <= band.
    """
    sums = _sums(_distances(a, b, band))
    row, column = len(a) - 1, len(b) - 1
    path = [(row, column)]
    while row or column:
        if row and column:
            before = (sums[row - 1, column - 1], sums[row - 1, column], sums[row, column - 1])
            step = int(np.argmin(before))
        else:
            step = 1 if row else 2
        row, column = row - (step != 2), column - (step != 1)
        path.append((row, column))
    return np.array(path[::-1], np.int64)


def _distances(a: Array, b: Array, band: float) -> NDArray[np.float32]:
    squared = np.square(a).sum(1)[:, None] + np.square(b).sum(1) - 2.0 * (a @ b.T)
    apart: NDArray[np.float32] = np.sqrt(np.maximum(squared, 0.0)).astype(np.float32)
    along_a = np.arange(len(a))[:, None] / max(1, len(a) - 1)
    along_b = np.arange(len(b)) / max(1, len(b) - 1)
    # One cell of room: with few frames the diagonal itself would be closed off.
    room = max(band, 1.5 / max(1, min(len(a), len(b)) - 1))
    apart[np.abs(along_a - along_b) > room] = np.inf
    return apart


def _sums(apart: NDArray[np.float32]) -> NDArray[np.float32]:
    """The least sums up to each cell, one anti-diagonal after the other, in place of `apart`."""
    rows, columns = apart.shape
    wide = columns + 1
    table = np.full((rows + 1, wide), np.inf, np.float32)
    table[0, 0] = 0.0
    table[1:, 1:] = apart
    flat = table.ravel()
    # Cell (i, k - i) lies at i * (wide - 1) + k: a diagonal is a slice.
    stride = wide - 1
    for diagonal in range(2, rows + columns + 1):
        first, last = max(1, diagonal - columns), min(rows, diagonal - 1)
        begin, end = first * stride + diagonal, last * stride + diagonal + 1
        here = flat[begin:end:stride]
        left = flat[begin - 1 : end - 1 : stride]
        above = flat[begin - wide : end - wide : stride]
        corner = flat[begin - wide - 1 : end - wide - 1 : stride]
        here += np.minimum(np.minimum(left, above), corner)
    return table[1:, 1:]
