"""A recording of any origin as one episode file: every stream, at its own rate, with its stamps."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, ClassVar, cast
from uuid import UUID

import av
import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, ValidationError

from corporeal.episode import EpisodeWriter, new_id
from corporeal.episode.file import DepthReader
from corporeal.episode.recording import ArraySignal, ImageSequence, Recording, Signal, VideoFile
from corporeal.errors import EpisodeError
from corporeal.exchange.foreign_stream import stream_name
from corporeal.exchange.layout import metadata_with_labels
from corporeal.exchange.movie.foreign_movie import MovieSurvey, packets_shown, survey
from corporeal.schema import Document, Schema, Stream

BLOCK_BYTES = 8 << 20


@dataclass(frozen=True)
class Kept:
    """What became of a recording. `cameras` says of each how its pictures were taken over."""

    id: str
    cameras: Mapping[str, str]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class _Lane:
    """A signal on its way into the file: where from, as what stream, and how if it is a camera."""

    label: str
    signal: Signal
    stream: Stream
    movie: MovieSurvey | None = None

    @property
    def samples(self) -> int:
        """How many there are to write: a camera may have fewer pictures than stamps."""
        count = len(self.signal)
        return count if self.movie is None else min(count, self.movie.pictures)

    @property
    def manner(self) -> str:
        """How a camera's pictures are taken over."""
        if self.movie is None:
            return "encoded"
        return f"encoded anew: {self.movie.obstacle}" if self.movie.obstacle else "copied"


def write_recording(
    recording: Recording,
    path: Path,
    *,
    source_format: str | None = None,
    exclude: Collection[str] = (),
) -> Kept:
    """Write the episode file; `exclude` names streams, by path or name, to leave out.

    A recording that has its schema (one of our own) is kept as it is. Any other gets a schema of
    what it has, and metadata that say where it comes from: source_id, source_format, source_file,
    source_index, source_labels (the name of each stream there), source_cameras (copied, or why
    not), source_sizes (of pictures that got a row or column more, since ours are even) and
    source_problems.
    """
    own = "schema" in recording.documents
    all_lanes = list(_lanes(recording, exclude))
    problems = tuple(_problems(recording, all_lanes))
    lanes = [lane for lane in all_lanes if lane.samples]
    if not own and lanes and (spoken := _instruction(recording, lanes)) is not None:
        lanes.append(spoken)
    if not lanes:
        raise EpisodeError(
            f"{recording.source}: episode {recording.index} has no sample, so there is nothing to "
            "write. Leave it out."
        )
    metadata = dict(json_values(metadata_with_labels(recording)))
    if not own:
        metadata |= _origin(recording, lanes, problems, source_format)
    with EpisodeWriter(
        path,
        schema=schema_of(recording, [lane.stream for lane in lanes], exclude),
        embodiment=recording.embodiment,
        documents=list(carried_documents(recording)),
        metadata=metadata,
        epoch_ns=recording.epoch_ns,
        episode_id=recording.id if is_uuid(recording.id) else new_id(),
        recovered=recording.recovered,
    ) as writer:
        for lane in lanes:
            _write(writer, lane)
    cameras = {lane.stream.path: lane.manner for lane in lanes if lane.stream.kind == "video"}
    return Kept(writer.id, cameras, problems)


def is_uuid(text: str) -> bool:
    """Whether an id is one of ours."""
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def _lanes(recording: Recording, exclude: Collection[str]) -> Iterator[_Lane]:
    taken: set[str] = set()
    for label, signal in recording.signals.items():
        if is_named(signal.spec, exclude) or not len(signal):
            continue
        stream = _stream(recording, label, signal.spec, taken)
        taken.add(stream.path)
        movie = survey(signal) if isinstance(signal, VideoFile) else None
        yield _Lane(label, signal, stream, movie)


def _stream(recording: Recording, label: str, spec: Stream, taken: Collection[str]) -> Stream:
    """The stream as an episode can have it: a name of its own, pictures of even size."""
    values = {name: getattr(spec, name) for name in Stream.model_fields}
    if spec.path in taken:
        names = (stream_name(label), *(f"{spec.name[:60]}_{number}" for number in range(2, 999)))
        values["name"] = next(name for name in names if f"{spec.group}/{name}" not in taken)
    if spec.kind == "video":
        height, width = spec.sizes[:2]
        values["shape"] = (height + height % 2, width + width % 2, 3)
    try:
        return Stream.model_validate(values)
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise EpisodeError(
            f"{recording.source}: {label} cannot be a stream of an episode: {reason}. "
            "Leave it out with --exclude."
        ) from None


def _instruction(recording: Recording, lanes: Collection[_Lane]) -> _Lane | None:
    """What the source says only in its metadata, as the stream that readers look for."""
    if any(lane.stream.name == "instruction" for lane in lanes):
        return None
    text = recording.facts.instruction
    if text is None or not text.strip():
        return None
    begin = min(int(lane.signal.time_ns.min()) for lane in lanes)
    stream = Stream(name="instruction", group="observations", kind="text")
    stamps = np.array([begin], np.int64)
    return _Lane("instruction", ArraySignal(stream, stamps, [text]), stream)


def _problems(recording: Recording, lanes: Collection[_Lane]) -> Iterator[str]:
    """Defects that the reader met, and what had to be left out."""
    for defect in recording.defects:
        where = f"{defect.stream}: " if defect.stream else ""
        yield f"{where}{defect.message}"
    for label, signal in recording.signals.items():
        if not len(signal):
            yield f"{label}: no sample"
    for lane in lanes:
        if lane.movie is not None and lane.movie.pictures != len(lane.signal):
            yield (
                f"{lane.label}: {lane.movie.pictures} pictures for {len(lane.signal)} stamps, "
                f"of which {lane.samples} are kept"
            )


def _origin(
    recording: Recording,
    lanes: Collection[_Lane],
    problems: tuple[str, ...],
    source_format: str | None,
) -> dict[str, Any]:
    cameras = [lane for lane in lanes if lane.stream.kind == "video"]
    sizes = {
        lane.stream.path: list(lane.signal.spec.sizes[:2])
        for lane in cameras
        if tuple(lane.stream.shape) != tuple(lane.signal.spec.shape)
    }
    origin: dict[str, Any] = {
        "source_id": recording.id,
        "source_format": source_format,
        "source_file": recording.source.name,
        "source_index": recording.index,
        "source_labels": {lane.stream.path: lane.label for lane in lanes},
        "source_cameras": {lane.stream.path: lane.manner for lane in cameras},
        "source_sizes": sizes,
        "source_problems": list(problems),
    }
    return {name: value for name, value in origin.items() if value not in (None, {}, [])}


def copy_signal(writer: EpisodeWriter, path: str, signal: Signal) -> None:
    """All samples of a stream that is no video, some megabytes at a time; depth stays packed."""
    stamps = signal.time_ns
    if isinstance(signal, DepthReader):
        for number, stamp in enumerate(stamps.tolist()):
            writer.append_packed(path, stamp, signal.packed(number))
        return
    row = signal.spec.width * np.dtype(signal.spec.dtype).itemsize
    block = max(1, BLOCK_BYTES // max(1, row)) if signal.spec.kind == "array" else 16
    for first in range(0, len(stamps), block):
        writer.extend(path, stamps[first : first + block], signal[first : first + block])


def _write(writer: EpisodeWriter, lane: _Lane) -> None:
    path, signal = lane.stream.path, lane.signal
    if not isinstance(signal, VideoFile | ImageSequence):
        copy_signal(writer, path, signal)
        return
    stamps = signal.time_ns[: lane.samples].tolist()
    written = 0
    if isinstance(signal, VideoFile) and lane.movie is not None and lane.movie.obstacle is None:
        for stamp, (packet, _) in zip(stamps, packets_shown(signal, "h264"), strict=False):
            writer.append_packed(path, stamp, packet)
            written += 1
    else:
        for stamp, frame in zip(stamps, signal.frames(), strict=False):
            writer.append(path, stamp, _even(frame))
            written += 1
    if written < len(stamps):
        raise EpisodeError(
            f"{path}: {written} of {len(stamps)} pictures could be decoded. Replace the movie, or "
            "leave the episode out."
        )


def _even(frame: av.VideoFrame) -> NDArray[np.uint8]:
    """The picture (height, width, 3), its last row or column repeated where the number is odd."""
    picture = np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)
    height, width = picture.shape[:2]
    if height % 2 or width % 2:
        return np.pad(picture, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
    return picture


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


MAX_DEPTH = 32


def json_values(values: Mapping[Any, Any]) -> dict[str, Any]:
    """The same as JSON holds it; NaN and infinity become the words that Python writes for them."""
    return {str(key): _plain(value, MAX_DEPTH) for key, value in values.items()}


def _plain(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return _plain(value.tolist(), depth)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, PurePath):
        return value.name
    if depth and isinstance(value, Mapping):
        return {str(key): _plain(each, depth - 1) for key, each in value.items()}
    if depth and isinstance(value, list | tuple | set | frozenset):
        return [_plain(each, depth - 1) for each in value]
    return str(value)
