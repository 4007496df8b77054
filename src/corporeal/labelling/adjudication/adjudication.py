"""Two people's work on one episode: agreed, it counts; else a lead decides card by card."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from corporeal.catalog.audit import now
from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import find_episode
from corporeal.catalog.permission import Actor, PermissionDeniedError, require
from corporeal.catalog.tables import EPISODE, LABEL_TASK
from corporeal.errors import UnknownNameError
from corporeal.labelling.adjudication.cards import (
    Card,
    cards_from,
    splice,
    steps_to_frame,
    steps_to_label,
)
from corporeal.labelling.agreement.comparison import NOTHING, Agreement, LabelDisagreement, compare
from corporeal.labelling.agreement.measures import FrameSpan, pair_up
from corporeal.labelling.annotation import Annotation, Edit, Put, Segment, Set, Step
from corporeal.labelling.frames import assumed_stamps, frame_of
from corporeal.labelling.labels.versions import Labels, accept_labels
from corporeal.labelling.tasks.creation import insert_tasks, new_row
from corporeal.labelling.tasks.edits import save_edits
from corporeal.labelling.tasks.label_task import (
    EDITABLE,
    LabelTask,
    TaskStateError,
    change_settings,
    change_state,
    frames_of,
    hidden,
    task,
    tasks,
)
from corporeal.labelling.taxonomy.document import Taxonomy
from corporeal.labelling.taxonomy.taxonomy_store import kept_taxonomy

AGREED = "two people agree within the tolerance; the labels are those of the first"
ADJUDICATION_PRIORITY = 10


@dataclass(frozen=True)
class Settled:
    """What became of a pair: labels when the two agree, else a task for a lead."""

    agreement: Agreement
    labels: Labels | None
    adjudication: LabelTask | None


def pair_of(connection: Connection, pair: str) -> list[LabelTask]:
    """The tasks of a pair that were not dropped, the first one first."""
    found = [each for each in tasks(connection, pair=pair) if each.state != "dropped"]
    return sorted(found, key=lambda each: int(each.settings.get("place", 1)))


def settle(connection: Connection, pair: str, *, by: Actor) -> Settled | None:
    """Decide on a pair once both are submitted, inside a transaction; None before that.

    Within the taxonomy's tolerance the first one's labels count at once, whoever was quicker;
    else a lead who annotated neither decides on every difference.
    """
    both = pair_of(connection, pair)
    if len(both) != 2 or any(each.state != "submitted" for each in both):
        return None
    first, second = both
    taxonomy = kept_taxonomy(connection, first.taxonomy)
    stamps = stamps_of(connection, first)
    found = compare(first.annotation, second.annotation, taxonomy, stamps)
    differing = differences(found, first.annotation, second.annotation, taxonomy, stamps)
    if differing:
        return Settled(found, None, _adjudication(connection, first, second, differing, by))
    labels = accept_labels(
        connection, first.episode, first.annotation, taxonomy,
        task_id=first.id, by=by, who=first.assigned_to, why=AGREED,
    )  # fmt: skip
    for each in both:
        change_state(connection, each, "done", by=by, why=AGREED)
    return Settled(found, labels, None)


def adjudication_of(connection: Connection, pair: str) -> LabelTask | None:
    """The task in which a lead decides on a pair, if there is one that was not dropped."""
    both = pair_of(connection, pair)
    if not both:
        return None
    found = tasks(connection, episode=both[0].episode, kind="adjudicate")
    return next(
        (each for each in found if each.settings.get("of") == pair and each.state != "dropped"),
        None,
    )


def stamps_of(connection: Connection, held: LabelTask) -> NDArray[np.int64]:
    """The stamps to count a task's frames by: those noted, else thirty a second."""
    frames = frames_of(connection, held.id)
    if frames is not None and len(frames.stamps):
        return frames.stamps
    return assumed_stamps(find_episode(connection, held.episode).duration_s)


def differences(
    found: Agreement, first: Annotation, second: Annotation, taxonomy: Taxonomy,
    stamps: NDArray[np.int64],
) -> list[LabelDisagreement]:  # fmt: skip
    """Every disagreement, with what is said differently of segments that both have."""
    told = list(found.disagreements)
    if any(each.kind == "attribute" for each in told):
        return told
    for lane in taxonomy.lanes:
        one, two = first.in_lane(lane.name), second.in_lane(lane.name)
        for a, b in pair_up(_pieces(one, stamps), _pieces(two, stamps)):
            if a is not None and b is not None and a.label == b.label:
                told += _attributes(lane.name, one[a.place], two[b.place])
    return told


def _attributes(lane: str, one: Segment, two: Segment) -> list[LabelDisagreement]:
    names = sorted(set(one.attributes) | set(two.attributes))
    values = [(name, _text(one.attributes.get(name)), _text(two.attributes.get(name)))
              for name in names]  # fmt: skip
    return [
        LabelDisagreement("attribute", lane, mine, yours, one.start_ns, one.end_ns, rule=name)
        for name, mine, yours in values
        if mine != yours
    ]


def _text(value: object) -> str:
    return NOTHING if value in (None, "") else str(value)


def _pieces(segments: Sequence[Segment], stamps: NDArray[np.int64]) -> list[FrameSpan]:
    return [
        FrameSpan(each.label, frame_of(stamps, each.start_ns), frame_of(stamps, each.end_ns), place)
        for place, each in enumerate(segments)
    ]


def _adjudication(
    connection: Connection, first: LabelTask, second: LabelTask,
    differing: Sequence[LabelDisagreement], by: Actor,
) -> LabelTask:  # fmt: skip
    cards: list[dict[str, Any]] = [
        {"id": f"d{number}", **asdict(each), "resolved": None}
        for number, each in enumerate(differing, 1)
    ]
    kept = hidden(connection, first.id)
    noted = {"frames": kept["frames"]} if "frames" in kept else {}
    row = new_row({
        "episode": first.episode, "kind": "adjudicate", "queue": first.queue,
        "taxonomy": first.taxonomy, "priority": first.priority + ADJUDICATION_PRIORITY,
        "start": dict(first.content),
        "settings": {"of": first.pair, "first": first.id, "second": second.id,
                     "disagreements": cards, **noted},
        "created_by": by.name,
    })  # fmt: skip
    return insert_tasks(connection, [row], by)[0]


def annotators_of(connection: Connection, held: LabelTask) -> set[str]:
    """Who annotated the episode that a task is about, under the same taxonomy."""
    query = select(LABEL_TASK.c.assigned_to).where(
        LABEL_TASK.c.episode == held.episode,
        LABEL_TASK.c.taxonomy == held.taxonomy,
        LABEL_TASK.c.kind == "annotate",
        LABEL_TASK.c.assigned_to.is_not(None),
    )
    return {str(each) for each in connection.execute(query).scalars()}


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
