"""A lead decides on every difference between two people, card by card."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Literal

from sqlalchemy import Connection, select

from corporeal.catalog.audit import now
from corporeal.catalog.database import CatalogError
from corporeal.catalog.permission import Actor, PermissionDeniedError, require
from corporeal.catalog.tables import EPISODE, LABEL_TASK
from corporeal.errors import UnknownNameError
from corporeal.labelling.annotation import Annotation, Edit, Put, Set, Step
from corporeal.labelling.comparison.comparison import NOTHING
from corporeal.labelling.labels.versions import Labels, accept_labels
from corporeal.labelling.tasks.cards import Card, cards_from, steps_to_frame, steps_to_label
from corporeal.labelling.tasks.edits import save_edits
from corporeal.labelling.tasks.label_task import (
    EDITABLE,
    LabelTask,
    TaskStateError,
    change_settings,
    change_state,
    task,
)
from corporeal.labelling.tasks.pair import annotators_of, pair_of, stamps_of
from corporeal.labelling.tasks.splice import splice
from corporeal.labelling.taxonomy.taxonomy_store import kept_taxonomy

CardChoice = Literal["first", "second", "other"]
SIDES: tuple[CardChoice, ...] = ("first", "second", "other")
_LONGEST = 2000


def resolve(
    connection: Connection,
    task_id: str,
    card: str,
    choice: CardChoice,
    *,
    by: Actor,
    note: str = "",
) -> LabelTask:
    """Decide on one card, inside a transaction: `first` and `second` are put into the content.

    With `other` the lead has edited the content by hand. A card may be decided on again.
    """
    held = task(connection, task_id)
    require_adjudicator(connection, held, by)
    cards = differences_of(held)
    if card not in cards:
        raise UnknownNameError("card", card[:40], cards)
    if choice not in SIDES:
        raise UnknownNameError("choice", choice[:40], SIDES)
    if len(note) > _LONGEST:
        raise CatalogError(f"note, got {len(note)} letters; expected {_LONGEST} at most.")
    if held.state not in EDITABLE:
        raise TaskStateError(f"task {held.id} is {held.state}; expected one that is not over.")
    if choice != "other":
        steps = _steps(connection, held, cards[card], choice)
        if steps:
            edit = Edit(id=f"resolve-{uuid.uuid4().hex}", action="resolve", steps=steps)
            save_edits(connection, task_id, [edit], base_version=held.version, by=by)
    decided = {"choice": choice, "by": by.name, "at": now(), "note": note}
    told = [{**each, "resolved": decided} if each["id"] == card else each
            for each in cards.values()]  # fmt: skip
    change_settings(connection, task_id, disagreements=told)
    return task(connection, task_id)


def decide_card(
    connection: Connection, held: LabelTask, card: Card, choice: CardChoice, *, by: Actor,
    key: str, frame: int | None = None, label: str | None = None,
) -> None:  # fmt: skip
    """Decide on all the differences of a card, inside a transaction; the same `key` counts once.

    With `other`, `frame` or `label` say what neither of the two has said.
    """
    lane = kept_taxonomy(connection, held.taxonomy).lane(card.lane)
    tiles = lane is not None and lane.tiles
    steps: tuple[Step, ...] = ()
    note, prefix = "", "other"
    if choice == "other" and card.kind == "boundary":
        stamps = stamps_of(connection, held)
        if frame is None or frame >= len(stamps):
            raise CatalogError(f"frame, got {frame}; expected 0 to {len(stamps) - 1}.")
        steps = steps_to_frame(held.annotation, card, int(stamps[frame]), tiles=tiles)
        note = f"frame {frame}"
    elif choice == "other":
        if not label:
            raise CatalogError("label, got nothing; expected what neither of the two has said.")
        steps, note = steps_to_label(held.annotation, card, label), f"label {label}"
    elif card.kind == "boundary" and (card.resolved or {}).get("choice") == "other":
        # Another frame may lie outside of the two: what is between goes back first.
        steps = steps_to_frame(held.annotation, card, card.first.time_ns, tiles=tiles)
        prefix = "back"
    if steps:
        edit = Edit(id=f"{prefix}-{key}", action="resolve", steps=steps)
        save_edits(connection, held.id, [edit], base_version=held.version, by=by)
    for name in card.ids:
        resolve(connection, held.id, name, choice, by=by, note=note)


def cards_of(connection: Connection, held: LabelTask) -> list[Card]:
    """The questions of an adjudication, in the order of time."""
    taxonomy = kept_taxonomy(connection, held.taxonomy)
    return cards_from(differences_of(held).values(), taxonomy, stamps_of(connection, held))


def list_adjudications(
    connection: Connection, *, by: Actor, limit: int = 500
) -> list[tuple[LabelTask, str | None]]:
    """Adjudications with the task of their episode, those that wait first.

    Those of what somebody has annotated themselves are left out.
    """
    rows = connection.execute(
        select(LABEL_TASK.c.id, EPISODE.c.task)
        .join(EPISODE, EPISODE.c.id == LABEL_TASK.c.episode)
        .where(LABEL_TASK.c.kind == "adjudicate", LABEL_TASK.c.state != "dropped")
        .order_by(LABEL_TASK.c.state == "done", LABEL_TASK.c.changed_at.desc())
        .limit(limit)
    ).all()
    listed = [(task(connection, name), about) for name, about in rows]
    return [
        (held, about)
        for held, about in listed
        if all(each.assigned_to != by.name for each in pair_of(connection, held.settings["of"]))
    ]


def conclude(connection: Connection, held: LabelTask, *, by: Actor) -> Labels:
    """Let a submitted adjudication count and end the pair, inside a transaction."""
    require_adjudicator(connection, held, by)
    taxonomy = kept_taxonomy(connection, held.taxonomy)
    why = f"adjudicated: {len(differences_of(held))} differences decided"
    labels = accept_labels(
        connection, held.episode, held.annotation, taxonomy, task_id=held.id, by=by, why=why
    )
    for each in (held, *pair_of(connection, str(held.settings["of"]))):
        if each.state == "submitted":
            change_state(connection, each, "done", by=by, why=why)
    return labels


def undecided(held: LabelTask) -> tuple[str, ...]:
    """A sentence for every card that nobody has decided on."""
    return tuple(
        f"{each['lane'] or each['rule']}: {each['kind']} {each['first']} or {each['second']} at "
        f"{each['start_ns'] / 1e9:.3f} s is not decided."
        for each in differences_of(held).values()
        if not each["resolved"]
    )


def differences_of(held: LabelTask) -> dict[str, Mapping[str, Any]]:
    """The differences that an adjudication is about, by their ids."""
    return {str(each["id"]): each for each in held.settings.get("disagreements", ())}


def require_adjudicator(connection: Connection, held: LabelTask, by: Actor) -> None:
    """Raise unless it is an adjudication, and by a lead who has not annotated the episode."""
    require(by, "judge")
    if held.kind != "adjudicate":
        raise TaskStateError(f"task {held.id} is of kind {held.kind}; expected adjudicate.")
    if by.name in annotators_of(connection, held):
        raise PermissionDeniedError(
            f"task {held.id}, got {by.name!r}, who has annotated this episode; expected another "
            "lead."
        )


def _steps(
    connection: Connection, held: LabelTask, card: Mapping[str, Any], choice: CardChoice
) -> tuple[Step, ...]:
    content = held.annotation
    if card["kind"] == "outcome":
        return (Set(set={card["rule"]: _value(card[choice])}),)
    other = task(connection, str(held.settings[choice])).annotation
    if card["kind"] == "attribute":
        return _attribute(content, other, card)
    start, end = int(card["start_ns"]), int(card["end_ns"])
    stamps = stamps_of(connection, held)
    edges = [edge for each in (*content.segments, *other.segments)
             for edge in (each.start_ns, each.end_ns)]  # fmt: skip
    # A card counts frames, and the last frame ends where none begins.
    if end >= stamps[-1]:
        end = max(end, *edges)
    if start <= stamps[0]:
        start = min(start, *edges)
    return splice(content, other, lane=str(card["lane"]), start_ns=start, end_ns=end)


def _attribute(content: Annotation, other: Annotation, card: Mapping[str, Any]) -> tuple[Step, ...]:
    """What the other says of the segment of a card, said of the one in the content."""
    name, middle = str(card["rule"]), (int(card["start_ns"]) + int(card["end_ns"])) // 2
    found = []
    for side in (content, other):
        near = min(
            side.in_lane(str(card["lane"])),
            key=lambda each: abs((each.start_ns + each.end_ns) // 2 - middle),
            default=None,
        )
        if near is None:
            return ()
        found.append(near)
    mine, theirs = found
    kept = {key: value for key, value in mine.attributes.items() if key != name}
    if name in theirs.attributes:
        kept[name] = theirs.attributes[name]
    return (Put(put=mine.model_copy(update={"attributes": kept})),)


def _value(text: str) -> str | None:
    return None if text == NOTHING else text
