"""What the catalogue has of an episode, as the page is told: all of it, or a row of the list."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from sqlalchemy import Connection, case, func, select

from corporeal.catalog.episodes import State
from corporeal.catalog.tables import EPISODE, FINDING
from corporeal.quality.finding import SEVERITIES, Verdict


class TopFinding(BaseModel):
    """The gravest finding of an episode, and how many it has."""

    check: str
    severity: str
    message: str
    of: int


class EpisodeRowFacts(BaseModel):
    """Every column of an episode's row but its metadata, which the episode file has itself."""

    id: str
    hash: str
    bytes: int
    file: str
    state: State
    task: str | None
    instruction: str | None
    robot: str | None
    operator: str | None
    station: str | None
    session: str | None
    batch: str | None
    protocol: str | None
    calibration: str | None
    environment: str | None
    mode: str | None
    software: str | None
    recorded_ns: int | None
    duration_s: float | None
    success: bool | None
    failure: str | None
    verdict: Verdict | None
    score: float | None
    policy: str | None
    ingested_at: str


class ListedEpisode(BaseModel):
    """An episode in the list."""

    id: str
    file: str
    state: State
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
    verdict: Verdict | None
    score: float | None
    bytes: int
    finding: TopFinding | None


_FALL = "robot_fell"
_PLAIN = tuple(name for name in ListedEpisode.model_fields if name in EPISODE.c)


def shown_rows(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> list[ListedEpisode]:
    """Rows of the catalogue as the page shows them; one search finds what all of them have."""
    top = _top_findings(connection, [str(row["id"]) for row in rows])
    return [
        ListedEpisode(**{name: _plain(row[name]) for name in _PLAIN}, finding=top.get(row["id"]))
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
