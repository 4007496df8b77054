"""The folder a writer fills before there is an episode: append-only files, one set per stream."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from corporeal.episode import depth
from corporeal.episode.video import Encoder
from corporeal.errors import EpisodeError, WriteError
from corporeal.schema.stream import Stream

SUFFIX = ".partial"
HEADER = "header.json"
_LOCK = "lock"


def spool_folder(episode: Path) -> Path:
    """Where the episode that will be `episode` is spooled."""
    return episode.with_name(episode.name + SUFFIX)


class Lock:
    """Held while a process writes into, or reads from, a spool folder; freed when it dies."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / _LOCK).open("ab")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise WriteError(
                f"{folder} is in use by another writer. Wait for it, or choose another name."
            ) from None

    def release(self) -> None:
        """Let others in."""
        self._file.close()


def write_header(folder: Path, header: dict[str, Any]) -> None:
    """Put the header on disk for good: without it the samples mean nothing."""
    text = json.dumps(header, ensure_ascii=False, allow_nan=False, indent=1)
    with (folder / HEADER).open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def read_header(folder: Path) -> dict[str, Any]:
    """What `write_header` wrote."""
    try:
        header = json.loads((folder / HEADER).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise EpisodeError(
            f"{folder}: no readable {HEADER} ({error}); the writer died before its first sample."
        ) from None
    if not isinstance(header, dict):
        raise EpisodeError(f"{folder / HEADER}: not a header; expected a JSON object.")
    return header


class Sink(Protocol):
    """Takes the samples of one stream."""

    def append(self, time_ns: int, value: Any) -> None:
        """Take one sample."""

    def flush(self) -> None:
        """Hand everything taken so far to the operating system."""

    def close(self) -> None:
        """Flush and free the files."""


class SpoolPaths:
    """The files of one stream in the spool folder."""

    def __init__(self, folder: Path, stream: Stream) -> None:
        stem = stream.path.replace("/", ".")
        self.time = folder / f"{stem}.time"
        self.data = folder / f"{stem}.{'mp4' if stream.kind == 'video' else 'data'}"
        self.length = folder / f"{stem}.length"


class _Files:
    """Data first, then the stamp: what has a stamp is whole."""

    def __init__(self, paths: SpoolPaths, *names: str) -> None:
        self._open: dict[str, BinaryIO] = {
            name: getattr(paths, name).open("wb", buffering=1 << 16) for name in (*names, "time")
        }

    def write(self, time_ns: int, **blocks: Any) -> None:
        for name, block in blocks.items():
            self._open[name].write(block)
        self._open["time"].write(time_ns.to_bytes(8, "little", signed=True))

    def write_many(self, times_ns: NDArray[np.int64], block: bytes) -> None:
        self._open["data"].write(block)
        self._open["time"].write(times_ns.astype("<i8").tobytes())

    def flush(self) -> None:
        for file in self._open.values():
            file.flush()

    def close(self) -> None:
        for file in self._open.values():
            file.close()


class ArraySink:
    """Fixed-size samples, one after the other."""

    def __init__(self, paths: SpoolPaths) -> None:
        self._files = _Files(paths, "data")
        self.flush, self.close = self._files.flush, self._files.close

    def append(self, time_ns: int, value: NDArray[Any]) -> None:
        """Take one sample."""
        self._files.write(time_ns, data=value.tobytes())

    def extend(self, times_ns: NDArray[np.int64], values: NDArray[Any]) -> None:
        """Take many samples at once."""
        self._files.write_many(times_ns, values.tobytes())


class LengthSink:
    """Samples of changing size (points, text, packed depth): bytes, and how many of them."""

    def __init__(self, paths: SpoolPaths, pack: Callable[[Any], bytes]) -> None:
        self._files = _Files(paths, "data", "length")
        self._pack = pack
        self.flush, self.close = self._files.flush, self._files.close

    def append(self, time_ns: int, value: Any) -> None:
        """Take one sample."""
        block = self._pack(value)
        self._files.write(time_ns, data=block, length=len(block).to_bytes(8, "little"))


class VideoSink:
    """Pictures, encoded as they come."""

    def __init__(self, paths: SpoolPaths, stream: Stream) -> None:
        height, width = int(stream.shape[0]), int(stream.shape[1])
        self._files = _Files(paths)
        self._encoder = Encoder(paths.data, height, width, rate_hz=stream.rate_hz or 30.0)
        self.flush = self._files.flush

    def append(self, time_ns: int, value: NDArray[np.uint8]) -> None:
        """Take one picture."""
        self._encoder.encode(value)
        self._files.write(time_ns)

    def close(self) -> None:
        """Finish the file."""
        self._encoder.close()
        self._files.close()


def open_sink(folder: Path, stream: Stream) -> Sink:
    """The sink for a stream's kind."""
    paths = SpoolPaths(folder, stream)
    if stream.kind == "video":
        return VideoSink(paths, stream)
    if stream.kind == "depth":
        return LengthSink(paths, depth.encode)
    if stream.kind == "points":
        return LengthSink(paths, lambda rows: rows.tobytes())
    if stream.kind == "text":
        return LengthSink(paths, str.encode)
    return ArraySink(paths)
