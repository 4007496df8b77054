"""A control chart on one page: the figure with its limits, the two sums, the alarms in words."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corporeal.catalog.database import CatalogError
from corporeal.operations.monitoring.alarm import (
    Alarm,
    chart_series,
    check_series,
    kind_of,
    metric_figure,
    metric_words,
)
from corporeal.operations.monitoring.control_chart import Array, ChartRules, ControlChart, Unjudged
from corporeal.operations.monitoring.metrics import MetricSeries

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours that people with any kind of colour blindness tell apart (Okabe and Ito).
_BLUE, _RED, _GREEN = "#0072B2", "#D55E00", "#009E73"
_INK, _QUIET, _GRID, _SHADE = "#1d2733", "#6b7783", "#e6eaee", "#f1f4f7"
_MOST_WORDS = 4
_SUFFIXES = (".png", ".svg", ".pdf")


def plot_chart(
    series: MetricSeries,
    *,
    rules: ChartRules | None = None,
    reference: tuple[str, str] | None = None,
    title: str | None = None,
) -> Figure:
    """A matplotlib figure of a series: values above, EWMA and CUSUM below, alarms at the side."""
    from matplotlib.figure import Figure

    made = chart_series(series, rules=rules, reference=reference)
    alarms = check_series(series, rules=rules, reference=reference)
    figure = Figure(figsize=(15, 8.4), dpi=120, facecolor="white")
    rows = (2.3, 1, 1) if isinstance(made, ControlChart) else (1,)
    grid = figure.add_gridspec(len(rows), 1, left=0.065, right=0.72, top=0.855, bottom=0.075,
                               hspace=0.24, height_ratios=rows)  # fmt: skip
    lanes = [figure.add_subplot(grid[row]) for row in range(len(rows))]
    for lane in lanes:
        _prepare(lane, len(series))
        lane.tick_params(labelbottom=lane is lanes[-1])
    _points(lanes[0], series)
    if isinstance(made, ControlChart):
        _limits(lanes[0], made)
        _ewma(lanes[1], made)
        _cusum(lanes[2], made)
        for number, alarm in enumerate(alarms, start=1):
            _mark(lanes[0], series, made, alarm, number)
    _axis(lanes[0], series)
    _batches(lanes[-1], series)
    _head(figure, series, made, alarms, title)
    _side(figure, alarms, made)
    return figure


def save_chart(
    path: Path,
    series: MetricSeries,
    *,
    rules: ChartRules | None = None,
    reference: tuple[str, str] | None = None,
    title: str | None = None,
) -> None:
    """Write the page as a picture; the file's name says which kind: .png, .svg or .pdf."""
    if path.suffix.lower() not in _SUFFIXES:
        raise CatalogError(
            f"chart, got {path.name!r}; expected a name with {', '.join(_SUFFIXES)}."
        )
    plot_chart(series, rules=rules, reference=reference, title=title).savefig(path)


def _prepare(lane: Axes, count: int) -> None:
    lane.set_xlim(-0.7, max(count, 1) - 0.3)
    lane.grid(axis="y", color=_GRID, lw=0.8)
    lane.set_axisbelow(True)
    lane.tick_params(length=0, colors=_QUIET, labelsize=9)
    for side in lane.spines.values():
        side.set_visible(False)


def _points(lane: Axes, series: MetricSeries) -> None:
    lane.plot(np.arange(len(series)), series.values, color=_BLUE, lw=1.2, marker="o", ms=4.5)


def _limits(lane: Axes, made: ControlChart) -> None:
    edges = np.arange(len(made.values) + 1) - 0.5
    lane.stairs(made.upper, edges, baseline=made.lower, fill=True, color=_BLUE, alpha=0.09, lw=0)
    for limit in (made.lower, made.upper):
        lane.stairs(limit, edges, baseline=None, color=_BLUE, lw=0.9, alpha=0.55)
    lane.axhline(made.reference.target, color=_QUIET, lw=1.0, ls=(0, (5, 3)))
    lane.margins(y=0.09)
    _reference(lane, made)
    lane.text(made.begin / 2 - 0.5, 0.025, "reference", transform=lane.get_xaxis_transform(),
              color=_QUIET, fontsize=9, ha="center", va="bottom")  # fmt: skip
    named = {"target": made.reference.target, "limit": made.upper[-1], " limit": made.lower[-1]}
    for name, level in named.items():
        lane.text(1.006, level, name.strip(), transform=lane.get_yaxis_transform(), color=_QUIET,
                  fontsize=9, va="center")  # fmt: skip


def _ewma(lane: Axes, made: ControlChart) -> None:
    at = np.arange(len(made.values))
    limit = made.ewma_limit
    lane.fill_between(at, -limit, limit, color=_GREEN, alpha=0.10, lw=0)
    lane.plot(at, limit, color=_GREEN, lw=0.9, alpha=0.6)
    lane.plot(at, -limit, color=_GREEN, lw=0.9, alpha=0.6)
    lane.plot(at, made.ewma, color=_GREEN, lw=1.5)
    _called(lane, at, made.ewma, made.out["ewma"] != 0)
    _reference(lane, made)
    _symmetric(lane, made.ewma, float(np.nanmax(limit, initial=0.5)))
    _label(lane, f"EWMA {made.rules.ewma_weight:g}, {made.rules.ewma_limit:g}")


def _cusum(lane: Axes, made: ControlChart) -> None:
    at = np.arange(len(made.values))
    limit = made.rules.cusum_limit
    for sums in (made.high, made.low):
        lane.fill_between(at, 0, sums, color=_BLUE, alpha=0.18, lw=0)
        lane.plot(at, sums, color=_BLUE, lw=1.3)
    for level in (-limit, limit):
        lane.axhline(level, color=_BLUE, lw=0.9, alpha=0.6)
    both = np.where(made.high >= -made.low, made.high, made.low)
    _called(lane, at, both, made.out["cusum"] != 0)
    _reference(lane, made)
    _symmetric(lane, both, limit)
    _label(lane, f"CUSUM {made.rules.cusum_slack:g}, {limit:g}")


def _called(lane: Axes, at: NDArray[np.int_], values: Array, called: NDArray[np.bool_]) -> None:
    lane.plot(at[called], values[called], ls="", marker="o", ms=4.5, color=_RED, zorder=5)


def _reference(lane: Axes, made: ControlChart) -> None:
    lane.axvspan(-0.7, made.begin - 0.5, color=_SHADE, lw=0, zorder=0)


def _symmetric(lane: Axes, values: Array, limit: float) -> None:
    reach = 1.25 * max(limit, float(np.nanmax(np.abs(values), initial=0.0)))
    lane.set_ylim(-reach, reach)


def _label(lane: Axes, text: str) -> None:
    lane.set_ylabel("standard deviations", color=_QUIET, fontsize=8.5)
    lane.text(0.0, 1.03, text, transform=lane.transAxes, color=_INK, fontsize=9.5, va="bottom",
              weight="bold")  # fmt: skip


def _mark(lane: Axes, series: MetricSeries, made: ControlChart, alarm: Alarm, number: int) -> None:
    """The batches of a departure in red, its length above them with its number."""
    first, since = series.subjects.index(alarm.subject), series.subjects.index(alarm.since)
    end = series.subjects.index(alarm.last) + 1
    lane.plot([since - 0.5, end - 0.5], [1, 1], transform=lane.get_xaxis_transform(), color=_RED,
              lw=3.5, solid_capstyle="butt", clip_on=False, zorder=4)  # fmt: skip
    batches = np.arange(since, end)
    out = batches[made.signal[since:end] != 0]
    marker = "^" if made.signal[first] > 0 else "v"
    lane.plot(out, series.values[out], ls="", marker=marker, ms=8.5, color=_RED, zorder=5,
              markeredgecolor="white", markeredgewidth=0.8)  # fmt: skip
    lane.text((since + end - 1) / 2, 1.025, str(number), transform=lane.get_xaxis_transform(),
              color="white", fontsize=9, weight="bold", ha="center", va="bottom",
              bbox={"boxstyle": "circle,pad=0.25", "fc": _RED, "ec": "none"})  # fmt: skip


def _axis(lane: Axes, series: MetricSeries) -> None:
    from matplotlib.ticker import PercentFormatter

    lane.set_ylabel(metric_words(series.name), color=_QUIET, fontsize=9.5, parse_math=False)
    if kind_of(series.name) == "rate":
        low, high = lane.get_ylim()
        lane.set_ylim(max(low, -0.02), min(high, 1.02))
        lane.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))


def _batches(lane: Axes, series: MetricSeries) -> None:
    """The names of some batches, and their dates."""
    count = len(series)
    shown = range(0, count, max(1, -(-count // 9)))
    names = [f"{_short(series.subjects[at])}\n{series.times[at][:10]}" for at in shown]
    lane.set_xticks(shown, names, parse_math=False)


def _short(name: str) -> str:
    return name if len(name) <= 14 else f"{name[:6]}…{name[-7:]}"


def _head(
    figure: Figure, series: MetricSeries, made: ControlChart | Unjudged, alarms: Sequence[Alarm],
    title: str | None,
) -> None:  # fmt: skip
    name = metric_words(series.name)
    figure.text(0.02, 0.95, title or f"{name} of each {series.scope}", fontsize=20,
                weight="bold", color=_INK, va="center", parse_math=False)  # fmt: skip
    facts = [f"{len(series)} {series.scope}{'e' * (series.scope == 'batch')}s"]
    if isinstance(made, ControlChart):
        left = f", {made.reference.left_out} left out" if made.reference.left_out else ""
        facts += [
            f"target {metric_figure(series.name, made.reference.target)} from "
            f"{made.reference.batches} of them{left}",
            f"limits at {made.rules.shewhart_limit:g} standard deviations"
            + ", by the size of the batch" * (made.reference.kind != "value"),
        ]
    figure.text(0.02, 0.905, "   ·   ".join(facts), fontsize=10.5, color=_QUIET, va="center")
    standing = sum(not alarm.is_over for alarm in alarms)
    word, colour = (
        ("within limits", _GREEN) if isinstance(made, ControlChart) else ("cannot tell", _QUIET)
    )
    if standing:
        word, colour = "out of limits", _RED
    figure.text(0.98, 0.95, word, fontsize=15, weight="bold", color=colour, ha="right", va="center")


def _side(figure: Figure, alarms: Sequence[Alarm], made: ControlChart | Unjudged) -> None:
    """The newest alarms in words."""
    at = 0.84
    if not alarms:
        none = made.reason if isinstance(made, Unjudged) else "No alarms."
        figure.text(0.775, at, textwrap.fill(none, 38), fontsize=10.5, color=_QUIET, va="top",
                    linespacing=1.35)  # fmt: skip
    numbered = list(enumerate(alarms, start=1))[-_MOST_WORDS:]
    if len(numbered) < len(alarms):
        figure.text(0.775, at, f"the last {len(numbered)} of {len(alarms)} alarms", fontsize=9.5,
                    color=_QUIET, va="top")  # fmt: skip
        at -= 0.04
    for number, alarm in numbered:
        lines = textwrap.wrap(
            alarm.sentence.replace(" %", "\u00a0%"), 37, max_lines=8, placeholder=" …"
        )
        figure.text(0.781, at - 0.004, str(number), color="white", fontsize=9, weight="bold",
                    ha="center", va="top",
                    bbox={"boxstyle": "circle,pad=0.25", "fc": _RED, "ec": "none"})  # fmt: skip
        figure.text(0.8, at, "\n".join(lines), fontsize=9.8, color=_INK, va="top",
                    linespacing=1.35, parse_math=False)  # fmt: skip
        at -= 0.03 + 0.0228 * len(lines)
