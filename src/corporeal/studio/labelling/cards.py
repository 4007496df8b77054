"""The differences of two annotations as cards: one question each, with two answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.labelling.comparison.comparison import DisagreementKind
from corporeal.labelling.frames import frame_of
from corporeal.labelling.taxonomy.document import BoundaryRule, LabelLane, Taxonomy

WHOLE = ("outcome", "failure_mode", "variant")


@dataclass(frozen=True)
class Side:
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
    first: Side
    second: Side
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


def rule_of(taxonomy: Taxonomy, lane: str, rule: str) -> BoundaryRule | None:
    """The boundary rule called label.starts or label.ends, in the words of the taxonomy."""
    found = taxonomy.lane(lane)
    name, _, edge = rule.partition(".")
    label = next((each for each in found.labels if each.name == name), None) if found else None
    if label is None:
        return None
    return label.starts if edge == "starts" else label.ends


def definition_of(lane: LabelLane | None, label: str) -> str:
    """What a label means; nothing for one that the lane does not have."""
    found = next((each for each in lane.labels if each.name == label), None) if lane else None
    return found.definition if found else ""


def _card(told: Mapping[str, Any], stamps: NDArray[np.int64]) -> Card:
    low, high = int(told["start_ns"]), int(told["end_ns"])
    first_ns, second_ns = low, low
    if told["kind"] == "boundary":
        first_ns, second_ns = (low, high) if told["frames"] > 0 else (high, low)
    first, second = (
        Side(str(told[name]), time_ns, min(frame_of(stamps, time_ns), len(stamps) - 1))
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
