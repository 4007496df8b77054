"""Which task is refused most often? Outcomes by task."""

from __future__ import annotations

from sqlalchemy import Connection

from corporeal.operations.outcome import outcome_stacks
from corporeal.operations.question import Chart, Drawing
from corporeal.operations.scope import Scope


def draw(connection: Connection, scope: Scope) -> Drawing:
    """What became of the episodes of each task."""
    return outcome_stacks(connection, scope, "task")


CHART = Chart(draw, "Which task is refused most often?", "Quality", place=30)
