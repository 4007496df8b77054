"""A figure of batches on a control chart, in marks and in a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np
from sqlalchemy import Connection

from corporeal.catalog.query import (
    Comparison,
    Known,
    MetadataField,
    count_episodes,
    count_findings,
    count_of,
    iso,
    most_of,
    read_fields,
    sum_episodes,
    sum_of,
)
from corporeal.operations.coverage.metadata_cache import find_cache
from corporeal.operations.monitoring.alarm import (
    CHART_WORDS,
    Alarm,
    chart_series,
    check_series,
    metric_figure,
    metric_words,
)
from corporeal.operations.monitoring.change import CERTAIN, NoChange, TooFew, find_change
from corporeal.operations.monitoring.control_chart import ControlChart, Unjudged
from corporeal.operations.monitoring.metrics import GRAVE, MetricSeries
from corporeal.operations.question import LineMarks, LinePoint, Unit
from corporeal.operations.scope import Scope, equals
from corporeal.words import counted

Figure = Literal["acceptance_rate", "failure_rate", "score_mean", "findings_per_episode"]
FIGURES: tuple[Figure, ...] = get_args(Figure)
Grouping = Literal["batch", "session"]


def find_grouping(connection: Connection, scope: Scope) -> Grouping | None:
    """What episodes come in: batches, else sessions; None where they name neither."""
    names: tuple[Grouping, ...] = ("batch", "session")
    for name in names:
        if count_episodes(connection, scope.meeting(Known(name, True)), up_to=1):
            return name
    return None


def batch_series(
    connection: Connection, scope: Scope, figure: Figure, by: Grouping
) -> MetricSeries:
    """One figure of every batch, the oldest first; the same numbers that `watch` keeps."""
    value, size = {
        "acceptance_rate": (count_of(Comparison("verdict", "=", "accepted")), "verdict"),
        "failure_rate": (count_of(Comparison("success", "=", False)), "success"),
        "score_mean": (sum_of("score"), "score"),
        "findings_per_episode": (count_of(), "verdict"),
    }[figure]
    inside = scope.meeting(Known(by, True))
    rows = sum_episodes(
        connection, inside, most_of("recorded"), value, count_of(known=size), by=(by,)
    )
    totals = {name: float(total) for name, _, total, _ in rows}
    if figure == "findings_per_episode":
        found = count_findings(connection, inside, by=(by,), severities=GRAVE)
        totals = dict.fromkeys(totals, 0.0) | dict(found)
    return _made(figure, by, [
        (name, last_ns or 0, totals[name] / count, count) for name, last_ns, _, count in rows
        if count
    ])  # fmt: skip


def calibration_series(
    connection: Connection, scope: Scope, name: str, by: Grouping
) -> MetricSeries:
    """How much an error (`position_error_m` ...) grew between start and end, mean of each batch."""
    rows = list(read_fields(connection, "id", by, "recorded", where=scope.meeting(Known(by, True))))
    wanted = [MetadataField(f"calibration.{end}.{name}", "number") for end in ("start", "end")]
    starts, ends = find_cache(connection).of(connection, [row[0] for row in rows], wanted)
    sums: dict[str, tuple[int, float, int]] = {}
    for (_, subject, stamp_ns), start, end in zip(rows, starts, ends, strict=True):
        if start is not None and end is not None:
            last_ns, total, count = sums.get(subject, (0, 0.0, 0))
            sums[subject] = (max(last_ns, stamp_ns or 0), total + end - start, count + 1)
    return _made(f"calibration_{name.replace('error', 'growth')}", by, [
        (subject, last_ns, total / count, count)
        for subject, (last_ns, total, count) in sums.items()
    ])  # fmt: skip


def _made(name: str, by: Grouping, rows: Sequence[tuple[str, int, float, int]]) -> MetricSeries:
    order = sorted((row for row in rows if math.isfinite(row[2])), key=lambda row: (row[1], row[0]))
    return MetricSeries(
        name=name,
        scope=by,
        subjects=tuple(row[0] for row in order),
        times=tuple(iso(row[1]) for row in order),
        values=np.array([row[2] for row in order], np.float64),
        sizes=np.array([row[3] for row in order], np.float64),
    )


MOST_POINTS = 240
_PLURAL: Mapping[str, str] = {"batch": "batches", "session": "sessions"}


def batch_line(series: MetricSeries, scope: Scope, unit: Unit) -> LineMarks:
    """The last batches with their limits; those that a chart calls are `out`."""
    made = chart_series(series)
    begin = max(0, len(series) - MOST_POINTS)
    points = [_point(series, made, place, scope) for place in range(begin, len(series))]
    target = made.reference.target if isinstance(made, ControlChart) else None
    return LineMarks(unit=unit, name=metric_words(series.name), points=points, target=target)


def _point(
    series: MetricSeries, made: ControlChart | Unjudged, place: int, scope: Scope
) -> LinePoint:
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
            detail += f"; called by {', '.join(CHART_WORDS[each] for each in called)}"
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


def batch_sentence(series: MetricSeries, *, good: Literal["up", "down"] | None) -> str:
    """Whether the figure is getting worse: yes, no, or why that cannot be told."""
    made, words = chart_series(series), metric_words(series.name)
    count = f"{len(series)} {_PLURAL[series.scope] if len(series) != 1 else series.scope}"
    overall = metric_figure(series.name, float(np.average(series.values, weights=series.sizes)))
    if isinstance(made, Unjudged) or made.begin >= len(series):
        return _early(series, f"{words} is {overall} over {count}", good)
    standing = [alarm for alarm in check_series(series) if not alarm.is_over]
    if standing:
        return _called(standing[-1], good)
    judged = len(series) - made.begin
    return (
        f"No: {words} is {metric_figure(series.name, float(series.values[-1]))} in the last "
        f"{series.scope}, and the last of {judged} judged are within their limits."
    )


def _early(series: MetricSeries, said: str, good: Literal["up", "down"] | None) -> str:
    """What a permutation test sees before there are limits to judge by."""
    result, unit = find_change(series.values), _PLURAL[series.scope]
    if isinstance(result, TooFew):
        more = counted(result.missing, f"more {series.scope}", f"more {unit}")
        need = "is" if result.missing == 1 else "are"
        return f"Too early to tell: {said}; {more} {need} needed to see a change."
    if isinstance(result, NoChange):
        return f"No change that chance does not explain: {said}."
    before, after = (metric_figure(series.name, each) for each in (result.before, result.after))
    better = good is not None and (result.after > result.before) == (good == "up")
    later = len(series) - result.at
    return (
        f"{'No, it got better' if better else 'Yes'}. {metric_words(series.name).capitalize()}: "
        f"{before} -> {after} since {series.subjects[result.at]} "
        f"({counted(later, series.scope, unit)}, p < {CERTAIN})."
    )


def _called(alarm: Alarm, good: Literal["up", "down"] | None) -> str:
    rose = alarm.value > alarm.expected
    better = good is not None and rose == (good == "up")
    said = alarm.sentence[0].upper() + alarm.sentence[1:]
    return f"{'No, it got better' if better else 'Yes'}. {said}"
