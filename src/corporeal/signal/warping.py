"""Dynamic time warping: distances of many pairs at once, and the path of one pair.

The distance of two series is the least sum of Euclidean distances over all ways to walk through
both in step, never back (Sakoe and Chiba, 1978): D[i, j] = |a_i - b_j| + min(D[i-1, j], D[i, j-1],
D[i-1, j-1]). The cells of one anti-diagonal do not depend on each other, so numpy runs along them,
and along the pairs. Distances come from one matrix product per block of rows; the block is read
askew, so that a diagonal lies in one piece. Memory is bounded by `CELLS`, whatever is asked for.
For a path the table of one pair is kept, and walked back.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, groupby

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import ArrayLike, NDArray

from corporeal.errors import CorporealError

Array = NDArray[np.float64]
Lanes = NDArray[np.float32]

# Rows that are done together: their distances fit the cache of one core. With few pairs there are
# more of them, so that numpy has enough to run along.
ROWS, MOST_ROWS, LANES = 128, 512, 4096
# Cells of all lanes that are held at once: 32 MB.
CELLS = 1 << 23
MOST_FRAMES = 1500
"""Frames that a path is asked for at most; the table of two has 9 MB."""
PATH_BAND = 0.3


def distance(a: ArrayLike, b: ArrayLike, *, band: float | None = None) -> float:
    """The distance of two series (T, D), in the unit of their values."""
    return float(distances([(a, b)], band=band)[0])


def distances(pairs: Sequence[tuple[ArrayLike, ArrayLike]], *, band: float | None = None) -> Array:
    """The distance of every pair of series (T, D) and (U, D); lengths may differ.

    With `band` the walk stays where |i / (T - 1) - j / (U - 1)| <= band: 1 is no limit.
    """
    ready = [_pair(a, b) for a, b in pairs]
    found = np.empty(len(ready))
    shapes = [(len(a), len(b), a.shape[1]) for a, b in ready]
    order = sorted(range(len(ready)), key=lambda number: shapes[number])
    for shape, group in groupby(order, key=lambda number: shapes[number]):
        for lanes in _portions(list(group), shape):
            first = np.stack([ready[number][0] for number in lanes])
            second = np.stack([ready[number][1] for number in lanes])
            found[lanes] = _lanes(first, second, band)
    return found


def pairwise(series: Sequence[ArrayLike], *, band: float | None = None) -> Array:
    """The distance (N, N) of every series to every other."""
    count = len(series)
    table = np.zeros((count, count))
    both = list(combinations(range(count), 2))
    if both:
        found = distances([(series[i], series[j]) for i, j in both], band=band)
        rows, columns = np.array(both).T
        table[rows, columns] = table[columns, rows] = found
    return table


def _pair(a: ArrayLike, b: ArrayLike) -> tuple[Array, Array]:
    first, second = (np.asarray(one, np.float64) for one in (a, b))
    if first.ndim == 1 and second.ndim == 1:
        first, second = first[:, None], second[:, None]
    if first.ndim != 2 or second.ndim != 2 or first.shape[1] != second.shape[1]:
        raise CorporealError(
            f"series do not fit each other, got shapes {first.shape} and {second.shape}; "
            "expected (T, D) and (U, D). Give both the same columns."
        )
    if not len(first) or not len(second):
        raise CorporealError("a series is empty; expected one sample or more. Leave it out.")
    return first, second


def _portions(numbers: list[int], shape: tuple[int, int, int]) -> Iterator[list[int]]:
    cells = (ROWS + 1) * (shape[1] + ROWS + 1)
    size = max(1, CELLS // cells)
    return (numbers[start : start + size] for start in range(0, len(numbers), size))


def _lanes(a: Array, b: Array, band: float | None) -> Array:
    """Distances (P,) of series (P, T, D) and (P, U, D)."""
    rows, columns = a.shape[1], b.shape[1]
    left, right = _factors(a, b)
    # The last row of the block before, and what stands to the left of it.
    above = np.full((columns + 1, len(a)), np.inf, np.float32)
    above[0] = 0.0
    # Used again for every block: fresh memory costs more than the sums.
    step = min(max(ROWS, LANES // len(a)), MOST_ROWS, rows)
    room = np.empty((columns + step + 1) * len(a) * (step + 1), np.float32)
    for start in range(0, rows, step):
        block = left[:, start : start + step]
        shape = (columns + block.shape[1] + 1, len(a), block.shape[1] + 1)
        sums = room[: math.prod(shape)].reshape(shape)
        _fill(sums, block, right)
        if band is not None:
            _close(sums, start, rows, columns, band)
        above = _walk(sums, above)
    return np.asarray(above[-1], np.float64)


def _factors(a: Array, b: Array) -> tuple[Array, Array]:
    """Two arrays whose product is the squared distances: |a|^2 + |b|^2 - 2 a b."""
    # About their middle, so that little is lost where large numbers nearly cancel.
    middle = np.concatenate((a, b), axis=1).mean(axis=1, keepdims=True)
    a, b = a - middle, b - middle
    ones_a, ones_b = np.ones((*a.shape[:2], 1)), np.ones((*b.shape[:2], 1))
    square_a = np.square(a).sum(axis=2, keepdims=True)
    square_b = np.square(b).sum(axis=2, keepdims=True)
    # More than rounding can take away: no square of a distance is below nought.
    square_b += 1e-13 * (square_a.max() + square_b.max())
    left = np.concatenate((-2.0 * a, square_a, ones_a), axis=2)
    right = np.concatenate((b, ones_b, square_b), axis=2)
    return left, right


def _fill(sums: Lanes, block: Array, right: Array) -> None:
    """Put the distances of a block of R rows into `sums` (U + R + 1, P, R + 1).

    Entry [i + j + 2, p, i + 1] is the distance of row i and column j. What is left over at the
    start and in column 0 is for `_walk`: the row above the block. Cells that do not exist are
    infinite.
    """
    pairs, rows = block.shape[:2]
    columns = right.shape[1]
    sums[:2] = np.inf
    sums[:, :, 0] = np.inf
    squared = np.empty((columns, rows))
    # Room before and after, so that reading askew never leaves the array.
    apart = np.full((columns + 2 * rows - 2, rows), np.inf, np.float32)
    inside = apart[rows - 1 : rows - 1 + columns]
    step = apart.strides[1]
    skewed = as_strided(
        apart[rows - 1 :], (columns + rows - 1, rows), (rows * step, (1 - rows) * step)
    )
    for number in range(pairs):
        np.matmul(right[number], block[number].T, out=squared)
        np.copyto(inside, squared, casting="same_kind")
        np.sqrt(inside, out=inside)
        np.copyto(sums[2:, number, 1:], skewed)


def _close(sums: Lanes, start: int, rows: int, columns: int, band: float) -> None:
    """Put infinity where the walk may not go."""
    row = np.arange(sums.shape[2] - 1)
    column = np.arange(len(sums) - 2)[:, None] - row
    along_a, along_b = (start + row) / max(1, rows - 1), column / max(1, columns - 1)
    outside = np.abs(along_a - along_b) > band + 1e-9
    np.copyto(sums[2:, :, 1:], np.inf, where=outside[:, None, :])


def _walk(sums: Lanes, above: Lanes) -> Lanes:
    """Sum up a block in place; `above` (U + 1, P) is the row before it, the result its last."""
    columns, rows = len(above) - 1, sums.shape[2] - 1
    edge = np.full((len(sums), above.shape[1]), np.inf, np.float32)
    edge[: columns + 1] = above
    first = sums[:, :, 0]
    first[:2] = edge[:2]
    # All lanes of a diagonal as one piece, which numpy runs along fastest. The first entry of a
    # lane then gets to see the last of its neighbour, and is put right after.
    flat = sums.reshape(len(sums), -1)
    here, up = flat[:, 1:], flat[:, :-1]
    least = np.empty(here.shape[1], np.float32)
    for number in range(2, len(sums)):
        np.minimum(here[number - 1], up[number - 1], out=least)
        np.minimum(least, up[number - 2], out=least)
        np.add(here[number], least, out=here[number])
        first[number] = edge[number]
    below = np.full_like(above, np.inf)
    below[1:] = sums[rows + 1 :, :, rows]
    return below


def warping_path(a: Array, b: Array, *, band: float = PATH_BAND) -> NDArray[np.int64]:
    """Pairs (K, 2) of frames of `a` (T, D) and `b` (U, D) that belong together, both ends in it.

    The walk stays where |i / (T - 1) - j / (U - 1)| <= band.
    """
    sums = _table_sums(_table(a, b, band))
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


def _table(a: Array, b: Array, band: float) -> NDArray[np.float32]:
    squared = np.square(a).sum(1)[:, None] + np.square(b).sum(1) - 2.0 * (a @ b.T)
    apart: NDArray[np.float32] = np.sqrt(np.maximum(squared, 0.0)).astype(np.float32)
    along_a = np.arange(len(a))[:, None] / max(1, len(a) - 1)
    along_b = np.arange(len(b)) / max(1, len(b) - 1)
    # One cell of room: with few frames the diagonal itself would be closed off.
    room = max(band, 1.5 / max(1, min(len(a), len(b)) - 1))
    apart[np.abs(along_a - along_b) > room] = np.inf
    return apart


def _table_sums(apart: NDArray[np.float32]) -> NDArray[np.float32]:
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
