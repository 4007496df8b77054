"""One or two columns that an episode holds otherwise than its peers: by rest pose and range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corporeal.quality.evidence.postures import ColumnFault, Postures, are_joints, sides_of
from corporeal.signal.track import Array

# Column by column: the share of peers compared with, the nearest, and how many of them.
ALIKE = 0.34
LEAST_ALIKE = 4
MOST_ALIKE = 6
# What is added to a spread among the peers, rad, and the most spreads that one measure counts,
# for a change and for the choice of the peers that are alike.
LEAST_SPREAD = 0.03
MOST_AWAY = 6.0
SAME_HAND = 3.0
# A change is clear when it gains this much in squared spreads (more among few peers), and this
# many times what three quarters of the other episodes could gain,
CLEAR = 6.0
CLEAR_FEW = 24.0
CLEARER = 2.5
# when it gains this share of the clearest in the set, and of `CLEAR` in the rest pose alone if it
# goes from one side to the other,
BESIDE = 0.5
AT_REST = 0.5
# when it leaves little, as a share of what was and for each column,
LEFT_SHARE = 1 / 3
LEFT_EACH = 2.0
# and when no sides beyond it would gain, in all or as a share: that is the other hand at work.
HANDED = 3.0
HANDED_SHARE = 0.25


@dataclass(frozen=True)
class ColumnChange:
    """The best change of one or two columns: squared distances, and what other sides would gain."""

    kind: ColumnFault
    columns: tuple[int, ...]
    before: float
    after: float
    beside: float
    across: bool = False
    at_rest: float = 0.0

    @property
    def gain(self) -> float:
        """What the change takes away of the distance."""
        return self.before - self.after


def _clear(changes: list[ColumnChange], number: int, least: float) -> bool:
    """Whether the change of an episode stands out: much gained, little left, nothing else odd."""
    change = changes[number]
    others = np.array([each.gain for place, each in enumerate(changes) if place != number])
    return (
        change.gain > max(least, CLEARER * float(np.quantile(others, 0.75)))
        and (not change.across or change.at_rest > AT_REST * least)
        and change.after < LEFT_SHARE * change.before
        and change.after < LEFT_EACH * len(change.columns)
        and change.beside < max(HANDED, HANDED_SHARE * change.gain)
    )


def clear_changes(seen: Postures) -> dict[int, ColumnChange]:
    """Episodes, by place, in which a change of one or two columns is clear."""
    measures, sides = _measures(seen.values), sides_of(seen.names)
    places = range(len(seen.values))
    changes = [
        _column_change(measures[:, number], measures[:, seen.others(number)], sides)
        for number in places
    ]
    # Few peers tell little of what is usual, and columns without a name may be anything.
    least = CLEAR + CLEAR_FEW / (len(places) - 1)
    if not are_joints(seen.names):
        least *= 2
    found = {number: changes[number] for number in places if _clear(changes, number, least)}
    # Beside a spoilt episode its neighbours look odd too, but less.
    most = max((change.gain for change in found.values()), default=0.0)
    return {number: change for number, change in found.items() if change.gain > BESIDE * most}


def _measures(values: Array) -> Array:
    """Of postures (N, P, D): the first, the last, low, middle and high values (5, N, D)."""
    levels = np.quantile(values, (0.1, 0.5, 0.9), axis=1)
    return np.asarray(np.stack([values[:, 0], values[:, -1], *levels]))


def _column_change(own: Array, peers: Array, sides: list[tuple[int, int]]) -> ColumnChange:
    """The change of one or two columns that gains most, seen in these columns alone.

    In many columns the distance of postures hardly shows two of them. Arms begin and end alike
    in one set, and a column keeps its range: that tells which column is which.
    """
    peers, scale = _alike(own, peers)
    straight = _squares(own, peers, scale)
    turned = _squares(-own[[0, 1, 4, 3, 2]], peers, scale)
    before, after = _second(_added(straight)), _second(straight + straight.transpose(0, 2, 1))
    gains = np.triu(before - after, 1)
    alone = _second(np.diagonal(straight, axis1=1, axis2=2))
    flipped = _second(np.diagonal(turned, axis1=1, axis2=2))
    i, j = (int(place) for place in np.unravel_index(int(gains.argmax()), gains.shape))
    k = int((alone - flipped).argmax())

    def beside(*columns: int) -> float:
        return max((float(gains[p]) for p in sides if not set(p) & set(columns)), default=0.0)

    if gains[i, j] < alone[k] - flipped[k]:
        return ColumnChange("flipped", (k,), float(alone[k]), float(flipped[k]), beside(k))
    rest = _squares(own[:2, [i, j]], peers[:2, :, [i, j]], scale[:2, [i, j]])
    at_rest = _second(_added(rest)) - _second(rest + rest.transpose(0, 2, 1))
    lefts, rights = {pair[0] for pair in sides}, {pair[1] for pair in sides}
    across = (i in lefts and j in rights) or (j in lefts and i in rights)
    pair = float(before[i, j]), float(after[i, j])
    return ColumnChange("exchanged", (i, j), *pair, beside(i, j), across, float(at_rest[0, 1]))


def _alike(own: Array, peers: Array) -> tuple[Array, Array]:
    """Of the measures of the peers those most like one's own, and the spread of all."""
    scale: Array = peers.std(axis=1) + LEAST_SPREAD
    away = np.minimum(np.abs(own[:, None] - peers) / scale[:, None], SAME_HAND) ** 2
    order = np.argsort(away.sum(axis=(0, 2)), kind="stable")
    count = min(MOST_ALIKE, max(LEAST_ALIKE, int(ALIKE * len(order))))
    return peers[:, order[:count]], scale


def _squares(mine: Array, peers: Array, scale: Array) -> Array:
    """Squared distance (N, D, D) of each of my columns to each column of the peers."""
    away = np.abs(mine[:, None, :, None] - peers[:, :, None, :]) / scale[:, None, None, :]
    return np.asarray((np.minimum(away, MOST_AWAY) ** 2).mean(axis=0))


def _added(squares: Array) -> Array:
    """The distance of every two columns, each to itself."""
    each = np.diagonal(squares, axis1=1, axis2=2)
    return np.asarray(each[:, :, None] + each[:, None, :])


def _second(squares: Array) -> Array:
    """The distance to the second nearest peer: one may be spoilt itself."""
    return np.asarray(np.partition(squares, 1, axis=0)[1])
