"""What an MCAP file says of its episode, and its streams: stamps from the index, then samples."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import av
import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from corporeal.episode.label_track import FIELD, labels_in
from corporeal.episode.recording import ImageSequence, Recording, Signal, VideoFile
from corporeal.errors import EpisodeError
from corporeal.exchange.description import NAME, EpisodeDescription, Stated, StatedStream
from corporeal.exchange.mcap_messages.log_file import McapLog, messages_at
from corporeal.exchange.mcap_messages.message_type import VIDEO
from corporeal.exchange.mcap_messages.stream_message import (
    IMAGE,
    NumericForm,
    media_type,
    numeric_form,
    read_sample,
)
from corporeal.exchange.movie.foreign_movie import CODECS, movie_of
from corporeal.exchange.table import instructions_of
from corporeal.schema import Stream
from corporeal.schema.document import first_problem

RECORD = NAME
VERSION = "2"
# Version 1 had labels among the metadata, and no instructions nor outcome of its own.
_READABLE = ("1", VERSION)
_CARRIED = ("id", "epoch_ns", "labels", "metadata", "missing_streams", "missing_metadata",
            "recovered", "regridded")  # fmt: skip
"""What a recording and its description have under one name."""


class LoggedTopic(Stated):
    """One stream: where its messages are, what its source called it, how pictures are packed."""

    label: str
    topic: str
    stream: StatedStream
    codec: str | None = None


class LogDescription(EpisodeDescription):
    """Everything of a recording that is not a sample. `epoch_ns` is what log times count from."""

    source: str
    offset_ns: int = Field(ge=0, lt=1 << 64)
    """What was added to the episode's stamps to make log times."""
    metadata: dict[str, Any] = Field(default_factory=dict)
    missing_streams: tuple[str, ...] = ()
    missing_metadata: tuple[str, ...] = ()
    recovered: str | None = None
    regridded: bool = False
    topics: tuple[LoggedTopic, ...] = Field(default=(), max_length=4096)

    @classmethod
    def of(cls, recording: Recording, topics: tuple[LoggedTopic, ...], offset_ns: int) -> Self:
        """The description of a recording whose streams go to these topics."""
        return cls(
            source=recording.source.name,
            offset_ns=offset_ns,
            success=recording.facts.outcome.success,
            instructions=instructions_of(recording),
            topics=topics,
            **{name: getattr(recording, name) for name in _CARRIED},
        )

    def to_record(self, *, robot: str) -> dict[str, str]:
        """A few facts that people see in any viewer, and all of it as JSON."""
        text = json.dumps(self.model_dump(), ensure_ascii=False, default=_to_json)
        return {
            "version": VERSION,
            "id": self.id,
            "robot": robot,
            "instruction": self.instructions[0],
            "episode": text,
            "crc32": _checksum(text),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, str], *, where: str) -> Self:
        """The description in a record; EpisodeError when it is damaged or from a later version."""
        if record.get("version") not in _READABLE:
            raise EpisodeError(
                f"{where}: its record {RECORD!r} has version {record.get('version')!r}; this "
                f"Corporeal reads {VERSION}. Update it: pip install -U corporeal."
            )
        text = record.get("episode", "")
        if _checksum(text) != record.get("crc32"):
            raise EpisodeError(
                f"{where}: its record {RECORD!r} is damaged. Take the file from its source again."
            )
        try:
            described = cls.model_validate(json.loads(text))
        except ValidationError as error:
            raise EpisodeError(f"{where}: {first_problem(error)}.") from None
        except (ValueError, RecursionError) as error:
            raise EpisodeError(f"{where}: its record {RECORD!r} is not JSON ({error}).") from None
        for topic in described.topics:
            if "joints" in topic.stream.shape or topic.stream.components == "joints":
                raise EpisodeError(f"{where}: {topic.topic} does not say how many joints.")
        return described._with_labels(where)

    def _with_labels(self, where: str) -> Self:
        labels = self.labels or labels_in(self.metadata, where=where)
        if labels is None:
            return self
        rest = {name: value for name, value in self.metadata.items() if name != FIELD}
        return self.model_copy(update={"labels": labels, "metadata": rest})


def _to_json(value: Any) -> Any:
    """What JSON has no word for: numbers of numpy as numbers, anything else as text."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else str(value)


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


@dataclass(frozen=True, eq=False)
class LoggedSignal:
    """Samples as arrays (T, ...), or lists for points and text; only chunks asked for are read."""

    log: McapLog
    spec: Stream
    channel: int
    type_name: str
    offset_ns: int
    _last: dict[int, Any] = field(default_factory=dict)
    """The chunk read last, since neighbours are mostly asked for in turn."""

    @cached_property
    def _index(self) -> list[NDArray[np.uint64]]:
        return self.log.stamps(self.channel)

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.cumsum([0, *(len(each) for each in self._index)])

    @cached_property
    def time_ns(self) -> NDArray[np.int64]:
        """Stamps of all samples."""
        if not self._index:
            return np.zeros(0, np.int64)
        times = np.concatenate([each[:, 0] for each in self._index])
        return np.asarray((times - np.uint64(self.offset_ns)).view(np.int64))

    @cached_property
    def _form(self) -> NumericForm:
        return numeric_form(self.spec)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, selection: Any) -> Any:
        numbers = np.atleast_1d(np.arange(len(self))[selection])
        chunks = np.searchsorted(self._starts, numbers, side="right") - 1
        places = numbers - self._starts[chunks]
        samples: list[Any] = []
        # Neighbours in one chunk are taken together.
        cuts = [0, *(np.flatnonzero(np.diff(chunks)) + 1).tolist(), len(numbers)]
        for first, stop in pairwise(cuts):
            if first < stop:
                chunk = self._chunk(int(chunks[first]))
                samples.extend(chunk[place] for place in places[first:stop].tolist())
        if isinstance(selection, int | np.integer):
            return samples[0]
        if self.spec.kind in ("points", "text"):
            return samples
        if not samples:
            return np.zeros((0, *self.spec.sizes), self.spec.dtype)
        return np.stack(samples)

    def _chunk(self, number: int) -> Any:
        if number not in self._last:
            messages = self.messages(number)
            self._last.clear()
            self._last[number] = self._samples(messages)
        return self._last[number]

    def _samples(self, messages: list[bytes]) -> Any:
        where = f"{self.log.path}: {self.spec.path}"
        if self.spec.kind != "array":
            return [read_sample(self.spec, self.type_name, each, where=where) for each in messages]
        sizes = {len(each) for each in messages}
        if len(sizes) != 1:
            raise EpisodeError(f"{where}: messages have {sorted(sizes)[:4]} bytes; expected one.")
        joined = np.frombuffer(b"".join(messages), np.uint8).reshape(len(messages), -1)
        return self._form.unpack(joined, where=where)

    def messages(self, number: int) -> list[bytes]:
        """The bytes of all messages of a chunk."""
        records = self.log.chunk(self.log.chunks[self.channel][number])
        where = f"{self.log.path}: {self.spec.path}"
        return messages_at(records, self._index[number][:, 1], self.channel, where=where)

    def __iter__(self) -> Iterator[Any]:
        """All samples in order, a chunk at a time."""
        for number in range(len(self._index)):
            yield from self._samples(self.messages(number))


def signal_of(log: McapLog, topic: LoggedTopic, offset_ns: int) -> Signal:
    """The stream of a topic; raises EpisodeError when the file does not have it as described."""
    spec = topic.stream
    channel = log.channels.get(topic.topic)
    if channel is None:
        raise EpisodeError(
            f"{log.path}: has no topic {topic.topic}, which its description names. "
            "Take the file from its source again."
        )
    type_name = log.schemas.get(channel.schema_id, "")
    signal = LoggedSignal(log, spec, channel.id, type_name, offset_ns)
    if spec.kind != "video":
        is_array = spec.kind == "array"
        expected = numeric_form(spec).type_name if is_array else media_type(spec)
        if type_name != expected:
            raise EpisodeError(f"{log.path}: {topic.topic} holds {type_name}; expected {expected}.")
        return signal
    if type_name == IMAGE:
        pictures: Any = signal
        return ImageSequence(spec, signal.time_ns, pictures)
    codec = topic.codec or ""
    if type_name != VIDEO or codec not in CODECS:
        raise EpisodeError(
            f"{log.path}: {topic.topic} holds {type_name} of codec {codec!r}; "
            f"expected {VIDEO} of one of: {', '.join(CODECS)}."
        )
    return VideoFile(spec, signal.time_ns, lambda: _movie(signal, codec))


def _movie(signal: LoggedSignal, codec: str) -> io.BytesIO:
    packets = (packet for packet in signal if packet)
    try:
        return movie_of(packets, signal.time_ns, codec)
    except (av.FFmpegError, IndexError) as error:
        raise EpisodeError(
            f"{signal.log.path}: {signal.spec.path} has packets that are no {codec} ({error}). "
            "Take the file from its source again."
        ) from None
