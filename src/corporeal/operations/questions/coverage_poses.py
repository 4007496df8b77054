"""Which pose and operator cells are still empty? Accepted episodes by two axes."""

from __future__ import annotations

from sqlalchemy import Connection

from corporeal.operations.coverage.coverage import coverage_table
from corporeal.operations.question import Chart, Drawing
from corporeal.operations.scope import Scope


def draw(
    connection: Connection, scope: Scope, *, rows: str = "operator", columns: str = "pose"
) -> Drawing:
    """Accepted episodes by operator and pose, unless other axes are chosen."""
    return coverage_table(connection, scope, rows, columns)


CHART = Chart(draw, "Which operators and poses are still missing?", "Coverage", place=20, wide=True)
