"""Alarms are told once until the figure recovers, and again until they arrive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, select

from corporeal.catalog.audit import Change, record
from corporeal.catalog.database import Database
from corporeal.catalog.tables import EVENT, HEAD
from corporeal.operations.alert import Alert, AlertChannel, Delivery, tell
from corporeal.operations.monitoring.alarm import (
    LIMITS,
    WATCHED,
    Alarm,
    chart_series,
    check_limit,
    check_series,
    metric_words,
)
from corporeal.operations.monitoring.batch_metrics import SubjectKind
from corporeal.operations.monitoring.control_chart import ChartRules, Unjudged
from corporeal.operations.monitoring.metric_series import MetricSeries, read_series

_MOST_PENDING = 200


@dataclass(frozen=True)
class WatchResult:
    """What a look at the figures found.

    `alarms` are new; `recovered` are those told before that are within limits again; `standing`
    were told before and go on; `unknown` says of the other figures why they cannot be judged.
    """

    alarms: tuple[Alarm, ...] = ()
    recovered: tuple[Alert, ...] = ()
    standing: tuple[Alarm, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)
    deliveries: tuple[Delivery, ...] = ()

    @property
    def alerts(self) -> list[Alert]:
        """What people are to be told."""
        return [*(alarm.to_alert() for alarm in self.alarms), *self.recovered]


def watch(
    database: Database,
    channels: Sequence[AlertChannel] = (),
    *,
    who: str,
    scope: SubjectKind = "batch",
    names: Sequence[str] = WATCHED,
    rules: ChartRules | None = None,
    reference: tuple[str, str] | None = None,
    limits: Mapping[str, float] | None = None,
) -> WatchResult:
    """Look at the figures, remember what is new, and tell it through the channels.

    A channel that fails is in `deliveries`. What reached nobody is told again the next time.
    """
    with database.write() as connection:
        # Two that watch at once take turns, so that one of them tells.
        connection.execute(select(HEAD.c.number).with_for_update())
        found = look(connection, who=who, scope=scope, names=names, rules=rules,
                     reference=reference, limits=limits)  # fmt: skip
        if not channels:
            return found
        alerts = [*_pending(connection, scope), *found.alerts][-_MOST_PENDING:]
        if not alerts:
            return found
        details = {"alerts": [alert.to_json() for alert in alerts]}
        record(connection, [Change(who, "undelivered", f"watch:{scope}", details=details)])
    deliveries = tell(channels, alerts)
    if any(delivery.reason is None for delivery in deliveries):
        failed = {each.channel: each.reason for each in deliveries if each.reason is not None}
        with database.write() as connection:
            change = Change(who, "delivered", f"watch:{scope}", details={"failed": failed})
            record(connection, [change])
    return WatchResult(
        found.alarms, found.recovered, found.standing, found.unknown, tuple(deliveries)
    )


def look(
    connection: Connection,
    *,
    who: str,
    scope: SubjectKind = "batch",
    names: Sequence[str] = WATCHED,
    rules: ChartRules | None = None,
    reference: tuple[str, str] | None = None,
    limits: Mapping[str, float] | None = None,
) -> WatchResult:
    """Look at the figures and remember what is new, inside a transaction; tell nobody."""
    alarms: list[Alarm] = []
    recovered: list[Alert] = []
    standing: list[Alarm] = []
    unknown: dict[str, str] = {}
    judged: list[tuple[MetricSeries, list[Alarm]]] = []
    for name in names:
        figures = read_series(connection, name, scope)
        made = chart_series(figures, rules=rules, reference=reference)
        if isinstance(made, Unjudged):
            unknown[name] = made.reason
        else:
            judged.append((figures, check_series(figures, rules=rules, reference=reference)))
    for name, limit in (LIMITS if limits is None else limits).items():
        figures = read_series(connection, name, scope)
        judged.append((figures, check_limit(figures, limit)))
    for figures, departures in judged:
        new, back, still = _compare(connection, figures, departures, who)
        alarms += new
        recovered += back
        standing += still
    return WatchResult(tuple(alarms), tuple(recovered), tuple(standing), unknown)


def _compare(
    connection: Connection, figures: MetricSeries, departures: Sequence[Alarm], who: str
) -> tuple[list[Alarm], list[Alert], list[Alarm]]:
    """What is new, what is over and what goes on, against what was told; written to the log."""
    if not len(figures):
        return [], [], []
    subject = f"metric:{figures.scope}/{figures.name}"
    last = _last_event(connection, subject, ("alarm", "recovered"))
    seen = str(last["details"]["seen"]) if last else ""
    is_open = last is not None and last["what"] == "alarm"
    same = [each for each in departures if is_open and each.at <= seen <= each.last_at]
    if is_open and not same:
        # The batch at which it was called may be within limits now that more is known.
        same = [each for each in departures if each.at <= seen and not each.is_over]
    new = [
        each for each in departures
        if each not in same and (each.at > seen or (not is_open and not each.is_over))
    ]  # fmt: skip
    now_seen = figures.times[-1]
    changes, back = [], []
    if last is not None and is_open and (not same or same[-1].is_over):
        back = [_recovery(last["details"], figures)]
        changes.append(Change(who, "recovered", subject, details={"seen": now_seen}))
    for alarm in new:
        details = {**alarm.facts, "seen": now_seen}
        changes.append(Change(who, "alarm", subject, alarm.sentence, details))
    if new and new[-1].is_over:
        changes.append(Change(who, "recovered", subject, details={"seen": now_seen}))
    record(connection, changes)
    return new, back, [each for each in same if not each.is_over]


def _recovery(told: Mapping[str, Any], figures: MetricSeries) -> Alert:
    name = metric_words(figures.name)
    text = (
        f"{name} is within its limits again in {figures.scope} {figures.subjects[-1]}; the alarm "
        f"was called in {figures.scope} {told['subject']}."
    )
    facts = {"metric": figures.name, "scope": figures.scope, "subject": figures.subjects[-1]}
    return Alert(f"{name} recovered", text, "recovered", facts)


def _last_event(
    connection: Connection, subject: str, kinds: Sequence[str]
) -> dict[str, Any] | None:
    query = (
        select(EVENT.c.what, EVENT.c.details)
        .where(EVENT.c.subject == subject, EVENT.c.what.in_(kinds))
        .order_by(EVENT.c.number.desc())
        .limit(1)
    )
    row = connection.execute(query).mappings().first()
    return dict(row) if row is not None else None


def _pending(connection: Connection, scope: str) -> list[Alert]:
    """Alerts that reached nobody the last time."""
    last = _last_event(connection, f"watch:{scope}", ("undelivered", "delivered"))
    if last is None or last["what"] == "delivered":
        return []
    return [Alert(**alert) for alert in last["details"]["alerts"]]
