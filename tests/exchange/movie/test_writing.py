"""Movies of constant rate, copied packet by packet where that is exact."""

from __future__ import annotations

import itertools
import tempfile
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.exchange.movies import (
    HEIGHT,
    RATE_HZ,
    WIDTH,
    Pictures,
    camera_of,
    decoded,
    footage,
    foreign_movie,
    own_movie,
    packets,
    pictures,
)

from corporeal.episode.recording import ImageSequence
from corporeal.errors import EpisodeError, WriteError
from corporeal.exchange.foreign_stream import picture_stream
from corporeal.exchange.movie.packets import frame_number_bits, told_apart
from corporeal.exchange.movie.pictures import LevelHistogram, pictures_of
from corporeal.exchange.movie.writing import can_join, join_movies, write_movie
from corporeal.signal.grid import even_stamps


def distance(some: Pictures, others: Pictures) -> float:
    """The mean difference of two pictures' levels."""
    return float(np.abs(some.astype(float) - others).mean())


def test_a_run_from_a_key_frame_keeps_every_packet(tmp_path: Path) -> None:
    source = own_movie(tmp_path / "source.mp4", 12)
    camera = camera_of(footage(source, 12), range(4, 11))
    movie = write_movie(camera, tmp_path / "new.mp4", rate_hz=RATE_HZ)
    assert packets(movie.path) == packets(source)[4:11]
    assert (movie.frames, movie.mended, movie.remuxed) == (7, 0, True)
    assert (movie.height, movie.width) == (HEIGHT, WIDTH)
    assert (movie.codec, movie.pix_fmt) == ("h264", "yuv420p")


def test_a_run_from_the_middle_of_a_group_mends_one_picture(tmp_path: Path) -> None:
    source = own_movie(tmp_path / "source.mp4", 12)
    movie = write_movie(
        camera_of(footage(source, 12), range(3, 12)), tmp_path / "new.mp4", rate_hz=RATE_HZ
    )
    assert (movie.frames, movie.mended, movie.remuxed) == (9, 1, True)
    assert packets(movie.path)[2:] == packets(source)[5:]
    _, before = decoded(source)
    _, after = decoded(movie.path)
    assert np.array_equal(after[1:], before[4:])
    assert distance(after[0], before[3]) < 8


@pytest.mark.parametrize(
    ("numbers", "mended"),
    [
        ([0, 1, 2, 2, 3, 4], 0),  # a key frame twice, so that its follower still has it
        ([0, 1, 1, 2, 3], 1),
        ([0, 1, 1, 1, 2, 3], 2),
        ([0, 1, 3, 4, 5], 1),
        ([0, 1, 4, 5], 0),
        ([1, 3, 5, 6], 3),
        ([0, 2, 4, 6], 0),
    ],
)
def test_a_picture_shown_twice_or_left_out_mends_only_what_leans_on_it(
    tmp_path: Path, numbers: list[int], mended: int
) -> None:
    source = own_movie(tmp_path / "source.mp4", 8)
    movie = write_movie(
        camera_of(footage(source, 8), numbers), tmp_path / "new.mp4", rate_hz=RATE_HZ
    )
    assert (movie.frames, movie.mended, movie.remuxed) == (len(numbers), mended, True)
    _, before = decoded(source)
    _, after = decoded(movie.path)
    same = [np.array_equal(new, before[old]) for new, old in zip(after, numbers, strict=True)]
    assert same.count(False) <= mended
    assert all(distance(new, before[old]) < 8 for new, old in zip(after, numbers, strict=True))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 15), min_size=1, max_size=20).map(sorted))
def test_row_k_shows_its_picture_at_k_over_the_rate(numbers: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = own_movie(Path(folder) / "source.mp4", 16)
        histogram = LevelHistogram()
        camera = camera_of(footage(source, 16), numbers)
        movie = write_movie(camera, Path(folder) / "new.mp4", rate_hz=15, histogram=histogram)
        times, after = decoded(movie.path)
        _, before = decoded(source)
        assert neighbours_differ(movie.path)
    assert times == [Fraction(row, 15) for row in range(len(numbers))]
    nearest = [min(range(16), key=lambda old: distance(new, before[old])) for new in after]
    assert nearest == numbers
    assert histogram.pictures == len(numbers)
    assert np.array_equal(histogram.counts, counted(before[numbers]))


@pytest.mark.parametrize(
    "rate_hz", [0.5, 1, 7, 10, 14.7, 15, 20, 24, 25, 29.97, 30000 / 1001, 50, 100 / 7, 500]
)
def test_any_rate_is_kept_exactly(tmp_path: Path, rate_hz: float) -> None:
    source = own_movie(tmp_path / "source.mp4", 40)
    movie = write_movie(
        camera_of(footage(source, 40), range(40)), tmp_path / "new.mp4", rate_hz=rate_hz
    )
    times, _ = decoded(movie.path)
    assert [float(time) for time in times] == pytest.approx(np.arange(40) / rate_hz, abs=1e-9)
    with av.open(str(movie.path)) as container:
        stream = container.streams.video[0]
        assert float(stream.average_rate or 0) == pytest.approx(rate_hz, rel=1e-9)
        assert (stream.start_time, stream.frames) == (0, 40)


@pytest.mark.parametrize("rate_hz", [0, -30, float("nan"), float("inf"), 5000, 1e-9])
def test_a_rate_that_is_none_is_refused(tmp_path: Path, rate_hz: float) -> None:
    source = own_movie(tmp_path / "source.mp4", 2)
    with pytest.raises(WriteError, match="the rate of a movie"):
        write_movie(camera_of(footage(source, 2), [0, 1]), tmp_path / "n.mp4", rate_hz=rate_hz)


def test_pictures_that_lean_on_later_ones_are_copied_by_whole_groups(tmp_path: Path) -> None:
    source = foreign_movie(tmp_path / "source.mp4", 30)
    with av.open(str(source)) as container:
        stamps = [packet.pts for packet in container.demux(video=0) if packet.pts is not None]
    assert stamps != sorted(stamps)
    histogram = LevelHistogram()
    movie = write_movie(
        camera_of(footage(source, 18, first=12, rate_hz=25), range(12)),
        tmp_path / "new.mp4",
        rate_hz=25,
        histogram=histogram,
    )
    assert (movie.frames, movie.mended, movie.remuxed) == (12, 0, True)
    assert packets(movie.path) == packets(source)[12:24]
    times, after = decoded(movie.path)
    assert times == [Fraction(row, 25) for row in range(12)]
    assert np.array_equal(after, decoded(source)[1][12:24])
    assert np.array_equal(histogram.counts, counted(after))


@pytest.mark.parametrize("numbers", [range(1, 24), range(2), [0, 0, 1, 2], [0, 1, 2, 4]])
def test_a_foreign_movie_cut_within_a_group_is_encoded_anew(
    tmp_path: Path, numbers: list[int]
) -> None:
    source = foreign_movie(tmp_path / "source.mp4", 24)
    camera = camera_of(footage(source, 24, rate_hz=25), numbers)
    movie = write_movie(camera, tmp_path / "new.mp4", rate_hz=25)
    assert (movie.mended, movie.remuxed, movie.codec) == (len(numbers), False, "h264")
    _, before = decoded(source)
    _, after = decoded(movie.path)
    assert all(distance(new, before[old]) < 8 for new, old in zip(after, numbers, strict=True))


def test_a_movie_that_starts_late_is_shown_from_zero(tmp_path: Path) -> None:
    source = foreign_movie(tmp_path / "source.mkv", 24, start=40)
    camera = camera_of(footage(source, 24, rate_hz=25), range(24))
    movie = write_movie(camera, tmp_path / "new.mp4", rate_hz=25)
    times, after = decoded(movie.path)
    assert movie.remuxed
    assert times == [Fraction(row, 25) for row in range(24)]
    assert np.array_equal(after, decoded(source)[1])


def test_a_table_of_key_frames_that_lies_is_not_believed(tmp_path: Path) -> None:
    source, liar = own_movie(tmp_path / "source.mp4", 6), tmp_path / "liar.mp4"
    with av.open(str(source)) as given, av.open(str(liar), "w") as container:
        stream = container.add_stream_from_template(given.streams.video[0])
        for packet in given.demux(video=0):
            if packet.size:
                packet.is_keyframe = True
                packet.stream = stream
                container.mux(packet)
    movie = write_movie(
        camera_of(footage(liar, 6), range(1, 6)), tmp_path / "new.mp4", rate_hz=RATE_HZ
    )
    assert movie.mended == 1
    assert distance(decoded(movie.path)[1][0], decoded(source)[1][1]) < 8


def test_single_pictures_become_a_movie(tmp_path: Path) -> None:
    given = pictures(5)
    spec = picture_stream("images.head", height=HEIGHT, width=WIDTH, rate_hz=10)
    histogram = LevelHistogram()
    camera = camera_of(ImageSequence(spec, even_stamps(5, 10), list(given)), [0, 1, 1, 4])
    movie = write_movie(camera, tmp_path / "new.mp4", rate_hz=10, histogram=histogram)
    assert (movie.frames, movie.mended, movie.remuxed) == (4, 4, False)
    times, after = decoded(movie.path)
    assert times == [Fraction(row, 10) for row in range(4)]
    assert all(distance(new, given[old]) < 12 for new, old in zip(after, [0, 1, 1, 4], strict=True))
    assert np.array_equal(histogram.counts, counted(given[[0, 1, 1, 4]]))


def test_another_size_is_encoded_anew(tmp_path: Path) -> None:
    source = own_movie(tmp_path / "source.mp4", 6)
    histogram = LevelHistogram()
    camera = camera_of(footage(source, 6), range(6), size=(224, 224))
    movie = write_movie(camera, tmp_path / "new.mp4", rate_hz=RATE_HZ, histogram=histogram)
    assert (movie.height, movie.width, movie.remuxed) == (224, 224, False)
    wanted = np.stack(list(pictures_of(camera)))
    assert np.array_equal(histogram.counts, counted(wanted))
    assert distance(decoded(movie.path)[1], wanted) < 4


def test_an_odd_size_becomes_the_even_one_below(tmp_path: Path) -> None:
    spec = picture_stream("images.head", height=47, width=61, rate_hz=10)
    signal = ImageSequence(spec, even_stamps(2, 10), list(pictures(2, height=47, width=61)))
    movie = write_movie(camera_of(signal, [0, 1]), tmp_path / "new.mp4", rate_hz=10)
    assert (movie.height, movie.width) == (46, 60)
    assert decoded(movie.path)[1].shape == (2, 46, 60, 3)


def test_a_row_beyond_the_movie_is_an_error(tmp_path: Path) -> None:
    source = own_movie(tmp_path / "source.mp4", 4)
    with pytest.raises(EpisodeError, match="ends before picture 5"):
        write_movie(camera_of(footage(source, 9), [0, 5]), tmp_path / "new.mp4", rate_hz=30)
    with pytest.raises(EpisodeError, match="ends before picture 2"):
        write_movie(camera_of(footage(source, 2), [0, 2]), tmp_path / "new.mp4", rate_hz=30)


@pytest.mark.parametrize(("numbers", "words"), [([], "no rows"), ([2, 1], "back in time")])
def test_rows_that_make_no_movie_are_an_error(
    tmp_path: Path, numbers: list[int], words: str
) -> None:
    source = own_movie(tmp_path / "source.mp4", 4)
    with pytest.raises(EpisodeError, match=words):
        write_movie(camera_of(footage(source, 4), numbers), tmp_path / "new.mp4", rate_hz=30)


def test_a_torn_movie_is_an_error_that_names_it(tmp_path: Path) -> None:
    source = own_movie(tmp_path / "source.mp4", 4)
    source.write_bytes(source.read_bytes()[:200])
    with pytest.raises(EpisodeError, match="observations/head: the movie cannot be read"):
        write_movie(camera_of(footage(source, 4), [0, 1]), tmp_path / "new.mp4", rate_hz=30)
    with pytest.raises(EpisodeError, match=r"source\.mp4: the movie cannot be read"):
        can_join(source, source)


@settings(max_examples=15, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    firsts=st.lists(st.integers(0, 1), min_size=4, max_size=4),
)
def test_joined_movies_show_every_picture_of_each(lengths: list[int], firsts: list[int]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts = []
        for number, (length, first) in enumerate(zip(lengths, firsts, strict=False)):
            source = own_movie(folder / f"source{number}.mp4", length + first, seed=number)
            camera = camera_of(footage(source, length + first), range(first, length + first))
            parts.append(write_movie(camera, folder / f"{number}.mp4", rate_hz=RATE_HZ).path)
        assert all(can_join(parts[0], part) for part in parts)
        starts = join_movies(parts, folder / "all.mp4", rate_hz=RATE_HZ)
        times, after = decoded(folder / "all.mp4")
        wanted = np.concatenate([decoded(part)[1] for part in parts])
        stored = [packet for part in parts for packet in packets(part)]
        joined = packets(folder / "all.mp4")
        assert all(joined[row] == stored[row] for row in range(len(stored)) if row not in starts)
        assert neighbours_differ(folder / "all.mp4")
    assert starts == tuple(np.cumsum([0, *lengths[:-1]]).tolist())
    assert times == [Fraction(row, 30) for row in range(sum(lengths))]
    assert np.array_equal(after, wanted)


def test_movies_whose_pictures_are_out_of_order_join(tmp_path: Path) -> None:
    parts = []
    for number, count in enumerate((3, 24, 1)):
        source = foreign_movie(tmp_path / f"source{number}.mp4", count)
        camera = camera_of(footage(source, count, rate_hz=25), range(count))
        parts.append(write_movie(camera, tmp_path / f"{number}.mp4", rate_hz=20).path)
    assert join_movies(parts, tmp_path / "all.mp4", rate_hz=20) == (0, 3, 27)
    times, after = decoded(tmp_path / "all.mp4")
    assert times == [Fraction(row, 20) for row in range(28)]
    assert np.array_equal(after, np.concatenate([decoded(part)[1] for part in parts]))


def test_movies_that_differ_do_not_join(tmp_path: Path) -> None:
    own, other = own_movie(tmp_path / "a.mp4", 4), foreign_movie(tmp_path / "b.mp4", 4)
    assert not can_join(own, other)
    steady = write_movie(camera_of(footage(own, 4), range(4)), tmp_path / "c.mp4", rate_hz=RATE_HZ)
    with pytest.raises(WriteError, match="coded otherwise"):
        join_movies([steady.path, other], tmp_path / "all.mp4", rate_hz=RATE_HZ)
    with pytest.raises(WriteError, match="has 30 pictures a second; expected 15"):
        join_movies([steady.path], tmp_path / "all.mp4", rate_hz=15)
    with pytest.raises(WriteError, match="no movie to join"):
        join_movies([], tmp_path / "all.mp4", rate_hz=15)


@pytest.mark.slow
def test_an_episode_within_an_av1_movie_is_copied(shared_data: Path, tmp_path: Path) -> None:
    source = (
        shared_data / "lerobot/so101_v30/videos/observation.images.wrist/chunk-000/file-000.mp4"
    )
    camera = camera_of(footage(source, 382, first=1148, size=(360, 640)), range(382))
    movie = write_movie(camera, tmp_path / "new.mp4", rate_hz=30)
    assert (movie.frames, movie.codec, movie.mended, movie.remuxed) == (382, "av1", 0, True)
    assert packets(movie.path) == packets(source)[1148:1530]
    times, after = decoded(movie.path)
    assert times == [Fraction(row, 30) for row in range(382)]
    for row, picture in enumerate(pictures_of(camera)):
        assert np.array_equal(after[row], picture), row


def test_an_h264_movie_of_another_lerobot_is_copied(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "lerobot/gr1_picknplace_v20/videos/chunk-000/observation.images.ego_view"
    source = folder / "episode_000004.mp4"
    camera = camera_of(footage(source, 328, size=(256, 256), rate_hz=20), range(328))
    movie = write_movie(camera, tmp_path / "new.mp4", rate_hz=20)
    assert (movie.frames, movie.mended, movie.remuxed) == (328, 0, True)
    times, after = decoded(movie.path)
    assert times == [Fraction(row, 20) for row in range(328)]
    assert np.array_equal(after, decoded(source)[1])


def neighbours_differ(path: Path) -> bool:
    """Whether no two key frames in a row have the same id, as H.264 wants it."""
    with av.open(str(path)) as container:
        bits = frame_number_bits(bytes(container.streams.video[0].codec_context.extradata or b""))
        assert bits == 4
        taken = [
            told_apart(bytes(packet), None, bits)[1] if packet.is_keyframe else None
            for packet in container.demux(video=0)
            if packet.size
        ]
    return all(a is None or a != b for a, b in itertools.pairwise(taken))


def counted(some: Pictures) -> np.ndarray:
    """How often each channel has each level."""
    return np.stack([np.bincount(some[..., each].ravel(), minlength=256) for each in range(3)])
