"""Phases, contacts and the outcome, from the events in the signals and the order of the task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.facts import EpisodeFacts
from corporeal.episode.recording import Recording
from corporeal.labelling.annotation import Annotation, Instruction, Segment, Value
from corporeal.labelling.automaton import (
    Opening,
    Passage,
    free_labels,
    passages,
    shown_order,
    tiling_lane,
)
from corporeal.labelling.confidence import OPENING, calibrate
from corporeal.labelling.event import (
    SIDES,
    Hold,
    PhysicalEvent,
    hand_tracks,
    holds_in,
    openings,
    track,
)
from corporeal.labelling.frames import boundary_ns, end_ns
from corporeal.labelling.hierarchy import compose
from corporeal.labelling.mention import mentioned_hand, mentioned_object
from corporeal.labelling.proposal import ProposalRequest, Proposer
from corporeal.labelling.taxonomy import LabelLane
from corporeal.schema import roles
from corporeal.units import SECOND_NS

_WIDE_M, _SETTLED_S = 0.06, 0.4
_BOTH = 0.7
"""Two hands work together where the one does at least this share of what the other does."""


def propose(question: ProposalRequest) -> Annotation | None:
    """An annotation of proposals; None when the taxonomy has no lane of phases.

    Signals in which nothing happens, as far as anybody can tell, give no phase and no outcome.
    """
    lane = tiling_lane(question.taxonomy)
    stamps = question.recording.signals[question.reference].time_ns
    if lane is None or not len(stamps):
        return None
    need = question.taxonomy.requirement(question.task)
    order = shown_order(need, lane, question.events) if need is not None else ()
    way: Sequence[Passage] = [_judged(passage) for passage in find_passages(question, lane, order)]
    facts = question.recording.facts
    told = [*facts.instructions, facts.task or ""]
    known: dict[str, Value] = {
        # What signals show was done, whatever was asked for.
        "hand": _hand(question.events) or mentioned_hand(told),
        "grasp_type": _grasp_type(question),
        "object": mentioned_object([*_stated_objects(facts), *told], question.taxonomy),
    }
    labels = [passage.label for passage in way]
    may_lack = need.may_lack if need is not None else ()
    outcome, failure = ending(question.recording, question.events, labels, order, may_lack=may_lack)
    if failure in _LOST:
        way = [passage for passage in way if passage.label != "place"]
    phases = tuple(_phases(way, lane, stamps, known))
    segments = [*phases, *compose(phases, question.taxonomy), *_contacts(question, stamps, known)]
    instructions = tuple(_instructions(question))
    if not segments and not instructions:
        return None
    return Annotation(
        reference=question.reference,
        segments=tuple(segments),
        instructions=instructions,
        outcome=outcome,
        failure_mode=failure,
    )


def find_passages(
    question: ProposalRequest, lane: LabelLane, order: Sequence[str]
) -> tuple[Passage, ...]:
    """The way through the phases, each as sure as its event is clear.

    None where no event begins or ends one of them: signals that show nothing say nothing. Nor
    where, for a task whose order nobody states, each event could begin one phase or another.
    """
    start_ns = int(question.recording.signals[question.reference].time_ns[0])
    rules = {name for label in lane.labels for rule in (label.starts, label.ends)
             for name in (rule.events if rule is not None else ())}  # fmt: skip
    events = [event for event in question.events if event.name in rules]
    begun = Counter(name for label in lane.labels if label.starts is not None
                    for name in label.starts.events)  # fmt: skip
    # That something moves says nothing of what for: an order or another event must tell.
    if not events or (not order and all(begun[event.name] > 1 for event in events)):
        return ()
    free = free_labels(question.taxonomy, lane)
    opening = _opening(events, start_ns)
    return passages(events, lane, order, start_ns=start_ns, free=free, opening=opening)


def _judged(passage: Passage) -> Passage:
    """The same, as sure as such passages were right where the truth is known."""
    shown_by = OPENING if passage.event is None else passage.event.name
    return replace(passage, confidence=calibrate(shown_by, passage.confidence))


def _opening(events: Sequence[PhysicalEvent], start_ns: int) -> Opening:
    """A recording begins at rest where arms and base are still for a moment before they move."""
    first = next((event for event in events if event.name in _SETS_OUT | _COMES_TO_REST), None)
    if first is None:
        return Opening(is_still=False, confidence=_UNSEEN)
    waits = first.time_ns - start_ns > _STILL_S * SECOND_NS
    return Opening(first.name in _SETS_OUT and waits, first.confidence)


_SETS_OUT = frozenset(["motion_begins", "base_moves"])
_COMES_TO_REST = frozenset(["motion_ends", "base_stops"])
_STILL_S = 0.15
_UNSEEN = 0.3
"""How sure the first phase is where no signal shows what went on."""


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
            confidence=passage.confidence,
        )  # fmt: skip


def _contacts(
    question: ProposalRequest, stamps: NDArray[np.int64], known: Mapping[str, Value]
) -> Iterator[Segment]:
    """What the hands held and struck, each in the lane of its side; what is struck nobody names."""
    spans = [("holds", hold) for hold in holds_in(question.events)]
    spans += [("bumps", bump) for bump in _bumps(question.events)]
    for number, (label, span) in enumerate(spans):
        lane = question.taxonomy.lane(f"{span.side}_contact")
        asked = lane.label(label) if lane is not None else None
        if lane is None or asked is None:
            continue
        start = boundary_ns(stamps, span.begin_ns)
        stop = end_ns(stamps) if span.end is None else boundary_ns(stamps, span.end_ns)
        if stop > start:
            yield Segment(
                id=f"c{number}", lane=lane.name, label=label, start_ns=start, end_ns=stop,
                attributes={name: known[name] for name in asked.attributes
                            if label == "holds" and known.get(name) is not None},
                source="proposal", confirmed=False, confidence=_sure_of(span),
            )  # fmt: skip


def _sure_of(span: Hold) -> float:
    """A contact is as sure as the weaker of its ends."""
    ends = (span.begin,) if span.end is None else (span.begin, span.end)
    return min(calibrate(event.name, event.confidence) for event in ends)


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
    gripper = track(question.recording, f"{held[0].side}{roles.GRIPPER}")
    if gripper is None:
        return None
    settled = min(held[0].begin_ns / SECOND_NS + _SETTLED_S, held[0].end_ns / SECOND_NS)
    width = float(np.interp(settled, gripper.seconds, gripper.values.mean(axis=1)))
    guess = "power" if width > _WIDE_M else "precision_pinch"
    return guess if guess in known else None


def _stated_objects(facts: EpisodeFacts) -> list[str]:
    """What the metadata calls the object, as an instruction would."""
    stated = facts.other.get("object")
    return [f"take {stated}"] if isinstance(stated, str) and stated else []


def _instructions(question: ProposalRequest) -> Iterator[Instruction]:
    """What the operator was told, as the first wording."""
    for number, text in enumerate(question.recording.facts.instructions):
        yield Instruction(id=f"i{number}", text=text.strip()[:2000], source="recorded")


PROPOSER = Proposer(propose)


_HIGH_M = 0.04
"""What is let go of this far above where it was taken falls."""
_APART_M = 0.05
_FIRM_S, _NEAR_S = 0.5, 0.4


class Ending(NamedTuple):
    """Success or failure and its mode; nothing where signals do not tell."""

    outcome: Literal["success", "failure"] | None
    failure_mode: str | None = None


def ending(
    recording: Recording,
    events: Sequence[PhysicalEvent],
    labels: Sequence[str],
    order: Sequence[str],
    *,
    may_lack: Sequence[str] = (),
) -> Ending:
    """How it ended, from the phases that were run through and those that a success has.

    Nothing is said where signals could not show whether the object was raised. An object beside
    its mark is for people to see: no signal knows where the mark is.
    """
    if any(event.name == "base_falls" for event in events):
        return Ending("failure", "fall")
    if not order:
        return Ending(None)
    if any(event.name == "hand_bumps" for event in events):
        return Ending("failure", "collision")
    if "grasp" in order:
        holds = holds_in(events)
        if not all(hold.is_felt for hold in holds) or not (holds or _can_feel(recording)):
            return Ending(None)
        if holds and not _RAISED & set(labels) and not _can_see(recording):
            return Ending(None)
        mode = _mode(recording, events, labels, order)
        if mode is not None:
            return Ending("failure", mode)
    done, wanted = ([name for name in names if name not in may_lack] for names in (labels, order))
    return Ending("success") if done == wanted else Ending(None)


_LOST = ("drop", "slip")
"""What falls from a hand was not placed."""
_RAISED = frozenset(["lift", "transport"])
"""Phases of which one must be there before something was taken away."""


def _can_see(recording: Recording) -> bool:
    """Whether it would show that something was raised: a tracked object, or hands in metres."""
    return track(recording, roles.OBJECT_POSE) is not None or bool(hand_tracks(recording))


def _can_feel(recording: Recording) -> bool:
    """Whether a grasp would show: pads, or a hand that is told how far to close."""
    pads = any(track(recording, f"{side}{roles.TACTILE}") is not None for side in SIDES)
    return pads or any(hand.target is not None for hand in openings(recording))


def _mode(
    recording: Recording,
    events: Sequence[PhysicalEvent],
    labels: Sequence[str],
    order: Sequence[str],
) -> str | None:
    holds = holds_in(events)
    if not holds:
        return "missed_grasp"
    for hold in holds:
        if not _alone(hold, holds) or not _is_high(recording, hold, holds[0]):
            continue
        return "drop" if _opens(events, hold) else "slip"
    firm = sum(hold.end_ns - hold.begin_ns for hold in holds) > _FIRM_S * SECOND_NS
    if not _RAISED & set(labels):
        return "slip" if firm else "missed_grasp"
    if "exchange" in order and "exchange" not in labels:
        return "missed_grasp"
    if {hold.side for hold in holds} != {"left", "right"} and _needs_both(events, order):
        return "missed_grasp"
    return None


def _alone(hold: Hold, holds: Sequence[Hold]) -> bool:
    """Whether no hand has the object once this one has let go, and none takes it up at once."""
    soon = hold.end_ns + _NEAR_S * SECOND_NS
    return hold.end is not None and not any(
        other.end_ns > hold.end_ns and other.begin_ns < soon for other in holds
    )


def _needs_both(events: Sequence[PhysicalEvent], order: Sequence[str]) -> bool:
    """Both grippers were told to close together: a thing for two hands."""
    closes = {
        side: [event.time_ns for event in events
               if event.name == "gripper_closes" and event.side == side]
        for side in ("left", "right")
    }  # fmt: skip
    return "exchange" not in order and any(
        abs(left - right) < _NEAR_S * SECOND_NS
        for left in closes["left"]
        for right in closes["right"]
    )


def _opens(events: Sequence[PhysicalEvent], hold: Hold) -> bool:
    near = _NEAR_S * SECOND_NS
    return any(
        event.name == "gripper_opens"
        and event.side == hold.side
        and -near < hold.end_ns - event.time_ns < near
        for event in events
    )


def _is_high(recording: Recording, hold: Hold, first: Hold) -> bool:
    """Whether the object, else the hand, is well above where it was first taken when let go of."""
    thing = track(recording, roles.OBJECT_POSE)
    if thing is not None and thing.values.shape[1] >= 3:
        taken, left, high_m = thing, thing, _HIGH_M
    else:
        hands = hand_tracks(recording)
        if first.side not in hands or hold.side not in hands:
            return False
        taken, left = hands[first.side], hands[hold.side]
        # Two hands have the object at two places.
        high_m = _HIGH_M if first.side == hold.side else _HIGH_M + _APART_M
    before = np.interp(first.begin_ns / SECOND_NS, taken.seconds, taken.values[:, 2])
    after = np.interp(hold.end_ns / SECOND_NS, left.seconds, left.values[:, 2])
    return float(after - before) > high_m
