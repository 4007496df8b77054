"""A short movie of one camera, made of the packets that the episode holds: nothing is encoded."""

from __future__ import annotations

import io
from dataclasses import dataclass

import av
import numpy as np

from corporeal.episode.file import VideoReader
from corporeal.episode.video import TICKS_PER_S, TIME_BASE, ticks
from corporeal.errors import CorporealError, EpisodeError

_LARGEST = 1 << 28


@dataclass(frozen=True)
class Clip:
    """An MP4, and the stamps of its first and last picture."""

    data: bytes
    start_ns: int
    end_ns: int


def cut_clip(camera: VideoReader, start_ns: int, end_ns: int) -> Clip:
    """The pictures from `start_ns` to `end_ns`, from the key frame before the first one on.

    A stamp that goes backwards is shown right after the one before it.
    """
    times = np.maximum.accumulate(camera.time_ns)
    first = max(int(np.searchsorted(times, start_ns, side="right")) - 1, 0)
    stop = int(np.searchsorted(times, end_ns, side="right"))
    if stop <= first or not len(times):
        raise CorporealError(
            f"clip, got {start_ns} to {end_ns} ns; expected a span in which {camera.spec.path} "
            "has pictures. Take another moment."
        )
    index = camera.packets
    first = int(np.flatnonzero(index.is_key[: first + 1])[-1])
    if int(index.size[first:stop].sum()) > _LARGEST:
        raise CorporealError(
            f"clip, got {index.size[first:stop].sum() / 1e6:.0f} MB; expected at most "
            f"{_LARGEST / 1e6:.0f} MB. Take a shorter one."
        )
    try:
        return Clip(_muxed(camera, first, stop), int(times[first]), int(times[stop - 1]))
    except av.FFmpegError as error:
        raise EpisodeError(
            f"{camera.spec.path}: its movie cannot be read ({error}). Verify the episode."
        ) from error


def _muxed(camera: VideoReader, first: int, stop: int) -> bytes:
    """Packets `first` to `stop` as an MP4 whose first picture is at zero."""
    index = camera.packets
    stamps = camera.time_ns[first:stop]
    pts = ticks(stamps - stamps[0]).tolist()
    lasts = [*np.diff(pts).tolist(), pts[-1] - pts[-2] if len(pts) > 1 else TICKS_PER_S // 30]
    made, movie = io.BytesIO(), camera.movie()
    options = {"video_track_timescale": str(TICKS_PER_S)}
    with (
        av.open(movie, "r") as head,
        av.open(made, "w", format="mp4", options=options) as container,
    ):
        stream = container.add_stream_from_template(head.streams.video[0], opaque=True)
        stream.time_base = TIME_BASE
        for number, begin, duration in zip(range(first, stop), pts, lasts, strict=True):
            movie.seek(int(index.start[number]))
            packet = av.Packet(movie.read(int(index.size[number])))
            packet.time_base = TIME_BASE
            packet.pts = packet.dts = begin
            packet.duration = duration
            packet.is_keyframe = bool(index.is_key[number])
            packet.stream = stream
            container.mux(packet)
    return made.getvalue()
