"""A label task as the workbench needs it: all that one person may see and do there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, Field

from corporeal.catalog.permission import Actor, may
from corporeal.labelling.annotation import Annotation, Edit
from corporeal.labelling.tasks import LabelTask, TaskKind, TaskState
from corporeal.labelling.taxonomy import Taxonomy
from corporeal.studio.errors import ErrorAnswer

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
    is_double: bool
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


def task_facts(
    task: LabelTask,
    *,
    by: Actor,
    taxonomy: Taxonomy,
    edits: Sequence[MadeEdit],
    reference: str,
    end_ns: int,
    returned: str | None,
) -> WorkbenchTask:
    """All of a task; whoever else works on the same episode is not among it."""
    started = task.begun_with
    return WorkbenchTask(
        id=task.id, episode=task.episode, kind=task.kind, queue=task.queue, state=task.state,
        assigned_to=task.assigned_to, closed=why_closed(task, by),
        returned=returned,
        is_double=task.pair is not None,
        has_proposals=any(each.source == "proposal" for each in started.segments),
        seconds=task.seconds, settings=dict(task.settings), version=task.version, start=started,
        content=task.annotation, edits=list(edits), taxonomy=taxonomy, reference=reference,
        end_ns=end_ns,
    )  # fmt: skip


def why_closed(task: LabelTask, by: Actor) -> str | None:
    """The reason for which somebody can look at a task but not change it."""
    if not task.is_editable:
        return f"This task is {task.state}. A lead can give it back to be changed."
    if task.assigned_to not in (None, by.name) and not may(by, "judge"):
        return f"This task belongs to {task.assigned_to}."
    return None
