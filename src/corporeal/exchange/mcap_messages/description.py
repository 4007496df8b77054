"""What an MCAP file says of its episode in its own record, so that it can be restored exactly."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from pydantic import Field, ValidationError

from corporeal.episode.label_track import FIELD, labels_in
from corporeal.episode.recording import Recording
from corporeal.errors import EpisodeError
from corporeal.exchange.description import NAME, EpisodeDescription, Stated, StatedStream
from corporeal.exchange.table import instructions_of

RECORD = NAME
VERSION = "2"
# Version 1 had labels among the metadata, and no instructions nor outcome of its own.
_READABLE = ("1", VERSION)


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
            id=recording.id,
            source=recording.source.name,
            epoch_ns=recording.epoch_ns,
            offset_ns=offset_ns,
            success=recording.facts.outcome.success,
            instructions=instructions_of(recording),
            labels=recording.labels,
            metadata=dict(recording.metadata),
            missing_streams=recording.missing_streams,
            missing_metadata=recording.missing_metadata,
            recovered=recording.recovered,
            regridded=recording.regridded,
            topics=topics,
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
        except (ValueError, RecursionError) as error:
            raise EpisodeError(f"{where}: {_reason(error)}.") from None
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


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return f"its record {RECORD!r} is not JSON ({error})"
