"""Alarms that `corporeal watch` has called, and whether they are over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from corporeal.catalog.tables import EVENT

_MOST = 500


@dataclass(frozen=True)
class ToldAlarm:
    """One alarm of the log; `over_at` is None while it stands."""

    at: str
    metric: str
    grouping: str
    subject: str | None
    sentence: str
    over_at: str | None


def told_alarms(connection: Connection) -> list[ToldAlarm]:
    """The last alarms, the newest first; a figure has one that stands at most."""
    rows = connection.execute(
        select(EVENT.c.at, EVENT.c.what, EVENT.c.subject, EVENT.c.why, EVENT.c.details)
        # Written as a range, for which both databases use the index of subjects.
        .where(EVENT.c.subject >= "metric:", EVENT.c.subject < "metric;")
        .where(EVENT.c.what.in_(("alarm", "recovered")))
        .order_by(EVENT.c.number.desc())
        .limit(2 * _MOST)
    ).all()
    over: dict[str, str] = {}
    last: dict[str, str] = {}
    found = []
    for at, what, subject, why, details in rows:
        if what == "recovered":
            over[subject] = at
            continue
        # A later alarm of the same figure means that this one had ended before it.
        found.append(_told(at, subject, why, details, over.pop(subject, last.get(subject))))
        last[subject] = at
    return found[:_MOST]


def _told(at: str, subject: str, why: str | None, details: Any, over_at: str | None) -> ToldAlarm:
    facts = details if isinstance(details, Mapping) else {}
    grouping, _, metric = subject.removeprefix("metric:").partition("/")
    since = facts.get("since")
    return ToldAlarm(
        at=at,
        metric=metric,
        grouping=grouping,
        subject=since if isinstance(since, str) else None,
        sentence=why or f"{metric} left its limits.",
        over_at=over_at,
    )
