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
from corporeal.catalog.query import read_fields
from corporeal.catalog.tables import LABEL_TASK
from corporeal.errors import UnknownNameError
from corporeal.labelling.adjudication.cards import (
    Card,
    cards_from,
    splice,
    steps_to_frame,
    steps_to_label,
)
from corporeal.labelling.agreement.comparison import NOTHING, LabelDisagreement, compare
from corporeal.labelling.annotation import Annotation, Edit, Put, Set, Step
from corporeal.labelling.labels.versions import Labels, accept_labels
from corporeal.labelling.queues.assignment import take
from corporeal.labelling.tasks.creation import insert_tasks, new_row
from corporeal.labelling.tasks.edits import save_edits
from corporeal.labelling.tasks.label_task import (
    LabelTask,
    TaskStateError,
    change_settings,
    change_state,
    find_task,
    find_tasks,
    from_row,
    stamps_of,
)
from corporeal.labelling.taxonomy import Taxonomy, kept_taxonomy

AGREED = "two people agree within the tolerance; the labels are those of the first"
ADJUDICATION_PRIORITY = 10
CardChoice = Literal["first", "second", "other"]
SIDES: tuple[CardChoice, ...] = ("first", "second", "other")
_LONGEST, _MOST = 2000, 500


@dataclass(frozen=True, eq=False)
class Adjudication:
    """A pair on which a lead decides: the task of it, both people's, and a card for each question.

    `episode_task` is what the robot does in the episode.
    """

    task: LabelTask
    first: LabelTask
    second: LabelTask
    taxonomy: Taxonomy
    stamps: NDArray[np.int64]
    cards: tuple[Card, ...]
    episode_task: str | None

    @property
    def pair(self) -> str:
        """The id of the pair."""
        return str(self.task.settings["of"])


def open_adjudication(connection: Connection, pair: str, *, by: Actor) -> Adjudication | None:
    """The adjudication of a pair; None where both agree or one is not submitted.

    Raises PermissionDeniedError for whoever has annotated one of the two.
    """
    task = adjudication_of(connection, pair)
    if task is None:
        return None
    require_adjudicator(connection, task, by)
    return _opened(connection, task, find_episode(connection, task.episode).task)


def list_adjudications(connection: Connection, *, by: Actor) -> list[Adjudication]:
    """Adjudications, those that wait first.

    Those of what somebody has annotated themselves are left out.
    """
    rows = connection.execute(
        select(LABEL_TASK)
        .where(LABEL_TASK.c.kind == "adjudicate", LABEL_TASK.c.state != "dropped")
        .order_by(LABEL_TASK.c.state == "done", LABEL_TASK.c.changed_at.desc())
        .limit(_MOST)
    ).mappings()
    tasks = [from_row(row) for row in rows]
    ids = [task.episode for task in tasks]
    done = {row[0]: row[1] for row in read_fields(connection, "id", "task", ids=ids)}
    opened = [_opened(connection, task, done[task.episode]) for task in tasks]
    return [each for each in opened
            if by.name not in (each.first.assigned_to, each.second.assigned_to)]  # fmt: skip


def _opened(connection: Connection, task: LabelTask, episode_task: str | None) -> Adjudication:
    first, second = (find_task(connection, str(task.settings[side])) for side in SIDES[:2])
    taxonomy, stamps = kept_taxonomy(connection, task.taxonomy), stamps_of(connection, task)
    cards = cards_from(differences_of(task).values(), taxonomy, stamps)
    return Adjudication(task, first, second, taxonomy, stamps, tuple(cards), episode_task)


def pair_of(connection: Connection, pair: str) -> list[LabelTask]:
    """The tasks of a pair that were not dropped, the first one first."""
    tasks = [each for each in find_tasks(connection, pair=pair) if each.state != "dropped"]
    return sorted(tasks, key=lambda each: int(each.settings.get("place", 1)))


def adjudication_of(connection: Connection, pair: str) -> LabelTask | None:
    """The task in which a lead decides on a pair, if there is one that was not dropped."""
    both = pair_of(connection, pair)
    if not both:
        return None
    tasks = find_tasks(connection, episode=both[0].episode, kind="adjudicate")
    return next(
        (each for each in tasks if each.settings.get("of") == pair and each.state != "dropped"),
        None,
    )


def settle(connection: Connection, pair: str, *, by: Actor) -> None:
    """Decide on a pair once both are submitted, inside a transaction; nothing before that.

    Within the taxonomy's tolerance the first one's labels count at once, whoever was quicker;
    else a lead who annotated neither decides on every difference.
    """
    both = pair_of(connection, pair)
    if len(both) != 2 or any(each.state != "submitted" for each in both):
        return
    first, second = both
    taxonomy = kept_taxonomy(connection, first.taxonomy)
    stamps = stamps_of(connection, first)
    agreement = compare(first.annotation, second.annotation, taxonomy, stamps)
    if agreement.disagreements:
        _ask_lead(connection, first, second, agreement.disagreements, by)
        return
    accept_labels(
        connection, first.episode, first.annotation, taxonomy,
        task_id=first.id, by=by, who=first.assigned_to, why=AGREED,
    )  # fmt: skip
    for each in both:
        change_state(connection, each, "done", by=by, why=AGREED)


def _ask_lead(
    connection: Connection, first: LabelTask, second: LabelTask,
    differing: Sequence[LabelDisagreement], by: Actor,
) -> None:  # fmt: skip
    cards = [{"id": f"d{number}", **asdict(each), "resolved": None}
             for number, each in enumerate(differing, 1)]  # fmt: skip
    noted = {name: value for name, value in first.hidden.items() if name == "frames"}
    row = new_row({
        "episode": first.episode, "kind": "adjudicate", "queue": first.queue,
        "taxonomy": first.taxonomy, "priority": first.priority + ADJUDICATION_PRIORITY,
        "start": dict(first.content),
        "settings": {"of": first.pair, "first": first.id, "second": second.id,
                     "disagreements": cards, **noted},
        "created_by": by.name,
    })  # fmt: skip
    insert_tasks(connection, [row], by)


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
    task = find_task(connection, task_id)
    require_adjudicator(connection, task, by)
    cards = differences_of(task)
    if card not in cards:
        raise UnknownNameError("card", card[:40], cards)
    if choice not in SIDES:
        raise UnknownNameError("choice", choice[:40], SIDES)
    if len(note) > _LONGEST:
        raise CatalogError(f"note, got {len(note)} letters; expected {_LONGEST} at most.")
    if not task.is_editable:
        raise TaskStateError(f"task {task.id} is {task.state}; expected one that is not over.")
    if choice != "other":
        steps = _steps(connection, task, cards[card], choice)
        if steps:
            edit = Edit(id=f"resolve-{uuid.uuid4().hex}", action="resolve", steps=steps)
            save_edits(connection, task_id, [edit], base_version=task.version, by=by)
    decided = {"choice": choice, "by": by.name, "at": now(), "note": note}
    kept = [{**each, "resolved": decided} if each["id"] == card else each
            for each in cards.values()]  # fmt: skip
    change_settings(connection, task_id, disagreements=kept)
    return find_task(connection, task_id)


def decide_card(
    connection: Connection, adjudication: Adjudication, card_id: str, choice: CardChoice, *,
    by: Actor, key: str, frame: int | None = None, label: str | None = None,
) -> None:  # fmt: skip
    """Decide on all the differences of a card, inside a transaction; the same `key` counts once.

    With `other`, `frame` or `label` say what neither of the two has said.
    """
    cards = {each.id: each for each in adjudication.cards}
    if card_id not in cards:
        raise UnknownNameError("card", card_id[:40], cards)
    card, task = cards[card_id], adjudication.task
    if task.state == "open":
        task = take(connection, task.id, by=by)
    steps, note = _own_steps(adjudication, task.annotation, card, choice, frame, label)
    if steps:
        prefix = "other" if choice == "other" else "back"
        edit = Edit(id=f"{prefix}-{key}", action="resolve", steps=steps)
        save_edits(connection, task.id, [edit], base_version=task.version, by=by)
    for name in card.ids:
        resolve(connection, task.id, name, choice, by=by, note=note)


def _own_steps(
    adjudication: Adjudication, content: Annotation, card: Card, choice: CardChoice,
    frame: int | None, label: str | None,
) -> tuple[tuple[Step, ...], str]:  # fmt: skip
    """What a lead changes before a choice is put into the content, and a note of it."""
    stamps, lane = adjudication.stamps, adjudication.taxonomy.lane(card.lane)
    tiles = lane is not None and lane.tiles
    if choice == "other" and card.kind == "boundary":
        if frame is None or frame >= len(stamps):
            raise CatalogError(f"frame, got {frame}; expected 0 to {len(stamps) - 1}.")
        return steps_to_frame(content, card, int(stamps[frame]), tiles=tiles), f"frame {frame}"
    if choice == "other":
        if not label:
            raise CatalogError("label, got nothing; expected what neither of the two has said.")
        return steps_to_label(content, card, label), f"label {label}"
    if card.kind == "boundary" and (card.resolved or {}).get("choice") == "other":
        # Another frame may lie outside of the two: what is between goes back first.
        return steps_to_frame(content, card, card.first.time_ns, tiles=tiles), ""
    return (), ""


def conclude(connection: Connection, task: LabelTask, *, by: Actor) -> Labels:
    """Let a submitted adjudication count and end the pair, inside a transaction."""
    require_adjudicator(connection, task, by)
    taxonomy = kept_taxonomy(connection, task.taxonomy)
    why = f"adjudicated: {len(differences_of(task))} differences decided"
    labels = accept_labels(
        connection, task.episode, task.annotation, taxonomy, task_id=task.id, by=by, why=why
    )
    for each in (task, *pair_of(connection, str(task.settings["of"]))):
        if each.state == "submitted":
            change_state(connection, each, "done", by=by, why=why)
    return labels


def undecided(task: LabelTask) -> tuple[str, ...]:
    """A sentence for every card that nobody has decided on."""
    return tuple(
        f"{each['lane'] or each['rule']}: {each['kind']} {each['first']} or {each['second']} at "
        f"{each['start_ns'] / 1e9:.3f} s is not decided."
        for each in differences_of(task).values()
        if not each["resolved"]
    )


def differences_of(task: LabelTask) -> dict[str, Mapping[str, Any]]:
    """The differences that an adjudication is about, by their ids."""
    return {str(each["id"]): each for each in task.settings.get("disagreements", ())}


def require_adjudicator(connection: Connection, task: LabelTask, by: Actor) -> None:
    """Raise unless it is an adjudication, and by a lead who has not annotated the episode."""
    require(by, "judge")
    if task.kind != "adjudicate":
        raise TaskStateError(f"task {task.id} is of kind {task.kind}; expected adjudicate.")
    annotated = select(LABEL_TASK.c.id).where(
        LABEL_TASK.c.episode == task.episode, LABEL_TASK.c.taxonomy == task.taxonomy,
        LABEL_TASK.c.kind == "annotate", LABEL_TASK.c.assigned_to == by.name,
    )  # fmt: skip
    if connection.execute(annotated.limit(1)).first() is not None:
        raise PermissionDeniedError(
            f"task {task.id}, got {by.name!r}, who has annotated this episode; expected another "
            "lead."
        )


def _steps(
    connection: Connection, task: LabelTask, card: Mapping[str, Any], choice: CardChoice
) -> tuple[Step, ...]:
    content = task.annotation
    if card["kind"] == "outcome":
        value = card[choice]
        return (Set(set={card["rule"]: None if value == NOTHING else value}),)
    other = find_task(connection, str(task.settings[choice])).annotation
    if card["kind"] == "attribute":
        return _attribute(content, other, card)
    start, end = int(card["start_ns"]), int(card["end_ns"])
    stamps = stamps_of(connection, task)
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
    nearest = []
    for side in (content, other):
        near = min(
            side.in_lane(str(card["lane"])),
            key=lambda each: abs((each.start_ns + each.end_ns) // 2 - middle),
            default=None,
        )
        if near is None:
            return ()
        nearest.append(near)
    mine, theirs = nearest
    kept = {key: value for key, value in mine.attributes.items() if key != name}
    if name in theirs.attributes:
        kept[name] = theirs.attributes[name]
    return (Put(put=mine.model_copy(update={"attributes": kept})),)
