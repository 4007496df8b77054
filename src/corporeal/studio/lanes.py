"""Lanes of the timeline: labels in force, and what was logged while the episode was recorded."""

from __future__ import annotations

import json

from pydantic import BaseModel
from sqlalchemy import Connection

from corporeal.catalog.permission import Actor, may
from corporeal.episode import Episode
from corporeal.labelling.annotation import Annotation, Segment
from corporeal.labelling.labels import Labels, labels_of
from corporeal.labelling.tasks import find_tasks
from corporeal.labelling.taxonomy import LabelLane, Taxonomy

_MOST_MARKS = 10_000


class LaneItem(BaseModel):
    """Something in a lane of the timeline: a moment (both times the same), or a while."""

    label: str
    detail: str
    start_ns: int
    end_ns: int


class LaneFacts(BaseModel):
    """One lane of the timeline."""

    name: str
    items: list[LaneItem]


def label_lanes(annotation: Annotation, taxonomy: Taxonomy | None) -> list[LaneFacts]:
    """Labels as lanes: titles and order from the taxonomy, lanes without labels left out."""
    known = {lane.name: lane for lane in taxonomy.lanes} if taxonomy else {}
    names = [*known, *(each.lane for each in annotation.segments if each.lane not in known)]
    lanes = []
    for name in dict.fromkeys(names):
        found = annotation.in_lane(name)
        if found:
            title = known[name].title if name in known else name
            lanes.append(
                LaneFacts(name=title, items=[_labelled(each, known.get(name)) for each in found])
            )
    return lanes


def _labelled(segment: Segment, lane: LabelLane | None) -> LaneItem:
    labels = lane.labels if lane is not None else ()
    label = next((each for each in labels if each.name == segment.label), None)
    said = [f"{name.replace('_', ' ')}: {value}" for name, value in segment.attributes.items()
            if value is not None]  # fmt: skip
    if not segment.confirmed:
        said.append("proposed, not confirmed")
    if not said and label is not None:
        said.append(label.definition)
    return LaneItem(
        label=segment.label.replace("_", " "), detail=", ".join(said)[:400],
        start_ns=segment.start_ns, end_ns=segment.end_ns,
    )  # fmt: skip


def lanes_of(episode: Episode) -> list[LaneFacts]:
    """A lane for each text stream: events as they were logged, other texts while they hold."""
    lanes = []
    _, end_ns = episode.span_ns
    for path in episode:
        reader = episode[path]
        if reader.spec.kind != "text" or not len(reader):
            continue
        texts = [str(each) for each in reader[:_MOST_MARKS]]
        stamps = reader.time_ns.tolist()
        items = []
        for place, text in enumerate(texts):
            event = _event(text)
            after = stamps[place + 1] if place + 1 < len(stamps) else end_ns
            items.append(LaneItem(
                label=event[0] if event else text[:400],
                detail=event[1] if event else "",
                start_ns=stamps[place],
                end_ns=stamps[place] if event else max(after, stamps[place]),
            ))  # fmt: skip
        lanes.append(LaneFacts(name=reader.spec.name, items=items))
    return lanes


def _event(text: str) -> tuple[str, str] | None:
    """The name and detail of {"event": ..., "detail": ...}; None for any other text."""
    if not text.startswith("{"):
        return None
    try:
        said = json.loads(text)
    except ValueError:
        return None
    if not isinstance(said, dict) or not isinstance(said.get("event"), str):
        return None
    return said["event"][:400], str(said.get("detail") or "")[:400]


def seen_labels(connection: Connection, episode: str, actor: Actor) -> Labels | None:
    """The labels in force, stale or not; None for somebody who is still asked for their own.

    Whoever labels an episode must not copy the labels that it has.
    """
    is_asked = find_tasks(connection, episode=episode, assigned_to=actor.name, limit=50)
    is_blind = any(each.is_editable for each in is_asked) and not may(actor, "judge")
    return None if is_blind else labels_of(connection, episode)
