"""Has a mocap volume moved since the session's reference: its floor, its scale, a part of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from corporeal.calibration.verification.wand import WandError, describe_place, most_seen
from corporeal.geometry import Array
from corporeal.signal.runs import runs

# At rest: slower than this over a tenth of a second, and for at least so long.
_STILL_M_S, _STILL_S = 0.05, 0.2
# Markers on feet: their low end this far above the lowest marker's; and at their own low end.
_LOW_M, _AT_LOW_M = 0.12, 0.015
_MAX_RESTS = 200
# A segment keeps its length so well and is so long that a change of scale shows in it.
_KEEPS, _SHORTEST_M, _FEWEST_FRAMES = 0.03, 0.1, 100
_BATCHES = 10
# No camera measures a length to less than this: a solver made it, and will make it again.
_SOLVED_M = 5e-5
_CELL_M = 1.0
# How level a floor is before anything is known, and the least noise of a foot's height.
_LEVEL_RAD, _LEAST_M = 0.02, 2e-4
_SURE, _VERY_SURE = 3.0, 4.0
_MIN_FLOOR_M, _MIN_TILT_RAD, _MIN_SCALE, _MIN_SEGMENT_M = 1e-3, 1e-3, 5e-4, 2e-3


@dataclass(frozen=True)
class MarkerRest:
    """A low marker at rest: where it was while a foot stood."""

    label: str
    xyz: tuple[float, float, float]


@dataclass(frozen=True)
class KeptDistance:
    """Two markers on one bone: their distance, and one sigma of how it differs within a clip."""

    first: str
    second: str
    length_m: float
    sigma_m: float


@dataclass(frozen=True)
class VolumeShape:
    """What a clip says of its volume: feet at rest on the floor, and lengths of segments."""

    rests: tuple[MarkerRest, ...]
    distances: tuple[KeptDistance, ...]


@dataclass(frozen=True)
class SegmentChange:
    """A segment against the reference, the change of the whole volume taken off."""

    first: str
    second: str
    change_m: float
    sigma_m: float


@dataclass(frozen=True)
class PlaceChange:
    """A part of the volume in which segments are longer, against elsewhere in the same clip."""

    corner_m: tuple[float, float]
    scale: float
    sigma: float


@dataclass(frozen=True)
class FloorChange:
    """How much higher the floor is under the clip's feet, and its slope along x and y."""

    height_m: float
    height_sigma_m: float
    tilt_rad: tuple[float, float]
    tilt_sigma_rad: tuple[float, float]
    rests: int


@dataclass(frozen=True)
class VolumeDrift:
    """A clip against the reference; `floor` is None where too few feet rest in both."""

    floor: FloorChange | None
    scale: float
    scale_sigma: float
    segments: tuple[SegmentChange, ...]
    places: tuple[PlaceChange, ...]

    def findings(self) -> list[str]:
        """What moved by more than noise explains, in words."""
        found = []
        if self.floor is not None:
            height, sigma = self.floor.height_m, self.floor.height_sigma_m
            if abs(height) > max(_SURE * sigma, _MIN_FLOOR_M):
                found.append(f"the floor is {abs(height) * 1e3:.1f} mm "
                             f"{'higher' if height > 0 else 'lower'} "
                             f"(one sigma {sigma * 1e3:.1f} mm)")  # fmt: skip
            slopes = zip("xy", self.floor.tilt_rad, self.floor.tilt_sigma_rad, strict=True)
            for axis, slope, sigma in slopes:
                if abs(slope) > max(_SURE * sigma, _MIN_TILT_RAD):
                    found.append(f"the floor rises by {slope * 1e3:+.1f} mm in a metre along "
                                 f"{axis} (one sigma {sigma * 1e3:.1f} mm)")  # fmt: skip
        if abs(self.scale) > max(_SURE * self.scale_sigma, _MIN_SCALE):
            found.append(f"the whole volume is {abs(self.scale):.2%} "
                         f"{'larger' if self.scale > 0 else 'smaller'} "
                         f"(one sigma {self.scale_sigma:.2%})")  # fmt: skip
        found.extend(
            f"{each.first} to {each.second} is {each.change_m * 1e3:+.1f} mm (one sigma "
            f"{each.sigma_m * 1e3:.1f} mm): a marker was moved, or it is another person"
            for each in self.segments
            if abs(each.change_m) > max(_VERY_SURE * each.sigma_m, _MIN_SEGMENT_M)
        )
        found.extend(
            f"{describe_place(each.corner_m, _CELL_M)}: segments are {each.scale:+.2%} "
            f"against elsewhere (one sigma {each.sigma:.2%}): a camera of that corner has moved"
            for each in self.places
            if abs(each.scale) > max(_VERY_SURE * each.sigma, 2 * _MIN_SCALE)
        )
        return found


def volume_shape(
    positions: Array, labels: Sequence[str], rate_hz: float, *,
    wanted: Sequence[KeptDistance] | None = None,
) -> VolumeShape:  # fmt: skip
    """What markers (T, M, 3) in metres, z up, say; of the segments `wanted`, where given."""
    distances = _distances(positions, labels, wanted)
    return VolumeShape(_rests(positions, labels, rate_hz), distances)


def measure_drift(
    positions: Array, labels: Sequence[str], rate_hz: float, reference: VolumeShape
) -> VolumeDrift:
    """A clip's markers (T, M, 3) in metres, z up, against the reference of the session."""
    shape = volume_shape(positions, labels, rate_hz, wanted=reference.distances)
    if len(shape.distances) < 3:
        raise WandError(
            f"clip and reference share {len(shape.distances)} segments that keep their length; "
            "expected three or more. Give a clip with the reference's markers."
        )
    before = {(each.first, each.second): each for each in reference.distances}
    pairs = [(before[each.first, each.second], each) for each in shape.distances]
    ratio = np.array([np.log(now.length_m / was.length_m) for was, now in pairs])
    sigma = np.array([np.hypot(now.sigma_m, was.sigma_m) / was.length_m for was, now in pairs])
    scale, scale_sigma = _robust_mean(ratio, sigma)
    segments = tuple(
        SegmentChange(was.first, was.second, now.length_m - was.length_m * np.exp(scale),
                      float(np.hypot(now.sigma_m, was.sigma_m)))
        for was, now in pairs
    )  # fmt: skip
    places = _places(positions, labels, shape.distances)
    return VolumeDrift(
        _floor(reference.rests, shape.rests), float(np.expm1(scale)), scale_sigma, segments, places
    )


def _rests(positions: Array, labels: Sequence[str], rate_hz: float) -> tuple[MarkerRest, ...]:
    """Where low markers rested, each stand once."""
    reach = max(1, round(0.05 * rate_hz))
    if len(positions) <= 2 * reach + 1:
        return ()
    heights = positions[..., 2]
    usable = np.flatnonzero(np.isfinite(heights).sum(axis=0) >= 10)
    low = {int(index): float(np.nanpercentile(heights[:, index], 5)) for index in usable}
    bottom = min(low.values(), default=0.0)
    rests: list[MarkerRest] = []
    for index, level in low.items():
        if level > bottom + _LOW_M:
            continue
        track = positions[reach:-reach, index]
        step = positions[2 * reach :, index] - positions[: -2 * reach, index]
        still = np.linalg.norm(step, axis=1) * rate_hz / (2 * reach) < _STILL_M_S
        still &= np.abs(track[:, 2] - level) < _AT_LOW_M
        for first, stop in runs(still):
            if stop - first >= _STILL_S * rate_hz:
                x, y, z = (float(each) for each in np.nanmedian(track[first:stop], axis=0))
                rests.append(MarkerRest(labels[index], (x, y, z)))
    return tuple(rests[:: -(-len(rests) // _MAX_RESTS) or 1])


def _distances(
    positions: Array, labels: Sequence[str], wanted: Sequence[KeptDistance] | None
) -> tuple[KeptDistance, ...]:
    """Pairs that keep their distance; each marker once, so that their noises are strangers."""
    at = {label: index for index, label in reversed(list(enumerate(labels)))}
    if wanted is not None:
        pairs = [(each.first, each.second) for each in wanted if {each.first, each.second} <= {*at}]
        known = (_distance(positions, at, *pair) for pair in pairs)
        return tuple(each for each in known if each is not None)
    tried = dict.fromkeys(labels[index] for index in most_seen(positions))
    found = (_distance(positions, at, *pair) for pair in combinations(tried, 2))
    firm = [
        each
        for each in found
        if each is not None
        and each.length_m > _SHORTEST_M
        and each.sigma_m < _KEEPS * each.length_m
    ]
    chosen: list[KeptDistance] = []
    taken: set[str] = set()
    for each in sorted(firm, key=lambda each: each.sigma_m / each.length_m):
        if not {each.first, each.second} & taken:
            taken |= {each.first, each.second}
            chosen.append(each)
    return tuple(chosen)


def _distance(positions: Array, at: dict[str, int], first: str, second: str) -> KeptDistance | None:
    length = np.linalg.norm(positions[:, at[first]] - positions[:, at[second]], axis=1)
    length = length[np.isfinite(length)]
    if len(length) < _FEWEST_FRAMES or not 1e-3 < (middle := float(np.median(length))) < 1e3:
        return None
    if float(length.std()) < _SOLVED_M:
        return None
    # Skin moves with the posture, so parts of a clip differ by more than their frames say.
    means = np.array([np.median(batch) for batch in np.array_split(length, _BATCHES)])
    return KeptDistance(first, second, middle, max(float(means.std(ddof=1)), 1e-5))


def _robust_mean(values: Array, sigma: Array) -> tuple[float, float]:
    """The weighted mean without strangers, and its sigma, wider where the rest still disagree."""
    keep = np.abs(values - np.median(values)) <= _VERY_SURE * sigma
    if keep.sum() < 3:
        keep = np.ones(len(values), dtype=bool)
    weight = 1 / sigma[keep] ** 2
    mean = float(weight @ values[keep] / weight.sum())
    chi = float(weight @ (values[keep] - mean) ** 2) / max(1, int(keep.sum()) - 1)
    return mean, float(np.sqrt(max(1.0, chi) / weight.sum()))


def _places(
    positions: Array, labels: Sequence[str], distances: Sequence[KeptDistance]
) -> tuple[PlaceChange, ...]:
    """Segments in each square metre of the floor against the same segments elsewhere."""
    at = {label: index for index, label in reversed(list(enumerate(labels)))}
    seen: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for each in distances:
        first, second = positions[:, at[each.first]], positions[:, at[each.second]]
        length = np.linalg.norm(first - second, axis=1)
        known = np.isfinite(length)
        ratio = np.log(np.maximum(length[known], 1e-6) / each.length_m)
        cell = np.floor((first + second)[known, :2] / 2 / _CELL_M).astype(int)
        for square in np.unique(cell, axis=0):
            inside = (cell == square).all(axis=1)
            if inside.sum() >= 20 and (~inside).sum() >= _FEWEST_FRAMES:
                change = float(np.median(ratio[inside]) - np.median(ratio[~inside]))
                key = int(square[0]), int(square[1])
                seen.setdefault(key, []).append((change, each.sigma_m / each.length_m))
    found = []
    for (x, y), changes in sorted(seen.items()):
        if len(changes) >= 3:
            value, sigma = _robust_mean(*np.array(changes).T)
            found.append(PlaceChange((x * _CELL_M, y * _CELL_M), value, sigma))
    return tuple(found)


def _floor(before: Sequence[MarkerRest], now: Sequence[MarkerRest]) -> FloorChange | None:
    """One solve of both clips: a height for each marker, a slope, and what changed in between."""
    shared = sorted({each.label for each in before} & {each.label for each in now})
    rows = [(each, 0.0) for each in before if each.label in shared]
    rows += [(each, 1.0) for each in now if each.label in shared]
    later = np.array([which for _, which in rows])
    if len(shared) < 2 or len(rows) < len(shared) + 3:
        return None
    xyz = np.array([each.xyz for each, _ in rows])
    flat = xyz[:, :2] - xyz[later > 0, :2].mean(axis=0)
    marker = np.array([[each.label == label for label in shared] for each, _ in rows], dtype=float)
    matrix = np.column_stack([later, later[:, None] * flat, flat, marker])
    scale = _LEAST_M
    for _ in range(3):
        # A floor is nearly level: what the feet do not say stays at nothing.
        prior = np.zeros((4, matrix.shape[1]))
        prior[np.arange(4), np.arange(1, 5)] = scale / _LEVEL_RAD
        whole = np.vstack([matrix, prior])
        answer = np.linalg.lstsq(whole, np.append(xyz[:, 2], np.zeros(4)), rcond=None)[0]
        rest = xyz[:, 2] - matrix @ answer
        freedom = max(1, len(rows) - len(shared) - 1)
        scale = max(_LEAST_M, float(np.sqrt(rest @ rest / freedom)))
    spread = scale * np.sqrt(np.diag(np.linalg.pinv(whole.T @ whole)))
    return FloorChange(float(answer[0]), float(spread[0]),
                       (float(answer[1]), float(answer[2])),
                       (float(spread[1]), float(spread[2])), len(rows))  # fmt: skip
