"""Work that is handed in: whole, or told what it lacks; then reviewed, compared, or measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import find_episode
from corporeal.catalog.permission import Actor, require
from corporeal.labelling.adjudication.adjudication import (
    adjudication_of,
    conclude,
    pair_of,
    require_adjudicator,
    settle,
    undecided,
)
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.labels.completeness import complaints
from corporeal.labelling.labels.versions import Labels, accept_labels, labels_of
from corporeal.labelling.queues.qualification import measure
from corporeal.labelling.tasks.label_task import (
    LabelTask,
    TaskStateError,
    change_state,
    frames_of,
    require_owner,
    task,
    tasks,
)
from corporeal.labelling.taxonomy.taxonomy_store import kept_taxonomy

_LONGEST = 2000


class IncompleteError(CatalogError):
    """An annotation lacks something; `complaints` says what, one sentence each."""

    def __init__(self, told: tuple[str, ...]) -> None:
        self.complaints = told
        more = f" ({len(told) - 1} more)" if len(told) > 1 else ""
        super().__init__(f"not complete: {told[0]}{more}")


def unready(connection: Connection, held: LabelTask) -> tuple[str, ...]:
    """Every reason for which a task cannot be submitted, in sentences."""
    if held.kind == "correct":
        return () if held.annotation.corrections else ("corrections: there is none yet.",)
    frames = frames_of(connection, held.id)
    told = complaints(
        held.annotation,
        kept_taxonomy(connection, held.taxonomy),
        task=find_episode(connection, held.episode).task,
        stamps=frames.stamps if frames is not None else np.zeros(0, np.int64),
    )
    return (*undecided(held), *told) if held.kind == "adjudicate" else told


def submit(connection: Connection, task_id: str, *, by: Actor) -> LabelTask:
    """Hand a task in, inside a transaction; raises IncompleteError with all that it lacks.

    The second of a pair settles it, the last of an attempt to qualify is measured, and what needs
    no review counts at once. A task that is submitted already stays as it is.
    """
    held = task(connection, task_id)
    require_owner(held, by)
    if held.state == "submitted":
        return held
    if held.kind == "adjudicate":
        require_adjudicator(connection, held, by)
    if told := unready(connection, held):
        raise IncompleteError(told)
    owner = held.assigned_to or by.name
    if held.state == "open":
        held = change_state(connection, held, "working", by=by, assigned_to=owner)
    held = change_state(connection, held, "submitted", by=by)
    if held.kind == "qualify":
        measure(connection, held, by=by)
    elif held.kind == "adjudicate":
        conclude(connection, held, by=by)
    elif held.pair is not None and len(pair_of(connection, held.pair)) > 1:
        settle(connection, held.pair, by=by)
    elif not held.settings.get("review", True):
        _count(connection, held, by=by, why="submitted; the queue asks for no review")
    return task(connection, task_id)


def accept(connection: Connection, task_id: str, *, by: Actor, why: str | None = None) -> Labels:
    """Let a submitted task count, inside a transaction; its labels are in force from now on."""
    require(by, "judge")
    held = task(connection, task_id)
    if held.state != "submitted" or held.kind not in ("annotate", "correct"):
        raise TaskStateError(
            f"task {held.id}, got one of kind {held.kind} that is {held.state}; expected one to "
            "annotate or to correct that is submitted."
        )
    if held.pair is not None and len(pair_of(connection, held.pair)) > 1:
        waits = adjudication_of(connection, held.pair)
        till = f"the adjudication {waits.id}" if waits else "the other one of its pair"
        raise TaskStateError(f"task {held.id} waits for {till}; expected that to come first.")
    return _count(connection, held, by=by, why=why)


def give_back(connection: Connection, task_id: str, why: str, *, by: Actor) -> LabelTask:
    """Return a submitted task to the one who made it, with a reason, inside a transaction."""
    require(by, "judge")
    if not why.strip() or len(why) > _LONGEST:
        raise CatalogError(
            f"reason, got {len(why)} letters; expected 1 to {_LONGEST}. Say what is to be changed."
        )
    held = task(connection, task_id)
    if held.kind == "qualify":
        raise TaskStateError(f"task {held.id} measures somebody; expected one of another kind.")
    returned = change_state(connection, held, "returned", by=by, why=why.strip())
    if held.pair is not None:
        waiting = adjudication_of(connection, held.pair)
        if waiting is not None and waiting.state != "done":
            change_state(connection, waiting, "dropped", by=by, why="one of the pair was returned")
    return returned


def _count(connection: Connection, held: LabelTask, *, by: Actor, why: str | None) -> Labels:
    said = held.annotation
    if held.kind == "correct":
        said = _with_corrections(labels_of(connection, held.episode), said)
    labels = accept_labels(
        connection, held.episode, said, kept_taxonomy(connection, held.taxonomy),
        task_id=held.id, by=by, who=held.assigned_to, why=why,
    )  # fmt: skip
    change_state(connection, held, "done", by=by, why=why)
    return labels


def _with_corrections(held: Labels | None, said: Annotation) -> Annotation:
    """The labels in force with new corrections; whoever corrected said nothing of the rest."""
    if held is None:
        return said
    fresh = {each.id for each in said.corrections}
    kept = [each for each in held.annotation.corrections if each.id not in fresh]
    return held.annotation.model_copy(update={"corrections": (*kept, *said.corrections)})


MACHINE = "(machine)"
"""Who made such labels; no account can have this name."""


@dataclass(frozen=True)
class Confident:
    """Labels that now count unseen, and the tasks that people still have to do, with the reason."""

    accepted: tuple[Labels, ...]
    left: tuple[tuple[str, str], ...]


def accept_confident(connection: Connection, queue: str, least: float, *, by: Actor) -> Confident:
    """Let whole proposals count whose every segment is at least so sure, inside a transaction.

    Only tasks that nobody has begun, that are no half of a pair and were not drawn to be done
    without a proposal. Their segments stay unconfirmed, so that they can always be told apart.
    """
    require(by, "judge")
    if not 0 < least <= 1:
        raise CatalogError(f"confidence, got {least}; expected above 0, up to 1.")
    accepted: list[Labels] = []
    left: list[tuple[str, str]] = []
    for held in tasks(connection, queue=queue, state="open", kind="annotate"):
        why = _unfit(connection, held, least)
        if why is not None:
            left.append((held.id, why))
            continue
        said = f"every segment is proposed with a confidence of {least:g} or more; nobody looked"
        accepted.append(accept_labels(
            connection, held.episode, held.annotation, kept_taxonomy(connection, held.taxonomy),
            task_id=held.id, by=by, who=MACHINE, why=said,
        ))  # fmt: skip
        change_state(connection, held, "dropped", by=by, why=said)
    return Confident(tuple(accepted), tuple(left))


def _unfit(connection: Connection, held: LabelTask, least: float) -> str | None:
    if held.pair is not None:
        return "two people are asked, to measure how far they agree"
    if held.is_blind or not held.settings.get("proposed"):
        return "it is done without a proposal"
    if held.version or held.assigned_to is not None:
        return "somebody works on it"
    said = held.annotation
    if not said.segments:
        return "nothing is proposed"
    sure = [each.confidence if each.confidence is not None else 0.0 for each in said.segments]
    if min(sure) < least:
        return f"a segment has a confidence of {min(sure):.2f}"
    frames = frames_of(connection, held.id)
    told = complaints(
        _as_confirmed(said), kept_taxonomy(connection, held.taxonomy),
        task=find_episode(connection, held.episode).task,
        stamps=frames.stamps if frames is not None else np.zeros(0, np.int64),
    )  # fmt: skip
    return told[0] if told else None


def _as_confirmed(said: Annotation) -> Annotation:
    seen = tuple(each.model_copy(update={"confirmed": True}) for each in said.segments)
    return said.model_copy(update={"segments": seen})
