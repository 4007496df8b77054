"""Alarms say what happened, once, until it is over; and again when nobody heard them."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest
from tests.operations.monitoring.figures import keep, made_series

from corporeal.catalog.audit import events_of, verify
from corporeal.catalog.database import Database
from corporeal.operations.alert import Alert, AlertChannel, AlertError
from corporeal.operations.monitoring import check_series, watch
from corporeal.operations.monitoring.alarm import check_limit, kind_of

RNG_SEED = 8


def _scores(count: int) -> list[float]:
    found = np.random.default_rng(RNG_SEED).normal(0.8, 0.02, count)
    return [float(value) for value in found]


def _add(database: Database, values: Sequence[float], *, first: int = 0) -> None:
    with database.write() as connection:
        keep(connection, "score_mean", values, first=first)


class _Ear:
    """A channel that remembers, or fails."""

    def __init__(self) -> None:
        self.heard: list[Alert] = []
        self.is_deaf = False

    def send(self, alerts: Sequence[Alert]) -> None:
        if self.is_deaf:
            raise AlertError("the ear is deaf")
        self.heard += alerts

    @property
    def channel(self) -> AlertChannel:
        return AlertChannel("ear", "test", self.send)


def test_an_alarm_says_which_batch_since_when_and_how_much() -> None:
    rates = np.full(30, 0.9)
    rates[25:] = 0.6
    (alarm,) = check_series(made_series("acceptance_rate", rates, size=40))
    assert alarm.subject == alarm.since == "b025"
    assert alarm.charts[0] == "shewhart"
    assert alarm.value == pytest.approx(0.6)
    assert alarm.sentence.startswith(
        "acceptance rate fell from 90.0 % to 60.0 % in 5 batches since b025 (up to "
    )
    assert not alarm.is_over


def test_departures_with_a_short_pause_are_one_alarm() -> None:
    scores = np.array(_scores(60))
    scores[[30, 32]] += 0.3
    scores[45] -= 0.3
    alarms = check_series(made_series("score_mean", scores))
    assert [(alarm.subject, alarm.last >= "b032", alarm.is_over) for alarm in alarms] == [
        ("b030", True, True),
        ("b045", True, True),
    ]


def test_a_series_that_cannot_be_judged_gives_no_alarm() -> None:
    assert check_series(made_series("score_mean", [0.1, 0.9, 5.0])) == []


def test_a_fixed_limit_is_called_for_batches_that_are_large_enough() -> None:
    shares = [0.2, 0.31, 0.5, 0.5, 0.2]
    (alarm,) = check_limit(made_series("largest_operator_share", shares), 0.3)
    assert (alarm.subject, alarm.last) == ("b002", "b003")
    assert "is 50.0 %; at most 30.0 % is allowed" in alarm.sentence
    assert check_limit(made_series("largest_operator_share", shares, size=5), 0.3) == []


def test_kinds_follow_the_name() -> None:
    assert kind_of("acceptance_rate") == "rate"
    assert kind_of("findings.gap_in_stream") == "count"
    assert kind_of("score_mean") == "value"


def test_an_alarm_is_told_once_and_its_end_once(database: Database) -> None:
    ear = _Ear()
    _add(database, _scores(25))
    assert watch(database, [ear.channel], who="cron").alerts == []
    _add(database, [0.6], first=25)
    (alarm,) = watch(database, [ear.channel], who="cron").alarms
    assert alarm.subject == "b025"
    _add(database, [0.6, 0.61], first=26)
    again = watch(database, [ear.channel], who="cron")
    assert again.alarms == ()
    assert [each.subject for each in again.standing] == ["b025"]
    _add(database, _scores(12), first=28)
    assert [each.severity for each in watch(database, [ear.channel], who="cron").recovered] == [
        "recovered"
    ]
    assert watch(database, [ear.channel], who="cron").alerts == []
    _add(database, [0.6], first=40)
    watch(database, [ear.channel], who="cron")
    assert [each.severity for each in ear.heard] == ["alarm", "recovered", "alarm"]
    with database.read() as connection:
        told = [each["what"] for each in events_of(connection, "metric:batch/score_mean")]
        assert list(verify(connection)) == []
    assert told == ["alarm", "recovered", "alarm"]


def test_a_departure_between_two_looks_is_told_and_needs_no_recovery(database: Database) -> None:
    _add(database, [*_scores(25), 0.6, *_scores(8)])
    found = watch(database, who="cron")
    assert [alarm.is_over for alarm in found.alarms] == [True]
    assert watch(database, who="cron").alerts == []


def test_what_nobody_heard_is_told_again(database: Database) -> None:
    ear = _Ear()
    ear.is_deaf = True
    _add(database, [*_scores(25), 0.6])
    found = watch(database, [ear.channel], who="cron")
    assert [each.reason for each in found.deliveries] == ["the ear is deaf"]
    ear.is_deaf = False
    assert watch(database, [ear.channel], who="cron").alarms == ()
    assert [each.title for each in ear.heard] == ["score mean left its limits"]
    watch(database, [ear.channel], who="cron")
    assert len(ear.heard) == 1


def test_two_that_watch_at_once_tell_an_alarm_once(database: Database) -> None:
    ear = _Ear()
    _add(database, [*_scores(25), 0.6])
    found: list[int] = []

    def work() -> None:
        found.append(len(watch(database, [ear.channel], who="cron").alarms))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [0, 0, 0, 1]


def test_a_channel_that_fails_beside_one_that_works_is_reported(database: Database) -> None:
    good, bad = _Ear(), _Ear()
    bad.is_deaf = True
    _add(database, [*_scores(25), 0.6])
    found = watch(database, [bad.channel, good.channel], who="cron")
    assert [each.reason for each in found.deliveries] == ["the ear is deaf", None]
    assert len(good.heard) == 1
    with database.read() as connection:
        last = list(events_of(connection, "watch:batch"))[-1]
    assert last["what"] == "delivered"
    assert last["details"] == {"failed": {"ear": "the ear is deaf"}}


def test_figures_without_enough_batches_are_named_with_the_reason(database: Database) -> None:
    _add(database, _scores(3))
    found = watch(database, who="cron")
    assert found.unknown["score_mean"].startswith("cannot tell: 3 batches")
    assert "acceptance_rate" in found.unknown
