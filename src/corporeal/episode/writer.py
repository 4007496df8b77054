"""Writes one episode: samples in, in any order of streams, with bounded memory; one file out."""

from __future__ import annotations

import operator
import os
import shutil
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
from corporeal.episode.file import layout
from corporeal.episode.file.assembly import assemble
from corporeal.episode.file.packing import Packer
from corporeal.episode.file.spool import Lock, Sink, spool_folder, write_header
from corporeal.episode.file.worker import Worker
from corporeal.episode.video import VideoError
from corporeal.errors import UnknownNameError, WriteError
from corporeal.schema import Document, Schema, Stream

_FLUSH_EVERY_S = 0.2
_MAX_STAMP = (1 << 63) - 1


def new_id() -> str:
    """A UUIDv7: unique, and sorted by the time of its making."""
    milliseconds = time.time_ns() // 1_000_000
    raw = bytearray(milliseconds.to_bytes(6, "big") + os.urandom(10))
    raw[6] = 0x70 | raw[6] & 0x0F
    raw[8] = 0x80 | raw[8] & 0x3F
    return str(UUID(bytes=bytes(raw)))


class EpisodeWriter:
    """Use with `with`: leaving it without an error makes the episode file.

    Until then the samples are in `<path>.partial`. After an error, or a kill, they stay there
    and `corporeal.episode.file.recovery.recover` makes an episode of what was received. `recovered`
    says that, and why, the samples themselves are what was left of a recording.
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
        resolved = _for_robot(schema, embodiment)
        embedded = [schema, *([embodiment] if embodiment is not None else []), *documents]
        self._check(resolved, embedded)
        self.folder = spool_folder(self.path)
        self._lock = self._claim()
        header = {
            "id": self.id,
            "epoch_ns": self.epoch_ns,
            "robot": embodiment.name if embodiment is not None else None,
            "recovered": recovered,
            "metadata": dict(metadata or {}),
            "documents": [
                {"kind": item.kind, "hash": item.hash, "text": item.canonical()}
                for item in embedded
            ],
            "streams": [stream.model_dump(mode="json") for stream in resolved],
        }
        self._lanes: dict[str, _Lane] = {}
        self._flushed_s = time.monotonic()
        self._closed = False
        self._failure: str | None = None
        try:
            write_header(self.folder, header)
            for stream in resolved:
                self._lanes[stream.path] = _Lane(self.folder, stream)
        except (TypeError, ValueError, RecursionError) as error:
            self.abort()
            raise WriteError(f"{path}: metadata cannot be written as JSON: {error}.") from None
        except (OSError, VideoError) as error:
            self.abort()
            raise WriteError(f"{path}: cannot be written: {error}.") from None

    def append(self, path: str, time_ns: int, value: Any) -> None:
        """Take one sample; `time_ns` counts from the epoch.

        An array is stored in the stream's dtype; a picture is (height, width, 3) uint8 RGB, depth
        (height, width) uint16, points (n, columns), text a string.
        """
        lane = self._lane(path)
        stamp = _stamp(path, time_ns)
        with self._explained():
            lane.append(stamp, value)
            now = time.monotonic()
            if now - self._flushed_s > _FLUSH_EVERY_S:
                self._flushed_s = now
                self.flush()

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
        with self._explained():
            lane.append_packed(stamp, payload)

    def flush(self) -> None:
        """Hand the signals received so far to the operating system; pictures need no asking."""
        with self._explained():
            for lane in self._lanes.values():
                lane.flush()

    def close(self) -> Path:
        """Finish the episode and return its path."""
        if self._closed:
            return self.path
        try:
            self._release()
            with self._explained():
                return assemble(self.folder, self.path)
        finally:
            self._lock.release()

    def abort(self) -> None:
        """Throw away everything received: no episode, no spool folder."""
        if not self._closed:
            with suppress(WriteError):
                self._release()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.release()

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
            self._lock.release()

    def _release(self) -> None:
        """Close every lane, also when one of them fails."""
        self._closed = True
        with self._explained(), ExitStack() as lanes:
            for lane in self._lanes.values():
                lanes.callback(lane.close)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """A full disk or a broken encoder, in words, with where the samples are."""
        try:
            yield
        except (OSError, RuntimeError, VideoError) as error:
            # After a sample that was half written nothing more may follow it.
            self._failure = (
                f"{self.path}: {str(error).splitlines()[0]}. What was received is kept in "
                f"{self.folder}; make an episode of it with: corporeal recover {self.folder}."
            )
            raise WriteError(self._failure) from error

    def _lane(self, path: str) -> _Lane:
        if self._closed:
            raise WriteError(f"{self.path} is closed; episodes are immutable.")
        if self._failure is not None:
            raise WriteError(self._failure)
        try:
            return self._lanes[path]
        except KeyError:
            raise UnknownNameError("stream", path, self._lanes) from None

    def _check(self, streams: list[Stream], embedded: list[Document]) -> None:
        if os.path.lexists(self.path):
            raise WriteError(f"{self.path} already exists and episodes are immutable.")
        if not -_MAX_STAMP <= self.epoch_ns <= _MAX_STAMP:
            raise WriteError(f"epoch, got {self.epoch_ns}; expected a 64-bit integer.")
        if not self.id.isprintable():
            raise WriteError(f"episode id, got {self.id!r}; expected plain text.")
        if len(streams) > layout.MAX_STREAMS:
            raise WriteError(f"{len(streams)} streams; expected {layout.MAX_STREAMS} at most.")
        kinds = [item.kind for item in embedded]
        if len(set(kinds)) != len(kinds):
            raise WriteError(f"documents {', '.join(kinds)}; expected one of each kind.")

    def _claim(self) -> Lock:
        try:
            self.folder.mkdir(parents=True)
        except FileExistsError:
            Lock(self.folder).release()
            raise WriteError(
                f"{self.folder} is left from a writer that was killed. "
                f"Make an episode of it first: corporeal recover {self.folder}."
            ) from None
        except OSError as error:
            raise WriteError(f"{self.path}: cannot be written: {error.strerror}.") from None
        return Lock(self.folder)


class _Lane:
    """One stream on its way in: checked, packed (a camera in a thread of its own), spooled."""

    def __init__(self, folder: Path, stream: Stream) -> None:
        self.packer = Packer(stream)
        self.sink = Sink(folder, stream)
        self._worker = Worker(self._pack, stream.path) if self.packer.is_slow else None

    def append(self, time_ns: int, value: Any) -> None:
        checked = self.packer.check(value)
        if self._worker is not None:
            self._worker.put(time_ns, checked)
        else:
            self.sink.append(time_ns, self.packer.pack(checked))

    def append_packed(self, time_ns: int, payload: bytes) -> None:
        stream, row = self.packer.stream, self.packer.row_bytes
        wrong = stream.kind == "array" and len(payload) != row
        if wrong or (stream.kind == "points" and len(payload) % row):
            # One byte too many or too few would shift every sample after it.
            raise WriteError(f"{stream.path}: got {len(payload)} packed bytes; expected {row}.")
        self.sink.append(time_ns, payload)

    def extend(self, times_ns: NDArray[np.int64], values: Any) -> None:
        if self.packer.stream.kind == "array":
            checked = self.packer.check_array(values, (len(times_ns), *self.packer.shape))
            raw = np.ascontiguousarray(checked).reshape(-1).view(np.uint8)
            self.sink.extend(times_ns, raw.data)
            return
        for time_ns, value in zip(times_ns.tolist(), values, strict=True):
            self.append(time_ns, value)

    def flush(self) -> None:
        """Signals only: a camera is flushed with every picture."""
        if self._worker is None:
            self.sink.flush()

    def close(self) -> None:
        try:
            if self._worker is not None:
                self._worker.close()
        finally:
            self.sink.close()

    def _pack(self, time_ns: int, checked: Any) -> None:
        self.sink.append(time_ns, self.packer.pack(checked))
        # At once, so that a kill loses nothing, also when the encoder is behind.
        self.sink.flush()


def _for_robot(schema: Schema, embodiment: Embodiment | None) -> list[Stream]:
    """The streams with `joints` filled in; without a robot, those that can do without one."""
    if embodiment is not None:
        return list(embodiment.resolve(schema).streams)
    per_joint = [stream for stream in schema.streams if "joints" in stream.shape]
    for stream in per_joint:
        if not stream.optional:
            raise WriteError(f"{stream.path} has one value per joint; expected an embodiment too.")
    return [stream for stream in schema.streams if stream not in per_joint]


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
