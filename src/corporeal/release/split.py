"""Who goes into which split: alike by several properties, and the same again with the same seed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from corporeal.catalog.database import CatalogError
from corporeal.release.grouping import assign_groups
from corporeal.release.version import check_name

NEGATIVES = "negatives"
"""The split of failed episodes; never one that shares are given for."""
_CLOSE = 1e-6


@dataclass(frozen=True)
class Item:
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
    items: Sequence[Item], shares: Mapping[str, float], *, seed: int = 0
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


def _by_groups(items: Sequence[Item], shares: Mapping[str, float], seed: int) -> dict[str, str]:
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
