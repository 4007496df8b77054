"""Which station produces the failures? Outcomes by station."""

from __future__ import annotations

from sqlalchemy import Connection

from corporeal.operations.outcome import outcome_stacks
from corporeal.operations.question import Chart, Drawing
from corporeal.operations.scope import Scope


def draw(connection: Connection, scope: Scope) -> Drawing:
    """What became of the episodes of each station."""
    return outcome_stacks(connection, scope, "station")


CHART = Chart(draw, "Which station produces the failures?", "People and stations", place=10)
