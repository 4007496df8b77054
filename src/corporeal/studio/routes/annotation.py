"""One label task at work: what it holds, every edit of it, and handing it in."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Path, Response
from fastapi.responses import JSONResponse

from corporeal.catalog.database import CatalogError
from corporeal.episode.recording import recording_of
from corporeal.labelling.frames import Frames, end_ns, reference_stream
from corporeal.labelling.queues import add_seconds
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
    edits_of,
    return_reasons,
    save_edits,
)
from corporeal.labelling.taxonomy import kept_taxonomy
from corporeal.studio.context import Studio, StudioDep
from corporeal.studio.label_facts import seen_task, writing
from corporeal.studio.routes.events import Annotator
from corporeal.studio.workbench_facts import (
    MadeEdit,
    MissingParts,
    NewComment,
    NewEdits,
    SavedEdits,
    StaleEdits,
    SubmittedTask,
    TaskComment,
    TimeSpent,
    WorkbenchTask,
    task_facts,
)

ROUTER = APIRouter(tags=["annotation"])
TaskId = Annotated[str, Path(max_length=80)]
_STALE: dict[int | str, dict[str, Any]] = {
    409: {"model": StaleEdits, "description": "Somebody else has changed it in the meantime."}
}
_MOST_SHOWN_EDITS = 200_000


@ROUTER.get("/label-tasks/{task_id}")
def one_task(task_id: TaskId, studio: StudioDep, actor: Annotator) -> WorkbenchTask:
    """A task with its taxonomy and all its edits; nothing of who else labels the episode."""
    with studio.workspace.database.read() as connection:
        task = seen_task(connection, task_id, actor)
        taxonomy = kept_taxonomy(connection, task.taxonomy)
        made = [
            MadeEdit(**dict(each.edit), who=each.who, at=each.at)
            for each in edits_of(connection, task.id, limit=_MOST_SHOWN_EDITS)
        ]
        is_back = task.state in ("returned", "working")
        reasons = return_reasons(connection, [task.id]) if is_back else {}
    frames = task.frames or _read_frames(studio, task)
    return task_facts(
        task, by=actor, taxonomy=taxonomy, edits=made, reference=frames.stream,
        end_ns=end_ns(frames.stamps) if len(frames.stamps) else 0, returned=reasons.get(task.id),
    )  # fmt: skip


@ROUTER.post("/label-tasks/{task_id}/edits", response_model=SavedEdits, responses=_STALE)
def save(
    task_id: TaskId, studio: StudioDep, actor: Annotator, new: NewEdits
) -> SavedEdits | Response:
    """Save edits in order, each once; a 409 also has `version`, `since` and `who` came between."""
    with writing(studio) as connection:
        seen_task(connection, task_id, actor)
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
        task = seen_task(connection, task_id, actor)
        return MissingParts(version=task.version, missing=list(unready(connection, task)))


@ROUTER.post("/label-tasks/{task_id}/submit")
def hand_in(task_id: TaskId, studio: StudioDep, actor: Annotator) -> SubmittedTask:
    """Hand a task in; one that lacks something stays, with what it lacks."""
    try:
        with writing(studio) as connection:
            seen_task(connection, task_id, actor)
            submit(connection, task_id, by=actor)
    except IncompleteError as error:
        return SubmittedTask(submitted=False, missing=list(error.complaints))
    return SubmittedTask(submitted=True, missing=[])


@ROUTER.post("/label-tasks/{task_id}/seconds")
def spend(task_id: TaskId, studio: StudioDep, actor: Annotator, spent: TimeSpent) -> TimeSpent:
    """Add time at work, as the page has measured it."""
    with writing(studio) as connection:
        seen_task(connection, task_id, actor)
        add_seconds(connection, task_id, spent.seconds, by=actor)
    return spent


@ROUTER.get("/label-tasks/{task_id}/comments")
def list_comments(task_id: TaskId, studio: StudioDep, actor: Annotator) -> list[TaskComment]:
    """Remarks on a task, the oldest first."""
    with studio.workspace.database.read() as connection:
        task = seen_task(connection, task_id, actor)
        said = comments_about(connection, task.episode, by=actor)
        # Where two people work apart, a remark on the whole would tell one what the other saw.
        alone = task.pair is None
        return [_shown(each) for each in said if each.task == task_id or (alone and not each.task)]


@ROUTER.post("/label-tasks/{task_id}/comments", status_code=201)
def comment(task_id: TaskId, studio: StudioDep, actor: Annotator, new: NewComment) -> TaskComment:
    """Leave a remark, at a moment or on the whole."""
    with writing(studio) as connection:
        task = seen_task(connection, task_id, actor)
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
    with writing(studio) as connection:
        task = seen_task(connection, task_id, actor)
        if all(
            each.number != number for each in comments_about(connection, task.episode, by=actor)
        ):
            raise CatalogError(f"comment {number} is not one of task {task_id}.")
        return _shown(resolve_comment(connection, number, by=actor))


def _read_frames(studio: Studio, task: LabelTask) -> Frames:
    """The frames of the episode itself, for tasks that did not note them."""
    with studio.shelf.episode(task.episode) as episode:
        wanted = task.annotation.reference or task.begun_with.reference
        stream = wanted if wanted in episode else reference_stream(recording_of(episode))
        if stream is None:
            return Frames("", np.zeros(0, np.int64))
        return Frames(stream, np.asarray(episode[stream].time_ns, np.int64))


def _shown(task: LabelComment) -> TaskComment:
    return TaskComment(
        number=task.number, time_ns=task.time_ns, who=task.who, at=task.at, text=task.text,
        resolved=task.resolved_at is not None,
    )  # fmt: skip
