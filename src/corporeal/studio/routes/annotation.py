"""One label task at work: what it holds, every edit of it, and handing it in."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Path, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from corporeal.catalog.database import CatalogError
from corporeal.catalog.permission import Actor, may
from corporeal.episode.recording import recording_of
from corporeal.labelling.annotation import Annotation, Edit
from corporeal.labelling.frames import Frames, end_ns, reference_stream
from corporeal.labelling.queues import add_seconds, return_task, skip_task
from corporeal.labelling.review import (
    IncompleteError,
    LabelComment,
    add_comment,
    comments_about,
    resolve_comment,
    submit,
    unready,
)
from corporeal.labelling.tasks import (
    LabelTask,
    StaleEditError,
    TaskKind,
    TaskState,
    edits_of,
    find_task,
    return_reasons,
    save_edits,
)
from corporeal.labelling.taxonomy import Taxonomy, kept_taxonomy
from corporeal.studio.context import Studio, StudioDep
from corporeal.studio.errors import ErrorAnswer
from corporeal.studio.routes.events import Annotator

ROUTER = APIRouter(tags=["annotation"])
TaskId = Annotated[str, Path(max_length=80)]
_MOST_SHOWN_EDITS = 200_000


MOST_EDITS = 500
"""In one request."""


class MadeEdit(Edit):
    """An edit that is saved, and who made it when."""

    who: str
    at: str


class WorkbenchTask(BaseModel):
    """A task, the taxonomy it is done by, and everything that was done in it."""

    id: str
    episode: str
    kind: TaskKind
    queue: str
    state: TaskState
    assigned_to: str | None
    closed: str | None = Field(description="why the visitor can only look; null if they can work")
    returned: str | None
    is_double: bool | None = Field(description="null for those who must not know")
    has_proposals: bool
    seconds: float
    settings: dict[str, Any]
    version: int
    start: Annotation
    content: Annotation
    edits: list[MadeEdit]
    taxonomy: Taxonomy
    reference: str = Field(description="the stream on whose stamps boundaries lie")
    end_ns: int = Field(description="where its last frame ends")


class NewEdits(BaseModel):
    """Edits in the order in which they were made, on top of a version."""

    base_version: int = Field(ge=0, le=1 << 40)
    edits: tuple[Edit, ...] = Field(min_length=1, max_length=MOST_EDITS)


class SavedEdits(BaseModel):
    """The task after edits were saved."""

    version: int
    content: Annotation


class StaleEdits(ErrorAnswer):
    """What somebody else has done since the version that edits were made on."""

    version: int
    since: list[Edit]
    who: list[str]


class MissingParts(BaseModel):
    """What a version lacks before it can be handed in, in sentences."""

    version: int
    missing: list[str]


class SubmittedTask(BaseModel):
    """Whether a task was handed in; if not, what is missing."""

    submitted: bool
    missing: list[str]


class TimeSpent(BaseModel):
    """Time that was spent at work."""

    seconds: float = Field(ge=0, le=3600)


class ReturnedTask(BaseModel):
    """Why an annotator gives a task back; the lead reads it."""

    why: str = Field("", max_length=2000)


class NewComment(BaseModel):
    """A remark; `time_ns` puts it at a moment."""

    text: str = Field(min_length=1, max_length=4000)
    time_ns: int | None = Field(default=None, ge=-(1 << 53), le=1 << 53)


class TaskComment(BaseModel):
    """A remark as it is shown."""

    number: int
    time_ns: int | None
    who: str
    at: str
    text: str
    resolved: bool


def _why_closed(task: LabelTask, by: Actor) -> str | None:
    """The reason for which somebody can look at a task but not change it."""
    if not task.is_editable:
        return f"This task is {task.state}. A lead can return it to be changed."
    if task.assigned_to not in (None, by.name) and not may(by, "judge"):
        return f"This task belongs to {task.assigned_to}."
    return None


_STALE: dict[int | str, dict[str, Any]] = {
    409: {"model": StaleEdits, "description": "Somebody else has changed it in the meantime."}
}


@ROUTER.get("/label-tasks/{task_id}")
def one_task(task_id: TaskId, studio: StudioDep, actor: Annotator) -> WorkbenchTask:
    """A task with its taxonomy and all its edits; nothing of who else labels the episode."""
    with studio.workspace.database.read() as connection:
        task = find_task(connection, task_id, seen_by=actor)
        is_lead = may(actor, "judge")
        taxonomy = kept_taxonomy(connection, task.taxonomy)
        made = [
            MadeEdit(**dict(each.edit), who=each.who, at=each.at)
            for each in edits_of(connection, task.id, limit=_MOST_SHOWN_EDITS)
        ]
        is_back = task.state in ("returned", "working")
        reasons = return_reasons(connection, [task.id]) if is_back else {}
    frames = task.frames or _read_frames(studio, task)
    return WorkbenchTask(
        **vars(task)
        | {
            "start": task.begun_with,
            "content": task.annotation,
            "taxonomy": taxonomy,
            "settings": _told(task, is_lead=is_lead),
        },
        closed=_why_closed(task, actor),
        returned=reasons.get(task.id),
        is_double=task.pair is not None if is_lead else None,
        has_proposals=any(each.source == "proposal" for each in task.begun_with.segments),
        edits=made,
        reference=frames.stream,
        end_ns=end_ns(frames.stamps) if len(frames.stamps) else 0,
    )


@ROUTER.post("/label-tasks/{task_id}/edits", response_model=SavedEdits, responses=_STALE)
def save(
    task_id: TaskId, studio: StudioDep, actor: Annotator, new: NewEdits
) -> SavedEdits | Response:
    """Save edits in order, each once; a 409 also has `version`, `since` and `who` came between."""
    with studio.workspace.database.write() as connection:
        find_task(connection, task_id, seen_by=actor)
        try:
            saved = save_edits(
                connection, task_id, new.edits, base_version=new.base_version, by=actor
            )
        except StaleEditError as error:
            stale = StaleEdits(
                error=str(error), version=error.version, since=error.since, who=error.who
            )
            return JSONResponse(stale.model_dump(mode="json"), 409, {"Cache-Control": "no-store"})
    return SavedEdits(version=saved.version, content=saved.content)


@ROUTER.get("/label-tasks/{task_id}/missing")
def missing(task_id: TaskId, studio: StudioDep, actor: Annotator) -> MissingParts:
    """What the task lacks before it can be handed in."""
    with studio.workspace.database.read() as connection:
        task = find_task(connection, task_id, seen_by=actor)
        return MissingParts(version=task.version, missing=list(unready(connection, task)))


@ROUTER.post("/label-tasks/{task_id}/submit")
def hand_in(task_id: TaskId, studio: StudioDep, actor: Annotator) -> SubmittedTask:
    """Hand a task in; one that lacks something stays, with what it lacks."""
    try:
        with studio.workspace.database.write() as connection:
            find_task(connection, task_id, seen_by=actor)
            submit(connection, task_id, by=actor)
    except IncompleteError as error:
        return SubmittedTask(submitted=False, missing=list(error.complaints))
    return SubmittedTask(submitted=True, missing=[])


@ROUTER.post("/label-tasks/{task_id}/skip", status_code=204)
def skip(task_id: TaskId, studio: StudioDep, actor: Annotator) -> None:
    """Leave a task for later: it comes again after all the others."""
    with studio.workspace.database.write() as connection:
        skip_task(connection, task_id, by=actor)


@ROUTER.post("/label-tasks/{task_id}/return", status_code=204)
def return_to_queue(
    task_id: TaskId, studio: StudioDep, actor: Annotator, wish: ReturnedTask
) -> None:
    """Give a task back: others get it, whoever returns it does not get it again."""
    with studio.workspace.database.write() as connection:
        made = return_task(connection, task_id, by=actor, why=wish.why)
        if wish.why:
            add_comment(connection, made.episode, f"Returned: {wish.why}", by=actor,
                        task_id=task_id)  # fmt: skip


@ROUTER.post("/label-tasks/{task_id}/seconds")
def spend(task_id: TaskId, studio: StudioDep, actor: Annotator, spent: TimeSpent) -> TimeSpent:
    """Add time at work, as the page has measured it."""
    with studio.workspace.database.write() as connection:
        find_task(connection, task_id, seen_by=actor)
        add_seconds(connection, task_id, spent.seconds, by=actor)
    return spent


@ROUTER.get("/label-tasks/{task_id}/comments")
def list_comments(task_id: TaskId, studio: StudioDep, actor: Annotator) -> list[TaskComment]:
    """Remarks on a task, the oldest first."""
    with studio.workspace.database.read() as connection:
        task = find_task(connection, task_id, seen_by=actor)
        said = comments_about(connection, task.episode, by=actor)
        # Where two people work apart, a remark on the whole would tell one what the other saw.
        alone = task.pair is None
        return [_shown(each) for each in said if each.task == task_id or (alone and not each.task)]


@ROUTER.post("/label-tasks/{task_id}/comments", status_code=201)
def comment(task_id: TaskId, studio: StudioDep, actor: Annotator, new: NewComment) -> TaskComment:
    """Leave a remark, at a moment or on the whole."""
    with studio.workspace.database.write() as connection:
        task = find_task(connection, task_id, seen_by=actor)
        made = add_comment(
            connection, task.episode, new.text, by=actor, task_id=task.id, time_ns=new.time_ns
        )
        return _shown(made)


@ROUTER.post("/label-tasks/{task_id}/comments/{number}/resolve")
def resolve(
    task_id: TaskId,
    number: Annotated[int, Path(ge=1, le=1 << 40)],
    studio: StudioDep,
    actor: Annotator,
) -> TaskComment:
    """Say that a remark was dealt with."""
    with studio.workspace.database.write() as connection:
        task = find_task(connection, task_id, seen_by=actor)
        if all(
            each.number != number for each in comments_about(connection, task.episode, by=actor)
        ):
            raise CatalogError(f"comment {number} is not one of task {task_id}.")
        return _shown(resolve_comment(connection, number, by=actor))


def _told(task: LabelTask, *, is_lead: bool) -> dict[str, Any]:
    """The settings of a task; an annotator is not told which of two people they are."""
    kept_back = () if is_lead else ("place", "returned_by")
    return {name: value for name, value in task.settings.items() if name not in kept_back}


def _read_frames(studio: Studio, task: LabelTask) -> Frames:
    """The frames of the episode itself, for tasks that did not note them."""
    with studio.shelf.episode(task.episode) as episode:
        wanted = task.annotation.reference or task.begun_with.reference
        stream = wanted if wanted in episode else reference_stream(recording_of(episode))
        if stream is None:
            return Frames("", np.zeros(0, np.int64))
        return Frames(stream, np.asarray(episode[stream].time_ns, np.int64))


def _shown(comment: LabelComment) -> TaskComment:
    return TaskComment(**vars(comment), resolved=comment.resolved_at is not None)
