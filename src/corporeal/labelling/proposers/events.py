"""Phases, contacts and the outcome, from the events in the signals and the order of the task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from corporeal.labelling.annotation import Annotation, Instruction, Segment, Value
from corporeal.labelling.automaton import Passage, free_labels, passages, tiling_lane
from corporeal.labelling.event import PhysicalEvent
from corporeal.labelling.frames import boundary_ns, end_ns
from corporeal.labelling.grip import Hold, holds_in
from corporeal.labelling.outcome import ending
from corporeal.labelling.proposal import ProposalRequest, Proposer
from corporeal.labelling.taxonomy.document import LabelLane
from corporeal.labelling.track import SIDES, track
from corporeal.units import SECOND_NS

_WIDE_M, _SETTLED_S = 0.06, 0.4
_BOTH = 0.7
"""Two hands work together where the one does at least this share of what the other does."""


def propose(question: ProposalRequest) -> Annotation | None:
    """An annotation of proposals; None when the taxonomy has no lane of phases."""
    lane = tiling_lane(question.taxonomy)
    stamps = question.recording.signals[question.reference].time_ns
    if lane is None or not len(stamps):
        return None
    need = question.taxonomy.requirement(question.task)
    order = need.order if need is not None else ()
    free = free_labels(question.taxonomy, lane)
    way = passages(question.events, lane, order, start_ns=int(stamps[0]), free=free)
    known: dict[str, Value] = {
        "hand": _hand(question.events),
        "grasp_type": _grasp_type(question),
    }
    segments = [*_phases(way, lane, stamps, known), *_contacts(question, stamps)]
    labels = [passage.label for passage in way]
    outcome, failure = ending(question.recording, question.events, labels, order)
    return Annotation(
        reference=question.reference,
        segments=tuple(segments),
        instructions=tuple(_instructions(question)),
        outcome=outcome,
        failure_mode=failure,
    )


def _phases(
    way: Sequence[Passage],
    lane: LabelLane,
    stamps: NDArray[np.int64],
    known: Mapping[str, Value],
) -> Iterator[Segment]:
    asked = {label.name: label.attributes for label in lane.labels}
    found = [boundary_ns(stamps, passage.time_ns) for passage in way] + [end_ns(stamps)]
    # A camera whose clock went backwards must not make phases overlap.
    edges = list(accumulate(found, max))
    for number, passage in enumerate(way):
        if edges[number] >= edges[number + 1]:
            continue
        yield Segment(
            id=f"p{number}",
            lane=lane.name,
            label=passage.label,
            start_ns=edges[number],
            end_ns=edges[number + 1],
            attributes={name: known[name] for name in asked[passage.label]
                        if known.get(name) is not None},
            source="proposal",
            confirmed=False,
            confidence=round(passage.confidence, 3),
        )  # fmt: skip


def _contacts(question: ProposalRequest, stamps: NDArray[np.int64]) -> Iterator[Segment]:
    """What the hands held and struck, each in the lane of its side."""
    spans = [("holds", hold) for hold in holds_in(question.events)]
    spans += [("bumps", bump) for bump in _bumps(question.events)]
    for number, (label, span) in enumerate(spans):
        lane = question.taxonomy.lane(f"{span.side}_contact")
        if lane is None or all(label != each.name for each in lane.labels):
            continue
        start = boundary_ns(stamps, span.begin_ns)
        stop = end_ns(stamps) if span.end is None else boundary_ns(stamps, span.end_ns)
        if stop > start:
            yield Segment(
                id=f"c{number}", lane=lane.name, label=label, start_ns=start, end_ns=stop,
                source="proposal", confirmed=False, confidence=round(span.confidence, 3),
            )  # fmt: skip


def _bumps(events: Sequence[PhysicalEvent]) -> Iterator[Hold]:
    for side in SIDES:
        struck = [e for e in events if e.side == side and e.name in ("hand_bumps", "bump_ends")]
        for begin, end in pairwise(struck):
            if (begin.name, end.name) == ("hand_bumps", "bump_ends"):
                yield Hold(side, begin, end)


def _hand(events: Sequence[PhysicalEvent]) -> str | None:
    """The hand that holds longest, else the one that goes farthest; both where none does more."""
    did = dict.fromkeys(SIDES, 0.0)
    last = events[-1].time_ns if events else 0
    for hold in holds_in(events):
        did[hold.side] = did.get(hold.side, 0.0) + min(hold.end_ns, last) - hold.begin_ns
    if not any(did.values()):
        for event in events:
            if event.name == "motion_begins":
                for side, way in event.facts.get("way_m", {}).items():
                    did[side] = did.get(side, 0.0) + way
    most = max(did.values())
    if most == 0.0:
        return None
    return "both" if min(did.values()) > _BOTH * most else max(did, key=lambda side: did[side])


def _grasp_type(question: ProposalRequest) -> str | None:
    """A guess from how wide the gripper stays: wide things lie in the palm."""
    held = holds_in(question.events)
    known = {each.name for each in question.taxonomy.grasp_types}
    if not held or not known:
        return None
    gripper = track(question.recording, f"{held[0].side}_gripper")
    if gripper is None:
        return None
    settled = min(held[0].begin_ns / SECOND_NS + _SETTLED_S, held[0].end_ns / SECOND_NS)
    width = float(np.interp(settled, gripper.seconds, gripper.values.mean(axis=1)))
    guess = "power" if width > _WIDE_M else "precision_pinch"
    return guess if guess in known else None


def _instructions(question: ProposalRequest) -> Iterator[Instruction]:
    """What the operator was told, as the first wording."""
    for number, text in enumerate(question.recording.facts.instructions):
        yield Instruction(id=f"i{number}", text=text.strip()[:2000], source="recorded")


PROPOSER = Proposer(propose)
