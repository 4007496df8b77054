"""What a lead decides that neither of two people has said: another frame, another label."""

from __future__ import annotations

import uuid

from corporeal.catalog.database import CatalogError
from corporeal.labelling.annotation import Annotation, Put, Segment, Set, Step
from corporeal.labelling.comparison.comparison import NOTHING
from corporeal.labelling.tasks.splice import splice
from corporeal.studio.labelling.cards import WHOLE, Card


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
