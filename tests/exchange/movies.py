"""Small movies and cameras that tests of pictures share."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import ImageSequence, VideoFile
from corporeal.episode.video import Encoder, write_mp4
from corporeal.exchange.foreign_stream import picture_stream
from corporeal.exchange.layout import CameraSpec
from corporeal.exchange.table import TableCamera
from corporeal.signal.grid import even_stamps

HEIGHT, WIDTH = 48, 64
RATE_HZ = 30.0
Pictures = NDArray[np.uint8]


def pictures(count: int, *, height: int = HEIGHT, width: int = WIDTH, seed: int = 0) -> Pictures:
    """Pictures (count, height, width, 3) of coloured fields, no two alike."""
    rng = np.random.default_rng(seed)
    fields = rng.integers(0, 256, (count, -(-height // 8), -(-width // 8), 3), dtype=np.uint8)
    return fields.repeat(8, axis=1).repeat(8, axis=2)[:, :height, :width]


def own_movie(path: Path, count: int, *, seed: int = 0, rate_hz: float = RATE_HZ) -> Path:
    """A movie as the episode writer makes it: stamps that jitter, every second picture a key."""
    rng = np.random.default_rng(seed)
    encoder = Encoder(HEIGHT, WIDTH, rate_hz=rate_hz)
    packets = [encoder.encode(picture) for picture in pictures(count, seed=seed)]
    jitter_ns = rng.integers(-2_000_000, 2_000_000, count)
    write_mp4(path, packets, even_stamps(count, rate_hz) + jitter_ns)
    return path


def foreign_movie(
    path: Path, count: int, *, group: int = 12, rate: int = 25, start: int = 0, **options: Any
) -> Path:
    """A movie of another's making: long groups, pictures that lean on later ones."""
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream("libx264", rate=rate)
        stream.height, stream.width = HEIGHT, WIDTH
        stream.pix_fmt, stream.gop_size = "yuv420p", group
        stream.options = {"x264-params": "bframes=3:b-adapt=0:scenecut=0", **options}
        for number, picture in enumerate(pictures(count)):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = start + number, Fraction(1, rate)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def camera_of(
    signal: VideoFile | ImageSequence, numbers: Sequence[int], size: tuple[int, int] | None = None
) -> TableCamera:
    """A camera whose rows show these pictures."""
    height, width, _ = signal.spec.shape
    spec = CameraSpec("observation.images.head", signal.spec, size or (int(height), int(width)))
    return TableCamera(spec, signal, np.array(numbers, np.int64))


def footage(
    path: Path,
    count: int,
    *,
    first: int = 0,
    size: tuple[int, int] = (HEIGHT, WIDTH),
    rate_hz: float = RATE_HZ,
) -> VideoFile:
    """Pictures `first` to `first + count` of a movie."""
    spec = picture_stream("images.head", height=size[0], width=size[1], rate_hz=rate_hz)
    return VideoFile(spec, even_stamps(count, rate_hz), lambda: str(path), first, count)


def decoded(path: Path) -> tuple[list[Fraction], Pictures]:
    """When each picture of a movie is shown, and all of them, in that order."""
    with av.open(str(path)) as container:
        frames = list(container.decode(container.streams.video[0]))
    times = [Fraction(frame.pts or 0) * Fraction(frame.time_base or 0) for frame in frames]
    return times, np.stack([frame.to_ndarray(format="rgb24") for frame in frames])


def packets(path: Path) -> list[bytes]:
    """The packets of a movie as they are stored."""
    with av.open(str(path)) as container:
        return [bytes(packet) for packet in container.demux(video=0) if packet.size]
