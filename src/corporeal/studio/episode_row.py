"""A row of the list of episodes: what the catalogue has of one, with its gravest finding."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from sqlalchemy import Connection, case, func, select

from corporeal.catalog.tables import EPISODE, FINDING
from corporeal.quality.finding import SEVERITIES


class TopFinding(BaseModel):
    """The gravest finding of an episode, and how many it has."""

    check: str
    severity: str
    message: str
    of: int


class Row(BaseModel):
    """An episode in the list."""

    id: str
    file: str
    state: str
    task: str | None
    instruction: str | None
    robot: str | None
    operator: str | None
    station: str | None
    session: str | None
    batch: str | None
    environment: str | None
    mode: str | None
    recorded_ns: int | None
    duration_s: float | None
    success: bool | None
    failure: str | None
    verdict: str | None
    score: float | None
    bytes: int
    finding: TopFinding | None


_FALL = "stays_upright"
_PLAIN = tuple(name for name in Row.model_fields if name in EPISODE.c)


def shown_rows(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Rows of the catalogue as the page shows them; one search finds what all of them have."""
    top = _top_findings(connection, [str(row["id"]) for row in rows])
    return [
        Row(**{name: _plain(row[name]) for name in _PLAIN}, finding=top.get(row["id"]))
        for row in rows
    ]


def _plain(value: Any) -> Any:
    """What JSON can say: a number that is none is unknown."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _top_findings(connection: Connection, ids: Sequence[str]) -> dict[str, TopFinding]:
    if not ids:
        return {}
    rank = case({name: place for place, name in enumerate(SEVERITIES)}, value=FINDING.c.severity,
                else_=len(SEVERITIES))  # fmt: skip
    # A fall explains much of what else is found. Then: a finding in a stream tells the cause, one
    # without only that something went wrong.
    way = (rank, FINDING.c.check != _FALL, FINDING.c.stream.is_(None), FINDING.c.number)
    ranked = (
        select(
            FINDING.c.episode,
            FINDING.c.check,
            FINDING.c.severity,
            FINDING.c.message,
            func.row_number().over(partition_by=FINDING.c.episode, order_by=way).label("place"),
            func.count().over(partition_by=FINDING.c.episode).label("of"),
        )
        .where(FINDING.c.episode.in_(ids))
        .subquery()
    )
    rows = connection.execute(select(ranked).where(ranked.c.place == 1)).mappings()
    return {
        str(row["episode"]): TopFinding(
            check=row["check"], severity=row["severity"], message=row["message"][:400],
            of=row["of"],
        )
        for row in rows
    }  # fmt: skip
