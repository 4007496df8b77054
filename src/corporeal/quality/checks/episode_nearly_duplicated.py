"""No episode is another one again with a little noise, a shift or a cut."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import scipy

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.check import Check, Finding, Findings
from corporeal.signal.track import Array

# Times by which one episode may be cut or shifted against the other.
SLACK_S = 2.5
_ROUGH_S, _FINE_S = 0.1, 0.01
# Points of the path that must overlap.
_OVERLAP = 0.75
# Paths further apart than this, as a share of the motion, are not worth aligning.
_FAR = 0.8
# An episode is compared with so many of its nearest.
_NEAREST = 16
_BLOCK = 512


def find(batch: Batch, *, min_distance: float = 0.1, max_shared: float = 0.3) -> Findings:
    """Yield pairs whose paths lie closer than `min_distance`, or that share rows.

    The distance is RMS over time and columns after the best shift, as a share of how far the
    motion itself goes; people who repeat a task stay above 0.2. `max_shared` is the share of
    distinct rows that two episodes may have in common; real sensors never repeat a row.

    Why: a copy with noise passes every other check, counts twice and leaks between splits.
    Fix: keep one of them; if augmentation made it, mark it as augmented.
    """
    if len(batch.episodes) < 2:
        raise NotAssessed(f"{len(batch.episodes)} episodes; a copy needs two")
    episodes = batch.episodes
    comparable = [each for each in episodes if each.path is not None and each.frames]
    if len(comparable) < 2:
        raise NotAssessed("no state to compare")
    for first, second in worth_comparing(comparable):
        yield from _judge(comparable[first], comparable[second], min_distance, max_shared)


def _judge(one: Synopsis, two: Synopsis, min_distance: float, max_shared: float) -> Findings:
    if one.digest == two.digest:
        return  # said by episode_duplicated
    shared = shared_rows(one, two)
    pair = (one.index, two.index)
    if shared > max_shared:
        message = (
            f"episodes {one.index} and {two.index} share about {100 * shared:.0f} % of their rows"
        )
        yield Finding(message, episodes=pair, value=shared, limit=max_shared)
        return
    if one.names != two.names or min(one.measures["motion_s"], two.measures["motion_s"]) <= 0:
        return
    distance = path_distance(one, two, near=4 * min_distance)
    if distance < min_distance:
        message = (
            f"episodes {one.index} and {two.index} are nearly the same motion: "
            f"their paths lie {100 * distance:.1f} % of the motion apart"
        )
        yield Finding(message, episodes=pair, value=distance, limit=min_distance)


def shared_rows(one: Synopsis, two: Synopsis) -> float:
    """Estimated share of distinct rows that both have (Jaccard index, from the sketches)."""
    size = min(len(one.sketch), len(two.sketch))
    if not size:
        return 0.0
    union = np.union1d(one.sketch, two.sketch)[:size]
    both = np.intersect1d(one.sketch, two.sketch)
    return float(np.isin(union, both).mean())


def amplitude(episode: Synopsis) -> float:
    """How far the path goes about its mean: RMS over time and columns."""
    if episode.path is None or not episode.path.size:
        return 0.0
    return float(np.sqrt(((episode.path - episode.path.mean(axis=0)) ** 2).mean()))


def path_distance(one: Synopsis, two: Synopsis, *, near: float = np.inf) -> float:
    """RMS distance of two paths at the best shift in time, as a share of the smaller motion.

    The shorter one is laid over the longer in real time: a copy that was cut or shifted by up to
    SLACK_S fits itself again. Paths further apart than `near` are not measured to the end.
    """
    if two.measures["motion_s"] > one.measures["motion_s"]:
        one, two = two, one
    assert one.path is not None
    assert two.path is not None
    long_s, short_s = one.measures["motion_s"], two.measures["motion_s"]
    if long_s - short_s > 2 * SLACK_S:
        return np.inf
    size = max(min(amplitude(one), amplitude(two)), 1e-12)
    count = len(one.path)
    own = np.linspace(0, short_s, count)
    shifts = np.arange(-SLACK_S, long_s - short_s + SLACK_S, _ROUGH_S)
    rough = _apart(one.path, long_s, two.path[::4], own[::4], shifts)
    if not np.isfinite(rough).any() or rough.min() > near * size:
        return float(rough.min(initial=np.inf)) / size
    around = float(shifts[int(rough.argmin())])
    finely = np.arange(around - _ROUGH_S, around + _ROUGH_S, _FINE_S)
    # Between the points of the path a cubic is closer to the motion than a line.
    cubic = scipy.interpolate.CubicSpline(np.linspace(0, long_s, count), one.path)
    dense = cubic(np.linspace(0, long_s, 8 * count))
    return float(_apart(dense, long_s, two.path, own, finely).min()) / size


def _apart(path: Array, long_s: float, other: Array, own: Array, shifts: Array) -> Array:
    """RMS distance (S,) of `other` at times `own` from `path`, at each of the shifts."""
    when = own[None, :] + shifts[:, None]
    inside = (when >= -1e-9) & (when <= long_s + 1e-9)
    place = np.clip(when / long_s, 0.0, 1.0) * (len(path) - 1)
    left = np.minimum(place.astype(np.int64), len(path) - 2)
    share = (place - left)[:, :, None]
    there = path[left] * (1 - share) + path[left + 1] * share
    squares = ((there - other[None]) ** 2).mean(axis=2)
    overlap = inside.sum(axis=1)
    apart = np.sqrt((squares * inside).sum(axis=1) / np.maximum(overlap, 1))
    return np.where(overlap >= _OVERLAP * len(own), apart, np.inf)


def worth_comparing(episodes: Sequence[Synopsis]) -> Iterator[tuple[int, int]]:
    """Pairs (places in `episodes`) that share rows, or whose paths are not far apart."""
    found = set(_sharing(episodes)) | set(_near(episodes))
    yield from sorted(found)


def _sharing(episodes: Sequence[Synopsis]) -> Iterator[tuple[int, int]]:
    owners: dict[int, list[int]] = {}
    for place, episode in enumerate(episodes):
        for value in episode.sketch.tolist():
            owners.setdefault(value, []).append(place)
    common: Counter[tuple[int, int]] = Counter()
    for places in owners.values():
        # A row that many episodes have is a rest pose, and says nothing.
        if 1 < len(places) <= 8:
            common.update((a, b) for n, b in enumerate(places) for a in places[:n])
    yield from (pair for pair, count in common.items() if count >= 4)


def _near(episodes: Sequence[Synopsis]) -> Iterator[tuple[int, int]]:
    """In blocks, by the distance of their paths without any alignment."""
    kinds: dict[tuple[str, ...], list[int]] = {}
    for place, episode in enumerate(episodes):
        usable = episode.path is not None and np.isfinite(episode.path).all()
        if usable and amplitude(episode) > 0 and episode.measures.get("motion_s", 0.0) > 0:
            kinds.setdefault(episode.names, []).append(place)
    for places in kinds.values():
        flat = np.stack([_coarse(episodes[place]) for place in places])
        size = np.array([amplitude(episodes[place]) for place in places])
        norm = (flat**2).sum(axis=1)
        for first in range(0, len(places), _BLOCK):
            rows = slice(first, first + _BLOCK)
            squares = norm[rows, None] + norm[None, :] - 2 * flat[rows] @ flat.T
            apart = np.sqrt(np.maximum(squares, 0) / flat.shape[1])
            own = np.arange(len(apart))
            apart[own, own + first] = np.inf
            nearest = np.argsort(apart, axis=1)[:, :_NEAREST]
            limit = _FAR * np.minimum(size[rows, None], size[nearest])
            close = np.take_along_axis(apart, nearest, axis=1) < limit
            for row, rank in np.argwhere(close).tolist():
                pair = sorted((places[row + first], places[int(nearest[row, rank])]))
                yield pair[0], pair[1]


def _coarse(episode: Synopsis) -> Array:
    assert episode.path is not None
    return episode.path[::4].ravel()


CHECK = Check(
    find, topic="sets", severity="quarantine", scope="batch", formerly=("no_near_duplicates",)
)
