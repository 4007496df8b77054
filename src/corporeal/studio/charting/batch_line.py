"""A figure of batches on a control chart, in marks and in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from corporeal.operations.monitoring.control_chart import ControlChart as ControlChart
from corporeal.operations.monitoring.control_chart import Unknown
from corporeal.operations.monitoring.metric_series import Series
from corporeal.operations.monitoring.watch import (
    Alarm,
    chart_series,
    check_series,
    metric_figure,
    metric_words,
)
from corporeal.operations.scope import Scope, equals
from corporeal.studio.chart import LineMarks, LinePoint, Unit
from corporeal.words import counted

MOST_POINTS = 240
_CALLED = {"shewhart": "Shewhart", "ewma": "EWMA", "cusum": "CUSUM"}
_PLURAL: Mapping[str, str] = {"batch": "batches", "session": "sessions"}


def batch_line(series: Series, scope: Scope, unit: Unit) -> LineMarks:
    """The last batches with their limits; those that a chart calls are `out`."""
    made = chart_series(series)
    begin = max(0, len(series) - MOST_POINTS)
    points = [_point(series, made, place, scope) for place in range(begin, len(series))]
    target = made.reference.target if isinstance(made, ControlChart) else None
    return LineMarks(unit=unit, name=metric_words(series.name), points=points, target=target)


def _point(series: Series, made: ControlChart | Unknown, place: int, scope: Scope) -> LinePoint:
    value, size = float(series.values[place]), int(series.sizes[place])
    name = series.subjects[place]
    shown = metric_figure(series.name, value)
    detail = f"{series.scope} {name}: {shown} of {counted(size, 'episode')}"
    lower = upper = None
    state: Literal["reference", "within", "out", "unknown"] = "unknown"
    if isinstance(made, ControlChart):
        lower, upper = float(made.lower[place]), float(made.upper[place])
        state = "reference" if place < made.begin else "out" if made.signal[place] else "within"
        limits = (metric_figure(series.name, each) for each in (lower, upper))
        detail += f"; expected {' to '.join(limits)}"
        called = [name for name, marks in made.out.items() if marks[place]]
        if called:
            # A batch may be within the band while the sums of several are not.
            detail += f"; called by {', '.join(_CALLED[each] for each in called)}"
    return LinePoint(
        label=name,
        at=series.times[place],
        value=value,
        size=size,
        lower=lower,
        upper=upper,
        state=state,
        detail=detail,
        query=scope.query(equals(series.scope, name)),
    )


def batch_sentence(series: Series, *, good: Literal["up", "down"] | None) -> str:
    """Whether the figure is getting worse: yes, no, or why that cannot be told."""
    made, words = chart_series(series), metric_words(series.name)
    count = f"{len(series)} {_PLURAL[series.scope] if len(series) != 1 else series.scope}"
    overall = metric_figure(series.name, float(np.average(series.values, weights=series.sizes)))
    if isinstance(made, Unknown):
        reason = made.reason.removeprefix("cannot tell: ")
        return f"Too early to tell: {words} is {overall} over {count} ({reason})."
    if made.begin >= len(series):
        return (
            f"Too early to tell: {words} is {overall} over {count}, which set the limits; "
            f"{_PLURAL[series.scope]} after the first {made.rules.first} are judged by them."
        )
    standing = [alarm for alarm in check_series(series) if not alarm.is_over]
    if standing:
        return _called(standing[-1], good)
    judged = len(series) - made.begin
    return (
        f"No: {words} is {metric_figure(series.name, float(series.values[-1]))} in the last "
        f"{series.scope}, and the last of {judged} judged are within their limits."
    )


def _called(alarm: Alarm, good: Literal["up", "down"] | None) -> str:
    rose = alarm.value > alarm.expected
    better = good is not None and rose == (good == "up")
    said = alarm.sentence[0].upper() + alarm.sentence[1:]
    return f"{'No, it got better' if better else 'Yes'}. {said}"
