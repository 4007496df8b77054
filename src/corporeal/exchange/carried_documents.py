"""The documents of a recording, on their way into an episode file."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import ClassVar, cast

from pydantic import ConfigDict

from corporeal.episode.recording import Recording
from corporeal.schema import Document, Schema, Stream


def schema_of(
    recording: Recording, streams: Collection[Stream], exclude: Collection[str]
) -> Schema:
    """The recording's own schema where it says the same of every stream; else one of these."""
    text = recording.documents.get("schema")
    if text is not None:
        source = f"{recording.source}:schema"
        schema = Schema.parse(text, source=source, suffix=".json")
        robot = recording.embodiment
        resolved = robot.resolve(schema) if robot is not None else schema
        known = {stream.path: stream for stream in resolved.streams}
        if all(known.get(stream.path) == stream for stream in streams):
            asked = tuple(stream for stream in schema.streams if not is_named(stream, exclude))
            return schema if not exclude else schema.model_copy(update={"streams": asked})
    return Schema(
        document="schema",
        name="imported",
        version="1.0.0",
        streams=tuple(streams),
        metadata=(),
        file_name="e{index:04d}.h5",
    )


def is_named(stream: Stream, names: Collection[str]) -> bool:
    """Whether a stream is among these names, by its path or by its name alone."""
    return stream.path in names or stream.name in names


def carried_documents(recording: Recording) -> Iterator[Document]:
    """What governs the recording besides schema and robot, passed on word for word."""
    for kind, text in recording.documents.items():
        if kind not in ("schema", "embodiment"):
            carried = cast(type[Document], type("Carried", (_Carried,), {
                "kind": kind, "__annotations__": {"kind": "ClassVar[str]"},
            }))  # fmt: skip
            yield carried.parse(text, source=f"{recording.source}:{kind}", suffix=".json")


class _Carried(Document):
    """A document of any kind: its head is checked, the rest is only passed on."""

    model_config = ConfigDict(extra="allow")
    kind: ClassVar[str] = ""
