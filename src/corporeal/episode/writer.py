"""Writes one episode: samples in, in any order of streams, with bounded memory; one file out."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corporeal.embodiment.embodiment import Embodiment
from corporeal.episode import layout
from corporeal.episode.assembly import assemble
from corporeal.episode.spool import ArraySink, Lock, Sink, open_sink, spool_folder, write_header
from corporeal.episode.video import VideoError
from corporeal.episode.worker import Worker
from corporeal.errors import UnknownNameError, WriteError
from corporeal.schema.document import Document
from corporeal.schema.schema import Schema
from corporeal.schema.stream import Stream

_FLUSH_EVERY_S = 1.0


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
    and `corporeal.episode.recovery.recover` makes an episode of what was received.
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
            "metadata": dict(metadata or {}),
            "documents": [
                {"kind": item.kind, "hash": item.hash, "text": item.canonical()}
                for item in embedded
            ],
            "streams": [stream.model_dump(mode="json") for stream in resolved],
        }
        try:
            write_header(self.folder, header)
        except (TypeError, ValueError) as error:
            shutil.rmtree(self.folder)
            self._lock.release()
            raise WriteError(f"{path}: metadata cannot be written as JSON: {error}.") from None
        self._lanes = {stream.path: _Lane(self.folder, stream) for stream in resolved}
        self._flushed_s = time.monotonic()
        self._closed = False

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
        if times.ndim != 1 or times.dtype.kind not in "iu":
            raise WriteError(
                f"{path}: stamps, got {times.dtype} of shape {times.shape}; "
                "expected one row of integers (nanoseconds)."
            )
        if len(times) != len(values):
            raise WriteError(f"{path}: {len(times)} stamps for {len(values)} values.")
        with self._explained():
            lane.extend(times.astype(np.int64), values)

    def flush(self) -> None:
        """Hand the signals received so far to the operating system; pictures need no asking."""
        for lane in self._lanes.values():
            if isinstance(lane.sink, ArraySink):
                lane.sink.flush()

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
            try:
                self._release()
            finally:
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
        except (OSError, VideoError) as error:
            raise WriteError(
                f"{self.path}: {error}. What was received is kept in {self.folder}; "
                f"make an episode of it with: corporeal recover {self.folder}."
            ) from error

    def _lane(self, path: str) -> _Lane:
        if self._closed:
            raise WriteError(f"{self.path} is closed; episodes are immutable.")
        try:
            return self._lanes[path]
        except KeyError:
            raise UnknownNameError("stream", path, self._lanes) from None

    def _check(self, streams: list[Stream], embedded: list[Document]) -> None:
        if self.path.exists():
            raise WriteError(f"{self.path} already exists and episodes are immutable.")
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
        return Lock(self.folder)


@dataclass
class _Lane:
    """One stream on its way in: checks the samples and hands them to the sink of its kind."""

    folder: Path
    stream: Stream

    def __post_init__(self) -> None:
        sink = open_sink(self.folder, self.stream)
        is_slow = self.stream.kind in ("video", "depth")
        self.sink: Sink = Worker(sink, self.stream.path) if is_slow else sink
        self._dtype = np.dtype(self.stream.dtype).newbyteorder("<")
        self._shape = tuple(int(size) for size in self.stream.shape)

    def append(self, time_ns: int, value: Any) -> None:
        self.sink.append(time_ns, self._checked(value))

    def extend(self, times_ns: NDArray[np.int64], values: Any) -> None:
        if isinstance(self.sink, ArraySink):
            self.sink.extend(times_ns, self._array(values, (len(times_ns), *self._shape)))
            return
        for time_ns, value in zip(times_ns.tolist(), values, strict=True):
            self.append(time_ns, value)

    def close(self) -> None:
        self.sink.close()

    def _checked(self, value: Any) -> Any:
        if self.stream.kind == "text":
            if not isinstance(value, str):
                raise WriteError(f"{self.stream.path}: got {type(value).__name__}; expected text.")
            return value
        if self.stream.kind == "points":
            return self._array(value, (len(value), *self._shape))
        array = self._array(value, self._shape)
        # A camera driver may use its buffer again before the encoder has read it.
        return array.copy() if array is value else array

    def _array(self, value: Any, shape: tuple[int, ...]) -> NDArray[Any]:
        array = np.asarray(value)
        if array.shape != shape or not np.can_cast(array.dtype, self._dtype, "same_kind"):
            raise WriteError(
                f"{self.stream.path}: got {array.dtype} of shape {array.shape}; "
                f"expected {self._dtype.name} of shape {shape}."
            )
        return array.astype(self._dtype, copy=False)


def _for_robot(schema: Schema, embodiment: Embodiment | None) -> list[Stream]:
    """The streams with `joints` filled in; without a robot, those that can do without one."""
    if embodiment is not None:
        return list(schema.resolve(embodiment.joint_names).streams)
    per_joint = [stream for stream in schema.streams if "joints" in stream.shape]
    for stream in per_joint:
        if not stream.optional:
            raise WriteError(f"{stream.path} has one value per joint; expected an embodiment too.")
    return [stream for stream in schema.streams if stream not in per_joint]


def _stamp(path: str, time_ns: Any) -> int:
    try:
        stamp = int(time_ns.__index__())
    except AttributeError:
        raise WriteError(
            f"{path}: stamp, got {time_ns!r}; expected whole nanoseconds since the epoch."
        ) from None
    if not -(1 << 63) <= stamp < 1 << 63:
        raise WriteError(f"{path}: stamp, got {stamp}; expected a 64-bit integer.")
    return stamp
