"""A video file, played in real time or as fast as its pictures are taken."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from pydantic import Field

from corporeal.capture.camera import NumberedOptions, camera_rig, read_pictures
from corporeal.capture.driver import Driver, DriverError, Mark, Rig, Sample
from corporeal.episode.video import VideoError, open_movie
from corporeal.units import SECOND_NS


class VideoFileOptions(NumberedOptions):
    """Which file, and how fast."""

    path: Path
    speed: float = Field(default=0.0, ge=0, le=1000, description="0: as fast as it is taken")


def describe(options: VideoFileOptions) -> Rig:
    """Its one stream, from the header of the file."""
    with closing(_open(options.path)) as container:
        video = container.streams.video[0]
        rate = video.average_rate or video.guessed_rate
        height, width = video.codec_context.height, video.codec_context.width
        if not rate or height % 2 or width % 2:
            raise DriverError(
                f"video {options.path}, got {width} x {height} at {rate or 'no'} frames per "
                "second; expected even sizes and a frame rate. Write it again with ffmpeg."
            )
        return camera_rig(options, (height, width), float(rate))


def read(options: VideoFileOptions) -> Iterator[Sample | Mark]:
    """Its pictures between a mark of the start and one of the end, stamped by the file."""
    stream, *counter = describe(options).schema.streams
    period_ns = SECOND_NS / float(stream.rate_hz or 1)
    begin_ns = time.time_ns()
    last_ns: int | None = None
    first_ns = 0
    with closing(_open(options.path)) as container:
        # The rate that the frames were made at; where some are missing the average is lower.
        rate = float(container.streams.video[0].guessed_rate or stream.rate_hz or 1)
        for stamp, picture in read_pictures(container, str(options.path)):
            source_ns = stamp if stamp is not None else round((last_ns or 0) + period_ns)
            if last_ns is None:
                first_ns = source_ns
                yield Mark("start", begin_ns, {"video_file": options.path.name})
            last_ns = source_ns
            arrival_ns = begin_ns + source_ns - first_ns
            if options.speed:
                wait_ns = (arrival_ns - begin_ns) / options.speed - (time.time_ns() - begin_ns)
                time.sleep(max(0.0, wait_ns) / SECOND_NS)
            yield Sample(stream.path, source_ns, arrival_ns, picture)
            for each in counter:
                yield Sample(
                    each.path, source_ns, arrival_ns, [round(source_ns * rate / SECOND_NS)]
                )
    if last_ns is not None:
        yield Mark("end", begin_ns + last_ns - first_ns)


def _open(path: Path) -> Any:
    if not path.is_file():
        raise DriverError(f"video, got {str(path)!r}; expected a video file. Check the path.")
    try:
        container = open_movie(path)
    except VideoError as error:
        raise DriverError(f"video {path} cannot be opened: {error.strerror}.") from None
    if not container.streams.video:
        container.close()
        raise DriverError(f"video {path} has no pictures; expected a video.")
    return container


DRIVER = Driver(VideoFileOptions, describe, read)
