"""Files of labels: formats, reading as if the author meant harm, and letting labels count."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError
from sqlalchemy import Connection

from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import EpisodeRow, find_episode
from corporeal.catalog.permission import Actor, require
from corporeal.catalog.store import Store
from corporeal.catalog.workspace import Workspace
from corporeal.errors import CorporealError, UnknownNameError, WriteError
from corporeal.labelling.annotation import (
    Annotation,
    AnnotationError,
    Instruction,
    ObjectPose,
    Segment,
    first_complaint,
)
from corporeal.labelling.frames import Frames, end_ns, read_frames
from corporeal.labelling.labels.completeness import complaints
from corporeal.labelling.labels.versions import Labels, accept_labels
from corporeal.labelling.taxonomy import Taxonomy
from corporeal.registry import plugins

PACKAGE = "corporeal.labelling.formats"
MAX_BYTES = 64 << 20
MAX_ROWS = 1_000_000
INSTRUCTION, OUTCOME, FAILURE, VARIANT, FLAG, POSE = (
    ":instruction", ":outcome", ":failure_mode", ":variant", ":flag", ":pose",
)  # fmt: skip
"""What is said of a whole episode, where a file has only lanes: names that no lane can have."""

Stamps = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EpisodeLabels:
    """The labels of one episode in a file.

    `stamps` are those of its reference stream, where they are known; `movie` is the name of a
    movie of that stream that lies beside the file.
    """

    episode: str
    annotation: Annotation
    stamps: Stamps | None = None
    movie: str | None = None


@dataclass(frozen=True)
class LabelFormat:
    """One format. `loses` says in sentences what does not come back; `many` episodes fit a file."""

    title: str
    suffix: str
    read: Callable[[Path], list[EpisodeLabels]]
    write: Callable[[Path, Sequence[EpisodeLabels]], None]
    loses: tuple[str, ...] = ()
    many: bool = True


@cache
def label_formats() -> dict[str, LabelFormat]:
    """Every format by name."""
    return plugins(PACKAGE, "FORMAT", LabelFormat)


def format_of(path: Path, name: str | None = None) -> LabelFormat:
    """The format with this name, or the one that the file's name ends in."""
    known = label_formats()
    if name is not None:
        if name not in known:
            raise UnknownNameError("format of labels", name, known)
        return known[name]
    for each in known.values():
        if path.suffix.lower() == each.suffix:
            return each
    listed = ", ".join(each.suffix for each in known.values())
    raise AnnotationError(f"{path}: got {path.suffix!r}; expected a file ending in {listed}.")


def read_label_file(
    path: Path, *, format_name: str | None = None, stamps: Mapping[str, Stamps] | None = None
) -> list[EpisodeLabels]:
    """All labels in a file; with the `stamps` of an episode its boundaries are put onto them."""
    found = format_of(path, format_name).read(path)
    known = stamps or {}
    return [
        on_stamps(each, known[each.episode]) if each.episode in known else each for each in found
    ]


def write_label_file(
    path: Path, labels: Iterable[EpisodeLabels], *, format_name: str | None = None
) -> LabelFormat:
    """Write a new file; the format that it has."""
    chosen = format_of(path, format_name)
    given = list(labels)
    if not chosen.many and len(given) != 1:
        raise AnnotationError(
            f"{path}: got {len(given)} episodes; expected one, since a file of {chosen.title} "
            "holds no more. Write a file for each."
        )
    if path.exists():
        raise WriteError(f"{path} already exists, and is never changed. Name another.")
    try:
        chosen.write(path, given)
    except OSError as error:
        raise WriteError(f"{path}: cannot be written: {error.strerror}.") from None
    return chosen


def on_stamps(labels: EpisodeLabels, stamps: Stamps) -> EpisodeLabels:
    """The labels with every boundary at the nearest frame, or where the last frame ends."""
    if not len(stamps):
        return labels
    edges = np.append(stamps, end_ns(stamps))

    def nearest(time_ns: int) -> int:
        after = int(np.clip(np.searchsorted(edges, time_ns), 0, len(edges) - 1))
        before = max(0, after - 1)
        is_nearer = time_ns - int(edges[before]) <= int(edges[after]) - time_ns
        return int(edges[before if is_nearer else after])

    moved = tuple(
        each.model_copy(update={"start_ns": nearest(each.start_ns), "end_ns": nearest(each.end_ns)})
        for each in labels.annotation.segments
    )
    poses = tuple(each.model_copy(update={"time_ns": nearest(each.time_ns)})
                  for each in labels.annotation.poses)  # fmt: skip
    annotation = labels.annotation.model_copy(update={"segments": moved, "poses": poses})
    return replace(labels, annotation=annotation, stamps=stamps)


def bounded_bytes(path: Path) -> bytes:
    """The content of a file of labels, of bounded size."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise AnnotationError(f"{path}: cannot be read: {error.strerror}.") from None
    if len(raw) > MAX_BYTES:
        raise AnnotationError(
            f"{path}: larger than {MAX_BYTES >> 20} MiB; expected a file of labels. Split it."
        )
    return raw


def bounded_text(path: Path) -> str:
    """The same as text."""
    try:
        return bounded_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise AnnotationError(f"{path}: not UTF-8 text. Save it as UTF-8.") from None


def attributes_of(text: str, where: str) -> dict[str, Any]:
    """Attributes from JSON; an empty text has none."""
    if not text.strip():
        return {}
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise AnnotationError(f"{where}: attributes, got {text[:60]!r}; expected a JSON object.")
    return values


@dataclass(frozen=True)
class Line:
    """One line of a file that has only lanes and times; a lane that begins with : is no lane."""

    lane: str
    label: str
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Any]
    where: str


def lines_of(annotation: Annotation) -> list[Line]:
    """An annotation as lines: segments in order of time, then what is said of the whole."""
    segments = sorted(annotation.segments, key=lambda each: (each.start_ns, each.end_ns, each.lane))
    lines = [
        Line(each.lane, each.label, each.start_ns, each.end_ns, each.attributes, each.id)
        for each in segments
    ]
    lines += [
        Line(POSE, each.object, each.time_ns, each.time_ns, _pose_values(each), each.id)
        for each in sorted(annotation.poses, key=lambda each: (each.object, each.time_ns))
    ]
    begin = segments[0].start_ns if segments else 0
    end = max((each.end_ns for each in segments), default=begin)
    said = [(INSTRUCTION, each.text) for each in annotation.instructions]
    said += [(FLAG, flag) for flag in annotation.flags]
    for name, value in ((OUTCOME, annotation.outcome), (FAILURE, annotation.failure_mode),
                        (VARIANT, annotation.variant)):  # fmt: skip
        said += [(name, value)] if value is not None else []
    return lines + [Line(name, text, begin, end, {}, name) for name, text in said]


def _pose_values(pose: ObjectPose) -> dict[str, Any]:
    return pose.model_dump(include={"frame", "position", "orientation"}, exclude_none=True)


def annotation_of(lines: Sequence[Line], *, reference: str = "") -> Annotation:
    """The annotation that lines stand for; AnnotationError with the place of what cannot be."""
    segments: list[Segment] = []
    instructions: list[Instruction] = []
    poses: list[ObjectPose] = []
    whole: dict[str, Any] = {"flags": []}
    for line in lines:
        try:
            if line.lane == INSTRUCTION:
                number = len(instructions)
                instructions.append(Instruction(id=f"i{number}", text=line.label))
            elif line.lane == FLAG:
                whole["flags"].append(line.label)
            elif line.lane == POSE:
                poses.append(ObjectPose.model_validate({
                    **line.attributes, "id": f"o{len(poses)}", "object": line.label,
                    "time_ns": line.start_ns,
                }))  # fmt: skip
            elif line.lane in (OUTCOME, FAILURE, VARIANT):
                whole[line.lane[1:]] = line.label
            else:
                segments.append(Segment(
                    id=f"s{len(segments)}", lane=line.lane, label=line.label,
                    start_ns=line.start_ns, end_ns=line.end_ns, attributes=dict(line.attributes),
                ))  # fmt: skip
                if line.end_ns < line.start_ns:
                    raise AnnotationError(f"{line.where}: ends before it starts. Correct it.")
        except ValidationError as error:
            raise refused(error, line.where) from None
    try:
        return Annotation.model_validate(
            {
                "reference": reference,
                "segments": segments,
                "instructions": instructions,
                "poses": poses,
                **whole,
            }
        )
    except ValidationError as error:
        raise refused(error, lines[0].where if lines else "labels") from None


def refused(error: ValidationError, where: str) -> AnnotationError:
    """The first thing that a model does not take, in one sentence."""
    return AnnotationError(f"{where}: {first_complaint(error)} Correct the file.")


def _frames(store: Store, row: EpisodeRow) -> Frames | None:
    """The frames of an episode; None where its file is not here."""
    try:
        return read_frames(store, row.hash)
    except CorporealError:
        return None


def accept_label_files(
    workspace: Workspace,
    paths: Sequence[Path],
    taxonomy: Taxonomy,
    *,
    by: Actor,
    format_name: str | None = None,
) -> list[Labels]:
    """Let the labels in files count, all of them or none.

    Episodes are named by their ids. Boundaries go to the nearest frame; labels that the taxonomy
    does not have, or that lack something it requires, are refused with AnnotationError.
    """
    require(by, "judge")
    read = [(path, each) for path in paths for each in read_label_file(path,
            format_name=format_name)]  # fmt: skip
    with workspace.database.read() as connection:
        checked = list(_checked(connection, workspace.store, read, taxonomy))
    with workspace.database.write() as connection:
        return [
            accept_labels(connection, each.episode, each.annotation, taxonomy, task_id=None,
                          by=by, why=f"from {path.name}")
            for path, each in checked
        ]  # fmt: skip


def _checked(
    connection: Connection,
    store: Store,
    read: Sequence[tuple[Path, EpisodeLabels]],
    taxonomy: Taxonomy,
) -> Iterator[tuple[Path, EpisodeLabels]]:
    for path, each in read:
        row = find_episode(connection, each.episode)
        frames = _frames(store, row)
        if frames is None:
            raise CatalogError(
                f"{path}: the frames of episode {each.episode} cannot be read, so nobody knows "
                "where its boundaries lie. Restore its file."
            )
        labels = on_stamps(each, frames.stamps)
        annotation = labels.annotation.model_copy(update={"reference": frames.stream})
        for sentence in complaints(annotation, taxonomy, task=row.task, frames=frames):
            raise AnnotationError(f"{path}: episode {each.episode}: {sentence}")
        yield path, EpisodeLabels(each.episode, annotation, frames.stamps)
