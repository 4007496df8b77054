"""Postures of the episodes of one kind, and how near a change of columns brings one to the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.joints import limb_of
from corporeal.episode.facts import RETARGETED_MOCAP
from corporeal.quality.batch import Synopsis
from corporeal.quality.evidence.arm_order import UNNATURAL
from corporeal.quality.evidence.columns import DEGREES, TURN, radians_in
from corporeal.signal.runs import Flags
from corporeal.signal.track import Array

ColumnFault = Literal["exchanged", "flipped", "degrees"]

# Postures of an episode that are compared, and episodes that each one is compared with.
POSTURES = 16
# Arms that are more unnatural than this are no measure for others, and what must be left.
MOST_UNNATURAL = 0.2
FEWEST_OTHERS = 3
MOST_PEERS = 16
# Some peers may share the fault: the distance is that to a peer which this share is nearer than.
NEAREST = 0.2
# A difference of less is no difference, rad; one of many spreads counts as that many only.
SAME = 0.05
MOST_SPREADS = 5.0
# A first posture this far from those of the peers, rad on average, is another one.
REST_ODD = 0.03
REST_CROSSED = 1.8
FEW_PEERS = 6
# Values so much larger than any of the peers' are in another unit; less will do beyond any joint.
TALL = 20.0
TALL_BEYOND = 5.0
BEYOND = 3.5


@dataclass(frozen=True, eq=False)
class Postures:
    """Episodes of one kind: their postures (N, P, D) in the columns `names`."""

    names: tuple[str, ...]
    episodes: tuple[Synopsis, ...]
    values: Array

    def others(self, number: int) -> NDArray[np.int64]:
        """Places of the episodes that one is compared with.

        Those whose arms no body could hold so are left out where enough others are there: they
        would be taken for what is usual if there were many of them.
        """
        rest = np.delete(np.arange(len(self.episodes)), number)
        fit = rest[self.natural[rest]]
        return fit if len(fit) >= FEWEST_OTHERS else rest

    @property
    def natural(self) -> Flags:
        """Episodes (N,) whose arms are held as a body can."""
        far = [each.measures.get(UNNATURAL, 0.0) for each in self.episodes]
        return np.asarray(np.array(far) <= MOST_UNNATURAL)


@dataclass(frozen=True)
class Oddity:
    """An episode (its place among the postures) that fits the others with `columns` changed.

    The columns of an exchange come in pairs. Distances are in spreads of the columns.
    """

    episode: int
    kind: ColumnFault
    columns: tuple[int, ...]
    before: float
    after: float


def collect_postures(episodes: Sequence[Synopsis], *, least: int) -> Iterator[Postures]:
    """The episodes by task, where at least `least` have the same one and the same columns."""
    groups: dict[tuple[str | None, tuple[str, ...]], list[Synopsis]] = {}
    for episode in episodes:
        if episode.path is not None and len(episode.names) > 1:
            groups.setdefault((episode.task, episode.names), []).append(episode)
    small = [key for key, members in groups.items() if len(members) < least]
    if small and len(small) == len(groups):
        # Tasks with few episodes each are still done by one robot from one rest pose, unless they
        # are motions of people, each another.
        groups = {(None, key[1]): [] for key in groups}
        for episode in episodes:
            if (None, episode.names) in groups and episode.facts.mode != RETARGETED_MOCAP:
                groups[None, episode.names].append(episode)
    for (_, names), members in groups.items():
        whole = [each for each in members if each.path is not None and _finite(each.path)]
        if len(whole) >= least:
            paths = [_thin(each.path) for each in whole if each.path is not None]
            yield Postures(names, tuple(whole), _in_radians(np.stack(paths)))


def are_joints(names: tuple[str, ...]) -> bool:
    """Whether most columns are named after parts of a body."""
    return sum(limb_of(name) is not None for name in names) > len(names) / 2


def _in_radians(values: Array) -> Array:
    """Postures (N, P, D) in radians, and within half a turn of the usual one.

    In another unit is what most episodes have in it: a single one is what is looked for.
    """
    usual = np.median(np.abs(values).max(axis=1), axis=0)[None]
    width = values.shape[2]
    radian = radians_in(usual, ("1",) * width, np.zeros(width, bool))
    turn = TURN * radian
    middle = np.median(values, axis=(0, 1))
    wraps = np.abs(values).max(axis=(0, 1)) < 1.05 * turn
    folded = values - np.where(wraps, turn * np.round((values - middle) / turn), 0.0)
    return np.asarray(folded / radian)


def _finite(path: Array) -> bool:
    return len(path) >= POSTURES and bool(np.isfinite(path).all())


def _thin(path: Array) -> Array:
    return np.asarray(path[np.linspace(0, len(path) - 1, POSTURES).astype(int)])


def best_change(seen: Postures, number: int) -> Oddity:
    """The change that brings an episode nearest to its peers, whatever it gains."""
    peers, own = peers_of(seen, number), seen.values[number]
    kind, columns, before, after = _best(own, peers, seen.names)
    # Another task, or one of few episodes, may be one for the other hand.
    mixed = len(peers) < FEW_PEERS or len({each.task for each in seen.episodes}) > 1
    one_pair = [pair for pair in sides_of(seen.names) if pair == columns]
    if mixed and one_pair and not _starts_odd(own, peers, one_pair):
        after = before
    return Oddity(number, kind, columns, before, after)


def peers_of(seen: Postures, number: int) -> Array:
    """Postures (M, P, D) of the episodes that one is compared with."""
    others = seen.others(number)
    if len(others) > MOST_PEERS:
        others = others[np.linspace(0, len(others) - 1, MOST_PEERS).astype(int)]
    return np.asarray(seen.values[others])


def _scale(peers: Array) -> Array:
    """The spread of each column among the peers."""
    flat = peers.reshape(-1, peers.shape[2])
    spread = 1.4826 * np.median(np.abs(flat - np.median(flat, axis=0)), axis=0)
    return np.asarray(np.minimum(spread, flat.std(axis=0)) + SAME)


def distance_to_peers(seen: Postures, number: int) -> float:
    """How far an episode is from its peers as it stands."""
    peers, own = peers_of(seen, number), seen.values[number]
    scale = _scale(peers)
    whole = np.zeros((len(peers), len(own), peers.shape[1]))
    for column in range(own.shape[1]):
        away = (own[None, :, None, column] - peers[:, None, :, column]) / scale[column]
        whole += np.minimum(np.abs(away), MOST_SPREADS) ** 2
    return _near(whole)


def columns_in_degrees(own: Array, peers: Array) -> NDArray[np.int64]:
    """Columns far larger than any peer's, which come back into their range as degrees do."""
    size = np.abs(own).max(axis=0)
    usual = np.quantile(np.abs(peers).max(axis=1), 0.9, axis=0)
    back = np.abs(own / DEGREES)
    fits = back.max(axis=0) < 1.5 * usual + SAME
    tall = size > TALL * usual + 4 * SAME
    tall |= (size > BEYOND) & (size > TALL_BEYOND * usual)
    return np.flatnonzero(fits & tall)


def _best(
    own: Array, peers: Array, names: tuple[str, ...]
) -> tuple[ColumnFault, tuple[int, ...], float, float]:
    """The change that brings the episode nearest to its peers: distances before and after."""
    scale = _scale(peers)

    def apart(mine: Array, column: int) -> Array:
        """Squared distance (N, P, P) of one of my columns to a column of the peers."""
        away = (mine[None, :, None] - peers[:, None, :, column]) / scale[column]
        return np.asarray(np.minimum(np.abs(away), MOST_SPREADS) ** 2)

    columns = range(own.shape[1])
    each = np.stack([apart(own[:, column], column) for column in columns])
    whole = each.sum(axis=0)
    before = _near(whole)
    tried: list[tuple[float, ColumnFault, tuple[int, ...]]] = [
        (_near(whole - each[i] + apart(-own[:, i], i)), "flipped", (i,)) for i in columns
    ]
    crossed: dict[tuple[int, int], Array] = {}
    sides = sides_of(names)
    for i, j in combinations(columns, 2):
        change = apart(own[:, j], i) + apart(own[:, i], j) - each[i] - each[j]
        tried.append((_near(whole + change), "exchanged", (i, j)))
        if (i, j) in sides:
            crossed[i, j] = change
    for limb in _limbs(names, sides):
        change = np.sum([crossed[pair] for pair in limb], axis=0)
        # The other hand doing the work is no exchange: the rest pose must be the other side's too.
        if not _starts_odd(own, peers, limb):
            continue
        flat_pairs = tuple(column for pair in limb for column in pair)
        tried.append((_near(whole + change), "exchanged", flat_pairs))
    after, kind, chosen = min(tried)
    return kind, chosen, before, after


def _starts_odd(own: Array, peers: Array, limb: list[tuple[int, int]]) -> bool:
    """Whether the first posture fits the peers' first ones only with the sides exchanged."""
    left, right = [list(side) for side in zip(*limb, strict=True)]
    mine, theirs = own[0], peers[:, 0]
    as_is = np.abs(theirs[:, left + right] - mine[left + right]).mean(axis=1)
    crossed = np.abs(theirs[:, left + right] - mine[right + left]).mean(axis=1)
    before, after = float(np.quantile(as_is, 0.3)), float(np.quantile(crossed, 0.3))
    return before > REST_CROSSED * after and before > REST_ODD


def _near(squares: Array) -> float:
    """How far my postures are from the nearest ones of a peer, for one of the nearest peers."""
    each = np.sqrt(np.maximum(squares.min(axis=2), 0.0)).mean(axis=1)
    place = min(len(each) - 1, max(1 if len(each) > 3 else 0, int(NEAREST * len(each))))
    return float(np.partition(each, place)[place])


def sides_of(names: tuple[str, ...]) -> list[tuple[int, int]]:
    """Pairs of columns that are the left and the right of one thing."""
    lowered = {name.lower(): column for column, name in enumerate(names)}
    pairs = []
    for name, column in lowered.items():
        other = lowered.get(name.replace("left", "right"))
        if "left" in name and other is not None:
            pairs.append((min(column, other), max(column, other)))
    return pairs


def _limbs(names: tuple[str, ...], sides: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """The sides as arms, as legs, as hands, and all together."""
    groups = [
        [pair for pair in sides if limb_of(names[pair[0]]) == limb]
        for limb in ("arm", "leg", "hand")
    ]
    return [group for group in (*groups, sides) if len(group) > 1]
