"""Finds demonstrations that are one and the same, however they were cut, stretched or mirrored.

Two honest repeats of one script are alike in what was meant; copies are alike in what nobody meant:
noise, tremor, the last digits. So candidates come from whole paths and from rows in common, and a
pair is a copy only where its fine structure is the same: what is left of the state after a running
mean, correlated over all columns at the best shift and stretch, and the values themselves close to
each other. A stretch is told where all of a recording was stretched evenly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
import scipy

from corporeal.curation.pool import Demonstration, DemonstrationPool
from corporeal.embodiment.joints import find_mirror
from corporeal.signal.track import Array

CopyKind = Literal[
    "an exact copy", "a copy", "a shifted copy", "a stretched copy", "a mirrored copy"
]
_NEIGHBOURS = 12
_ALIKE = 0.7
_STRETCHED_ALIKE = 0.6
_LEAST_STRETCH, _MOST_STRETCH, _FEWEST_STRETCHED = 0.02, 0.3, 40
_SMOOTH = 5
_OVERLAP = 0.6
_APART, _STRETCHED_APART, _PATH_APART = 0.05, 0.08, 0.2
_FEW_OWNERS, _FEWEST_ROWS, _COMMON = 8, 5, 0.2
_MOST_ROWS = 3000
_SHIFT = 2


@dataclass(frozen=True)
class CopyPair:
    """Two demonstrations of a pool, by number, that are one; `likeness` of the fine structure."""

    first: int
    second: int
    how: CopyKind
    likeness: float


def find_copies(pool: DemonstrationPool) -> list[CopyPair]:
    """Every pair that was verified, each once."""
    pairs: dict[tuple[int, int], CopyPair] = {}
    digests: dict[str, int] = {}
    for number, episode in enumerate(pool.episodes):
        first = digests.setdefault(episode.digest, number)
        if first != number:
            pairs[first, number] = CopyPair(first, number, "an exact copy", 1.0)
    mirrored = _mirrored(pool)
    for first, second, is_mirrored in _candidates(pool, mirrored):
        key = (min(first, second), max(first, second))
        if key in pairs:
            continue
        other = mirrored[second] if is_mirrored else pool.episodes[second]
        found = _verify(pool.episodes[first], other) if other is not None else None
        if found is not None:
            how, likeness = found
            pairs[key] = CopyPair(*key, "a mirrored copy" if is_mirrored else how, likeness)
    return sorted(pairs.values(), key=lambda pair: (pair.first, pair.second))


def _mirrored(pool: DemonstrationPool) -> list[Demonstration | None]:
    """Every demonstration as a mirror shows it; None where its columns are not a robot's joints."""
    robot = next((each.robot for each in pool.episodes if each.robot is not None), None)
    mirror = find_mirror(robot) if robot is not None else None
    if robot is None or mirror is None or set(pool.episodes[0].names) != set(robot.joint_names):
        return [None] * len(pool)
    order = [pool.episodes[0].names.index(name) for name in robot.joint_names]
    back = np.argsort(order)
    return [
        replace(
            each,
            fine=mirror.mirror(each.fine[:, order].astype(np.float64))[:, back].astype(np.float32),
            path=mirror.mirror(each.path[:, order])[:, back],
        )
        for each in pool.episodes
    ]


def _candidates(
    pool: DemonstrationPool, mirrored: list[Demonstration | None]
) -> Iterator[tuple[int, int, bool]]:
    """Pairs with near paths, those of the mirrored among them, and pairs with rows in common."""
    paths = np.stack([each.path.ravel() for each in pool.episodes])
    for first, second in _near(paths, paths):
        if first < second and _are_near(
            pool.episodes[first].path, pool.episodes[second].path, _PATH_APART
        ):
            yield first, second, False
    for first, second in _with_common_rows(pool):
        yield first, second, False
    turned = [each for each in mirrored if each is not None]
    if len(turned) < len(pool):
        return
    for first, second in _near(paths, np.stack([each.path.ravel() for each in turned])):
        if first != second and _are_near(
            pool.episodes[first].path, turned[second].path, _PATH_APART
        ):
            yield first, second, True


def _near(rows: Array, others: Array) -> Iterator[tuple[int, int]]:
    """Every row with the nearest of the others."""
    count = min(len(others), _NEIGHBOURS + 1)
    _, nearest = scipy.spatial.cKDTree(others).query(rows, k=count)
    for first, row in enumerate(np.reshape(nearest, (len(rows), count))):
        for second in row:
            yield first, int(second)


def _with_common_rows(pool: DemonstrationPool) -> Iterator[tuple[int, int]]:
    """Pairs of which the shorter has a part of its rows, to the last bit, in the other."""
    owners: dict[bytes, list[int]] = {}
    for number, episode in enumerate(pool.episodes):
        rows = np.ascontiguousarray(episode.fine[:_MOST_ROWS])
        for row in {each.tobytes() for each in rows}:
            owners.setdefault(row, []).append(number)
    shared: Counter[tuple[int, int]] = Counter()
    for numbers in owners.values():
        # A posture that many are in, such as a start at zero, tells nothing.
        if 1 < len(numbers) <= _FEW_OWNERS:
            shared.update(combinations(numbers, 2))
    for (first, second), count in sorted(shared.items()):
        lengths = (len(pool.episodes[first].fine), len(pool.episodes[second].fine))
        if count >= max(_FEWEST_ROWS, _COMMON * min(*lengths)):
            yield first, second


def _verify(first: Demonstration, second: Demonstration) -> tuple[CopyKind, float] | None:
    """How two are one; None where they are not."""
    a = np.asarray(first.fine[:_MOST_ROWS], np.float64)
    b = np.asarray(second.fine[:_MOST_ROWS], np.float64)
    shift, likeness = _align(a, b)
    if likeness >= _ALIKE and _are_near(*_overlap(a, b, shift), _APART):
        return ("a shifted copy" if abs(shift) > _SHIFT or len(a) != len(b) else "a copy"), likeness
    if min(len(a), len(b)) < _FEWEST_STRETCHED:
        return None
    if not _LEAST_STRETCH < abs(np.log(len(b) / len(a))) < _MOST_STRETCH:
        return None
    for more in range(-_SHIFT, _SHIFT + 1):
        even = _stretched(b, (len(b) - 1 + more) / (len(a) - 1))
        shift, likeness = _align(a, even)
        if likeness >= _STRETCHED_ALIKE and _are_near(*_overlap(a, even, shift), _STRETCHED_APART):
            return "a stretched copy", likeness
    return None


def _stretched(values: Array, factor: float) -> Array:
    times = np.arange(0, len(values) - 1, factor)
    left = times.astype(np.int64)
    share = (times - left)[:, None]
    return np.asarray(values[left] * (1 - share) + values[left + 1] * share)


def _align(a: Array, b: Array) -> tuple[int, float]:
    """The shift of b at which the fine structures agree best, and how much; 0 where little of the
    shorter one takes part."""
    fine_a, fine_b = _fine(a), _fine(b)
    # One scale for both: where only one of them was cut, a column may rest in what is left.
    spread = np.maximum(fine_a.std(axis=0), fine_b.std(axis=0))
    scale = np.where(spread > 1e-9, spread, np.inf)
    fine_a, fine_b = fine_a / scale, fine_b / scale
    size = scipy.fft.next_fast_len(len(a) + len(b))
    product = np.fft.rfft(fine_a, size, axis=0) * np.conj(np.fft.rfft(fine_b, size, axis=0))
    agreement = np.fft.irfft(product.sum(axis=1), size)
    place = int(np.argmax(agreement))
    shift = place if place < len(a) else place - size
    part_a, part_b = _overlap(fine_a, fine_b, shift)
    energy = np.linalg.norm(part_a) * np.linalg.norm(part_b)
    if len(part_a) < _OVERLAP * min(len(a), len(b)) or energy <= 1e-12:
        return shift, 0.0
    return shift, float((part_a * part_b).sum() / energy)


def _fine(values: Array) -> Array:
    """What a running mean leaves."""
    return np.asarray(values - scipy.ndimage.uniform_filter1d(values, _SMOOTH, axis=0))


def _overlap(a: Array, b: Array, shift: int) -> tuple[Array, Array]:
    if shift >= 0:
        count = min(len(a) - shift, len(b))
        return a[shift : shift + max(0, count)], b[: max(0, count)]
    count = min(len(a), len(b) + shift)
    return a[: max(0, count)], b[-shift : -shift + max(0, count)]


def _are_near(a: Array, b: Array, apart: float) -> bool:
    """Whether the values differ by a small part of how far they move; what rests tells nothing."""
    moved = float(np.linalg.norm(a - a.mean(axis=0)))
    return moved > 1e-6 and float(np.linalg.norm(a - b)) <= apart * moved
