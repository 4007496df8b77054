"""What annotators have submitted: looked at by a lead, accepted or given back; their comments."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from corporeal.labelling.queues import assign
from corporeal.labelling.review import accept, give_back, resolve_comment, unready
from corporeal.labelling.tasks import (
    ListedTask,
    OpenComment,
    TaskState,
    find_task,
    listed_task,
    open_comments,
)
from corporeal.labelling.tasks import list_tasks as tasks_in_list
from corporeal.labelling.taxonomy import kept_taxonomy
from corporeal.studio.authentication import Judge
from corporeal.studio.context import StudioDep
from corporeal.studio.lanes import LaneFacts, label_lanes

ROUTER = APIRouter(tags=["labels"])


class TaskReturn(BaseModel):
    """Why a task is given back."""

    why: str = Field(min_length=1, max_length=2000)


class TaskAssignment(BaseModel):
    """Whom a task is given to; null: whoever comes next."""

    to: str | None = Field(max_length=64)


class TaskPreview(BaseModel):
    """What was submitted, to be looked at."""

    task: ListedTask
    lanes: list[LaneFacts]
    outcome: str | None
    failure_mode: str | None
    instructions: list[str]
    complaints: list[str]
    reference: str


@ROUTER.get("/labels/tasks")
def list_tasks(
    studio: StudioDep,
    actor: Judge,
    state: TaskState | None = None,
    queue: Annotated[str | None, Query(max_length=64)] = None,
) -> list[ListedTask]:
    """Tasks that people label in, those that changed last first, a thousand at most."""
    with studio.workspace.database.read() as connection:
        states = () if state is None else (state,)
        return tasks_in_list(connection, by=actor, queue=queue, states=states)


@ROUTER.get("/labels/tasks/{task_id}")
def preview_task(task_id: str, studio: StudioDep, actor: Judge) -> TaskPreview:
    """What was said in a task, and what it lacks."""
    with studio.workspace.database.read() as connection:
        task = find_task(connection, task_id, seen_by=actor)
        annotation, taxonomy = task.annotation, kept_taxonomy(connection, task.taxonomy)
        return TaskPreview(
            task=listed_task(connection, task_id, by=actor),
            lanes=label_lanes(annotation, taxonomy),
            outcome=annotation.outcome,
            failure_mode=annotation.failure_mode,
            instructions=[each.text for each in annotation.instructions],
            complaints=list(unready(connection, task)),
            reference=annotation.reference,
        )


@ROUTER.post("/labels/tasks/{task_id}/accept")
def accept_task(task_id: str, studio: StudioDep, actor: Judge) -> ListedTask:
    """Let what was submitted count."""
    with studio.workspace.database.write() as connection:
        accept(connection, task_id, by=actor)
        return listed_task(connection, task_id, by=actor)


@ROUTER.post("/labels/tasks/{task_id}/return")
def return_task(task_id: str, studio: StudioDep, actor: Judge, wish: TaskReturn) -> ListedTask:
    """Give a task back to whoever made it, with a reason."""
    with studio.workspace.database.write() as connection:
        give_back(connection, task_id, wish.why, by=actor)
        return listed_task(connection, task_id, by=actor)


@ROUTER.post("/labels/tasks/{task_id}/assign")
def assign_task(task_id: str, studio: StudioDep, actor: Judge, wish: TaskAssignment) -> ListedTask:
    """Give a task to somebody; null gives it to whoever comes next."""
    with studio.workspace.database.write() as connection:
        assign(connection, task_id, wish.to or None, by=actor)
        return listed_task(connection, task_id, by=actor)


@ROUTER.get("/labels/comments")
def list_comments(studio: StudioDep, _: Judge) -> list[OpenComment]:
    """Comments that nobody has answered."""
    with studio.workspace.database.read() as connection:
        return open_comments(connection)


@ROUTER.post("/labels/comments/{number}/resolve", status_code=204)
def answer_comment(
    number: Annotated[int, Path(ge=0, le=1 << 60)], studio: StudioDep, actor: Judge
) -> None:
    """Mark a comment as answered."""
    with studio.workspace.database.write() as connection:
        resolve_comment(connection, number, by=actor)
