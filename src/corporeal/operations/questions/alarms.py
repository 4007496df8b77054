"""What raised an alarm, and is it over? The alarms of `corporeal watch`."""

from __future__ import annotations

from typing import get_args

from sqlalchemy import Connection

from corporeal.operations.monitoring.alarm import metric_words
from corporeal.operations.monitoring.alarm_log import LoggedAlarm as LoggedAlarm
from corporeal.operations.monitoring.alarm_log import read_alarm_log as read_alarm_log
from corporeal.operations.monitoring.batch_line import Grouping
from corporeal.operations.question import Chart, Drawing, TableMarks, TableRow
from corporeal.operations.scope import Scope, equals
from corporeal.words import counted

_MOST = 50


def draw(connection: Connection, scope: Scope) -> Drawing:
    """The last alarms of the log, the newest first."""
    found = read_alarm_log(connection)
    if not found:
        return Drawing(
            "No alarm has been called.",
            advice="Alarms come from corporeal watch: run it after every batch.",
        )
    standing = [each for each in found if each.over_at is None]
    if standing:
        newest = standing[0]
        answer = f"{counted(len(standing), 'alarm')} not over yet. {_capital(newest.sentence)}"
    else:
        answer = (
            f"All {counted(len(found), 'alarm')} are over; the last was called {found[0].at[:10]}."
        )
    return Drawing(
        answer,
        TableMarks(
            columns=["Called", "Metric", "What happened", "Over since"],
            rows=[_row(each, scope) for each in found[:_MOST]],
        ),
        notes=("Alarms concern whole batches, whatever is asked for above.",),
    )


def _row(alarm: LoggedAlarm, scope: Scope) -> TableRow:
    known = alarm.subject is not None and alarm.grouping in get_args(Grouping)
    everything = Scope(has_erased=scope.has_erased)
    return TableRow(
        cells=[
            alarm.at[:10],
            metric_words(alarm.metric),
            _capital(alarm.sentence),
            "stands" if alarm.over_at is None else alarm.over_at[:10],
        ],
        tone="bad" if alarm.over_at is None else "quiet",
        query=everything.query(equals(alarm.grouping, alarm.subject)) if known else None,
    )


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


CHART = Chart(draw, "What raised an alarm, and is it over?", "Today", place=20)
