"""Alarms of the log are told with their end."""

from __future__ import annotations

from corporeal.catalog.audit import Change, record
from corporeal.catalog.database import Database
from corporeal.operations.questions.alarms import read_alarm_log


def _event(what: str, subject: str, why: str | None = None, since: str = "b1") -> Change:
    return Change("watcher", what, subject, why, {"since": since, "seen": "2026-01-01"})


def test_an_alarm_stands_until_the_figure_recovers(database: Database) -> None:
    with database.write() as connection:
        for at, change in (
            ("2026-01-01T00:00:00Z", _event("alarm", "metric:batch/score_mean", "it fell.", "b3")),
            ("2026-01-02T00:00:00Z", _event("alarm", "metric:batch/acceptance_rate", "worse.")),
            ("2026-01-03T00:00:00Z", _event("recovered", "metric:batch/score_mean")),
            ("2026-01-04T00:00:00Z", _event("alarm", "metric:batch/score_mean", "again.", "b9")),
            ("2026-01-05T00:00:00Z", _event("state", "episode:x")),
        ):
            record(connection, [change], at=at)
    with database.read() as connection:
        found = read_alarm_log(connection)
    assert [(each.metric, each.subject, each.over_at) for each in found] == [
        ("score_mean", "b9", None),
        ("acceptance_rate", "b1", None),
        ("score_mean", "b3", "2026-01-03T00:00:00Z"),
    ]
    assert found[0].sentence == "again."
