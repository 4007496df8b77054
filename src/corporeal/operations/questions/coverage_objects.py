"""Which task and object cells are still empty? Accepted episodes by two axes."""

from __future__ import annotations

from sqlalchemy import Connection

from corporeal.operations.coverage.coverage import coverage_table
from corporeal.operations.question import Chart, Drawing
from corporeal.operations.scope import Scope


def draw(
    connection: Connection, scope: Scope, *, rows: str = "task", columns: str = "object"
) -> Drawing:
    """Accepted episodes by task and object, unless other axes are chosen."""
    return coverage_table(connection, scope, rows, columns)


CHART = Chart(draw, "Which tasks and objects are still missing?", "Coverage", place=10, wide=True)
