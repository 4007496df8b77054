"""What the catalogue has of an episode, as the page is told: all of it, or a row of the list."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel
from sqlalchemy import Connection

from corporeal.catalog.episodes import (
    AssessmentRow,
    EpisodeDecision,
    EpisodeRow,
    GravestFinding,
    State,
    decisions_of,
    gravest_findings,
    last_assessments,
    tags_of,
    unchecked_among,
)
from corporeal.labelling.review import count_comments
from corporeal.quality.check import Verdict, count_checks


class TopFinding(BaseModel):
    """The gravest finding of an episode, and how many it has."""

    check: str
    severity: str
    message: str
    of: int


class _EpisodeColumns(BaseModel):
    id: str
    number: int | None
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
    environment: str | None
    mode: str | None
    recorded_ns: int | None
    duration_s: float | None
    success: bool | None
    failure: str | None
    verdict: Verdict | None
    score: float | None


class EpisodeRowFacts(_EpisodeColumns):
    """Every column of an episode's row but its metadata, which the episode file has itself."""

    hash: str
    protocol: str | None
    calibration: str | None
    software: str | None
    policy: str | None
    ingested_at: str


class ListedDecision(BaseModel):
    """The verdict that a person gave, and why."""

    verdict: Verdict
    who: str
    at: str
    why: str | None


class ListedEpisode(_EpisodeColumns):
    """An episode in the list; `assessed` is the share of the checks that could run.

    `checked` is false where no check has looked at it, though a person may have accepted it.
    """

    finding: TopFinding | None
    checked: bool
    assessed: float | None
    decision: ListedDecision | None
    tags: list[str]
    comments: int


def shown_rows(connection: Connection, rows: Sequence[EpisodeRow]) -> list[ListedEpisode]:
    """Rows of the catalogue as the page shows them; one search finds what all of them have."""
    ids = [row.id for row in rows]
    gravest, decisions = gravest_findings(connection, ids), decisions_of(connection, ids)
    tags, comments = tags_of(connection, ids), count_comments(connection, ids)
    judged, unchecked = last_assessments(connection, ids), unchecked_among(connection, ids)
    return [
        ListedEpisode(
            **{name: _finite(getattr(row, name)) for name in _EpisodeColumns.model_fields},
            finding=_top_finding(gravest.get(row.id)),
            checked=row.id not in unchecked,
            assessed=_assessed(judged.get(row.id)),
            decision=shown_decision(decisions.get(row.id)),
            tags=tags.get(row.id, []),
            comments=comments.get(row.id, 0),
        )
        for row in rows
    ]


def shown_decision(decided: EpisodeDecision | None) -> ListedDecision | None:
    """What a person decided, as the page is told."""
    if decided is None:
        return None
    return ListedDecision(verdict=decided.verdict, who=decided.who, at=decided.at, why=decided.why)


def _assessed(judged: AssessmentRow | None) -> float | None:
    missing = judged.facts.get("not_assessed") if judged is not None else None
    if not isinstance(missing, int):
        return None
    return max(0.0, 1 - missing / count_checks())


def _finite(value: Any) -> Any:
    """What JSON can say: a number that is none is unknown."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _top_finding(gravest: GravestFinding | None) -> TopFinding | None:
    if gravest is None:
        return None
    return TopFinding(check=gravest.check, severity=gravest.severity,
                      message=gravest.message[:400], of=gravest.number)  # fmt: skip
