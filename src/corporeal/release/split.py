"""Who goes into which split: alike by several properties, and the same again with the same seed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from corporeal.catalog.database import CatalogError
from corporeal.release.version import check_name

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
    placed = _Placement(_counts(groups, strata, len(draws)), draws, shares)
    for _ in range(4 * len(draws)):
        if not placed.improve():
            break
    placed.fill_empty()
    return [int(each) for each in placed.split]


def _counts(groups: Sequence[int], strata: Sequence[int], count: int) -> sparse.csr_matrix:
    """Episodes of every group (rows) in every stratum, and altogether in the last column."""
    rows, columns = np.asarray(groups), np.asarray(strata)
    width = int(columns.max()) + 1
    ones = np.ones(2 * len(rows))
    places = (np.concatenate([rows, rows]), np.concatenate([columns, np.full(len(rows), width)]))
    return sparse.csr_matrix((ones, places), shape=(count, width + 1))


class _Placement:
    """The split of every group, and how far each stratum is from its share in each split."""

    def __init__(
        self, counts: sparse.csr_matrix, draws: Sequence[float], shares: Sequence[float]
    ) -> None:
        target = np.outer(np.asarray(counts.sum(axis=0)).ravel(), shares)
        bounds = np.cumsum(shares)
        drawn = np.searchsorted(bounds[:-1], np.asarray(draws), side="right")
        # Every stratum counts by how far it is off for its size, the total as much as all of them.
        sizes = target.sum(axis=1)
        weight = 1 / np.maximum(sizes, 1)
        weight[-1] *= max(1, len(sizes) - 1)
        self.counts = counts
        self.split: NDArray[np.int64] = drawn.astype(np.int64)
        self.own = np.asarray(counts.multiply(counts) @ weight).ravel()
        self.scaled = sparse.csr_matrix(counts.multiply(weight[None, :]))
        self.off = np.asarray(counts.T @ np.eye(len(shares))[self.split]) - target

    def improve(self) -> bool:
        """Make the move, or the exchange of two groups, that gains most; whether there was one."""
        gain = self._gains()
        group, split = (int(at) for at in np.unravel_index(int(np.argmin(gain)), gain.shape))
        if gain[group, split] < -_GAIN:
            self._move(group, split)
            return True
        if len(self.split) > _EXCHANGED:
            return False
        there = gain[:, self.split]
        both = there + there.T - 4 * np.asarray((self.scaled @ self.counts.T).todense())
        both[self.split[:, None] == self.split[None, :]] = 0
        one, other = (int(at) for at in np.unravel_index(int(np.argmin(both)), both.shape))
        if both[one, other] > -_GAIN:
            return False
        home = int(self.split[one])
        self._move(one, int(self.split[other]))
        self._move(other, home)
        return True

    def fill_empty(self) -> None:
        """A split without any group gets the one that harms least, while others have two."""
        splits = self.off.shape[1]
        for split in range(splits):
            sizes = np.bincount(self.split, minlength=splits)
            if sizes[split] or sizes.max() < 2:
                continue
            gain = self._gains()[:, split]
            gain[sizes[self.split] < 2] = np.inf
            self._move(int(np.argmin(gain)), split)

    def _gains(self) -> NDArray[np.float64]:
        """How the sum of weighted squares changes when a group (row) goes to a split (column)."""
        product, groups = np.asarray(self.scaled @ self.off), np.arange(len(self.split))
        here = product[groups, self.split]
        gain: NDArray[np.float64] = 2 * (product - here[:, None]) + 2 * self.own[:, None]
        gain[groups, self.split] = 0
        return gain

    def _move(self, group: int, split: int) -> None:
        row = self.counts[[group]].toarray().ravel()
        self.off[:, self.split[group]] -= row
        self.off[:, split] += row
        self.split[group] = split


NEGATIVES = "negatives"
"""The split of failed episodes; never one that shares are given for."""
_CLOSE = 1e-6


@dataclass(frozen=True)
class SplitItem:
    """An episode to be placed: `stratum` holds its properties, `group` what may not be parted."""

    id: str
    stratum: Hashable = ()
    group: str | None = None


def check_shares(shares: Mapping[str, float]) -> dict[str, float]:
    """The shares as they were given; raises CatalogError unless they are parts of one whole."""
    for name, share in shares.items():
        check_name(name)
        if name == NEGATIVES:
            raise CatalogError(
                f"splits, got the name {NEGATIVES!r}, which is for failed episodes. Name another."
            )
        if not (math.isfinite(share) and 0 < share <= 1):
            raise CatalogError(f"share of {name}, got {share}; expected above 0 and at most 1.")
    total = math.fsum(shares.values())
    if not shares or abs(total - 1) > _CLOSE:
        raise CatalogError(f"shares, got a sum of {total:g}; expected 1, such as 0.9 and 0.1.")
    return dict(shares)


def assign_splits(
    items: Sequence[SplitItem], shares: Mapping[str, float], *, seed: int = 0
) -> dict[str, str]:
    """The split of every episode by its id.

    Within a stratum each share is met within one episode, and over all of them too; rare strata
    get what is left over, the largest remainders first. Who goes where depends on the seed and the
    ids alone, so that an added episode moves at most a few others. With groups, a group stays
    together and the shares are met as well as its size allows.
    """
    shares = check_shares(shares)
    if any(item.group is not None for item in items):
        return _by_groups(items, shares, seed)
    strata: dict[Hashable, list[str]] = {}
    for item in items:
        strata.setdefault(item.stratum, []).append(item.id)
    keys = sorted(strata, key=lambda key: _draw(seed, "stratum", repr(key)))
    quotas = allot([len(strata[key]) for key in keys], list(shares.values()))
    placed: dict[str, str] = {}
    for key, quota in zip(keys, quotas, strict=True):
        order = sorted(strata[key], key=lambda name: _draw(seed, "episode", name))
        names = [name for name, count in zip(shares, quota, strict=True) for _ in range(count)]
        placed.update(zip(order, names, strict=True))
    return placed


def allot(sizes: Sequence[int], shares: Sequence[float]) -> list[list[int]]:
    """How many of each stratum go into each split: whole numbers, near the shares in all sums.

    Ties go to the stratum that comes first.
    """
    quotas = [[math.floor(size * share + _CLOSE) for share in shares] for size in sizes]
    left = [size - sum(quota) for size, quota in zip(sizes, quotas, strict=True)]
    wanted = _whole(sum(sizes), shares)
    short = [want - sum(quota[at] for quota in quotas) for at, want in enumerate(wanted)]
    claims = sorted(
        (
            (-(size * share - quotas[row][at]), row, at)
            for row, size in enumerate(sizes)
            if left[row]
            for at, share in enumerate(shares)
        ),
        key=lambda claim: (round(claim[0], 9), claim[1], claim[2]),
    )
    given: set[tuple[int, int]] = set()
    # The second round gives away what is left where each split had its one extra already.
    for again in (False, True):
        for _, row, at in claims:
            while left[row] and short[at] > 0 and (again or (row, at) not in given):
                quotas[row][at] += 1
                left[row] -= 1
                short[at] -= 1
                given.add((row, at))
    for row, count in enumerate(left):
        quotas[row][shares.index(max(shares))] += count
    return quotas


def _whole(total: int, shares: Sequence[float]) -> list[int]:
    """Whole numbers with this total in these shares; no share is empty while there are enough."""
    exact = [total * share for share in shares]
    counts = [math.floor(value + _CLOSE) for value in exact]
    order = sorted(range(len(shares)), key=lambda at: (counts[at] - exact[at], at))
    for at in order[: total - sum(counts)]:
        counts[at] += 1
    for at, count in enumerate(counts):
        richest = max(range(len(counts)), key=counts.__getitem__)
        if count == 0 and counts[richest] > 1:
            counts[at] += 1
            counts[richest] -= 1
    return counts


def _by_groups(
    items: Sequence[SplitItem], shares: Mapping[str, float], seed: int
) -> dict[str, str]:
    # An episode of no group is a group of its own.
    owners = [f"g:{item.group}" if item.group is not None else f"e:{item.id}" for item in items]
    names = sorted(set(owners), key=lambda owner: _draw(seed, "group", owner))
    draws = [int(_draw(seed, "place", name)[:13], 16) / 16**13 for name in names]
    strata = {key: at for at, key in enumerate(dict.fromkeys(item.stratum for item in items))}
    number = {name: at for at, name in enumerate(names)}
    chosen = assign_groups(
        [number[owner] for owner in owners],
        [strata[item.stratum] for item in items],
        draws,
        list(shares.values()),
    )
    splits = list(shares)
    return {
        item.id: splits[chosen[number[owner]]] for item, owner in zip(items, owners, strict=True)
    }


def _draw(seed: int, kind: str, name: str) -> str:
    """A number for a name that looks like chance and is always the same."""
    return hashlib.sha256(f"{seed}\n{kind}\n{name}".encode()).hexdigest()
