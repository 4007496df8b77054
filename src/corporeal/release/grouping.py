"""Puts whole groups into splits, so that no session, operator or object is on both sides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

_GAIN = 1e-9
# With more groups than this a single move always comes near enough.
_EXCHANGED = 400


def assign_groups(
    groups: Sequence[int],
    strata: Sequence[int],
    draws: Sequence[float],
    shares: Sequence[float],
) -> list[int]:
    """The split of every group.

    `groups` and `strata` number each episode's; `draws` (0 to 1) is chance for each group. Chance
    decides first, which no other group can change; then groups move, one or two at a time, as
    long as that brings the shares of all strata nearer to what they should be.
    """
    counts = _counts(groups, strata, len(draws))
    target = np.outer(np.asarray(counts.sum(axis=0)).ravel(), shares)
    bounds = np.cumsum(shares)
    place = np.searchsorted(bounds[:-1], np.asarray(draws), side="right").astype(np.int64)
    # Every stratum counts by how far it is off for its size, the total as much as all of them.
    sizes = target.sum(axis=1)
    weight = 1 / np.maximum(sizes, 1)
    weight[-1] *= max(1, len(sizes) - 1)
    own = np.asarray(counts.multiply(counts) @ weight).ravel()
    scaled = sparse.csr_matrix(counts.multiply(weight[None, :]))
    off = _held(counts, place, len(shares)) - target
    for _ in range(4 * len(draws)):
        if not _improve(counts, scaled, off, own, place):
            break
    _fill_empty(counts, scaled, off, own, place, len(shares))
    return [int(each) for each in place]


def _counts(groups: Sequence[int], strata: Sequence[int], count: int) -> sparse.csr_matrix:
    """Episodes of every group (rows) in every stratum, and altogether in the last column."""
    rows, columns = np.asarray(groups), np.asarray(strata)
    width = int(columns.max()) + 1
    ones = np.ones(2 * len(rows))
    places = (np.concatenate([rows, rows]), np.concatenate([columns, np.full(len(rows), width)]))
    return sparse.csr_matrix((ones, places), shape=(count, width + 1))


def _held(counts: sparse.csr_matrix, place: NDArray[np.int64], splits: int) -> NDArray[np.float64]:
    """What every split has of every stratum."""
    chosen = np.eye(splits)[place]
    return np.asarray(counts.T @ chosen)


def _improve(
    counts: sparse.csr_matrix,
    scaled: sparse.csr_matrix,
    off: NDArray[np.float64],
    own: NDArray[np.float64],
    place: NDArray[np.int64],
) -> bool:
    """Make the move, or the exchange of two groups, that gains most; whether there was one."""
    gain = _gains(scaled, off, own, place)
    group, split = (int(at) for at in np.unravel_index(int(np.argmin(gain)), gain.shape))
    if gain[group, split] < -_GAIN:
        _move(counts, off, place, group, split)
        return True
    if len(place) > _EXCHANGED:
        return False
    there = gain[:, place]
    both = there + there.T - 4 * np.asarray((scaled @ counts.T).todense())
    both[place[:, None] == place[None, :]] = 0
    one, other = (int(at) for at in np.unravel_index(int(np.argmin(both)), both.shape))
    if both[one, other] > -_GAIN:
        return False
    home = int(place[one])
    _move(counts, off, place, one, int(place[other]))
    _move(counts, off, place, other, home)
    return True


def _gains(
    scaled: sparse.csr_matrix,
    off: NDArray[np.float64],
    own: NDArray[np.float64],
    place: NDArray[np.int64],
) -> NDArray[np.float64]:
    """How the sum of weighted squares changes when a group (row) goes to a split (column)."""
    product = np.asarray(scaled @ off)
    here = product[np.arange(len(place)), place]
    gain: NDArray[np.float64] = 2 * (product - here[:, None]) + 2 * own[:, None]
    gain[np.arange(len(place)), place] = 0
    return gain


def _move(
    counts: sparse.csr_matrix,
    off: NDArray[np.float64],
    place: NDArray[np.int64],
    group: int,
    split: int,
) -> None:
    row = counts[[group]].toarray().ravel()
    off[:, place[group]] -= row
    off[:, split] += row
    place[group] = split


def _fill_empty(
    counts: sparse.csr_matrix,
    scaled: sparse.csr_matrix,
    off: NDArray[np.float64],
    own: NDArray[np.float64],
    place: NDArray[np.int64],
    splits: int,
) -> None:
    """A split without any group gets the one that harms least, while others have two."""
    for split in range(splits):
        held = np.bincount(place, minlength=splits)
        if held[split] or held.max() < 2:
            continue
        gain = _gains(scaled, off, own, place)[:, split]
        gain[held[place] < 2] = np.inf
        _move(counts, off, place, int(np.argmin(gain)), split)
