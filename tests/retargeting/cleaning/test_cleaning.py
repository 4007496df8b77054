"""A spoilt walk comes back near to the true one; what is no body is refused in a sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import process_time

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.retargeting.people import walking_person

from corporeal.geometry import rotation_angle
from corporeal.retargeting.cleaning.cleaning import clean, resample
from corporeal.retargeting.cleaning.outliers import LOOSE, bone_lengths
from corporeal.retargeting.motion import NEEDED, POINTS, HumanMotion, MotionError


@dataclass(frozen=True)
class Spoilt:
    """A motion made worse, and where its outliers and gaps are."""

    motion: HumanMotion
    outliers: NDArray[np.bool_]
    gone: NDArray[np.bool_]


def spoil(
    motion: HumanMotion, *, noise_m: float, outliers: float, dropouts: float, run: int = 1
) -> Spoilt:
    """Gaussian noise, outliers of half a metre, dropouts in runs of frames."""
    rng = np.random.default_rng(7)
    positions = motion.positions + rng.normal(0, noise_m, motion.positions.shape)
    shape = motion.confidence.shape
    wrong = rng.random(shape) < outliers
    direction = rng.normal(size=(*shape, 3))
    direction /= np.linalg.norm(direction, axis=2, keepdims=True)
    positions[wrong] += 0.5 * direction[wrong]
    starts = rng.random(shape) < 1 - (1 - dropouts) ** (1 / run)
    gone = np.zeros(shape, dtype=bool)
    for frame in range(run):
        gone[frame:] |= starts[: len(starts) - frame]
    positions[gone] = np.nan
    spoilt = replace(motion, positions=positions, confidence=np.where(gone, 0.0, motion.confidence))
    return Spoilt(spoilt, wrong & ~gone, gone)


def root_mean_square(motion: HumanMotion, truth: HumanMotion) -> float:
    apart = np.linalg.norm(motion.positions - truth.positions, axis=2)
    return float(np.sqrt(np.mean(apart**2)))


@pytest.mark.parametrize(
    ("rate_hz", "noise_m", "run", "part"),
    [
        (120.0, 0.02, 1, 0.4),
        (120.0, 0.05, 1, 0.35),
        (120.0, 0.03, 10, 0.4),
        (60.0, 0.03, 1, 0.5),
        (60.0, 0.05, 5, 0.5),
        (30.0, 0.03, 1, 0.65),
        (30.0, 0.05, 2, 0.65),
    ],
)
def test_a_markerless_walk_comes_back_well_below_its_noise(
    rate_hz: float, noise_m: float, run: int, part: float
) -> None:
    truth = walking_person(int(8 * rate_hz), rate_hz)
    spoilt = spoil(truth, noise_m=noise_m, outliers=0.05, dropouts=0.3, run=run)
    result = clean(spoilt.motion)
    assert np.all(np.isfinite(result.positions))
    assert root_mean_square(result, truth) < part * noise_m * np.sqrt(3)
    assert np.mean(result.confidence[spoilt.outliers] == 0) > (0.98 if rate_hz > 30 else 0.85)
    good = ~spoilt.outliers & ~spoilt.gone
    assert np.mean(result.confidence[good] == 0) < 0.005
    assert np.std(bone_lengths(result.positions)[:, ~LOOSE], axis=0).max() < 1e-6


@pytest.mark.parametrize("rate_hz", [30.0, 60.0, 120.0, 240.0])
def test_a_clean_motion_is_left_alone(rate_hz: float) -> None:
    truth = walking_person(int(5 * rate_hz), rate_hz)
    result = clean(truth)
    np.testing.assert_array_equal(result.positions, truth.positions)
    np.testing.assert_array_equal(result.confidence, truth.confidence)
    assert result.origin.notes == ()


def test_markers_that_flicker_lose_only_the_flicker() -> None:
    truth = walking_person(960, 120.0)
    spoilt = spoil(truth, noise_m=0.0003, outliers=0.01, dropouts=0.05, run=8)
    result = clean(spoilt.motion)
    assert np.all(result.confidence[spoilt.outliers] == 0)
    kept = result.confidence == 1
    np.testing.assert_array_equal(result.positions[kept], spoilt.motion.positions[kept])
    assert root_mean_square(result, truth) < 0.005
    assert any("outliers replaced" in note for note in result.origin.notes)


def test_short_gaps_are_bent_as_the_path_is() -> None:
    truth = walking_person(480, 120.0)
    point = POINTS.index("left_wrist")
    confidence = truth.confidence.copy()
    confidence[100:112, point] = 0
    result = clean(replace(truth, confidence=confidence))
    away = np.linalg.norm(result.point("left_wrist") - truth.point("left_wrist"), axis=1)
    assert 0 < away.max() < 0.01
    assert np.all(
        (result.confidence[100:112, point] > 0.3) & (result.confidence[100:112, point] < 1)
    )


def test_long_gaps_are_carried_along_by_the_body_and_trusted_less_and_less() -> None:
    truth = walking_person(600, 120.0)
    hidden = [POINTS.index(f"left_{part}") for part in ("elbow", "wrist", "hand", "knee")]
    confidence = truth.confidence.copy()
    confidence[150:400, hidden] = 0
    result = clean(replace(truth, confidence=confidence))
    apart = np.linalg.norm(result.positions - truth.positions, axis=2)
    # The person walks 1.9 m in that time; the arm swings by 0.4 m.
    assert apart[:, hidden].max() < 0.45
    middle, edge = result.confidence[275, hidden], result.confidence[152, hidden]
    assert np.all(middle < edge)
    assert np.all((middle > 0) & (edge <= 0.3))
    assert any("the longest is 2.08 s" in note for note in result.origin.notes)


def test_a_trunk_hidden_for_a_second_follows_the_rest_of_it() -> None:
    truth = walking_person(600, 120.0)
    hidden = [POINTS.index(name) for name in ("pelvis", "left_hip", "chest")]
    confidence = truth.confidence.copy()
    confidence[200:320, hidden] = 0
    result = clean(replace(truth, confidence=confidence))
    assert np.linalg.norm(result.positions - truth.positions, axis=2).max() < 0.04


@pytest.mark.parametrize(
    ("frames", "noise_m"),
    [((50, 51, 200, 301), 0.0), ((50, 51, 200, 301), 0.03), (tuple(range(100, 130)), 0.03)],
)
def test_limbs_taken_for_each_other_are_swapped_back(
    frames: tuple[int, ...], noise_m: float
) -> None:
    truth = walking_person(480, 60.0)
    seen = spoil(truth, noise_m=noise_m, outliers=0.0, dropouts=0.0).motion
    parts = ("hip", "knee", "ankle", "heel", "toe")
    left, right = ([POINTS.index(f"{side}_{part}") for part in parts] for side in ("left", "right"))
    positions = seen.positions.copy()
    where = np.array(frames)[:, None]
    positions[where, left] = seen.positions[where, right]
    positions[where, right] = seen.positions[where, left]
    result = clean(replace(seen, positions=positions))
    assert root_mean_square(result, truth) < 0.003 + 0.5 * noise_m
    apart = np.linalg.norm(result.positions - truth.positions, axis=2)
    assert apart[list(frames)].max() < 0.01 + 3 * noise_m
    assert any("left and right were swapped" in note for note in result.origin.notes)


def test_a_trunk_without_pelvis_neck_and_spine_gets_them_from_its_neighbours() -> None:
    truth = walking_person(240, 60.0)
    names = ("pelvis", "neck", "spine", "chest")
    gone = [POINTS.index(name) for name in names]
    positions, confidence = truth.positions.copy(), truth.confidence.copy()
    positions[:, gone], confidence[:, gone] = np.nan, 0
    result = clean(replace(truth, positions=positions, confidence=confidence))
    assert all(result.has(name) for name in names)
    np.testing.assert_allclose(result.point("pelvis"), truth.point("pelvis"), atol=1e-6)
    assert any("pelvis, neck, spine, chest made" in note for note in result.origin.notes)


def test_hands_heels_and_toes_that_are_never_seen_stay_unknown() -> None:
    truth = walking_person(240, 60.0)
    gone = [POINTS.index(name) for name in ("left_hand", "right_toe", "head")]
    positions, confidence = truth.positions.copy(), truth.confidence.copy()
    positions[:, gone], confidence[:, gone] = np.nan, 0
    result = clean(replace(truth, positions=positions, confidence=confidence))
    assert np.all(np.isnan(result.positions[:, gone]))
    assert not np.any(result.confidence[:, gone])


def test_a_needed_point_that_is_mostly_missing_is_noted() -> None:
    truth = walking_person(240, 60.0)
    confidence = truth.confidence.copy()
    confidence[40:200, POINTS.index("right_wrist")] = 0
    result = clean(replace(truth, confidence=confidence))
    assert any("not to be trusted: right_wrist (67 %)" in note for note in result.origin.notes)


def test_a_needed_point_that_is_never_seen_is_named() -> None:
    truth = walking_person(60, 60.0)
    confidence = truth.confidence.copy()
    confidence[:, POINTS.index("left_knee")] = 0
    with pytest.raises(MotionError, match=r"never shows left_knee.*--skeleton"):
        clean(replace(truth, confidence=confidence))
    assert "left_knee" in NEEDED


def test_nothing_one_frame_and_one_spot_are_no_motion() -> None:
    truth = walking_person(60, 60.0)
    with pytest.raises(MotionError, match="no point of the body is known"):
        clean(replace(truth, positions=np.full_like(truth.positions, np.nan)))
    with pytest.raises(MotionError, match="has 1 frame; expected a motion"):
        clean(truth.part(0, 1))
    with pytest.raises(MotionError, match="all points are in one spot"):
        clean(replace(truth, positions=np.ones_like(truth.positions)))


@pytest.mark.parametrize("frames", [2, 3, 5, 8])
def test_very_short_clips_pass(frames: int) -> None:
    spoilt = spoil(walking_person(frames, 30.0), noise_m=0.03, outliers=0.0, dropouts=0.0)
    assert np.all(np.isfinite(clean(spoilt.motion).positions))


@pytest.mark.parametrize("every_other", [True, False])
def test_half_of_the_samples_are_enough(every_other: bool) -> None:
    truth = walking_person(600, 120.0)
    confidence = np.random.default_rng(4).integers(0, 2, truth.confidence.shape).astype(float)
    if every_other:
        confidence = np.ones_like(confidence)
        confidence[1::2] = 0
    result = clean(replace(truth, confidence=confidence))
    assert root_mean_square(result, truth) < 0.003
    assert not any("outliers" in note for note in result.origin.notes)


def test_infinite_and_absurd_positions_are_gaps() -> None:
    truth = walking_person(240, 120.0)
    positions = truth.positions.copy()
    positions[30, 3], positions[60, 5] = np.inf, 1e30
    result = clean(replace(truth, positions=positions))
    assert np.linalg.norm(result.positions - truth.positions, axis=2).max() < 0.01


def test_ten_thousand_frames_take_no_time_to_speak_of() -> None:
    spoilt = spoil(walking_person(10_000), noise_m=0.03, outliers=0.05, dropouts=0.3, run=8)
    start = process_time()
    clean(spoilt.motion)
    # CPU time, of which the aim is half a second; the margin is for cores that are shared.
    assert process_time() - start < 4.0


@pytest.mark.parametrize("rate_hz", [30.0, 50.0, 200.0])
def test_another_rate_is_the_same_walk(rate_hz: float) -> None:
    truth = walking_person(480, 120.0)
    result = resample(truth, rate_hz)
    expected = walking_person(len(result), rate_hz)
    assert result.rate_hz == rate_hz
    assert abs(result.duration_s - truth.duration_s) <= 1 / rate_hz
    assert np.abs(result.positions - expected.positions).max() < 0.01
    for name, rotations in result.rotations.items():
        assert rotation_angle(rotations, expected.rotations[name]).max() < 0.02
    assert result.contacts is not None
    assert result.contacts.shape == (len(result), 2, 2)


def test_a_lower_rate_shows_no_alias_of_a_fast_tremor() -> None:
    truth = walking_person(960, 240.0)
    tremor = 0.02 * np.sin(2 * np.pi * 29.0 * np.arange(960) / 240.0)
    shaken = replace(truth, positions=truth.positions + tremor[:, None, None])
    result = resample(shaken, 30.0)
    plain = resample(truth, 30.0)
    assert np.abs(result.positions - plain.positions)[4:-4].max() < 0.002


def test_what_is_unknown_stays_unknown_at_another_rate() -> None:
    truth = walking_person(240, 120.0)
    positions, confidence = truth.positions.copy(), truth.confidence.copy()
    positions[100:110, 4], confidence[100:110, 4] = np.nan, 0
    confidence[50, 7] = 0.4
    result = resample(replace(truth, positions=positions, confidence=confidence), 60.0)
    assert np.array_equal(np.flatnonzero(np.isnan(result.positions[:, 4, 0])), np.arange(50, 55))
    assert result.confidence[25, 7] == 0.4
    with pytest.raises(MotionError, match="--rate"):
        resample(truth, 0.0)
