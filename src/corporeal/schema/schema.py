"""The schema document: the streams of a rig and the metadata every episode of it must carry."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, ValidationInfo, field_validator

from corporeal.errors import UnknownNameError
from corporeal.schema.document import Document, Library, Name
from corporeal.schema.stream import Stream

# What an episode without a hole in its metadata says about itself.
METADATA = (
    "task", "operator", "station", "session", "protocol", "calibration", "environment",
    "sensor_serials", "software", "mode",
)  # fmt: skip


class Schema(Document):
    """The single source of truth about what a rig records."""

    kind: ClassVar[str] = "schema"

    streams: tuple[Stream, ...]
    metadata: tuple[Name, ...] = METADATA
    file_name: str = Field(
        default="{task}_{session}_{index:04d}.h5",
        description="a pattern over metadata fields",
        validate_default=True,
    )

    @field_validator("streams")
    @classmethod
    def _are_consistent(cls, streams: tuple[Stream, ...]) -> tuple[Stream, ...]:
        if not streams:
            raise ValueError("a schema without streams; expected at least one")
        seen: set[str] = set()
        for stream in streams:
            if stream.path in seen:
                raise ValueError(f"stream {stream.path!r} is listed twice; expected unique names")
            seen.add(stream.path)
        return streams

    @field_validator("file_name")
    @classmethod
    def _is_a_bare_name(cls, pattern: str, given: ValidationInfo) -> str:
        # Metadata that are not valid themselves are not there.
        known = {*given.data.get("metadata", ()), "index", "id"}
        for field in re.findall(r"{([^}:!]*)", pattern) if "metadata" in given.data else ():
            if field not in known:
                raise ValueError(
                    f"the pattern of file names uses {{{field}}}; expected one of: "
                    f"{', '.join(sorted(known))}"
                )
        plain = re.sub(r"{\w+}|{index:0\d{1,2}d}", "", pattern)
        if set("/\\{}") & set(plain) or not plain.isprintable() or not plain.endswith(".h5"):
            raise ValueError(
                f"got {pattern!r}; expected a bare name ending in .h5 with fields such as {{task}} "
                "or {index:04d}"
            )
        return pattern

    def stream(self, path: str) -> Stream:
        """The stream at `group/name`."""
        for stream in self.streams:
            if stream.path == path:
                return stream
        raise UnknownNameError("stream", path, (stream.path for stream in self.streams))

    def episode_name(self, metadata: Mapping[str, Any], index: int, *, episode_id: str = "") -> str:
        """The file name of an episode; what could leave its folder is replaced by `-`."""
        fields = dict.fromkeys(self.metadata, "none") | dict(metadata)
        safe = {name: re.sub(r"[^\w.-]+", "-", str(value)) for name, value in fields.items()}
        return self.file_name.format(**{**safe, "index": index, "id": episode_id})

    def resolve(self, joint_names: tuple[str, ...], sliding: Collection[str] = ()) -> Schema:
        """The same schema for one robot: `joints` replaced by its actuated joints."""
        streams = tuple(stream.resolve(joint_names, sliding) for stream in self.streams)
        return self.model_copy(update={"streams": streams})


RIGS = Library(Schema, "corporeal.schema", "rigs")


def rig_names() -> tuple[str, ...]:
    """Names of the ready ones."""
    return RIGS.names


def open_schema(name_or_path: str | Path) -> Schema:
    """A ready schema by name, or a schema document by the path of its file."""
    return RIGS.open(name_or_path)
