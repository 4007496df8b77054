"""A wand through a volume, and clips against a reference: truths are planted, refusals in words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from corporeal.calibration.verification import (
    VolumeShape,
    measure_drift,
    measure_wand,
    volume_shape,
)
from corporeal.calibration.verification.wand import WandError
from corporeal.geometry import Array
from corporeal.retargeting.motion import Markers
from corporeal.retargeting.person import METRES
from corporeal.retargeting.reader import read_markers

NAMES = ["one", "two"]


def waved(seed: int = 0, *, scale: float = 0.0, corner: float = 0.0, noise: float = 2e-4) -> Array:
    """A wand of half a metre (T, 2, 3) waved through 4.6 x 4.6 x 1.8 m; the volume may be wrong."""
    draw = np.random.default_rng(seed)
    time = np.linspace(0, 60, 3000)[:, None]
    phase = draw.uniform(0, 6, 12)
    middle = np.array([2.0, 2.0, 0.9]) * np.sin(np.array([0.37, 0.53, 1.13]) * time + phase[:3])
    middle += 0.3 * np.sin(np.array([2.1, 1.7, 0.0]) * time + phase[3:6]) + [0, 0, 1.1]
    turn = np.sin(np.array([0.9, 1.3, 0.7]) * time + phase[6:9])
    turn[:, 2] += 0.3
    turn /= np.linalg.norm(turn, axis=1)[:, None]
    ends = np.stack([middle + turn / 4, middle - turn / 4], axis=1)
    far = np.clip((ends[..., :1] + ends[..., 1:2] - 2) / 2, 0, None)
    ends = ends * (1 + scale) + corner * far * (ends - [2, 2, 1])
    return np.asarray(ends + draw.normal(0, noise, ends.shape))


def test_the_true_scale_is_inside_two_sigma() -> None:
    off = []
    for seed in range(40):
        result = measure_wand(waved(seed, scale=3e-4), NAMES, 0.5)
        off.append((result.scale - 3e-4) / result.scale_sigma)
        assert result.problems(5e-4, 1e-3) == []
    assert np.mean(np.abs(off) < 2) >= 0.9
    # A sigma that is far too wide would be no better than one that is too narrow.
    assert 0.5 < np.std(off) < 1.3


def test_a_volume_that_is_too_large_is_said_with_its_size() -> None:
    result = measure_wand(waved(scale=0.004), NAMES, 0.5)
    assert result.scale == pytest.approx(0.004, abs=2e-4)
    assert "the whole volume is 0.40% too large" in result.problems(5e-4, 1e-3)


def test_a_bent_corner_is_named_by_its_place() -> None:
    result = measure_wand(waved(1, corner=0.01), NAMES, 0.5)
    # It is bent where x + y is more than 2 m.
    assert all(sum(cell.corner_m[:2]) + 2 * cell.edge_m > 2 for cell in result.bent)
    assert len(result.bent) >= 3
    assert any("against the rest of the volume" in text for text in result.problems(5e-4, 1e-3))
    assert measure_wand(waved(1), NAMES, 0.5).bent == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda wand: wand * 1e3, "give --unit"),
        (lambda wand: wand[:200], "200 frames"),
        (lambda wand: np.stack([wand[:, 0], wand[::-1, 1]], axis=1), "no two markers keep"),
        (lambda wand: wand * [0.1, 1, 1] + np.array([[0, 0, 0], [0.5, 0, 0]]), "no two markers"),
        (lambda wand: wand - wand.mean(axis=1, keepdims=True), "third. Wave"),
        (lambda wand: wand[:, :1] + [[[0.25, 0, 0], [-0.25, 0, 0]]], "one plane"),
    ],
)  # fmt: skip
def test_a_clip_that_does_not_say_it_is_refused_in_words(
    change: Callable[[Array], Array], words: str
) -> None:
    with pytest.raises(WandError, match=words):
        measure_wand(change(waved()), NAMES, 0.5)


def test_a_wand_that_saw_little_of_the_volume_is_refused() -> None:
    # Only along the diagonal of its box.
    wand = waved()
    middle = wand.mean(axis=1, keepdims=True)
    along = middle[..., :1] * [1, 1, 0.5]
    with pytest.raises(WandError, match="of the volume that it spans"):
        measure_wand(wand - middle + along, NAMES, 0.5)


def test_swapped_markers_are_named_with_their_frames() -> None:
    wand = waved()
    three = np.concatenate([wand, wand[:, 1:] + [[0.3, 0, 0]]], axis=1)
    three[1000:1040, [1, 2]] = three[1000:1040, [2, 1]]
    with pytest.raises(
        WandError, match=r"two and three are swapped in \d\d frames, first in frame 10"
    ):
        measure_wand(three, ["one", "two", "three"], 0.5)


def test_the_floor_is_where_its_markers_are() -> None:
    wand = waved()
    corners = np.array([[2, 2, 0.01], [-2, 2, 0.01], [-2, -2, 0.01], [2, -2, 0.01]])
    corners[:, 2] += corners[:, 0] * 0.01
    positions = np.concatenate([wand, np.broadcast_to(corners, (len(wand), 4, 3))], axis=1)
    labels = [*NAMES, "a", "b", "c", "d"]
    flat = measure_wand(positions, labels, 0.5, floor="abcd", ends=("one", "two")).floor
    assert flat is not None
    assert flat.tilt_rad == pytest.approx(0.01, abs=1e-4)
    where = float(np.median(wand.mean(axis=1)[:, 0]))
    assert flat.height_m == pytest.approx(0.01 + 0.01 * where, abs=1e-3)
    assert flat.normal[2] > 0.99
    with pytest.raises(WandError, match="in a line"):
        measure_wand(positions[:, [0, 1, 2, 2, 2]], [*NAMES, *"abc"], 0.5, floor="abc")


@pytest.fixture(scope="module")
def serve(shared_data: Path) -> tuple[Markers, Array, VolumeShape]:
    folder = shared_data / "mocap" / "c3d_kineticstoolkit"
    markers = read_markers(folder / "kinematics_tennis_serve.c3d")
    half = len(markers.positions) // 2
    reference = volume_shape(markers.positions[:half], markers.labels, markers.rate_hz)
    return markers, markers.positions[half:], reference


@pytest.fixture(scope="module")
def walk(shared_data: Path) -> tuple[Markers, Array, VolumeShape]:
    markers = read_markers(shared_data / "mocap" / "c3d_opensim" / "walking2.c3d")
    positions = markers.positions * METRES["mm"]
    half = len(positions) // 2
    reference = volume_shape(positions[:half], markers.labels, markers.rate_hz)
    return markers, positions[half:], reference


@pytest.mark.parametrize("clip", ["serve", "walk"])
def test_another_half_of_a_clip_has_not_moved(clip: str, request: pytest.FixtureRequest) -> None:
    markers, later, reference = request.getfixturevalue(clip)
    assert measure_drift(later, markers.labels, markers.rate_hz, reference).findings() == []


def test_a_floor_six_millimetres_higher_is_found(serve: tuple[Markers, Array, VolumeShape]) -> None:
    markers, later, reference = serve
    drift = measure_drift(
        later + np.array([0, 0, 0.006]), markers.labels, markers.rate_hz, reference
    )
    assert drift.floor is not None
    assert abs(drift.floor.height_m - 0.006) < 2 * drift.floor.height_sigma_m
    (finding,) = drift.findings()
    assert "floor" in finding
    assert "higher" in finding


def test_a_volume_that_grew_is_found(walk: tuple[Markers, Array, VolumeShape]) -> None:
    markers, later, reference = walk
    drift = measure_drift(later * 1.004, markers.labels, markers.rate_hz, reference)
    assert abs(drift.scale - 0.004) < 2 * drift.scale_sigma
    (finding,) = drift.findings()
    assert "whole volume" in finding
    assert "larger" in finding


def test_a_marker_that_slipped_is_named_and_the_volume_is_not(
    walk: tuple[Markers, Array, VolumeShape],
) -> None:
    markers, later, reference = walk
    pair = min(reference.distances, key=lambda each: each.sigma_m)
    one, other = (markers.labels.index(name) for name in (pair.first, pair.second))
    slipped = later.copy()
    slipped[:, one] += 0.05 * (later[:, one] - later[:, other])
    drift = measure_drift(slipped, markers.labels, markers.rate_hz, reference)
    (finding,) = drift.findings()
    assert finding.startswith(f"{pair.first} to {pair.second} is +")


def test_a_camera_of_a_corner_is_named_by_its_place(shared_data: Path) -> None:
    markers = read_markers(shared_data / "mocap" / "c3d_ezc3d" / "Qualisys.c3d")
    before = markers.positions * METRES["mm"]
    reference = volume_shape(before, markers.labels, markers.rate_hz)
    assert measure_drift(before, markers.labels, markers.rate_hz, reference).findings() == []
    start = np.nanpercentile(before[..., 0], 70)
    share = np.clip(before[..., :1] - start, 0, 1)
    bent = before + 0.012 * share * (before - [start, 0.2, 1])
    found = measure_drift(bent, markers.labels, markers.rate_hz, reference).findings()
    assert any(each.startswith("x 2.0 to 3.0 m") and "camera" in each for each in found)


def test_lengths_that_a_solver_made_are_no_evidence(
    walk: tuple[Markers, Array, VolumeShape],
) -> None:
    _, _, reference = walk
    assert ("RHJC", "LHJC") not in {(each.first, each.second) for each in reference.distances}


def test_other_markers_than_those_of_the_reference_are_refused(
    serve: tuple[Markers, Array, VolumeShape], walk: tuple[Markers, Array, VolumeShape]
) -> None:
    with pytest.raises(WandError, match="share 0 segments"):
        measure_drift(walk[1], walk[0].labels, 250.0, serve[2])
