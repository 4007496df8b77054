"""What an MCAP file says of its episode in its own record, so that it can be restored exactly."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from corporeal.episode.recording import Recording
from corporeal.errors import EpisodeError
from corporeal.exchange.label_columns import labelled_metadata
from corporeal.schema import Stream

RECORD = "corporeal"
VERSION = 1


class Topic(BaseModel):
    """One stream: where its messages are, what its source called it, how pictures are packed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    label: str
    topic: str
    stream: dict[str, Any]
    codec: str | None = None


class Content(BaseModel):
    """Everything of a recording that is not a sample. `epoch_ns` is what log times count from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    source: str
    epoch_ns: int = 0
    offset_ns: int = Field(ge=0, lt=1 << 64)
    """What was added to the episode's stamps to make log times."""
    metadata: dict[str, Any] = {}
    missing_streams: tuple[str, ...] = ()
    missing_metadata: tuple[str, ...] = ()
    recovered: str | None = None
    regridded: bool = False
    topics: tuple[Topic, ...] = Field(default=(), max_length=4096)


@dataclass(frozen=True)
class Description:
    """The record: a few facts that people see in any viewer, and all of it as JSON."""

    content: Content
    robot: str = ""
    instruction: str = ""

    @classmethod
    def of(
        cls,
        recording: Recording,
        topics: tuple[Topic, ...],
        offset_ns: int,
        *,
        instruction: str,
    ) -> Self:
        """The description of a recording whose streams go to these topics."""
        content = Content(
            id=recording.id,
            source=recording.source.name,
            epoch_ns=recording.epoch_ns,
            offset_ns=offset_ns,
            metadata=dict(labelled_metadata(recording)),
            missing_streams=recording.missing_streams,
            missing_metadata=recording.missing_metadata,
            recovered=recording.recovered,
            regridded=recording.regridded,
            topics=topics,
        )
        robot = recording.embodiment.name if recording.embodiment is not None else ""
        return cls(content, robot, instruction)

    def to_record(self) -> dict[str, str]:
        """Names and texts, as a metadata record holds them."""
        text = json.dumps(self.content.model_dump(), ensure_ascii=False, default=_plain)
        return {
            "version": str(VERSION),
            "id": self.content.id,
            "robot": self.robot,
            "instruction": self.instruction,
            "episode": text,
            "crc32": _checksum(text),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, str], *, where: str) -> Self:
        """The description in a record; EpisodeError when it is damaged or from a later version."""
        if record.get("version") != str(VERSION):
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
            content = Content.model_validate(json.loads(text))
        except (ValueError, RecursionError) as error:
            raise EpisodeError(f"{where}: {_reason(error)}.") from None
        return cls(content, record.get("robot", ""), record.get("instruction", ""))


def stream_of(topic: Topic, *, where: str) -> Stream:
    """The stream that a topic holds."""
    try:
        stream = Stream.model_validate(topic.stream)
    except ValidationError as error:
        raise EpisodeError(f"{where}: {topic.topic}: {_reason(error)}.") from None
    if "joints" in stream.shape or stream.components == "joints":
        raise EpisodeError(f"{where}: {topic.topic} does not say how many joints.")
    return stream


def _plain(value: Any) -> Any:
    """What JSON has no word for: numbers of numpy as numbers, anything else as text."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else str(value)


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return f"its record {RECORD!r} is not JSON ({error})"
