"""Writes one episode: samples in, in any order of streams, with bounded memory; one file out."""

from __future__ import annotations

import operator
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corporeal.embodiment import Embodiment
from corporeal.episode.file.assembly import assemble, episode_header
from corporeal.episode.file.journal import (
    JournalError,
    JournalWriter,
    journal_path,
    lock_journal,
)
from corporeal.episode.file.journal_index import Journal
from corporeal.episode.file.packing import Packer
from corporeal.episode.file.worker import Worker
from corporeal.episode.video import VideoError
from corporeal.errors import UnknownNameError, WriteError
from corporeal.schema import Document, Schema, Stream

_FLUSH_EVERY_S = 0.2
_MAX_STAMP = (1 << 63) - 1
# A full disk, a broken encoder.
_FAILURES = (OSError, RuntimeError, VideoError, JournalError)


def new_id() -> str:
    """A UUIDv7: unique, and sorted by the time of its making."""
    milliseconds = time.time_ns() // 1_000_000
    raw = bytearray(milliseconds.to_bytes(6, "big") + os.urandom(10))
    raw[6] = 0x70 | raw[6] & 0x0F
    raw[8] = 0x80 | raw[8] & 0x3F
    return str(UUID(bytes=bytes(raw)))


class EpisodeWriter:
    """Use with `with`: leaving it without an error makes the episode file.

    Until then the samples are in a journal beside it. After an error, or a kill, they stay there
    and `corporeal.episode.file.recover` makes an episode of what was received. `recovered` says
    that, and why, the samples themselves are what was left of a recording.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        schema: Schema,
        embodiment: Embodiment | None = None,
        documents: Iterable[Document] = (),
        metadata: Mapping[str, Any] | None = None,
        epoch_ns: int | None = None,
        episode_id: str | None = None,
        recovered: str | None = None,
    ) -> None:
        self.path = Path(path)
        self.id = episode_id or new_id()
        self.epoch_ns = time.time_ns() if epoch_ns is None else int(epoch_ns)
        if os.path.lexists(self.path):
            raise WriteError(f"{self.path} already exists and episodes are immutable.")
        self._header = {
            "file": self.path.name,
            **episode_header(
                self.path,
                schema=schema,
                embodiment=embodiment,
                documents=documents,
                metadata=metadata or {},
                epoch_ns=self.epoch_ns,
                episode_id=self.id,
                recovered=recovered,
            ),
        }
        self.journal_path = journal_path(self.path)
        streams = [Stream.model_validate(values) for values in self._header["streams"]]
        self._journal = self._claim([stream.path for stream in streams])
        self._lanes = {stream.path: _Lane(self._journal, stream) for stream in streams}
        self._flushed_s = time.monotonic()
        self._closed = False
        self._failure: str | None = None

    def append(self, path: str, time_ns: int, value: Any) -> None:
        """Take one sample; `time_ns` counts from the epoch.

        An array is stored in the stream's dtype; a picture is (height, width, 3) uint8 RGB, depth
        (height, width) uint16, points (n, columns), text a string.
        """
        lane = self._lane(path)
        stamp = _stamp(path, time_ns)
        try:
            lane.append(stamp, value)
            now = time.monotonic()
            if now - self._flushed_s > _FLUSH_EVERY_S:
                self._flushed_s = now
                self._journal.flush()
        except _FAILURES as error:
            raise self._explain(error) from error

    def extend(self, path: str, times_ns: ArrayLike, values: Any) -> None:
        """Take many samples of one stream; fast for arrays (T, ...)."""
        lane = self._lane(path)
        times = np.asarray(times_ns)
        if times.ndim != 1 or times.dtype.kind not in "iu" or (times > _MAX_STAMP).any():
            raise WriteError(
                f"{path}: stamps, got {times.dtype} of shape {times.shape}; "
                "expected one row of 64-bit integers (nanoseconds)."
            )
        if not hasattr(values, "__len__") or len(times) != len(values):
            count = len(values) if hasattr(values, "__len__") else "an unknown number of"
            raise WriteError(f"{path}: {len(times)} stamps for {count} values.")
        with self._explained():
            lane.extend(times.astype(np.int64), values)

    def append_packed(self, path: str, time_ns: int, payload: bytes) -> None:
        """Take one sample that a `Packer` of the same stream has packed, as a journal holds it.

        A camera may have the packets of a foreign movie instead, if `foreign_movie.survey` lets
        them through; all of its pictures must then come from there.
        """
        lane = self._lane(path)
        stamp = _stamp(path, time_ns)
        try:
            lane.append_packed(stamp, payload)
        except _FAILURES as error:
            raise self._explain(error) from error

    def flush(self) -> None:
        """Hand the signals received so far to the operating system; pictures need no asking."""
        with self._explained():
            self._journal.flush()

    def close(self) -> Path:
        """Finish the episode and return its path."""
        if self._closed:
            return self.path
        try:
            self._release()
            with self._explained():
                self._journal.finish()
                journal = Journal(self.journal_path, self._journal.file)
                if journal.runs:
                    assemble(journal, self._header, self.path)
                self.journal_path.unlink()
            if not journal.runs:
                raise WriteError(
                    f"{self.path}: no stream has a sample, so there is no episode to write."
                )
            return self.path
        finally:
            self._journal.file.close()

    def abort(self) -> None:
        """Throw away everything received: no episode, no journal."""
        with suppress(WriteError):
            self._release()
        self.journal_path.unlink(missing_ok=True)
        self._journal.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        elif not self._closed:
            # The error that is on its way matters more than one of closing.
            with suppress(WriteError):
                self._release()
            with suppress(WriteError):
                self._journal.flush()
            self._journal.file.close()

    def _release(self) -> None:
        """Wait for every camera, also when one of them fails."""
        self._closed = True
        with self._explained(), ExitStack() as lanes:
            for lane in self._lanes.values():
                lanes.callback(lane.close)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except _FAILURES as error:
            raise self._explain(error) from error

    def _explain(self, error: BaseException) -> WriteError:
        """A full disk or a broken encoder, in words, with where the samples are."""
        cause = str(error.__cause__ or error).splitlines()[0]
        # After a sample that was half written nothing more may follow it.
        self._failure = (
            f"{self.path}: {cause}. What was received is kept in {self.journal_path}; "
            f"make an episode of it with: corporeal recover {self.journal_path}."
        )
        return WriteError(self._failure)

    def _lane(self, path: str) -> _Lane:
        if self._closed:
            raise WriteError(f"{self.path} is closed; episodes are immutable.")
        if self._failure is not None:
            raise WriteError(self._failure)
        try:
            return self._lanes[path]
        except KeyError:
            raise UnknownNameError("stream", path, self._lanes) from None

    def _claim(self, streams: list[str]) -> JournalWriter:
        path = self.journal_path
        try:
            with suppress(FileExistsError):
                path.parent.mkdir(parents=True)
            if path.exists():
                # Refused already when somebody writes it.
                with path.open("rb") as file:
                    lock_journal(path, file)
                raise WriteError(
                    f"{path} is left from a writer that was killed. "
                    f"Make an episode of it first: corporeal recover {path}."
                )
            return JournalWriter(path, self._header, streams, sync_every_s=None)
        except OSError as error:
            raise WriteError(f"{self.path}: cannot be written: {error.strerror}.") from None


class _Lane:
    """One stream on its way in: checked, packed (a camera in a thread of its own), journalled."""

    def __init__(self, journal: JournalWriter, stream: Stream) -> None:
        self.packer = Packer(stream)
        self._journal = journal
        self._path = stream.path
        self._worker = Worker(self._pack, stream.path) if self.packer.is_slow else None

    def append(self, time_ns: int, value: Any) -> None:
        checked = self.packer.check(value)
        if self._worker is not None:
            self._worker.put(time_ns, checked)
        else:
            self._journal.append(self._path, time_ns, time_ns, self.packer.pack(checked))

    def append_packed(self, time_ns: int, payload: bytes) -> None:
        stream, row = self.packer.stream, self.packer.row_bytes
        wrong = stream.kind == "array" and len(payload) != row
        if wrong or (stream.kind == "points" and len(payload) % row):
            # One byte too many or too few would shift every sample after it.
            raise WriteError(f"{stream.path}: got {len(payload)} packed bytes; expected {row}.")
        self._journal.append(self._path, time_ns, time_ns, payload)

    def extend(self, times_ns: NDArray[np.int64], values: Any) -> None:
        if self.packer.stream.kind == "array":
            checked = self.packer.check_array(values, (len(times_ns), *self.packer.shape))
            if len(times_ns):
                rows = np.ascontiguousarray(checked).reshape(len(times_ns), -1).view(np.uint8)
                self._journal.extend(self._path, times_ns, rows)
            return
        for time_ns, value in zip(times_ns.tolist(), values, strict=True):
            self.append(time_ns, value)

    def close(self) -> None:
        if self._worker is not None:
            self._worker.close()

    def _pack(self, time_ns: int, checked: Any) -> None:
        self._journal.append(self._path, time_ns, time_ns, self.packer.pack(checked))
        # At once, so that a kill loses nothing, also when the encoder is behind.
        self._journal.flush(self._path)


def _stamp(path: str, time_ns: Any) -> int:
    try:
        stamp = operator.index(time_ns)
    except TypeError:
        raise WriteError(
            f"{path}: stamp, got {time_ns!r}; expected whole nanoseconds since the epoch."
        ) from None
    if not -_MAX_STAMP - 1 <= stamp <= _MAX_STAMP:
        raise WriteError(f"{path}: stamp, got {stamp}; expected a 64-bit integer.")
    return stamp
