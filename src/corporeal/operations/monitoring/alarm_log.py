"""The alarms of `corporeal watch` as the audit log has them, with when each was over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from corporeal.catalog.audit import latest_events

_MOST_READ = 500


@dataclass(frozen=True)
class LoggedAlarm:
    """One alarm of the log; `over_at` is None while it stands."""

    at: str
    metric: str
    grouping: str
    subject: str | None
    sentence: str
    over_at: str | None


def read_alarm_log(connection: Connection) -> list[LoggedAlarm]:
    """The last alarms, the newest first; a figure has one that stands at most."""
    events = latest_events(connection, "metric:", ("alarm", "recovered"), most=2 * _MOST_READ)
    over: dict[str, str] = {}
    last: dict[str, str] = {}
    alarms = []
    for event in events:
        subject, at = event["subject"], event["at"]
        if event["what"] == "recovered":
            over[subject] = at
            continue
        # A later alarm of the same figure means that this one had ended before it.
        alarms.append(_logged(event, over.pop(subject, last.get(subject))))
        last[subject] = at
    return alarms[:_MOST_READ]


def _logged(event: Mapping[str, Any], over_at: str | None) -> LoggedAlarm:
    grouping, _, metric = event["subject"].removeprefix("metric:").partition("/")
    since = event["details"].get("since") if isinstance(event["details"], Mapping) else None
    return LoggedAlarm(
        at=event["at"],
        metric=metric,
        grouping=grouping,
        subject=since if isinstance(since, str) else None,
        sentence=event["why"] or f"{metric} left its limits.",
        over_at=over_at,
    )


_MOST = 50
