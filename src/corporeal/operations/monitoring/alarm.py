"""Watches the figures of batches: which one left its limits, since when, and by how much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.operations.alert import Alert, one_line
from corporeal.operations.monitoring.baseline import Kind
from corporeal.operations.monitoring.batch_metrics import FINDINGS
from corporeal.operations.monitoring.control_chart import (
    ChartRules,
    ControlChart,
    Marks,
    Unjudged,
    chart,
)
from corporeal.operations.monitoring.metric_series import RATES, MetricSeries

WATCHED = (
    "acceptance_rate", "failure_rate", "findings_per_episode", "score_mean", "duration_median_s",
    "calibration_position_growth_m", "calibration_rotation_growth_rad",
)  # fmt: skip
"""What is watched unless others are named: every further figure adds false alarms."""
LIMITS = {"label_balance_error": 0.1, "largest_operator_share": 0.3}
"""Figures with a limit that does not come from earlier batches."""
QUIET = 3
"""So many batches within limits end a departure; fewer are a pause."""
_CHARTS = {"shewhart": "Shewhart", "ewma": "EWMA", "cusum": "CUSUM"}


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
    return list(_departures(series, made)) if isinstance(made, ControlChart) else []


def check_limit(series: MetricSeries, limit: float, *, min_episodes: int = 10) -> list[Alarm]:
    """Every run of batches that is above a fixed limit; smaller batches are not judged."""
    with np.errstate(invalid="ignore", divide="ignore"):
        # One episode over is the rounding of a small batch.
        above = (series.sizes >= min_episodes) & (series.values - 1 / series.sizes > limit)
    return [_excess(series, limit, begin, end) for begin, end in _runs(above.astype(np.int8))]


def _departures(series: MetricSeries, made: ControlChart) -> Iterator[Alarm]:
    for begin, end in _runs(made.signal):
        yield _alarm(series, made, begin, end)


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
    worst = begin + int(np.argmax(series.values[begin:end]))
    value = float(series.values[worst])
    over = "; it is over" if _is_over(series, end) else ""
    sentence = (
        f"{metric_words(series.name)} of {series.scope} {series.subjects[worst]} is "
        f"{metric_figure(series.name, value)}; at most {metric_figure(series.name, limit)} is "
        f"allowed ({_spell(series, begin, end)}{over})."
    )
    return _made(series, begin, begin, end, sentence, value=value, expected=limit, sigmas=0.0,
                 charts=("limit",))  # fmt: skip


def _alarm(series: MetricSeries, made: ControlChart, begin: int, end: int) -> Alarm:
    """The departure called at batch `begin` that lasts until before batch `end`."""
    since = made.change_point(begin)
    charts = tuple(name for name, marks in made.out.items() if marks[begin:end].any())
    far = since + int(np.argmax(np.abs(made.z[since:end])))
    usual, now = made.reference.target, _level(series, made, since, end)
    called = ", ".join(_CHARTS[name] for name in charts)
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
    if name in RATES or name in LIMITS:
        return f"{100 * value:.1f} %"
    units = {"_s": " s", "_m": " m", "_rad": " rad"}
    unit = next((unit for end, unit in units.items() if name.endswith(end)), "")
    return f"{value:.3g}{unit}"


def metric_words(name: str) -> str:
    """The name of a figure as people say it."""
    for end in ("_rad", "_s", "_m"):
        name = name.removesuffix(end)
    return name.replace(".", " ").replace("_", " ")
