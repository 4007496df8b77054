"""How far the queues are: tasks by state, hours spent, and who did how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from corporeal.catalog.tables import LABEL_TASK


@dataclass(frozen=True)
class QueueProgress:
    """Tasks of a queue by their state; gold is not counted."""

    queue: str
    kinds: dict[str, int]
    states: dict[str, int]
    people: dict[str, int]
    seconds: float
    edits: int

    @property
    def total(self) -> int:
        """All tasks that were not dropped."""
        return sum(self.states.values()) - self.states.get("dropped", 0)

    @property
    def done(self) -> int:
        """Tasks that are over and have their labels."""
        return self.states.get("done", 0)


def queues(connection: Connection, *, queue: str | None = None) -> list[QueueProgress]:
    """Every queue in the order of names."""
    held = LABEL_TASK.c
    query = (
        select(held.queue, held.kind, held.state, held.assigned_to, func.count().label("tasks"),
               func.sum(held.seconds).label("seconds"), func.sum(held.version).label("edits"))
        # Gold was never anybody's to do.
        .where((held.kind != "qualify") | held.assigned_to.is_not(None))
        .group_by(held.queue, held.kind, held.state, held.assigned_to)
        .order_by(held.queue)
    )  # fmt: skip
    if queue is not None:
        query = query.where(held.queue == queue)
    found: dict[str, dict[str, Any]] = {}
    for row in connection.execute(query):
        into = found.setdefault(
            row.queue, {"kinds": {}, "states": {}, "people": {}, "seconds": 0.0, "edits": 0}
        )
        for name, value in (("kinds", row.kind), ("states", row.state),
                            ("people", row.assigned_to)):  # fmt: skip
            if value is not None:
                into[name][value] = into[name].get(value, 0) + int(row.tasks)
        into["seconds"] += float(row.seconds or 0.0)
        into["edits"] += int(row.edits or 0)
    return [QueueProgress(queue=name, **values) for name, values in found.items()]
