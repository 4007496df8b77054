"""Postures that a set of episodes goes through, and episodes that fit only with columns changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from corporeal.quality.batch import Synopsis
from corporeal.quality.evidence.joint_evidence import DEGREES
from corporeal.quality.track import Array

Kind = Literal["exchanged", "flipped", "degrees"]

# Postures of an episode that are compared, and episodes that each one is compared with.
POSTURES = 16
MOST_PEERS = 40
# Some peers may share the fault: the distance is that to a peer which this share is nearer than.
NEAREST = 0.2
# Only episodes farther from their peers than this times the usual are searched for a change.
ODD = 1.03
# A difference of less is no difference, rad; one of many spreads counts as that many only.
SAME = 0.05
MOST_SPREADS = 5.0
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


@dataclass(frozen=True)
class Oddity:
    """An episode (its place among the postures) that fits the others with `columns` changed.

    The columns of an exchange come in pairs. Distances are in spreads of the columns.
    """

    episode: int
    kind: Kind
    columns: tuple[int, ...]
    before: float
    after: float


def postures(episodes: Sequence[Synopsis], *, least: int) -> Iterator[Postures]:
    """The episodes by task, where at least `least` have the same one and the same columns."""
    groups: dict[tuple[str | None, tuple[str, ...]], list[Synopsis]] = {}
    for episode in episodes:
        if episode.path is not None and len(episode.names) > 1:
            groups.setdefault((episode.task, episode.names), []).append(episode)
    small = [key for key, members in groups.items() if len(members) < least]
    if small and len(small) == len(groups):
        # Tasks with few episodes each are still done by one robot from one rest pose.
        groups = {(None, key[1]): [] for key in groups}
        for episode in episodes:
            if (None, episode.names) in groups and episode.path is not None:
                groups[None, episode.names].append(episode)
    for (_, names), members in groups.items():
        whole = [each for each in members if each.path is not None and _finite(each.path)]
        if len(whole) >= least:
            paths = [_thin(each.path) for each in whole if each.path is not None]
            yield Postures(names, tuple(whole), np.stack(paths))


def _finite(path: Array) -> bool:
    return len(path) >= POSTURES and bool(np.isfinite(path).all())


def _thin(path: Array) -> Array:
    few: Array = path[np.linspace(0, len(path) - 1, POSTURES).astype(int)]
    return few


def oddities(seen: Postures, *, min_gain: float) -> Iterator[Oddity]:
    """Episodes that fit `min_gain` times better with columns exchanged, turned round or scaled."""
    apart = [_apart(seen, number) for number in range(len(seen.values))]
    usual = float(np.median(apart))
    for number in range(len(seen.values)):
        fit = _fit(seen, number, search=apart[number] > ODD * usual)
        tall = fit.tall
        # Values that no joint reaches are degrees; smaller ones may be those of another column.
        certain = len(tall) > 0 and float(np.abs(seen.values[number][:, tall]).max()) > BEYOND
        if not certain and fit.before > min_gain * fit.after and fit.before - fit.after > 0.1:
            yield Oddity(number, fit.kind, fit.columns, fit.before, fit.after)
        elif len(tall):
            sizes = np.abs(seen.values[:, :, tall]).max(axis=(1, 2))
            others = float(np.median(np.delete(sizes, number)))
            yield Oddity(number, "degrees", tuple(tall.tolist()), float(sizes[number]), others)


@dataclass(frozen=True, eq=False)
class _Fit:
    """How far an episode is from its peers, as it stands and with its best change."""

    kind: Kind
    columns: tuple[int, ...]
    before: float
    after: float
    tall: NDArray[np.int64]


def _fit(seen: Postures, number: int, *, search: bool) -> _Fit:
    """The best change, if `search`: an episode that is among the nearest needs none."""
    peers, own = _peers(seen, number), seen.values[number]
    tall = _degrees(own, peers)
    if not search:
        return _Fit("exchanged", (), 0.0, 0.0, tall)
    kind, columns, before, after = _best(own, peers, seen.names)
    return _Fit(kind, columns, before, after, tall)


def _peers(seen: Postures, number: int) -> Array:
    others = np.delete(np.arange(len(seen.values)), number)
    if len(others) > MOST_PEERS:
        others = others[np.linspace(0, len(others) - 1, MOST_PEERS).astype(int)]
    peers: Array = seen.values[others]
    return peers


def _scale(peers: Array) -> Array:
    """The spread of each column among the peers."""
    flat = peers.reshape(-1, peers.shape[2])
    spread = 1.4826 * np.median(np.abs(flat - np.median(flat, axis=0)), axis=0)
    scale: Array = np.minimum(spread, flat.std(axis=0)) + SAME
    return scale


def _apart(seen: Postures, number: int) -> float:
    """How far an episode is from its peers as it stands."""
    peers, own = _peers(seen, number), seen.values[number]
    scale = _scale(peers)
    whole = np.zeros((len(peers), len(own), peers.shape[1]))
    for column in range(own.shape[1]):
        away = (own[None, :, None, column] - peers[:, None, :, column]) / scale[column]
        whole += np.minimum(np.abs(away), MOST_SPREADS) ** 2
    return _near(whole)


def _degrees(own: Array, peers: Array) -> NDArray[np.int64]:
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
) -> tuple[Kind, tuple[int, ...], float, float]:
    """The change that brings the episode nearest to its peers: distances before and after."""
    scale = _scale(peers)

    def apart(mine: Array, column: int) -> Array:
        """Squared distance (N, P, P) of one of my columns to a column of the peers."""
        away = (mine[None, :, None] - peers[:, None, :, column]) / scale[column]
        squares: Array = np.minimum(np.abs(away), MOST_SPREADS) ** 2
        return squares

    columns = range(own.shape[1])
    each = np.stack([apart(own[:, column], column) for column in columns])
    whole = each.sum(axis=0)
    before = _near(whole)
    tried: list[tuple[float, Kind, tuple[int, ...]]] = [
        (_near(whole - each[i] + apart(-own[:, i], i)), "flipped", (i,)) for i in columns
    ]
    crossed: dict[tuple[int, int], Array] = {}
    sides = _sides(names)
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
    return before > 1.5 * after and before > SAME


def _near(squares: Array) -> float:
    """How far my postures are from the nearest ones of a peer, for one of the nearest peers."""
    each = np.sqrt(np.maximum(squares.min(axis=2), 0.0)).mean(axis=1)
    place = min(len(each) - 1, max(1 if len(each) > 3 else 0, int(NEAREST * len(each))))
    return float(np.partition(each, place)[place])


def _sides(names: tuple[str, ...]) -> list[tuple[int, int]]:
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
    words = {
        "arm": ("shoulder", "elbow", "wrist"),
        "leg": ("hip", "knee", "ankle"),
        "hand": ("hand", "finger", "thumb", "gripper"),
    }
    groups = [
        [pair for pair in sides if any(word in names[pair[0]].lower() for word in part)]
        for part in words.values()
    ]
    return [group for group in (*groups, sides) if len(group) > 1]
