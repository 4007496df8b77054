"""Do operators differ in what is accepted? Outcomes by operator."""

from __future__ import annotations

from sqlalchemy import Connection

from corporeal.operations.outcome import outcome_stacks
from corporeal.operations.question import Chart, Drawing
from corporeal.operations.scope import Scope


def draw(connection: Connection, scope: Scope) -> Drawing:
    """What became of the episodes of each operator."""
    return outcome_stacks(connection, scope, "operator")


CHART = Chart(
    draw, "Do operators differ in what is accepted?", "People and stations", place=30, wide=True
)
