"""What a movie's container says of it, without decoding a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av

from corporeal.errors import EpisodeError


@dataclass(frozen=True)
class Header:
    """Pictures that are really in the file, their rate and size."""

    frames: int
    fps: float | None
    width: int
    height: int


def read_header(path: Path) -> Header:
    """The header of a movie; raises EpisodeError when it is none."""
    try:
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            rate = stream.average_rate or stream.guessed_rate
            return Header(
                frames=_pictures(container, stream, path.stat().st_size),
                fps=float(rate) if rate else None,
                width=int(stream.width),
                height=int(stream.height),
            )
    except (av.FFmpegError, IndexError, OSError, ValueError) as error:
        raise EpisodeError(f"{path}: not a movie ({error}). Replace the file.") from None


def _pictures(container: Any, stream: Any, size: int) -> int:
    """Pictures whose bytes are all there: a file that was cut short keeps its full index."""
    index: Any = getattr(stream, "index_entries", ())
    if len(index) and len(index) >= stream.frames:
        if index[-1].pos + index[-1].size <= size:
            return len(index)
        return sum(entry.pos + entry.size <= size for entry in index)
    if stream.frames:
        return int(stream.frames)
    return sum(packet.size > 0 for packet in container.demux(stream))
