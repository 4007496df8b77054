"""What an annotation lacks before it counts, and which episodes have all they need."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from corporeal.catalog.episodes import EpisodeRow, parts_of
from corporeal.labelling.annotation import Annotation, ObjectPose, Segment, Value
from corporeal.labelling.frames import Frames, end_ns
from corporeal.labelling.labels.versions import Labels, labels_in_force
from corporeal.labelling.taxonomy import LabelLane, Taxonomy, kept_taxonomy

_NO_STAMPS = np.zeros(0, np.int64)


def complaints(
    annotation: Annotation,
    taxonomy: Taxonomy,
    *,
    task: str | None,
    frames: Frames | None = None,
) -> tuple[str, ...]:
    """Every reason for which an annotation is not complete; none when it is.

    Every boundary must lie on one of the `frames`, where they are known.
    """
    stamps = frames.stamps if frames is not None else _NO_STAMPS
    sentences: list[str] = []
    for segment in annotation.segments:
        sentences += _segment(segment, taxonomy, stamps)
    for lane in taxonomy.lanes:
        sentences += _lane(annotation.in_lane(lane.name), lane, stamps)
        sentences += _level(annotation, taxonomy, lane)
    for pose in annotation.poses:
        sentences += _pose(pose, taxonomy)
    return (*sentences, *_required(annotation, taxonomy, task), *_whole(annotation, taxonomy))


def _segment(segment: Segment, taxonomy: Taxonomy, stamps: NDArray[np.int64]) -> Iterator[str]:
    lane = taxonomy.lane(segment.lane)
    if lane is None:
        yield f"lane {segment.lane}, got one that {taxonomy.reference} does not have."
        return
    label = lane.label(segment.label)
    where = f"{lane.title}: {segment.label} at {_clock(segment.start_ns)}"
    if label is None:
        yield f"{where}: {taxonomy.reference} has no such label."
        return
    for edge in (segment.start_ns, segment.end_ns):
        if not _is_on(stamps, edge):
            yield f"{where}: a boundary at {_clock(edge)} lies between two frames."
    if not segment.confirmed:
        yield f"{where}: proposed, but nobody has confirmed it."
    for name in label.attributes:
        if segment.attributes.get(name) in (None, ""):
            yield f"{where}: {name.replace('_', ' ')} is missing."
    for name, value in segment.attributes.items():
        if value not in (None, "") and (wanted := _expected(taxonomy, name, value)):
            yield f"{where}: {name.replace('_', ' ')}, got {value!r}; expected {wanted}."


def _expected(taxonomy: Taxonomy, name: str, value: Value) -> str:
    """What an attribute should be; empty where it is that."""
    choices = [each.name for each in taxonomy.choices(name)]
    if choices:
        return "" if value in choices else _any(choices)
    written = taxonomy.attribute(name)
    if written is None or not written.is_number:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return f"a number of {written.unit}"
    least, most = written.least, written.most
    if least is not None and value < least:
        return f"{least:g} {written.unit} or more"
    return f"{most:g} {written.unit} or less" if most is not None and value > most else ""


def _level(annotation: Annotation, taxonomy: Taxonomy, lane: LabelLane) -> Iterator[str]:
    """Segments of a higher level begin and end where those of the level below do."""
    below = taxonomy.lane_below(lane)
    parts = annotation.in_lane(below.name) if below is not None else ()
    edges = {edge for part in parts for edge in (part.start_ns, part.end_ns)}
    for segment in annotation.in_lane(lane.name) if edges else ():
        for edge in (segment.start_ns, segment.end_ns):
            if edge not in edges and below is not None:
                yield (f"{lane.title}: {segment.label} at {_clock(segment.start_ns)}: a boundary "
                       f"at {_clock(edge)} is none of {below.title}.")  # fmt: skip


def _pose(pose: ObjectPose, taxonomy: Taxonomy) -> Iterator[str]:
    where = f"pose of {pose.object} at {_clock(pose.time_ns)}"
    if not pose.confirmed:
        yield f"{where}: proposed, but nobody has confirmed it."
    if wanted := _expected(taxonomy, "object", pose.object):
        yield f"{where}: got an object that is not listed; expected {wanted}."
    if taxonomy.frames and pose.frame not in taxonomy.frames:
        yield f"{where}: frame, got {pose.frame!r}; expected {_any(taxonomy.frames)}."


def _lane(segments: Sequence[Segment], lane: LabelLane, stamps: NDArray[np.int64]) -> Iterator[str]:
    until: dict[str, Segment] = {}
    for segment in segments:
        for label, before in until.items():
            if lane.exclude(label, segment.label) and segment.start_ns < before.end_ns:
                yield (f"{lane.title}: {label} and {segment.label} overlap at "
                       f"{_clock(segment.start_ns)}.")  # fmt: skip
        last = until.get(segment.label)
        if last is None or last.end_ns < segment.end_ns:
            until[segment.label] = segment
    for before, after in pairwise(segments):
        if lane.tiles and after.start_ns > before.end_ns:
            gap = f"from {_clock(before.end_ns)} to {_clock(after.start_ns)}"
            yield f"{lane.title}: nothing is labelled {gap}."
    if lane.tiles and segments and len(stamps):
        if segments[0].start_ns > stamps[0]:
            yield f"{lane.title}: nothing is labelled before {_clock(segments[0].start_ns)}."
        if segments[-1].end_ns < stamps[-1]:
            yield f"{lane.title}: nothing is labelled after {_clock(segments[-1].end_ns)}."


def _required(annotation: Annotation, taxonomy: Taxonomy, task: str | None) -> Iterator[str]:
    need = taxonomy.requirement(task)
    if need is None:
        return
    for name in need.lanes:
        lane = taxonomy.lane(name)
        if lane is not None and not annotation.in_lane(name):
            yield f"{lane.title}: nothing is labelled, and {task or 'this task'} needs it."
    if need.outcome and annotation.outcome is None:
        yield "outcome: success, borderline or failure is missing."
    if len(annotation.instructions) < need.instructions:
        yield (f"instructions, got {len(annotation.instructions)}; expected "
               f"{need.instructions} or more.")  # fmt: skip
    if need.variants and annotation.variant not in need.variants:
        yield f"variant, got {annotation.variant!r}; expected {_any(need.variants)}."


def _whole(annotation: Annotation, taxonomy: Taxonomy) -> Iterator[str]:
    modes = [mode.name for mode in taxonomy.failure_modes]
    is_flawed = annotation.outcome in ("failure", "borderline")
    if is_flawed and modes and annotation.failure_mode not in modes:
        yield f"failure mode, got {annotation.failure_mode!r}; expected {_any(modes)}."
    if annotation.outcome == "success" and annotation.failure_mode is not None:
        yield f"failure mode, got {annotation.failure_mode!r} for a success; expected none."
    flags = [flag.name for flag in taxonomy.flags]
    for name in annotation.flags:
        if flags and name not in flags:
            yield f"flag, got {name!r}; expected {_any(flags)}."


def _is_on(stamps: NDArray[np.int64], time_ns: int) -> bool:
    if not len(stamps):
        return True
    place = int(np.searchsorted(stamps, time_ns))
    return (place < len(stamps) and int(stamps[place]) == time_ns) or time_ns == end_ns(stamps)


def _any(names: Sequence[str]) -> str:
    return " or ".join(names)


def _clock(time_ns: int) -> str:
    return f"{time_ns / 1e9:.3f} s"


@dataclass(frozen=True)
class LabelCoverage:
    """`annotated` have all they need, `missing` do not, with the reason.

    `machine` are those of the annotated in which something is a proposal that a lead let count
    unseen.
    """

    annotated: tuple[str, ...]
    missing: tuple[tuple[str, str], ...]
    machine: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """How much of all is annotated; of nothing, all is."""
        total = len(self.annotated) + len(self.missing)
        return len(self.annotated) / total if total else 1.0

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "share": self.share,
            "annotated": list(self.annotated),
            "machine": list(self.machine),
            "missing": [{"episode": name, "reason": why} for name, why in self.missing],
        }


def coverage_of(
    connection: Connection,
    rows: Sequence[EpisodeRow],
    *,
    taxonomy: Taxonomy | None = None,
    people_only: bool = False,
) -> LabelCoverage:
    """The annotation coverage of episodes.

    With a taxonomy, labels under another one do not count; with `people_only`, neither do those
    that no person has confirmed.
    """
    annotated: list[str] = []
    machine: list[str] = []
    missing: list[tuple[str, str]] = []
    for part in parts_of(rows):
        labels = labels_in_force(connection, [row.id for row in part])
        for row in part:
            why = _lacking(connection, row, labels.get(row.id), taxonomy, people_only=people_only)
            if why is not None:
                missing.append((row.id, why))
                continue
            annotated.append(row.id)
            if labels[row.id].is_machine:
                machine.append(row.id)
    return LabelCoverage(tuple(annotated), tuple(missing), tuple(machine))


def _lacking(
    connection: Connection, row: EpisodeRow, labels: Labels | None, taxonomy: Taxonomy | None,
    *, people_only: bool,
) -> str | None:  # fmt: skip
    """Why an episode does not count as annotated, in one sentence; None when it does."""
    if labels is None:
        return "nobody has annotated it."
    if labels.stale is not None:
        return f"its labels do not hold any more: {labels.stale}."
    made_under = kept_taxonomy(connection, labels.taxonomy)
    if taxonomy is not None and labels.taxonomy != taxonomy.hash:
        return f"it is labelled under {made_under.reference}; expected {taxonomy.reference}."
    annotation = labels.annotation if people_only else labels.annotation.as_confirmed()
    sentences = complaints(annotation, made_under, task=row.task)
    if not sentences:
        return None
    return sentences[0] + (f" ({len(sentences) - 1} more)" if len(sentences) > 1 else "")
