"""Which figure left its limits, since when and by how much; an alarm is told until it arrives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from corporeal.catalog.audit import Change, latest_events, record, take_turn
from corporeal.catalog.database import Database
from corporeal.operations.alert import Alert, AlertChannel, Delivery, one_line, tell
from corporeal.operations.monitoring.control_chart import (
    ChartRules,
    ControlChart,
    Kind,
    Marks,
    Unjudged,
    chart,
)
from corporeal.operations.monitoring.limit import (
    LEAST,
    SHARES,
    beyond_limit,
    family_of,
    read_limits,
)
from corporeal.operations.monitoring.metrics import (
    FINDINGS,
    RATES,
    MetricSeries,
    SubjectKind,
    metric_names,
    read_series,
)

WATCHED = (
    "acceptance_rate", "failure_rate", "findings_per_episode", "score_mean", "duration_median_s",
    "calibration_position_growth_m", "calibration_rotation_growth_rad",
)  # fmt: skip
"""What is watched unless others are named: every further figure adds false alarms."""
QUIET = 3
"""So many batches within limits end a departure; fewer are a pause."""
CHART_WORDS = {"shewhart": "Shewhart", "ewma": "EWMA", "cusum": "CUSUM"}


@dataclass(frozen=True)
class Alarm:
    """A figure beyond its limits.

    `subject` is the batch at which it was called, `since` the batch at which the change began as
    far as the sums tell, `last` the last batch of the departure; `is_over` when enough later ones
    are within limits again. `sigmas` is the farthest a batch was from the target.
    """

    metric: str
    scope: str
    subject: str
    since: str
    last: str
    at: str
    last_at: str
    value: float
    expected: float
    sigmas: float
    charts: tuple[str, ...]
    is_over: bool
    sentence: str

    def to_alert(self) -> Alert:
        """What people are told."""
        return Alert(
            f"{metric_words(self.metric)} left its limits", self.sentence, "alarm", self.facts
        )

    @property
    def facts(self) -> dict[str, Any]:
        """Everything but the sentence, as plain values."""
        facts = {name: value for name, value in self.__dict__.items() if name != "sentence"}
        return facts | {"charts": list(self.charts)}


def kind_of(name: str) -> Kind:
    """How a figure scatters: a share of episodes, a number per episode, or anything else."""
    if name in RATES:
        return "rate"
    return "count" if name.startswith(FINDINGS) else "value"


def chart_series(
    series: MetricSeries,
    *,
    rules: ChartRules | None = None,
    reference: tuple[str, str] | None = None,
) -> ControlChart | Unjudged:
    """The control charts of a series; `reference` is the first and the last time of the period."""
    kind = kind_of(series.name)
    if kind != "value" and not (series.sizes > 0).all():
        return Unjudged(series.values, "cannot tell: the sizes of some batches are not known")
    inside: NDArray[np.bool_] | None = None
    if reference is not None:
        first, last = reference
        inside = np.array([first <= time <= last for time in series.times], bool)
    return chart(series.values, kind=kind, sizes=series.sizes, reference=inside, rules=rules)


def check_series(
    series: MetricSeries,
    *,
    rules: ChartRules | None = None,
    reference: tuple[str, str] | None = None,
) -> list[Alarm]:
    """Every departure in a series, the oldest first; none where it cannot be told."""
    made = chart_series(series, rules=rules, reference=reference)
    if isinstance(made, Unjudged):
        return []
    return [_alarm(series, made, begin, end) for begin, end in _runs(made.signal)]


def check_limit(series: MetricSeries, limit: float) -> list[Alarm]:
    """Every run of batches that is beyond a fixed limit; those of too little are not judged."""
    marks = beyond_limit(series, limit)
    return [_excess(series, limit, begin, end) for begin, end in _runs(marks)]


def _runs(signal: Marks) -> Iterator[tuple[int, int]]:
    """First and end of each departure; one that pauses for less than `QUIET` batches goes on."""
    begin = end = 0
    for at in np.flatnonzero(signal).tolist():
        if end and (at - end >= QUIET or signal[at] != signal[begin]):
            yield begin, end
            end = 0
        if not end:
            begin = at
        end = at + 1
    if end:
        yield begin, end


def _is_over(series: MetricSeries, end: int) -> bool:
    return len(series) - end >= QUIET


def _excess(series: MetricSeries, limit: float, begin: int, end: int) -> Alarm:
    is_least = family_of(series.name) in LEAST
    worst = begin + int((np.argmin if is_least else np.argmax)(series.values[begin:end]))
    value = float(series.values[worst])
    over = "; it is over" if _is_over(series, end) else ""
    sentence = (
        f"{metric_words(series.name)} of {series.scope} {series.subjects[worst]} is "
        f"{metric_figure(series.name, value)}; at {'least' if is_least else 'most'} "
        f"{metric_figure(series.name, limit)} is {'expected' if is_least else 'allowed'} "
        f"({_spell(series, begin, end)}{over})."
    )
    return _made(series, begin, begin, end, sentence, value=value, expected=limit, sigmas=0.0,
                 charts=("limit",))  # fmt: skip


def _alarm(series: MetricSeries, made: ControlChart, begin: int, end: int) -> Alarm:
    """The departure called at batch `begin` that lasts until before batch `end`."""
    since = made.change_point(begin)
    charts = tuple(name for name, marks in made.out.items() if marks[begin:end].any())
    far = since + int(np.argmax(np.abs(made.z[since:end])))
    usual, now = made.reference.target, _level(series, made, since, end)
    called = ", ".join(CHART_WORDS[name] for name in charts)
    over = "; it is over" if _is_over(series, end) else ""
    sentence = (
        f"{metric_words(series.name)} {'rose' if made.signal[begin] > 0 else 'fell'} from "
        f"{metric_figure(series.name, usual)} to {metric_figure(series.name, now)} "
        f"{_spell(series, since, end)} (up to {abs(made.z[far]):.1f} standard deviations off, "
        f"called by {called}{over})."
    )
    return _made(series, since, begin, end, sentence, value=now, expected=usual,
                 sigmas=float(made.z[far]), charts=charts)  # fmt: skip


def _made(
    series: MetricSeries, since: int, begin: int, end: int, sentence: str, *,
    value: float, expected: float, sigmas: float, charts: tuple[str, ...],
) -> Alarm:  # fmt: skip
    return Alarm(
        metric=series.name,
        scope=series.scope,
        subject=series.subjects[begin],
        since=series.subjects[since],
        last=series.subjects[end - 1],
        at=series.times[begin],
        last_at=series.times[end - 1],
        # A negative nought would not come back from every database as it went in.
        value=value + 0.0,
        expected=expected + 0.0,
        sigmas=sigmas + 0.0,
        charts=charts,
        is_over=_is_over(series, end),
        sentence=one_line(sentence),
    )


def _spell(series: MetricSeries, begin: int, end: int) -> str:
    words = {"batch": "batches"}.get(series.scope, f"{series.scope}s")
    if end - begin == 1:
        return f"in {series.scope} {series.subjects[begin]}"
    return f"in {end - begin} {words} since {series.subjects[begin]}"


def _level(series: MetricSeries, made: ControlChart, since: int, end: int) -> float:
    """What the figure is during a departure: the mean, of all episodes where it is a share."""
    values = series.values[since:end]
    if made.reference.kind == "value":
        return float(values.mean())
    return float(np.average(values, weights=series.sizes[since:end]))


def metric_figure(name: str, value: float) -> str:
    """A value of a figure with its unit."""
    if name in RATES or name in SHARES:
        return f"{100 * value:.1f} %"
    units = {"_frames": " frames", "_s": " s", "_m": " m", "_rad": " rad"}
    unit = next((unit for end, unit in units.items() if name.endswith(end)), "")
    return f"{value:.3g}{unit}"


def metric_words(name: str) -> str:
    """The name of a figure as people say it."""
    for end in ("_rad", "_s", "_m"):
        name = name.removesuffix(end)
    return name.replace(".", " ").replace("_", " ")


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
    limits: Mapping[str, Any] | None = None,
) -> WatchResult:
    """Look at the figures, remember what is new, and tell it through the channels.

    `limits` are a team's own, as the section [limits] of `corporeal.toml` has them.
    A channel that fails is in `deliveries`. What reached nobody is told again the next time.
    """
    with database.write() as connection:
        # Two that watch at once take turns, so that one of them tells.
        take_turn(connection)
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
    return replace(found, deliveries=tuple(deliveries))


def look(
    connection: Connection,
    *,
    who: str,
    scope: SubjectKind = "batch",
    names: Sequence[str] = WATCHED,
    rules: ChartRules | None = None,
    reference: tuple[str, str] | None = None,
    limits: Mapping[str, Any] | None = None,
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
    fixed = read_limits({} if limits is None else limits)
    for name in metric_names(connection, scope):
        if family_of(name) in fixed:
            figures = read_series(connection, name, scope)
            judged.append((figures, check_limit(figures, fixed[family_of(name)])))
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
    last = next(iter(latest_events(connection, subject, ("alarm", "recovered"))), None)
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


def _pending(connection: Connection, scope: str) -> list[Alert]:
    """Alerts that reached nobody the last time."""
    return [
        Alert(**alert)
        for event in latest_events(connection, f"watch:{scope}", ("undelivered", "delivered"))
        if event["what"] == "undelivered"
        for alert in event["details"]["alerts"]
    ]
