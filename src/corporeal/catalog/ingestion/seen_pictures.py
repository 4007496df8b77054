"""What was found in the pictures of stored episodes when they were last looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from sqlalchemy import Connection, select

from corporeal.catalog.episodes.reading import (
    findings_of,
    last_assessments,
    not_assessed_of,
)
from corporeal.catalog.episodes.rows import FindingRow
from corporeal.catalog.tables import SYNOPSIS
from corporeal.errors import CorporealError
from corporeal.quality.assessment import UNSEEN, Assessment
from corporeal.quality.check import Finding, Severity, checks, find_check
from corporeal.quality.synopsis import PICTURE, pack_synopsis, unpack_synopsis

LOOKED_AT = "pictures_looked_at"
"""The fact of an assessment that names the checks whose word on the pictures it holds."""


@dataclass(frozen=True, eq=False)
class SeenPictures:
    """What checks of pictures said of an episode, and its synopsis with what its cameras saw."""

    assessment: Assessment
    synopsis: bytes | None

    def put_into(self, packed: bytes) -> bytes:
        """A synopsis that was made without pictures, with what this one has of the cameras."""
        if self.synopsis is None:
            return packed
        before, now = (unpack_synopsis(each, {}, index=0) for each in (self.synopsis, packed))
        measures = {key: value for key, value in before.measures.items() if key.startswith(PICTURE)}
        return pack_synopsis(
            replace(now, views=before.views, measures={**measures, **now.measures})
        )


def looked_at(assessment: Assessment) -> list[str]:
    """The checks of pictures that have judged such an episode, now or when it was last seen."""
    return sorted(_of_pictures("episode") - set(assessment.not_assessed))


def find_seen(connection: Connection, ids: Sequence[str]) -> dict[str, SeenPictures]:
    """What checks of pictures said of these episodes; those whose pictures nobody saw are left out.

    A check that was not there when the pictures were looked at has said nothing.
    """
    alone, all_of_them = _of_pictures("episode"), _of_pictures("episode", "batch")
    missing = not_assessed_of(connection, ids)
    seen = {}
    for name, last in last_assessments(connection, ids).items():
        reasons = {_present(row.check): row.reason for row in missing.get(name, ())}
        known = last.facts.get(LOOKED_AT)
        if known is not None:
            absent = alone - {_present(each) for each in known} - set(reasons)
            reasons |= dict.fromkeys(absent, UNSEEN)
        kept = {each: reason for each, reason in reasons.items() if each in alone}
        if any(kept.get(each) != UNSEEN for each in alone):
            findings = (_finding(row) for row in findings_of(connection, name))
            own = tuple(each for each in findings if each.check in all_of_them)
            stored = connection.execute(
                select(SYNOPSIS.c.content).where(SYNOPSIS.c.episode == name)
            ).scalar()
            seen[name] = SeenPictures(Assessment(own, kept), stored)
    return seen


def _of_pictures(*scopes: str) -> set[str]:
    return {name for name, check in checks().items() if check.pictures and check.scope in scopes}


def _present(name: str) -> str:
    """The name that a check has today; its own where there is no such check any more."""
    try:
        return find_check(name)[0]
    except CorporealError:
        return name


def _finding(row: FindingRow) -> Finding:
    severity: Severity | None = next(
        (each for each in get_args(Severity) if each == row.severity), None
    )
    evidence: dict[str, Any] = {
        name: np.array([np.nan if value is None else value for value in values])
        for name, values in (row.evidence or {}).items()
    }
    frames = tuple((int(first), int(stop)) for first, stop in row.frames)
    return Finding(row.message, row.stream, frames, row.value, row.limit, evidence, severity,
                   check=_present(row.check))  # fmt: skip
