"""Annotations that a machine proposes, for people to correct."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import Recording
from corporeal.errors import UnknownNameError
from corporeal.labelling.annotation import (
    MOST_PARTS,
    Annotation,
    AnnotationError,
    Instruction,
    Segment,
)
from corporeal.labelling.confidence import calibrate
from corporeal.labelling.event import PhysicalEvent as PhysicalEvent
from corporeal.labelling.event import detect as detect
from corporeal.labelling.frames import boundary_ns, end_ns, reference_stream
from corporeal.labelling.taxonomy import LabelLane, Taxonomy
from corporeal.registry import plugins
from corporeal.units import SECOND_NS

PACKAGE = "corporeal.labelling.proposers"
_Named = TypeVar("_Named", Segment, Instruction)


@dataclass(frozen=True)
class Example:
    """An episode that people have annotated, to learn from."""

    recording: Recording
    annotation: Annotation


@dataclass(frozen=True)
class ProposalRequest:
    """What a proposer is given; `reference` is the stream on whose stamps boundaries must lie."""

    recording: Recording
    taxonomy: Taxonomy
    task: str | None
    reference: str
    events: tuple[PhysicalEvent, ...]
    examples: Sequence[Example] = ()


@dataclass(frozen=True)
class Proposer:
    """`propose` returns an annotation whose segments are proposals, or None for nothing to say."""

    propose: Callable[[ProposalRequest], Annotation | None]


@cache
def proposers() -> dict[str, Proposer]:
    """Every proposer by name."""
    return plugins(PACKAGE, "PROPOSER", Proposer)


def propose(
    recording: Recording,
    taxonomy: Taxonomy,
    *,
    task: str | None,
    examples: Sequence[Example] = (),
    using: str | Sequence[str] = "events",
) -> Annotation | None:
    """What the named proposers say of an episode; None when they say nothing.

    Of several, an earlier one is asked first, and a later one fills in the lanes and facts on which
    the earlier ones are silent. Every segment is a proposal that nobody has confirmed.
    """
    names = (using,) if isinstance(using, str) else tuple(using)
    known = proposers()
    for name in names:
        if name not in known:
            raise UnknownNameError("proposer", name, known)
    reference = reference_stream(recording)
    if reference is None:
        return None
    question = ProposalRequest(recording, taxonomy, task, reference, detect(recording), examples)
    said = [known[name].propose(question) for name in names]
    return _merged([each for each in said if each is not None])


def _merged(said: Sequence[Annotation]) -> Annotation | None:
    if not said:
        return None
    whole = said[0]
    for more in said[1:]:
        lanes = {segment.lane for segment in whole.segments}
        added = [segment for segment in more.segments if segment.lane not in lanes]
        texts = {each.text for each in whole.instructions}
        words = [each for each in more.instructions if each.text not in texts]
        judged = whole if whole.outcome is not None else more
        whole = whole.model_copy(
            update={
                "segments": _renamed((*whole.segments, *added), "p"),
                "instructions": _renamed((*whole.instructions, *words), "i"),
                "outcome": judged.outcome,
                "failure_mode": judged.failure_mode,
                "variant": whole.variant or more.variant,
                "flags": tuple(dict.fromkeys((*whole.flags, *more.flags))),
            }
        )
    return whole


_SNAP_S = 0.25
CARRIED = 0.4
"""How sure a boundary is that was carried over from another episode and that no event shows."""


def snap_boundary(
    guess_ns: int, label: str, events: Sequence[PhysicalEvent], lane: LabelLane
) -> tuple[int, float]:
    """The event near a guess by which the label's rule goes, else the guess; and how sure it is."""
    rule = next((each.starts for each in lane.labels if each.name == label), None)
    for name in rule.events if rule else ():
        near = [event for event in events if event.name == name
                and abs(event.time_ns - guess_ns) <= _SNAP_S * SECOND_NS]  # fmt: skip
        if near:
            nearest = min(near, key=lambda event: abs(event.time_ns - guess_ns))
            return nearest.time_ns, calibrate(name, nearest.confidence)
    return guess_ns, CARRIED


def _renamed(things: tuple[_Named, ...], letter: str) -> tuple[_Named, ...]:
    """The same under identities of which no two are alike."""
    return tuple(
        each.model_copy(update={"id": f"{letter}{number}"}) for number, each in enumerate(things)
    )


_MOST_FLAGS = 32


def check_proposal(annotation: Annotation, question: ProposalRequest) -> Annotation:
    """The same as a proposal for the question; raises AnnotationError for what it cannot be.

    Corrections are left out: to correct a prediction is for people.
    """
    taxonomy = question.taxonomy
    stamps = question.recording.signals[question.reference].time_ns
    if max(len(annotation.segments), len(annotation.instructions)) > MOST_PARTS:
        raise AnnotationError(f"proposal, got more than {MOST_PARTS} segments or instructions.")
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
            if after[0] < before[1] and lane.exclude(before[2], after[2]):
                raise AnnotationError(
                    f"proposal, got {before[2]} and {after[2]} of lane {lane.name} at one time; "
                    "expected labels that do not overlap."
                )
