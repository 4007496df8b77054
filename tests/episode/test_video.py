"""Video is a playable MP4 inside the file, and any picture of it is close by."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from corporeal.episode import Episode, EpisodeWriter
from corporeal.episode.file import Storage, VideoReader
from corporeal.episode.video import (
    GROUP_OF_PICTURES,
    Encoder,
    index_mp4,
    is_key_frame,
    ticks,
    write_mp4,
)
from corporeal.schema import Schema
from corporeal.testing import Workload

CAMERA = "observations/head_left"
SIZE = (48, 64)
COUNT = 130
PERIOD_NS = 33_333_333

Picture = NDArray[np.uint8]

stamps = st.lists(
    st.integers(-(2**63), 2**63 - 1) | st.integers(0, 10**10) | st.integers(0, 5),
    min_size=1,
    max_size=30,
)


@pytest.fixture(scope="module")
def long_camera(
    tmp_path_factory: pytest.TempPathFactory, workload: Workload, make_schema: Callable[..., Schema]
) -> Path:
    """One camera with 130 pictures."""
    path = tmp_path_factory.mktemp("camera") / "long.h5"
    schema = make_schema(
        {"name": "camera", "group": "observations", "kind": "video", "shape": [*SIZE, 3],
         "rate_hz": 30}
    )  # fmt: skip
    source = Workload(workload.embodiment, duration_s=COUNT / 30, size=SIZE)
    with EpisodeWriter(path, schema=schema) as writer:
        for number, picture in enumerate(source.frames(CAMERA)):
            writer.append("observations/camera", number * PERIOD_NS, picture)
    return path


@pytest.fixture
def camera(long_camera: Path) -> Iterator[VideoReader]:
    with Episode.open(long_camera) as episode:
        reader = episode["observations/camera"]
        assert isinstance(reader, VideoReader)
        yield reader


@pytest.fixture(scope="module")
def pictures(long_camera: Path) -> Picture:
    """Every picture, decoded from the first to the last by FFmpeg alone."""
    with Episode.open(long_camera) as episode:
        reader = episode["observations/camera"]
        assert isinstance(reader, VideoReader)
        start, length = reader.byte_range
    movie = long_camera.read_bytes()[start : start + length]
    with av.open(io.BytesIO(movie), "r") as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    return np.stack(frames)


def _packets(count: int, *, rate_hz: float = 30.0) -> list[bytes]:
    encoder = Encoder(32, 48, rate_hz=rate_hz)
    rng = np.random.default_rng(1)
    return [encoder.encode(rng.integers(0, 255, (32, 48, 3), dtype=np.uint8)) for _ in range(count)]


def test_the_byte_range_is_a_complete_movie(camera: VideoReader, pictures: Picture) -> None:
    assert pictures.shape == (COUNT, *SIZE, 3)
    np.testing.assert_array_equal(camera[:], pictures)


def test_the_movie_can_be_opened_in_place(camera: VideoReader) -> None:
    movie = camera.movie()
    assert movie.readable()
    assert movie.seekable()
    with av.open(movie, "r") as container:
        assert container.streams.video[0].frames == COUNT
        assert container.streams.video[0].codec_context.name == "h264"
    assert movie.seek(4) == movie.tell() == 4
    assert movie.read(4) == b"ftyp"
    movie.seek(-10, io.SEEK_END)
    assert len(movie.read()) == 10
    assert movie.read(5) == b""


def test_the_index_of_the_movie_comes_first(long_camera: Path, camera: VideoReader) -> None:
    start, length = camera.byte_range
    movie = long_camera.read_bytes()[start : start + length]
    assert movie.index(b"moov") < movie.index(b"mdat")


def test_the_movie_plays_at_the_pace_of_the_stamps(camera: VideoReader) -> None:
    with av.open(camera.movie(), "r") as container:
        stream = container.streams.video[0]
        assert stream.time_base is not None
        pts = [packet.pts or 0 for packet in container.demux(stream) if packet.size]
        seconds = [float(tick * stream.time_base) for tick in pts]
    np.testing.assert_allclose(seconds, camera.time_ns / 1e9, atol=1e-5)


def test_no_picture_depends_on_a_later_one_and_key_frames_are_frequent(camera: VideoReader) -> None:
    with av.open(camera.movie(), "r") as container:
        packets = [packet for packet in container.demux(video=0) if packet.size]
        assert all(packet.pts == packet.dts for packet in packets)
        assert not any(p.is_keyframe and n % GROUP_OF_PICTURES for n, p in enumerate(packets))
    np.testing.assert_array_equal(camera.packets.is_key, np.arange(COUNT) % GROUP_OF_PICTURES == 0)
    with av.open(camera.movie(), "r") as container:
        kinds = {
            av.video.frame.PictureType(frame.pict_type).name for frame in container.decode(video=0)
        }
    assert kinds == {"I", "P"}


@settings(max_examples=40)
@given(st.lists(st.integers(-COUNT, COUNT - 1), max_size=8))
def test_pictures_by_number_are_those_of_playing_through(
    long_camera: Path, pictures: Picture, numbers: list[int]
) -> None:
    with Episode.open(long_camera) as episode:
        reader = episode["observations/camera"]
        np.testing.assert_array_equal(reader[numbers], pictures[numbers])
        for number in numbers:
            np.testing.assert_array_equal(reader[number], pictures[number])


@pytest.mark.parametrize(
    "selection",
    [slice(3, 9), slice(None, None, 7), slice(20, 5, -3), slice(-5, None), slice(9, 9),
     slice(125, 500), slice(None, None, -1), slice(7, 3)],
)  # fmt: skip
def test_slices_are_those_of_playing_through(
    camera: VideoReader, pictures: Picture, selection: slice
) -> None:
    np.testing.assert_array_equal(camera[selection], pictures[selection])


def test_pictures_look_like_the_source(workload: Workload, recording: Path) -> None:
    with Episode.open(recording) as episode:
        for path in (CAMERA, "debug/external_front"):
            source = np.stack(list(workload.frames(path))).astype(float)
            error = ((episode[path][:] - source) ** 2).mean()
            assert 10 * np.log10(255**2 / error) > 28, path


def test_plain_colours_stay_what_they_were(
    tmp_path: Path, make_schema: Callable[..., Schema]
) -> None:
    schema = make_schema(
        {"name": "c", "group": "debug", "kind": "video", "shape": [32, 32, 3], "rate_hz": 10}
    )
    colours = [(0, 0, 0), (255, 255, 255), (200, 30, 30), (30, 200, 30), (30, 30, 200)]
    with EpisodeWriter(tmp_path / "c.h5", schema=schema) as writer:
        for number, colour in enumerate(colours):
            writer.append("debug/c", number, np.full((32, 32, 3), colour, np.uint8))
    with Episode.open(tmp_path / "c.h5") as episode:
        middle = episode["debug/c"][:][:, 16, 16].astype(int)
    np.testing.assert_allclose(middle, colours, atol=6)


def test_a_few_pictures_cost_a_small_part_of_the_file(
    long_camera: Path, pictures: Picture, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    bytes_at, fill = Storage.bytes_at, Storage.fill

    def counted_bytes(self: Storage, offset: int, count: int) -> bytes:
        taken.append(count)
        return bytes_at(self, offset, count)

    def counted_fill(self: Storage, array: NDArray[np.generic], offset: int) -> None:
        taken.append(array.nbytes)
        fill(self, array, offset)

    monkeypatch.setattr(Storage, "bytes_at", counted_bytes)
    monkeypatch.setattr(Storage, "fill", counted_fill)
    with Episode.open(long_camera) as episode:
        reader = episode["observations/camera"]
        assert sum(taken) == 0
        np.testing.assert_array_equal(reader[100:110], pictures[100:110])
    assert sum(taken) < long_camera.stat().st_size / 7


@given(stamps)
def test_ticks_rise_whatever_the_clock_does(times: list[int]) -> None:
    found = ticks(np.array(times, np.int64))
    assert found[0] == 0
    steps = np.diff(found)
    assert (steps > 0).all()
    assert (steps <= 1 << 30).all()


@given(st.lists(st.integers(1, 10**12), min_size=1, max_size=30))
def test_ticks_keep_to_an_honest_clock(steps: list[int]) -> None:
    times = np.cumsum([0, *(step + 20_000 for step in steps)])
    error = ticks(times.astype(np.int64)) - times * 9 / 100_000
    # Half a tick of rounding, plus what keeps two pictures of the same tick apart.
    assert (np.abs(error) <= 0.5 + len(steps) * (min(steps) < 11_112)).all()


@pytest.mark.parametrize(
    "times",
    [[0] * 6, [5, 4, 3, 2, 1, 0], [0, 10**18, 10**18 + 1, 10**18 + 2, 2, 3],
     [-(2**63), 2**63 - 1] * 3, [0, 1, 25_200_000_000_000, 2, 3, 4], [7]],
    ids=["same", "backwards", "decades", "extreme", "one outlier", "one picture"],
)  # fmt: skip
def test_a_broken_clock_costs_no_picture(tmp_path: Path, times: list[int]) -> None:
    path = tmp_path / "a.mp4"
    write_mp4(path, _packets(len(times)), np.array(times, np.int64))
    assert len(index_mp4(path).start) == len(times)
    with av.open(str(path)) as container:
        assert len(list(container.decode(video=0))) == len(times)


def test_only_as_many_packets_are_taken_as_there_are_stamps(tmp_path: Path) -> None:
    def torn() -> Iterator[bytes]:
        yield from _packets(3)
        raise AssertionError("a packet without a stamp was asked for")

    write_mp4(tmp_path / "a.mp4", torn(), np.arange(3) * PERIOD_NS)
    assert len(index_mp4(tmp_path / "a.mp4").start) == 3


def test_key_frames_are_told_by_their_bytes() -> None:
    found = [is_key_frame(packet) for packet in _packets(9)]
    assert found == [number % GROUP_OF_PICTURES == 0 for number in range(9)]
    assert not is_key_frame(b"")
    assert not is_key_frame(b"\0\0\1")


@pytest.mark.parametrize("rate_hz", [1e-4, 0.3, 29.97, 1000.0, 1e6])
def test_any_rate_can_be_encoded(tmp_path: Path, rate_hz: float) -> None:
    write_mp4(tmp_path / "a.mp4", _packets(3, rate_hz=rate_hz), np.arange(3) * PERIOD_NS)
    assert len(index_mp4(tmp_path / "a.mp4").start) == 3


def test_planes_are_the_same_pictures(camera: VideoReader, pictures: Picture) -> None:
    numbers = [7, 3, 120]
    planes = camera.planes(numbers)
    assert planes.shape == (3, 3, *SIZE)
    # Another way of converting colours may round another way.
    difference = np.moveaxis(planes, 1, -1).astype(int) - pictures[numbers]
    assert np.abs(difference).max() <= 2
    np.testing.assert_array_equal(camera.planes(-1), camera.planes([COUNT - 1])[0])
    floats = camera.planes(numbers, as_float=True)
    assert floats.dtype == np.float32
    np.testing.assert_allclose(floats, planes / 255, atol=1e-6)
