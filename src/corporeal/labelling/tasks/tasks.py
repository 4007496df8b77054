"""Label tasks from their making to their end: the names that the rest of the project calls."""

from __future__ import annotations

from corporeal.labelling.tasks.creation import create_tasks
from corporeal.labelling.tasks.submission import accept, give_back, submit
from corporeal.labelling.tasks.taking import (
    add_seconds,
    assign,
    drop,
    give_up,
    set_priority,
    take,
    take_next,
)
from corporeal.labelling.tasks.task_row import (
    LabelTask,
    TaskKind,
    TaskState,
    TaskStateError,
    UnknownTaskError,
    frames_of,
    may_see,
    task,
    tasks,
)

__all__ = [
    "LabelTask",
    "TaskKind",
    "TaskState",
    "TaskStateError",
    "UnknownTaskError",
    "accept",
    "add_seconds",
    "assign",
    "create_tasks",
    "drop",
    "frames_of",
    "give_back",
    "give_up",
    "may_see",
    "set_priority",
    "submit",
    "take",
    "take_next",
    "task",
    "tasks",
]
