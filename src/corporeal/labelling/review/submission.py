"""Work that is handed in: whole, or told what it lacks; then reviewed, compared, or measured."""

from __future__ import annotations

from dataclasses import dataclass

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
    find_task,
    find_tasks,
    require_owner,
)
from corporeal.labelling.taxonomy import kept_taxonomy

_LONGEST = 2000
MACHINE = "(machine)"
"""Who made labels that nobody has looked at; no account can have this name."""


class IncompleteError(CatalogError):
    """An annotation lacks something; `complaints` says what, one sentence each."""

    def __init__(self, sentences: tuple[str, ...]) -> None:
        self.complaints = sentences
        more = f" ({len(sentences) - 1} more)" if len(sentences) > 1 else ""
        super().__init__(f"not complete: {sentences[0]}{more}")


def unready(connection: Connection, task: LabelTask) -> tuple[str, ...]:
    """Every reason for which a task cannot be submitted, in sentences."""
    if task.kind == "correct":
        return () if task.annotation.corrections else ("corrections: there is none yet.",)
    sentences = _complaints(connection, task, task.annotation)
    return (*undecided(task), *sentences) if task.kind == "adjudicate" else sentences


def _complaints(connection: Connection, task: LabelTask, annotation: Annotation) -> tuple[str, ...]:
    about = find_episode(connection, task.episode).task
    taxonomy = kept_taxonomy(connection, task.taxonomy)
    return complaints(annotation, taxonomy, task=about, frames=task.frames)


def submit(connection: Connection, task_id: str, *, by: Actor) -> LabelTask:
    """Hand a task in, inside a transaction; raises IncompleteError with all that it lacks.

    The second of a pair settles it, the last of an attempt to qualify is measured, and what needs
    no review counts at once. A task that is submitted already stays as it is.
    """
    task = find_task(connection, task_id)
    require_owner(task, by)
    if task.state == "submitted":
        return task
    if task.kind == "adjudicate":
        require_adjudicator(connection, task, by)
    if sentences := unready(connection, task):
        raise IncompleteError(sentences)
    owner = task.assigned_to or by.name
    if task.state == "open":
        task = change_state(connection, task, "working", by=by, assigned_to=owner)
    task = change_state(connection, task, "submitted", by=by)
    if task.kind == "qualify":
        measure(connection, task, by=by)
    elif task.kind == "adjudicate":
        conclude(connection, task, by=by)
    elif task.pair is not None and len(pair_of(connection, task.pair)) > 1:
        settle(connection, task.pair, by=by)
    elif not task.settings.get("review", True):
        _count(connection, task, by=by, why="submitted; the queue asks for no review")
    return find_task(connection, task_id)


def accept(connection: Connection, task_id: str, *, by: Actor, why: str | None = None) -> Labels:
    """Let a submitted task count, inside a transaction; its labels are in force from now on."""
    require(by, "judge")
    task = find_task(connection, task_id)
    if task.state != "submitted" or task.kind not in ("annotate", "correct"):
        raise TaskStateError(
            f"task {task.id}, got one of kind {task.kind} that is {task.state}; expected one to "
            "annotate or to correct that is submitted."
        )
    if task.pair is not None and len(pair_of(connection, task.pair)) > 1:
        waits = adjudication_of(connection, task.pair)
        till = f"the adjudication {waits.id}" if waits else "the other one of its pair"
        raise TaskStateError(f"task {task.id} waits for {till}; expected that to come first.")
    return _count(connection, task, by=by, why=why)


def give_back(connection: Connection, task_id: str, why: str, *, by: Actor) -> LabelTask:
    """Return a submitted task to the one who made it, with a reason, inside a transaction."""
    require(by, "judge")
    if not why.strip() or len(why) > _LONGEST:
        raise CatalogError(
            f"reason, got {len(why)} letters; expected 1 to {_LONGEST}. Say what is to be changed."
        )
    task = find_task(connection, task_id)
    if task.kind == "qualify":
        raise TaskStateError(f"task {task.id} measures somebody; expected one of another kind.")
    returned = change_state(connection, task, "returned", by=by, why=why.strip())
    if task.pair is not None:
        waiting = adjudication_of(connection, task.pair)
        if waiting is not None and waiting.state != "done":
            change_state(connection, waiting, "dropped", by=by, why="one of the pair was returned")
    return returned


def _count(
    connection: Connection, task: LabelTask, *, by: Actor, why: str | None, who: str | None = None
) -> Labels:
    """Make what a task says the labels in force."""
    annotation = task.annotation
    if task.kind == "correct" and (before := labels_of(connection, task.episode)) is not None:
        # Whoever corrected said nothing of the rest.
        fresh = {each.id for each in annotation.corrections}
        kept = [each for each in before.annotation.corrections if each.id not in fresh]
        corrections = (*kept, *annotation.corrections)
        annotation = before.annotation.model_copy(update={"corrections": corrections})
    labels = accept_labels(
        connection, task.episode, annotation, kept_taxonomy(connection, task.taxonomy),
        task_id=task.id, by=by, who=who or task.assigned_to, why=why,
    )  # fmt: skip
    # Nobody has done what a machine did.
    change_state(connection, task, "dropped" if who == MACHINE else "done", by=by, why=why)
    return labels


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
    why = f"every segment is proposed with a confidence of {least:g} or more; nobody looked"
    accepted: list[Labels] = []
    left: list[tuple[str, str]] = []
    for task in find_tasks(connection, queue=queue, state="open", kind="annotate"):
        reason = _unfit(connection, task, least)
        if reason is None:
            accepted.append(_count(connection, task, by=by, why=why, who=MACHINE))
        else:
            left.append((task.id, reason))
    return Confident(tuple(accepted), tuple(left))


def _unfit(connection: Connection, task: LabelTask, least: float) -> str | None:
    if task.pair is not None:
        return "two people are asked, to measure how far they agree"
    if not task.is_proposed:
        return "it is done without a proposal"
    if task.version or task.assigned_to is not None:
        return "somebody works on it"
    annotation = task.annotation
    if not annotation.segments:
        return "nothing is proposed"
    confidence = min(each.confidence or 0.0 for each in annotation.segments)
    if confidence < least:
        return f"a segment has a confidence of {confidence:.2f}"
    return next(iter(_complaints(connection, task, annotation.as_confirmed())), None)
