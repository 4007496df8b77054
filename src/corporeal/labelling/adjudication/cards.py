"""The differences of two annotations as cards: one question each, two answers, or another one."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.catalog.database import CatalogError
from corporeal.labelling.agreement.comparison import NOTHING, DisagreementKind
from corporeal.labelling.annotation import Annotation, Drop, Put, Segment, Set, Step
from corporeal.labelling.frames import frame_of
from corporeal.labelling.taxonomy import Taxonomy

WHOLE = ("outcome", "failure_mode", "variant", "flags")


@dataclass(frozen=True)
class CardSide:
    """What one of two people said: a label, and a frame where the question is about a boundary."""

    label: str
    time_ns: int
    frame: int


@dataclass(frozen=True)
class Card:
    """One question; it answers all the differences of `ids`, the first of which names it.

    `rule` is label.starts or label.ends for a boundary, and the field's name for an outcome or an
    attribute. `resolved` is what was decided, as the catalogue keeps it.
    """

    ids: tuple[str, ...]
    kind: DisagreementKind
    lane: str
    rule: str
    first: CardSide
    second: CardSide
    start_ns: int
    end_ns: int
    resolved: Mapping[str, Any] | None

    @property
    def id(self) -> str:
        """What addresses call it."""
        return self.ids[0]

    @property
    def frames(self) -> int:
        """How far the second's frame is behind the first's."""
        return self.second.frame - self.first.frame


def cards_from(
    told: Iterable[Mapping[str, Any]], taxonomy: Taxonomy, stamps: NDArray[np.int64]
) -> list[Card]:
    """Cards in the order of time; differences that one answer settles are one card.

    Two segments of a tiling lane that share a boundary differ twice where it is disputed, and a
    boundary inside a while whose label is disputed follows the label.
    """
    tiling = {lane.name for lane in taxonomy.lanes if lane.tiles}
    kept: dict[tuple[object, ...], Card] = {}
    for each in told:
        card = _card(each, stamps)
        key: tuple[object, ...] = card.ids
        if card.kind == "boundary" and card.lane in tiling:
            key = (card.lane, card.first.frame, card.second.frame)
        kept[key] = _both(kept[key], card) if key in kept else card
    cards = _swallowed(list(kept.values()))
    order = {lane.name: place for place, lane in enumerate(taxonomy.lanes)}
    return sorted(
        cards,
        key=lambda each: (each.kind == "outcome", each.start_ns, order.get(each.lane, len(order))),
    )


def _card(told: Mapping[str, Any], stamps: NDArray[np.int64]) -> Card:
    low, high = int(told["start_ns"]), int(told["end_ns"])
    first_ns, second_ns = low, low
    if told["kind"] == "boundary":
        first_ns, second_ns = (low, high) if told["frames"] > 0 else (high, low)
    first, second = (
        CardSide(str(told[name]), time_ns, min(frame_of(stamps, time_ns), len(stamps) - 1))
        for name, time_ns in (("first", first_ns), ("second", second_ns))
    )
    return Card(
        (str(told["id"]),), told["kind"], str(told["lane"]), str(told["rule"]), first, second,
        low, high, told.get("resolved"),
    )  # fmt: skip


def _both(one: Card, other: Card) -> Card:
    """Two differences as one card, under the rule that says where something begins."""
    shown = one if one.rule.endswith(".starts") else other
    told = one.resolved if one.resolved and other.resolved else None
    return replace(shown, ids=(*one.ids, *other.ids), resolved=told)


def _swallowed(cards: Sequence[Card]) -> list[Card]:
    wide = [each for each in cards if each.kind in ("label", "missing")]
    made: dict[int, Card] = dict(enumerate(wide))
    rest = []
    for card in cards:
        if card.kind in ("label", "missing"):
            continue
        inside = [number for number, each in made.items() if _covers(each, card)]
        if card.kind != "boundary" or not inside:
            rest.append(card)
            continue
        held = made[inside[0]]
        told = held.resolved if card.resolved else None
        made[inside[0]] = replace(held, ids=(*held.ids, *card.ids), resolved=told)
    return [*made.values(), *rest]


def _covers(wide: Card, card: Card) -> bool:
    return wide.lane == card.lane and wide.start_ns <= card.start_ns and card.end_ns <= wide.end_ns


def steps_to_frame(
    content: Annotation, card: Card, time_ns: int, *, tiles: bool
) -> tuple[Step, ...]:
    """Move the boundary of a card to a stamp; in a tiling lane the neighbour's goes with it.

    Raises CatalogError for a stamp beyond a neighbour's other end.
    """
    name, _, edge = card.rule.partition(".")
    field, other = ("start_ns", "end_ns") if edge == "starts" else ("end_ns", "start_ns")
    lane = content.in_lane(card.lane)
    moved = min(
        (each for each in lane if each.label == name),
        key=lambda each: abs(getattr(each, field) - card.first.time_ns),
        default=None,
    )
    if moved is None:
        raise CatalogError(f"{name} is not in the labels any more; expected it. Undo first.")
    old_ns = getattr(moved, field)
    if old_ns == time_ns:
        return ()
    changed = [moved.model_copy(update={field: time_ns})]
    if tiles:
        changed += [each.model_copy(update={other: time_ns}) for each in lane
                    if each.id != moved.id and getattr(each, other) == old_ns]  # fmt: skip
    for each in changed:
        if each.start_ns >= each.end_ns:
            raise CatalogError(
                f"frame, got one beyond {each.label}; expected one between its neighbours."
            )
    return tuple(Put(put=each) for each in changed)


def steps_to_label(content: Annotation, card: Card, label: str) -> tuple[Step, ...]:
    """Say something else of a card's while, or of the whole episode."""
    value = None if label == NOTHING else label
    if card.kind == "outcome":
        if card.rule not in WHOLE:
            raise CatalogError(f"{card.rule} cannot be set; expected {' or '.join(WHOLE)}.")
        if card.rule == "flags":
            flags = value.split(", ") if value is not None else []
            return (Set.model_validate({"set": {"flags": flags}}),)
        return (Set.model_validate({"set": {card.rule: value}}),)
    if card.kind == "attribute":
        return tuple(
            Put(put=each.model_copy(update={"attributes": each.attributes | {card.rule: value}}))
            for each in content.in_lane(card.lane)
            if each.start_ns <= card.start_ns < each.end_ns
        )
    said: tuple[Segment, ...] = ()
    if value is not None:
        said = (Segment(id=uuid.uuid4().hex, lane=card.lane, label=value, start_ns=card.start_ns,
                        end_ns=card.end_ns),)  # fmt: skip
    return splice(content, Annotation(segments=said), lane=card.lane, start_ns=card.start_ns,
                  end_ns=card.end_ns)  # fmt: skip


@dataclass(frozen=True)
class _Piece:
    """A segment or a part of one; `cut` are the times at which it was cut off."""

    segment: Segment
    cut: frozenset[int]


def splice(
    content: Annotation, other: Annotation, *, lane: str, start_ns: int, end_ns: int
) -> tuple[Step, ...]:
    """The steps after which a lane of `content` says what `other` does from start to end.

    Outside of that it stays. Where a segment of one was cut and goes on in the other under the
    same label, it is one segment again, with what `content` says of it.
    """
    mine = content.in_lane(lane)
    pieces = [
        *(piece for each in mine for piece in _outside(each, start_ns, end_ns)),
        *(piece for each in other.in_lane(lane) for piece in _inside(each, start_ns, end_ns)),
    ]
    wanted = _joined(sorted(pieces, key=lambda each: (each.segment.start_ns, each.segment.end_ns)))
    return tuple(_splice_steps(content, mine, [each.segment for each in wanted]))


def _outside(segment: Segment, start_ns: int, end_ns: int) -> Iterator[_Piece]:
    if segment.start_ns == segment.end_ns:
        if not start_ns <= segment.start_ns <= end_ns:
            yield _Piece(segment, frozenset())
        return
    yield from _part(segment, segment.start_ns, min(segment.end_ns, start_ns))
    yield from _part(segment, max(segment.start_ns, end_ns), segment.end_ns)


def _inside(segment: Segment, start_ns: int, end_ns: int) -> Iterator[_Piece]:
    if segment.start_ns == segment.end_ns:
        if start_ns <= segment.start_ns <= end_ns:
            yield _Piece(segment, frozenset())
        return
    yield from _part(segment, max(segment.start_ns, start_ns), min(segment.end_ns, end_ns))


def _part(segment: Segment, start_ns: int, end_ns: int) -> Iterator[_Piece]:
    if start_ns >= end_ns:
        return
    cut = {start_ns} - {segment.start_ns} | {end_ns} - {segment.end_ns}
    kept = segment.model_copy(update={"start_ns": start_ns, "end_ns": end_ns})
    yield _Piece(kept, frozenset(cut))


def _joined(pieces: Sequence[_Piece]) -> list[_Piece]:
    made: list[_Piece] = []
    for piece in pieces:
        if made and _goes_on(made[-1], piece):
            before = made.pop()
            longest = max((before, piece), key=lambda each: _length(each.segment)).segment
            whole = longest.model_copy(
                update={"start_ns": before.segment.start_ns, "end_ns": piece.segment.end_ns}
            )
            piece = _Piece(whole, before.cut | piece.cut)
        made.append(piece)
    return made


def _goes_on(before: _Piece, after: _Piece) -> bool:
    seam = before.segment.end_ns
    return (
        after.segment.start_ns == seam
        and before.segment.label == after.segment.label
        and seam in before.cut | after.cut
    )


def _length(segment: Segment) -> int:
    return segment.end_ns - segment.start_ns


def _splice_steps(
    content: Annotation, mine: Sequence[Segment], wanted: Sequence[Segment]
) -> Iterator[Step]:
    """What to drop and put; every segment keeps its id where it is free."""
    held = {each.id: each for each in mine}
    taken = {each.id for name in ("segments", "instructions", "corrections", "poses")
             for each in getattr(content, name)} - set(held)  # fmt: skip
    kept: dict[str, Segment] = {}
    for each in wanted:
        name = each.id if each.id not in taken | set(kept) else uuid.uuid4().hex
        kept[name] = each.model_copy(update={"id": name})
    for name in held:
        if name not in kept:
            yield Drop(drop=name)
    for name, segment in kept.items():
        if held.get(name) != segment:
            yield Put(put=segment)
