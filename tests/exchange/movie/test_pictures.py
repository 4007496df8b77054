"""Pictures row by row, and how often each level occurs in them."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest
from av.video.reformatter import VideoReformatter
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.exchange.movies import camera_of, decoded, footage, own_movie, pictures

from corporeal.episode.recording import ImageSequence
from corporeal.errors import EpisodeError
from corporeal.exchange.foreign_stream import picture_stream
from corporeal.exchange.movie.pictures import (
    Colours,
    LevelHistogram,
    array_of,
    frames_of,
    pictures_of,
)
from corporeal.signal.grid import even_stamps


def test_every_row_has_its_picture_though_stamps_jitter(tmp_path: Path) -> None:
    source = own_movie(tmp_path / "source.mp4", 40)
    _, all_pictures = decoded(source)
    numbers = [0, 1, 2, 2, 2, 3, 7, 8, 30, 39]
    shown = list(pictures_of(camera_of(footage(source, 40), numbers)))
    assert np.array_equal(np.stack(shown), all_pictures[numbers])


def test_a_picture_shown_twice_is_one_frame(tmp_path: Path) -> None:
    source = own_movie(tmp_path / "source.mp4", 3)
    first, again, other = frames_of(camera_of(footage(source, 3), [1, 1, 2]))
    assert first is again
    assert first is not other


def test_pictures_are_those_of_the_signal_itself(tmp_path: Path) -> None:
    spec = picture_stream("images.head", height=47, width=61, rate_hz=10)
    signal = ImageSequence(spec, even_stamps(3, 10), list(pictures(3, height=47, width=61)))
    assert np.array_equal(np.stack(list(pictures_of(camera_of(signal, [0, 1, 2])))), signal[:])


def test_a_smaller_picture_keeps_the_colours(tmp_path: Path) -> None:
    source = own_movie(tmp_path / "source.mp4", 2)
    large, _ = pictures_of(camera_of(footage(source, 2), [0, 1]))
    small, _ = pictures_of(camera_of(footage(source, 2), [0, 1], size=(24, 32)))
    assert small.shape == (24, 32, 3)
    # FFmpeg's own rounding while it scales is worth a level or so.
    assert small.mean(axis=(0, 1)) == pytest.approx(large.mean(axis=(0, 1)), abs=2)


def test_rows_beyond_the_movie_are_an_error(tmp_path: Path) -> None:
    source = own_movie(tmp_path / "source.mp4", 3)
    with pytest.raises(EpisodeError, match="ends before picture 3, which row 1 shows"):
        list(frames_of(camera_of(footage(source, 9), [2, 3])))
    with pytest.raises(EpisodeError, match="back in time"):
        list(frames_of(camera_of(footage(source, 3), [2, 1])))


@settings(max_examples=60, deadline=None)
@given(
    form=st.sampled_from(["yuv420p", "yuvj420p", "yuv444p", "yuv420p10le", "gray", "rgb24"]),
    height=st.integers(1, 70),
    width=st.integers(2, 140),
    seed=st.integers(0, 1000),
)
def test_a_histogram_counts_the_levels_of_rgb(
    form: str, height: int, width: int, seed: int
) -> None:
    noise = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    frame = av.VideoFrame.from_ndarray(noise, format="rgb24")
    frame = VideoReformatter().reformat(frame, format=form)
    histogram = LevelHistogram()
    for _ in range(2):
        histogram.add(frame)
    levels = array_of(Colours(height, width).of(frame))
    counts = [np.bincount(levels[..., each].ravel(), minlength=256) for each in range(3)]
    assert np.array_equal(histogram.counts, 2 * np.stack(counts))
    assert histogram.pictures == 2
