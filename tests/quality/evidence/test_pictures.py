"""One pass over a movie measures every picture once, and right."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, uniform_filter1d
from tests.quality.scene import CAMERA, HEIGHT, WIDTH, filmed, movie, pictures, subject, wall

from corporeal.episode.recording import VideoFile
from corporeal.episode.video import Encoder, write_mp4
from corporeal.quality.evidence import pictures as module
from corporeal.quality.evidence.pictures import (
    busy_share,
    count_pictures,
    edges,
    likeness,
    median_view,
    picture_measures,
    picture_track,
    pictures_of,
    shift,
    turned_views,
)


def test_small_pictures_are_the_means_of_their_parts(tmp_path: Path) -> None:
    shown = [np.full((HEIGHT, WIDTH, 3), level, np.uint8) for level in (0, 100, 255)]
    shown[1][:, WIDTH // 2 :] = 200
    track = picture_track(movie(tmp_path / "levels.mp4", shown))
    assert np.abs(track.mean - (0, 150, 255)).max() < 2
    assert abs(float(track.luma[1, 30, 10]) - 100) < 3
    assert abs(float(track.luma[1, 30, 70]) - 200) < 3


def test_movies_and_stills_measure_alike(tmp_path: Path) -> None:
    shown = pictures(20)
    coded = picture_track(movie(tmp_path / "scene.mp4", shown))
    plain = pictures_of(subject(20), CAMERA)
    assert np.abs(coded.luma.astype(int) - plain.luma).mean() < 3
    assert np.abs(coded.sharpness / plain.sharpness - 1).max() < 0.3


def test_change_is_zero_for_a_repeated_picture_and_large_for_another() -> None:
    track = pictures_of(subject(30, change=lambda shown: [*shown[:20], *[shown[19]] * 10]), CAMERA)
    assert track.stir[20:].max() == 0
    assert track.stir[1:20].min() > 5


def test_blur_lowers_the_sharpness() -> None:
    def blur(shown: list[np.ndarray]) -> list[np.ndarray]:
        return [uniform_filter1d(each, 7, axis=1) for each in shown]

    sharp = pictures_of(subject(5), CAMERA).sharpness
    blurred = pictures_of(subject(5, change=blur), CAMERA).sharpness
    assert blurred.max() < 0.5 * sharp.min()


def test_the_pass_is_made_once_for_all_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    one = subject(10)
    first = pictures_of(one, CAMERA)
    monkeypatch.setattr(module, "picture_track", lambda *_: pytest.fail("decoded twice"))
    assert pictures_of(one, CAMERA) is first


def test_a_part_of_a_movie_is_what_a_full_decode_gives_there(tmp_path: Path) -> None:
    whole = movie(tmp_path / "scene.mp4", pictures(40))
    every = picture_track(whole)
    part = picture_track(replace(whole, time_ns=whole.time_ns[13:25], first=13, count=12))
    assert len(part) == 12
    np.testing.assert_array_equal(part.luma, every.luma[13:25])


def test_a_part_of_a_real_movie_is_what_a_full_decode_gives_there(shared_data: Path) -> None:
    (path,) = (shared_data / "lerobot" / "so101_v30").rglob("*.mp4")
    spec = filmed(5).signals[CAMERA].spec
    stamps = np.arange(500, dtype=np.int64)
    start = picture_track(VideoFile(spec, stamps, lambda: str(path), 0, 420))
    part = picture_track(VideoFile(spec, stamps[:37], lambda: str(path), 383, 37))
    np.testing.assert_array_equal(part.luma, start.luma[383:420])


def test_pictures_are_counted_without_decoding(tmp_path: Path) -> None:
    footage = movie(tmp_path / "scene.mp4", pictures(12))
    assert count_pictures(footage) == 12
    assert count_pictures(replace(footage, first=5)) == 7
    assert count_pictures(replace(footage, first=5, count=3)) == 3
    assert count_pictures(replace(footage, open=lambda: str(tmp_path / "none.mp4"))) == 0
    assert count_pictures(filmed(9).signals[CAMERA]) == 9  # type: ignore[arg-type]


def test_the_median_view_leaves_out_what_moves() -> None:
    view = median_view(pictures_of(subject(150), CAMERA)).astype(float)
    empty = [wall()] * 5
    behind = median_view(pictures_of(subject(5, change=lambda _: empty), CAMERA)).astype(float)
    assert view.shape == (60, 80)
    # The box hides a fifth of the wall at a time, and little of it most of the time.
    assert (np.abs(view - behind) > 8).mean() < 0.12


def test_an_empty_movie_has_a_track_without_pictures() -> None:
    track = pictures_of(subject(10, change=lambda _: []), CAMERA)
    assert len(track) == 0
    assert median_view(track).max() == 0
    assert picture_measures(subject(10, change=lambda _: [])) == {}


@pytest.mark.slow
def test_four_hundred_large_pictures_take_less_than_a_second(tmp_path: Path) -> None:
    large = [np.kron(each, np.ones((4, 4, 1), np.uint8)) for each in pictures(60)]
    encoder = Encoder(4 * HEIGHT, 4 * WIDTH, rate_hz=30)
    stamps = np.arange(60, dtype=np.int64) * 33_333_333
    write_mp4(tmp_path / "large.mp4", [encoder.encode(each) for each in large], stamps)
    footage = VideoFile(filmed(5).signals[CAMERA].spec, stamps, lambda: str(tmp_path / "large.mp4"))
    picture_track(footage)
    begun = time.process_time()
    count = len(picture_track(footage))
    assert count / (time.process_time() - begun) > 400


WIDE = 128 + 60 * gaussian_filter(np.random.default_rng(3).normal(0, 3, (80, 120)), 1.2)
VIEW = WIDE[10:70, 20:100]


def test_a_view_is_like_itself_in_any_light() -> None:
    assert likeness(VIEW, VIEW) == pytest.approx(1)
    assert likeness(VIEW, 0.5 * VIEW + 20) == pytest.approx(1)
    assert likeness(VIEW, np.ones_like(VIEW)) == 0


def test_another_view_is_not_like_it() -> None:
    other = gaussian_filter(np.random.default_rng(4).normal(0, 3, VIEW.shape), 1.2)
    assert abs(likeness(VIEW, other)) < 0.3


@pytest.mark.parametrize(("down", "right"), [(0, 0), (3, -5), (-2, 7)])
def test_a_shift_is_measured(down: int, right: int) -> None:
    moved = WIDE[10 - down : 70 - down, 20 - right : 100 - right]
    got_down, got_right, fit = shift(VIEW, moved)
    assert got_down == pytest.approx(down, abs=0.3)
    assert got_right == pytest.approx(right, abs=0.3)
    assert fit > 0.95


def test_a_plain_view_has_no_edges() -> None:
    assert edges(np.full((60, 80), 7.0)).max() == 0
    assert busy_share(np.full((60, 80), 7.0)) == 0
    assert busy_share(VIEW) > 0.5


def test_turned_views_turn_back() -> None:
    for _, turned in turned_views(VIEW):
        assert any(np.array_equal(VIEW, again) for _, again in turned_views(turned))
