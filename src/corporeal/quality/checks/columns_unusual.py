"""Columns hold what they hold in the other episodes of the set."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.joints import limb_of
from corporeal.episode.facts import RETARGETED_MOCAP
from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.columns import DEGREES, TURN, radians_in
from corporeal.signal.track import Array
from corporeal.words import some_of

Kind = Literal["exchanged", "flipped", "degrees"]

# Postures of an episode that are compared, and episodes that each one is compared with.
POSTURES = 16
MOST_PEERS = 16
# Some peers may share the fault: the distance is that to a peer which this share is nearer than.
NEAREST = 0.2
# Only episodes farther from their peers than this times the usual are searched for a change.
ODD = 1.03
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


def find(
    batch: Batch,
    *,
    min_episodes: int = 4,
    min_gain: float = 1.25,
    min_gain_unnamed: float = 2.5,
    few_episodes: int = 10,
    few_factor: float = 1.12,
) -> Findings:
    """Yield episodes whose postures are like those of the others only with columns changed.

    Two columns, or the sides of a limb, exchanged; a sign turned round; degrees. The change must
    bring the postures `min_gain` times nearer to those of the other episodes of the task; in clean
    sets it reaches 1.13, beside a spoilt episode 1.23. Columns that no name says are joints, and
    episodes of several tasks, need `min_gain_unnamed`; up to `few_episodes` need `few_factor` times
    as much. One or two columns are also looked at alone, by their rest pose and range: among many
    columns the whole posture hardly shows them. Columns that usually hold the same values give no
    evidence. Works where state and action are wrong together, which no comparison inside one
    episode can tell.

    Why: a dataset merged from two exporters trains a policy on two meanings of one column.
    Fix: put the columns of these episodes in the order that the others have.
    """
    looked = 0
    for seen in _postures(batch.episodes, least=min_episodes):
        looked += 1
        # Columns that no name says are joints may be anything: poses of a hand vary more. And other
        # tasks have other postures.
        alike = len({each.task for each in seen.episodes}) == 1
        gain = min_gain if alike and _are_joints(seen.names) else min_gain_unnamed
        if len(seen.episodes) <= few_episodes:
            gain *= few_factor
        for oddity in _oddities(seen, min_gain=gain):
            for label in _streams(seen.episodes[oddity.episode], oddity):
                yield _finding(seen, oddity, label, gain)
    if not looked:
        raise NotAssessed(f"fewer than {min_episodes} episodes with the same joints")


def _streams(episode: Synopsis, oddity: Oddity) -> list[str]:
    """The state, and every stream of the same columns that has the same values in them."""
    path = episode.path
    assert path is not None
    column = oddity.columns[0]
    low, high = float(path[:, column].min()), float(path[:, column].max())
    margin = 0.1 + 0.2 * (high - low)
    found = []
    for label, moments in episode.moments.items():
        if len(moments.total) != path.shape[1] or "velocity" in label or "torque" in label:
            continue
        near = abs(moments.lowest[column] - low) < margin and (
            abs(moments.highest[column] - high) < margin
        )
        if near:
            found.append(label)
    return found or [""]


def _finding(seen: Postures, oddity: Oddity, label: str, min_gain: float) -> Finding:
    names = [seen.names[column] for column in oddity.columns]
    index = seen.episodes[oddity.episode].index
    one = len(names) == 1
    if oddity.kind == "exchanged":
        pairs = [f"{names[n]} with {names[n + 1]}" for n in range(0, len(names), 2)]
        what = f"{some_of(pairs, most=8)} are exchanged"
    elif oddity.kind == "flipped":
        what = f"{some_of(names)} {'has its sign' if one else 'have their signs'} turned round"
    else:
        what = f"{some_of(names)} {'is' if one else 'are'} in degrees"
    return Finding(
        f"{what} in {label or 'the state'} of episode {index}, going by the other episodes: "
        f"distance {oddity.before:.2f} as it stands, {oddity.after:.2f} so",
        stream=label or None,
        value=oddity.before / max(oddity.after, 1e-9),
        limit=min_gain,
        episodes=(index,),
    )


def _postures(episodes: Sequence[Synopsis], *, least: int) -> Iterator[Postures]:
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


def _are_joints(names: tuple[str, ...]) -> bool:
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


def _oddities(seen: Postures, *, min_gain: float) -> Iterator[Oddity]:
    """Episodes that fit `min_gain` times better with columns exchanged, turned round or scaled."""
    changes = _column_changes(seen)
    apart = [_apart(seen, number) for number in range(len(seen.values))]
    usual = float(np.median(apart))
    for number, own in enumerate(seen.values):
        tall = _degrees(own, _peers(seen, number))
        # Values that no joint reaches are degrees; smaller ones may be those of another column.
        certain = len(tall) > 0 and float(np.abs(own[:, tall]).max()) > BEYOND
        # An episode that is among the nearest needs no change.
        search = not certain and apart[number] > ODD * usual
        best = _best_change(seen, number) if search else None
        if certain:
            sizes = np.abs(seen.values[:, :, tall]).max(axis=(1, 2))
            others = float(np.median(np.delete(sizes, number)))
            yield Oddity(number, "degrees", tuple(tall.tolist()), float(sizes[number]), others)
        elif best is not None and best.before > max(min_gain * best.after, best.after + 0.1):
            yield best
        elif number in changes:
            change = changes[number]
            roots = float(np.sqrt(change.before)), float(np.sqrt(change.after))
            if roots[0] > min_gain * roots[1]:
                yield Oddity(number, change.kind, change.columns, *roots)


@dataclass(frozen=True)
class _Change:
    """The best change of one or two columns: squared distances, and what other sides would gain."""

    kind: Kind
    columns: tuple[int, ...]
    before: float
    after: float
    beside: float
    across: bool = False
    at_rest: float = 0.0

    @property
    def gain(self) -> float:
        return self.before - self.after


def _clear(changes: list[_Change], number: int, least: float) -> bool:
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


def _column_changes(seen: Postures) -> dict[int, _Change]:
    """Episodes, by place, in which a change of one or two columns is clear."""
    measures, sides = _measures(seen.values), _sides(seen.names)
    places = range(len(seen.values))
    changes = [_column_change(measures, number, sides) for number in places]
    # Few peers tell little of what is usual, and columns without a name may be anything.
    least = CLEAR + CLEAR_FEW / (len(places) - 1)
    if not _are_joints(seen.names):
        least *= 2
    found = {number: changes[number] for number in places if _clear(changes, number, least)}
    # Beside a spoilt episode its neighbours look odd too, but less.
    most = max((change.gain for change in found.values()), default=0.0)
    return {number: change for number, change in found.items() if change.gain > BESIDE * most}


def _measures(values: Array) -> Array:
    """Of postures (N, P, D): the first, the last, low, middle and high values (5, N, D)."""
    levels = np.quantile(values, (0.1, 0.5, 0.9), axis=1)
    return np.asarray(np.stack([values[:, 0], values[:, -1], *levels]))


def _column_change(measures: Array, number: int, sides: list[tuple[int, int]]) -> _Change:
    """The change of one or two columns that gains most, seen in these columns alone.

    In many columns the distance of postures hardly shows two of them. Arms begin and end alike
    in one set, and a column keeps its range: that tells which column is which.
    """
    own, peers, scale = _alike(measures, number)
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
        return _Change("flipped", (k,), float(alone[k]), float(flipped[k]), beside(k))
    rest = _squares(own[:2, [i, j]], peers[:2, :, [i, j]], scale[:2, [i, j]])
    at_rest = _second(_added(rest)) - _second(rest + rest.transpose(0, 2, 1))
    lefts, rights = {pair[0] for pair in sides}, {pair[1] for pair in sides}
    across = (i in lefts and j in rights) or (j in lefts and i in rights)
    pair = float(before[i, j]), float(after[i, j])
    return _Change("exchanged", (i, j), *pair, beside(i, j), across, float(at_rest[0, 1]))


def _alike(measures: Array, number: int) -> tuple[Array, Array, Array]:
    """The measures of one episode, those of the peers most like it, and the spread of all."""
    own, peers = measures[:, number], np.delete(measures, number, axis=1)
    scale: Array = peers.std(axis=1) + LEAST_SPREAD
    away = np.minimum(np.abs(own[:, None] - peers) / scale[:, None], SAME_HAND) ** 2
    order = np.argsort(away.sum(axis=(0, 2)), kind="stable")
    count = min(MOST_ALIKE, max(LEAST_ALIKE, int(ALIKE * len(order))))
    return own, peers[:, order[:count]], scale


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


def _best_change(seen: Postures, number: int) -> Oddity:
    """The change that brings an episode nearest to its peers, whatever it gains."""
    peers, own = _peers(seen, number), seen.values[number]
    kind, columns, before, after = _best(own, peers, seen.names)
    # Another task, or one of few episodes, may be one for the other hand.
    mixed = len(peers) < FEW_PEERS or len({each.task for each in seen.episodes}) > 1
    one_pair = [pair for pair in _sides(seen.names) if pair == columns]
    if mixed and one_pair and not _starts_odd(own, peers, one_pair):
        after = before
    return Oddity(number, kind, columns, before, after)


def _peers(seen: Postures, number: int) -> Array:
    others = np.delete(np.arange(len(seen.values)), number)
    if len(others) > MOST_PEERS:
        others = others[np.linspace(0, len(others) - 1, MOST_PEERS).astype(int)]
    return np.asarray(seen.values[others])


def _scale(peers: Array) -> Array:
    """The spread of each column among the peers."""
    flat = peers.reshape(-1, peers.shape[2])
    spread = 1.4826 * np.median(np.abs(flat - np.median(flat, axis=0)), axis=0)
    return np.asarray(np.minimum(spread, flat.std(axis=0)) + SAME)


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
        return np.asarray(np.minimum(np.abs(away), MOST_SPREADS) ** 2)

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
    return before > REST_CROSSED * after and before > REST_ODD


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
    groups = [
        [pair for pair in sides if limb_of(names[pair[0]]) == limb]
        for limb in ("arm", "leg", "hand")
    ]
    return [group for group in (*groups, sides) if len(group) > 1]


CHECK = Check(
    find, topic="sets", severity="fail", scope="batch", formerly=("joint_order_is_usual",)
)
