"""Packets of foreign movies: copied without loss where that is possible, and only there."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from corporeal.episode import Episode, EpisodeWriter
from corporeal.episode.file import VideoReader
from corporeal.episode.overview import verify
from corporeal.episode.recording import VideoFile
from corporeal.episode.video import is_key_frame
from corporeal.errors import EpisodeError
from corporeal.exchange.movie.foreign_movie import MAX_GROUP, packets_shown, survey
from corporeal.schema import Schema, Stream

COUNT = 40
Make = Callable[..., Path]


def _picture(number: int, height: int, width: int) -> np.ndarray:
    rows, columns = np.mgrid[:height, :width]
    shown = np.stack([rows * 3 + 5 * number, columns * 2 + number, rows + columns], axis=2)
    return (shown % 256).astype(np.uint8)


@pytest.fixture
def make_movie(tmp_path: Path) -> Make:
    """Writes a movie of moving stripes: `make_movie(group=8, b_frames=0, ...)`."""

    def make(
        name: str = "movie.mp4",
        *,
        codec: str = "libx264",
        group: int = 8,
        b_frames: int = 0,
        size: tuple[int, int] = (48, 64),
        layout: str = "yuv420p",
        count: int = COUNT,
    ) -> Path:
        path = tmp_path / name
        with av.open(str(path), "w") as container:
            stream: Any = container.add_stream(codec, rate=Fraction(30))
            stream.height, stream.width, stream.pix_fmt = *size, layout
            stream.codec_context.gop_size = group
            stream.codec_context.max_b_frames = b_frames
            if codec == "libx264":
                stream.options = {"x264-params": "scenecut=0", "crf": "20"}
            for number in range(count):
                frame = av.VideoFrame.from_ndarray(_picture(number, *size), format="rgb24")
                container.mux(stream.encode(frame))
            container.mux(stream.encode())
        return path

    return make


def _footage(path: Path, *, size: tuple[int, int] = (48, 64), **stretch: Any) -> VideoFile:
    spec = Stream(name="head", group="observations", kind="video", shape=(*size, 3), rate_hz=30)
    count = stretch.get("count") or COUNT
    stamps = np.arange(count, dtype=np.int64) * 33_000_000
    return VideoFile(spec, stamps, lambda: str(path), **stretch)


def _written(footage: VideoFile, path: Path) -> Path:
    schema = Schema(document="schema", name="one", version="1.0.0", streams=(footage.spec,))
    with EpisodeWriter(path, schema=schema, epoch_ns=0) as writer:
        packets = packets_shown(footage, "h264")
        for stamp, (packet, _) in zip(footage.time_ns.tolist(), packets, strict=True):
            writer.append_packed(footage.spec.path, stamp, packet)
    return path


def test_copied_pictures_are_the_same_to_the_last_bit(make_movie: Make, tmp_path: Path) -> None:
    footage = _footage(make_movie())
    found = survey(footage)
    assert (found.codec, found.pictures, found.obstacle) == ("h264", COUNT, None)
    path = _written(footage, tmp_path / "e.h5")
    assert verify(path) == ()
    with Episode.open(path) as episode:
        reader = episode["observations/head"]
        assert isinstance(reader, VideoReader)
        assert np.array_equal(reader[:], footage[:])
        # From anywhere, and backwards, where the decoder has to start at a key frame.
        assert np.array_equal(reader[[37, 5, 23]], footage[[37, 5, 23]])
        assert np.flatnonzero(reader.packets.is_key).tolist() == list(range(0, COUNT, 8))


def test_a_stretch_that_begins_with_a_key_frame_is_copied(make_movie: Make, tmp_path: Path) -> None:
    footage = _footage(make_movie(), first=16, count=10)
    assert survey(footage).pictures == 10
    assert survey(footage).obstacle is None
    path = _written(footage, tmp_path / "e.h5")
    with Episode.open(path) as episode:
        assert np.array_equal(episode["observations/head"][:], _footage(make_movie())[16:26])


def test_a_stretch_that_begins_between_key_frames_is_not(make_movie: Make) -> None:
    found = survey(_footage(make_movie(), first=13, count=10))
    assert found.pictures == 10
    assert found.obstacle == "its first picture is no key frame"


def test_every_key_frame_brings_what_a_decoder_needs(make_movie: Make) -> None:
    packets = [packet for packet, _ in packets_shown(_footage(make_movie()), "h264")]
    keys = [number for number, packet in enumerate(packets) if is_key_frame(packet)]
    assert keys == list(range(0, COUNT, 8))
    for key in keys:
        context = av.CodecContext.create("h264", "r")
        frames = [*context.decode(av.Packet(packets[key])), *context.decode(None)]
        assert len(frames) == 1


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"group": MAX_GROUP + 4}, f"it has {MAX_GROUP + 4} pictures from one key frame"),
        ({"b_frames": 2}, "it has B-frames"),
        ({"codec": "libx264", "layout": "yuv444p"}, "its pictures are yuv444p"),
        ({"codec": "mpeg4"}, "it is mpeg4"),
    ],
)
def test_what_an_episode_cannot_hold_is_named(
    make_movie: Make, options: dict[str, Any], reason: str
) -> None:
    found = survey(_footage(make_movie(**options)))
    assert found.pictures == COUNT
    assert found.obstacle is not None
    assert reason in found.obstacle


def test_groups_of_the_longest_size_are_copied(make_movie: Make) -> None:
    assert survey(_footage(make_movie(group=MAX_GROUP))).obstacle is None


def test_a_movie_of_another_size_than_its_stream_is_not_copied(make_movie: Make) -> None:
    found = survey(_footage(make_movie(size=(32, 64))))
    assert found.obstacle == "its pictures are 32 x 64"


def test_full_range_colours_are_copied_as_they_are(make_movie: Make, tmp_path: Path) -> None:
    footage = _footage(make_movie(layout="yuvj420p"))
    assert survey(footage).obstacle is None
    with Episode.open(_written(footage, tmp_path / "e.h5")) as episode:
        assert np.array_equal(episode["observations/head"][:], footage[:])


def test_a_file_that_is_no_movie_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "movie.mp4").write_bytes(b"nothing of the kind" * 100)
    with pytest.raises(EpisodeError, match="observations/head: the movie cannot be read"):
        survey(_footage(tmp_path / "movie.mp4"))
