"""The folder a writer fills before there is an episode: append-only files, one set per stream."""

from __future__ import annotations

import fcntl
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.file.layout import MAX_TEXT_BYTES
from corporeal.errors import EpisodeError, WriteError
from corporeal.files import atomic_write
from corporeal.schema import Stream

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
    if len(text.encode()) > MAX_TEXT_BYTES:
        raise ValueError(f"more than {MAX_TEXT_BYTES} bytes with the documents")
    atomic_write(folder / HEADER, text)


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


class SpoolPaths:
    """The files of one stream in the spool folder."""

    def __init__(self, folder: Path, stream: Stream) -> None:
        stem = stream.path.replace("/", ".")
        self.time = folder / f"{stem}.time"
        self.data = folder / f"{stem}.data"
        self.length = folder / f"{stem}.length"


class Sink:
    """Takes the packed samples of one stream: bytes, how many (unless all have one size), when.

    The stamp is written last: what has a stamp is whole.
    """

    def __init__(self, folder: Path, stream: Stream) -> None:
        paths = SpoolPaths(folder, stream)
        self._data = paths.data.open("wb", buffering=1 << 16)
        self._length = (
            None if stream.kind == "array" else paths.length.open("wb", buffering=1 << 16)
        )
        self._time = paths.time.open("wb", buffering=1 << 16)

    def append(self, time_ns: int, payload: bytes) -> None:
        """Take one sample."""
        self._data.write(payload)
        if self._length is not None:
            self._length.write(len(payload).to_bytes(8, "little"))
        self._time.write(time_ns.to_bytes(8, "little", signed=True))

    def extend(self, times_ns: NDArray[np.int64], payload: memoryview) -> None:
        """Take many samples of one size at once."""
        self._data.write(payload)
        self._time.write(times_ns.astype("<i8").tobytes())

    def flush(self) -> None:
        """Hand everything taken so far to the operating system."""
        for file in self._files():
            file.flush()

    def close(self) -> None:
        """Flush and free every file, also when a full disk fails one of them."""
        with ExitStack() as files:
            for file in reversed(self._files()):
                files.callback(file.close)

    def _files(self) -> list[BinaryIO]:
        return [file for file in (self._data, self._length, self._time) if file is not None]
