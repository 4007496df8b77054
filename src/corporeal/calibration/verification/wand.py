"""A wand of known length waved through a mocap volume: how long it is, where, and how sure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import CorporealError
from corporeal.geometry import Array

FEWEST_FRAMES = 300
# A pair of markers is the wand where it is this near to its length and keeps it this well.
_NEAR, _KEEPS = 0.05, 0.005
# A frame whose length is further off than this is no noise: another marker, or a ghost.
_BROKEN = 0.05
_FACTORS = {1e3: "mm", 1e2: "cm", 25.4: "in", 1e-3: "m", 1e-2: "m", 1e-1: "cm", 1e1: "mm"}
_FEWEST_LOOKED_AT, _MAX_TRIED = 30, 120
_MIN_CELL_FRAMES = 20
_CERTAIN = 4.0
_MIN_BEND_M = 2e-4


class WandError(CorporealError):
    """A clip does not say how good its volume is: no wand, wrong labels or unit, too few places."""


@dataclass(frozen=True)
class WandCell:
    """A part of the volume: its lowest corner, edge, frames, and how much too long the wand is."""

    corner_m: tuple[float, float, float]
    edge_m: float
    frames: int
    error_m: float
    sigma_m: float


@dataclass(frozen=True)
class FloorPlane:
    """Where floor markers lie: a unit normal, its height where the wand was, how flat they are."""

    normal: tuple[float, float, float]
    height_m: float
    tilt_rad: float
    rms_m: float


@dataclass(frozen=True)
class WandResult:
    """Lengths of a wand against its true one over the volume that it was waved through.

    `scale` is how much too large the volume is (0.001: a metre reads 1.001), `scale_sigma` one
    sigma of that by how much parts of clip and volume differ.
    """

    markers: tuple[str, str]
    length_m: float
    frames: int
    rms_m: float
    worst_m: float
    worst_at_m: tuple[float, float, float]
    scale: float
    scale_sigma: float
    extent_m: tuple[float, float, float]
    coverage: float
    cells: tuple[WandCell, ...]
    left_out: int
    floor: FloorPlane | None = None

    @property
    def usual_m(self) -> float:
        """How much too long the wand is in most of the volume."""
        return float(np.median([cell.error_m for cell in self.cells]))

    @property
    def bent(self) -> list[WandCell]:
        """Cells in which the wand has another length than elsewhere, beyond noise, worst first."""
        off = [
            cell
            for cell in self.cells
            if abs(cell.error_m - self.usual_m) > max(_CERTAIN * cell.sigma_m, _MIN_BEND_M)
        ]
        return sorted(off, key=lambda cell: -abs(cell.error_m - self.usual_m))

    def problems(self, max_rms_m: float, max_scale: float) -> list[str]:
        """What is not as good as asked, in words."""
        found = []
        if self.rms_m > max_rms_m:
            found.append(f"the wand's length is off by {self.rms_m * 1e3:.2f} mm rms; asked for "
                         f"{max_rms_m * 1e3:g} mm")  # fmt: skip
        if abs(self.scale) > max_scale + 2 * self.scale_sigma:
            found.append(f"the whole volume is {abs(self.scale):.2%} too "
                         f"{'large' if self.scale > 0 else 'small'}")  # fmt: skip
        for cell in self.bent[:3]:
            place = describe_place(cell.corner_m, cell.edge_m)
            off = (cell.error_m - self.usual_m) * 1e3
            found.append(f"{place}: the wand is {off:+.2f} mm against the rest of the volume, "
                         f"{cell.sigma_m * 1e3:.2f} mm of it noise")  # fmt: skip
        return found


def describe_place(corner_m: Sequence[float], edge_m: float) -> str:
    """A cell in words, in metres of the clip's own axes."""
    parts = zip("xyz", corner_m, strict=False)
    return ", ".join(f"{axis} {low:.1f} to {low + edge_m:.1f} m" for axis, low in parts)


def measure_wand(
    positions: Array,
    labels: Sequence[str],
    length_m: float,
    *,
    ends: tuple[str, str] | None = None,
    floor: Sequence[str] = (),
    edge_m: float | None = None,
    min_coverage: float = 0.25,
) -> WandResult:
    """The wand's residual over markers (T, M, 3) in metres; raises WandError in words."""
    if not 0.02 <= length_m <= 5:
        raise WandError(f"a wand of {length_m * 1e3:g} mm; expected 20 to 5000. Give --wand-mm.")
    one, other = _ends(positions, labels, length_m, ends)
    first, second = positions[:, one], positions[:, other]
    lengths = np.linalg.norm(second - first, axis=1)
    seen = np.flatnonzero(np.isfinite(lengths))
    middle = (first[seen] + second[seen]) / 2
    error = lengths[seen] - length_m
    whole = np.abs(lengths[seen] - np.median(lengths[seen])) <= _BROKEN * length_m
    _refuse_swapped(positions, labels, (one, other), lengths, seen[~whole])
    if whole.mean() < 0.95:
        raise WandError(
            f"{labels[one]} and {labels[other]} are another distance apart in "
            f"{1 - whole.mean():.0%} of the frames; expected a wand that keeps its length. "
            "Label the clip again."
        )
    direction = (second - first)[seen[whole]] / lengths[seen[whole], None]
    middle, error, seen = middle[whole], error[whole], seen[whole]
    edge = edge_m or max(2 * length_m, 0.1)
    cells, coverage = _cells(middle, error, edge)
    extent = np.ptp(middle, axis=0)
    _refuse_little(extent, direction, coverage, length_m, len(seen), min_coverage)
    worst = int(np.argmax(np.abs(error)))
    return WandResult(
        (labels[one], labels[other]), length_m, len(seen), float(np.sqrt(np.mean(error**2))),
        float(error[worst]), _three(middle[worst]), float(error.mean()) / length_m,
        _spread_of_mean(error, cells) / length_m, _three(extent), coverage, tuple(cells),
        int((~whole).sum()), fit_floor(positions, labels, floor, middle) if floor else None,
    )  # fmt: skip


def _three(values: Array) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z


def _ends(
    positions: Array, labels: Sequence[str], length_m: float, ends: tuple[str, str] | None
) -> tuple[int, int]:
    """The pair of markers that is the wand."""
    pairs = (
        list(combinations(most_seen(positions), 2))
        if ends is None
        else [(find_marker(labels, ends[0]), find_marker(labels, ends[1]))]
    )
    step = -(-len(positions) // 2000) or 1
    best: tuple[float, tuple[int, int]] | None = None
    odd: list[tuple[float, float]] = []
    for pair in pairs:
        length = np.linalg.norm(positions[::step, pair[0]] - positions[::step, pair[1]], axis=1)
        length = length[np.isfinite(length)]
        if len(length) < _FEWEST_LOOKED_AT:
            continue
        median = float(np.median(length))
        spread = 1.4826 * float(np.median(np.abs(length - median)))
        if median <= 0 or spread > _KEEPS * median:
            continue
        odd.append((spread / median, median))
        if abs(median / length_m - 1) < _NEAR and (best is None or spread < best[0]):
            best = spread, pair
    if best is not None:
        return best[1]
    for _, median in sorted(odd):
        for factor, unit in _FACTORS.items():
            if abs(median / (factor * length_m) - 1) < _NEAR:
                raise WandError(
                    f"two markers keep {median * 1e3:.6g} mm, {factor:g} times the wand's length; "
                    f"expected {length_m * 1e3:g} mm. The clip is in another unit than it says: "
                    f"give --unit (it may be {unit})."
                )
    kept = ", ".join(f"{median * 1e3:.1f}" for _, median in sorted(odd)[:3]) or "none"
    raise WandError(
        f"no two markers keep a distance of {length_m * 1e3:g} mm (distances that are kept, in "
        f"mm: {kept}); expected a wand. Give the clip of the "
        "wand, its length with --wand-mm, or its markers with --markers."
    )


def most_seen(positions: Array) -> list[int]:
    """The markers that are seen longest, in their order: as many as pairs can be tried of."""
    frames = np.isfinite(positions).all(axis=2).sum(axis=0)
    return sorted(int(index) for index in np.argsort(-frames, kind="stable")[:_MAX_TRIED])


def find_marker(labels: Sequence[str], name: str) -> int:
    """Where a marker is; its label may go without the subject before a colon."""
    for index, label in enumerate(labels):
        if name in (label, label.rpartition(":")[2]):
            return index
    raise WandError(f"marker {name!r} is not in the clip; expected one of {', '.join(labels[:20])}")


def _refuse_swapped(
    positions: Array, labels: Sequence[str], ends: tuple[int, int], lengths: Array,
    broken: NDArray[np.int_],
) -> None:  # fmt: skip
    """Raise WandError where another marker has the place of an end while the length is wrong."""
    if len(broken) == 0:
        return
    wanted = float(np.nanmedian(lengths))
    for end, partner in (ends, ends[::-1]):
        for other in range(len(labels)):
            if other in ends:
                continue
            gap = np.linalg.norm(positions[broken, other] - positions[broken, partner], axis=1)
            fits = np.abs(gap - wanted) < 0.01 * wanted
            if fits.sum() > 0.2 * len(broken):
                raise WandError(
                    f"markers {labels[end]} and {labels[other]} are swapped in {int(fits.sum())} "
                    f"frames, first in frame {int(broken[np.argmax(fits)])}; expected the same "
                    "marker all along. Label the clip again."
                )


def _refuse_little(
    extent: Array, direction: Array, coverage: float, length_m: float, frames: int, least: float
) -> None:
    if frames < FEWEST_FRAMES:
        raise WandError(f"the wand is seen in {frames} frames; expected {FEWEST_FRAMES} or more. "
                        "Wave it for longer.")  # fmt: skip
    wide = np.sort(extent)[::-1]
    if wide[1] < 2 * length_m or wide[2] < length_m:
        sizes = " x ".join(f"{size:.2f}" for size in extent)
        raise WandError(
            f"the wand's middle went over {sizes} m; expected {2 * length_m:g} m or more in two "
            f"directions and {length_m:g} m in the third. Wave it through the whole volume."
        )
    if coverage < least:
        raise WandError(
            f"the wand was in {coverage:.0%} of the volume that it spans; expected {least:.0%} or "
            "more. Wave it through all of it, or give --min-coverage."
        )
    if float(np.linalg.eigvalsh(direction.T @ direction / len(direction))[0]) < 0.03:
        raise WandError(
            "the wand was held in one plane all along, so lengths across it are not known; "
            "expected it upright, level and across. Turn it while you wave."
        )


def _cells(middle: Array, error: Array, edge: float) -> tuple[list[WandCell], float]:
    """The volume in cubes, and which part of the box that holds all of them was seen."""
    low = np.floor(middle.min(axis=0) / edge)
    at = (np.floor(middle / edge) - low).astype(int)
    shape = at.max(axis=0) + 1
    if float(np.prod(shape.astype(float))) > 1e6:
        raise WandError("the wand flies over more than a million cells; expected one volume. "
                        "Check --unit, and ghost markers.")  # fmt: skip
    index = np.ravel_multi_index(tuple(at.T), tuple(shape))
    cells = []
    for each in np.unique(index):
        inside = error[index == each]
        if len(inside) < _MIN_CELL_FRAMES:
            continue
        corner = (np.array(np.unravel_index(each, shape)) + low) * edge
        cells.append(WandCell(_three(corner), edge, len(inside), float(inside.mean()),
                              _batch_sigma(inside)))  # fmt: skip
    return cells, len(cells) / float(np.prod(shape))


def _batch_sigma(values: Array) -> float:
    """One sigma of a mean of samples that resemble their neighbours in time, by batches of them."""
    count = max(2, min(10, len(values) // 10))
    means = np.array([batch.mean() for batch in np.array_split(values, count)])
    white = float(values.std(ddof=1) / np.sqrt(len(values)))
    return max(white, float(means.std(ddof=1) / np.sqrt(count)))


def _spread_of_mean(error: Array, cells: Sequence[WandCell]) -> float:
    """One sigma of the mean: the larger of how parts of the clip and of the volume differ."""
    by_time = _batch_sigma(error)
    if len(cells) < 2:
        return by_time
    weight = np.array([cell.frames for cell in cells], dtype=np.float64)
    weight /= weight.sum()
    means = np.array([cell.error_m for cell in cells])
    by_place = np.sqrt(float(np.sum(weight**2 * (means - weight @ means) ** 2)))
    return max(by_time, float(by_place))


def fit_floor(
    positions: Array, labels: Sequence[str], names: Sequence[str], above: Array
) -> FloorPlane:
    """The plane through markers that lie on the floor; `above` are points over it."""
    places = [positions[:, find_marker(labels, name)] for name in names]
    for name, place in zip(names, places, strict=True):
        if np.isfinite(place).all(axis=1).sum() < 10:
            raise WandError(f"floor marker {name} is seen in fewer than 10 frames; expected it all "
                            "along. Leave it out.")  # fmt: skip
    points = np.array([np.nanmedian(place, axis=0) for place in places])
    if len(points) < 3:
        raise WandError(f"{len(points)} floor markers; expected three or more that are not in a "
                        "line. Name more with --floor.")  # fmt: skip
    centre = points.mean(axis=0)
    _, sizes, axes = np.linalg.svd(points - centre)
    if sizes[1] < 0.05:
        raise WandError("the floor markers lie in a line; expected three or more around the floor. "
                        "Name others with --floor.")  # fmt: skip
    normal = axes[2]
    if float(np.median((above - centre) @ normal)) < 0:
        normal = -normal
    foot = float(np.abs(normal).max())
    axis = int(np.argmax(np.abs(normal)))
    where = np.median(above, axis=0)
    along = [index for index in range(3) if index != axis]
    drop = (where - centre)[along] @ normal[along] / normal[axis]
    rms = float(np.sqrt(np.mean(((points - centre) @ normal) ** 2)))
    height = float(np.sign(normal[axis]) * (centre[axis] - drop))
    return FloorPlane(_three(normal), height, float(np.arccos(min(1.0, foot))), rms)
