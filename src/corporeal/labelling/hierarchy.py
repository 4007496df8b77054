"""Segments of higher levels made of those below: phases make actions, actions an activity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corporeal.labelling.annotation import Segment
from corporeal.labelling.taxonomy import LEVELS, LabelDefinition, LabelLane, Taxonomy

_LEAST_SHARE = 0.5
"""Of the parts of a label, so many must be there before it is proposed."""


def compose(segments: Sequence[Segment], taxonomy: Taxonomy) -> tuple[Segment, ...]:
    """Proposals for every level above the lowest; lanes that have segments already are left."""
    made: list[Segment] = []
    for level in LEVELS[1:]:
        for lane in taxonomy.lanes:
            below = taxonomy.lane_below(lane)
            if lane.level != level or below is None or any(s.lane == lane.name for s in segments):
                continue
            parts = sorted((s for s in (*segments, *made) if s.lane == below.name),
                           key=lambda part: part.start_ns)  # fmt: skip
            made += _of_lane(lane, parts)
    return tuple(made)


def _of_lane(lane: LabelLane, parts: Sequence[Segment]) -> Iterator[Segment]:
    """From left to right, the label that explains most of what follows; rests are left out."""
    place = number = 0
    while place < len(parts):
        taken = [(_length(label, parts[place:]), label) for label in lane.labels]
        length, label = max(taken, key=lambda pair: pair[0])
        if not length:
            place += 1
            continue
        run = parts[place : place + length]
        sure = [part.confidence for part in run if part.confidence is not None]
        yield Segment(
            id=f"{lane.name}{number}", lane=lane.name, label=label.name, start_ns=run[0].start_ns,
            end_ns=run[-1].end_ns, source="proposal", confirmed=False,
            confidence=min(sure, default=None),
        )  # fmt: skip
        place, number = place + length, number + 1


def _length(label: LabelDefinition, parts: Sequence[Segment]) -> int:
    """How many segments a label covers from the first on, its parts in order, without a gap."""
    length, last, end_ns = 0, 0, None
    for part in parts:
        if part.label not in label.parts[last:] or end_ns not in (None, part.start_ns):
            break
        length, last, end_ns = length + 1, label.parts.index(part.label, last), part.end_ns
    used = {part.label for part in parts[:length]}
    wanted = set(label.parts)
    return length if wanted and len(used) >= _LEAST_SHARE * len(wanted) else 0
