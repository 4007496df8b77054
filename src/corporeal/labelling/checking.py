"""Answers of strangers made fit to show: known labels, boundaries on frames, nothing confirmed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from corporeal.labelling.annotation import Annotation, AnnotationError, Segment
from corporeal.labelling.edit import MOST
from corporeal.labelling.proposal import Question
from corporeal.labelling.reference import boundary_ns, end_ns
from corporeal.labelling.taxonomy import Taxonomy

_MOST_FLAGS = 32


def checked(annotation: Annotation, question: Question) -> Annotation:
    """The same as a proposal for the question; raises AnnotationError for what it cannot be.

    Corrections are left out: to correct a prediction is for people.
    """
    taxonomy = question.taxonomy
    stamps = question.recording.signals[question.reference].time_ns
    if max(len(annotation.segments), len(annotation.instructions)) > MOST:
        raise AnnotationError(f"proposal, got more than {MOST} segments or instructions.")
    segments = []
    for number, segment in enumerate(annotation.segments):
        _known(segment, taxonomy)
        placed = _placed(segment, stamps, f"m{number}")
        if placed.end_ns > placed.start_ns or segment.start_ns == segment.end_ns:
            segments.append(placed)
    _apart(segments, taxonomy)
    modes = [mode.name for mode in taxonomy.failure_modes]
    if annotation.failure_mode is not None and annotation.failure_mode not in modes:
        said = f"proposal, got failure mode {annotation.failure_mode!r}"
        raise AnnotationError(f"{said}; expected {' or '.join(modes)}.")
    return Annotation(
        reference=question.reference,
        segments=tuple(segments),
        instructions=tuple(
            each.model_copy(update={"id": f"m{number}", "source": "proposal"})
            for number, each in enumerate(annotation.instructions)
        ),
        outcome=annotation.outcome,
        failure_mode=annotation.failure_mode if annotation.outcome == "failure" else None,
        variant=annotation.variant,
        flags=annotation.flags[:_MOST_FLAGS],
    )


def _known(segment: Segment, taxonomy: Taxonomy) -> None:
    lane = taxonomy.lane(segment.lane)
    labels = [label.name for label in lane.labels] if lane is not None else []
    if lane is None or segment.label not in labels:
        expected = labels or [each.name for each in taxonomy.lanes]
        raise AnnotationError(
            f"proposal, got {segment.lane}/{segment.label}; expected {' or '.join(expected)}."
        )


def _placed(segment: Segment, stamps: NDArray[np.int64], name: str) -> Segment:
    """On the frames of the reference, within the episode, and confirmed by nobody."""
    last = end_ns(stamps)
    start = boundary_ns(stamps, max(segment.start_ns, int(stamps[0])))
    stop = last if segment.end_ns >= last else boundary_ns(stamps, segment.end_ns)
    return segment.model_copy(
        update={
            "id": name,
            "start_ns": start,
            "end_ns": max(start, stop),
            "source": "proposal",
            "confirmed": False,
        }
    )


def _apart(segments: list[Segment], taxonomy: Taxonomy) -> None:
    for lane in taxonomy.lanes:
        own = sorted((each.start_ns, each.end_ns, each.label) for each in segments
                     if each.lane == lane.name)  # fmt: skip
        for before, after in pairwise(own):
            if after[0] < before[1]:
                raise AnnotationError(
                    f"proposal, got {before[2]} and {after[2]} of lane {lane.name} at one time; "
                    "expected labels that do not overlap."
                )
