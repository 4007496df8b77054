"""Designs side by side on one page: which pairs of levels meet how often, and what that leaves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from corporeal.protocol.design.design import KINDS, Design
from corporeal.words import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours that people with any kind of colour blindness tell apart (Okabe and Ito).
_INK, _QUIET, _BAR, _NEVER, _BARRED = "#1d2733", "#6b7783", "#0072B2", "#D55E00", "#d5dade"
_MOST_LABELS, _MOST_NUMBERED = 60, 32


def draw_designs(designs: Sequence[Design], title: str) -> Figure:
    """A matplotlib figure: for each design the table of all pairs, and its figures below."""
    from matplotlib.figure import Figure

    across = min(2, len(designs))
    down = -(-len(designs) // across)
    high = 9.0 * down + 0.9
    figure = Figure(figsize=(8.2 * across, high), dpi=100, facecolor="white")
    grid = figure.add_gridspec(
        2 * down,
        across,
        height_ratios=(4.4, 1) * down,
        left=0.2 / across,
        right=0.985,
        top=1 - 1.75 / high,
        bottom=0.3 / high,
        wspace=0.28,
        hspace=0.3,
    )
    figure.text(0.012, 1 - 0.25 / high, title, fontsize=17, weight="bold", color=_INK, va="top")
    words = "How often two levels meet: dark often, orange too seldom, grey never by the rules."
    figure.text(0.012, 1 - 0.62 / high, words, fontsize=12, color=_QUIET, va="top")
    for place, design in enumerate(designs):
        row, column = divmod(place, across)
        _draw_pairs(figure.add_subplot(grid[2 * row, column]), design)
        _draw_figures(figure.add_subplot(grid[2 * row + 1, column]), design)
    return figure


def _draw_pairs(axes: Axes, design: Design) -> None:
    space, rows = design.space, design.rows
    starts = np.concatenate([[0], np.cumsum(space.sizes)])
    size = int(starts[-1])
    counts = np.full((size, size), np.nan)
    barred = np.zeros((size, size), bool)
    for first, second in combinations(range(len(space.sizes)), 2):
        table = np.zeros((space.sizes[first], space.sizes[second]))
        np.add.at(table, (rows[:, first], rows[:, second]), 1)
        # Below the diagonal: every pair once.
        here = (slice(starts[second], starts[second + 1]), slice(starts[first], starts[first + 1]))
        counts[here] = table.T
        barred[here] = ~space.possible[first, second].T
    most = max(1.0, float(np.max(counts, initial=1.0, where=~np.isnan(counts))))
    shade = np.clip(0.25 + 0.75 * counts / most, 0, 1)[..., None]
    picture = 1 - shade * (1 - np.array(_rgb(_BAR)))
    picture[counts < space.repeats] = _rgb(_NEVER)
    picture[barred] = _rgb(_BARRED)
    picture[np.isnan(counts)] = 1
    axes.imshow(picture, interpolation="nearest")
    for edge in starts[1:-1]:
        axes.axhline(edge - 0.5, color="white", linewidth=2.5)
        axes.axvline(edge - 0.5, color="white", linewidth=2.5)
    axes.set_frame_on(False)
    names = [level for factor in space.factors for level in factor.levels]
    if size <= _MOST_LABELS:
        small, first, last = 9 if size <= _MOST_NUMBERED else 7, int(starts[1]), int(starts[-2])
        axes.set_yticks(range(first, size), names[first:], fontsize=small)
        axes.set_xticks(range(last), names[:last], rotation=90, fontsize=small)
    else:
        axes.set_xticks([])
        axes.set_yticks([])
    axes.tick_params(length=0, colors=_INK)
    if size <= _MOST_NUMBERED and most < 100:
        for row, column in np.argwhere(~np.isnan(counts) & ~barred):
            count = counts[row, column]
            ink = "white" if count > most / 2 or count < space.repeats else _INK
            axes.text(column, row, f"{count:.0f}", ha="center", va="center", fontsize=7, color=ink)
    for factor, begin, end in zip(space.factors, starts, starts[1:], strict=False):
        if end < size:
            axes.text(begin - 0.3, end - 0.8, factor.name, va="bottom", fontsize=10,
                      weight="bold", color=_INK)  # fmt: skip
    words = f"{design.kind}: {counted(len(rows), 'episode')}"
    axes.text(0, 1.0, words, transform=axes.transAxes, fontsize=15, weight="bold", color=_INK)
    axes.text(0, 0.965, KINDS[design.kind], transform=axes.transAxes, fontsize=10.5, color=_QUIET)


def _rgb(colour: str) -> tuple[float, float, float]:
    number = int(colour[1:], 16)
    return ((number >> 16) / 255, (number >> 8 & 255) / 255, (number & 255) / 255)


def _draw_figures(axes: Axes, design: Design) -> None:
    told = design.judgement
    worst, off = told.worst_relation, told.worst_balance
    met = 1 - len(told.missing) / max(1, told.pairs)
    bars = [("pairs of levels that meet", met, f"{100 * met:.0f} %", True)]
    if told.triples is not None:
        bars.append(("triples of levels", told.triples, f"{100 * told.triples:.0f} %", True))
    bars.append(("D-efficiency", told.d_efficiency, f"{told.d_efficiency:.2f}", True))
    if off is not None:
        name = f"farthest off: {off.factor} {off.level}"
        bars.append((name, off.off, f"{100 * off.off:.0f} %", False))
    if worst is not None:
        name = f"confounded: {worst.first}, {worst.second}"
        bars.append((name, worst.cramers_v, f"{worst.cramers_v:.2f}", False))
    for row, (name, value, words, is_good) in enumerate(bars):
        axes.barh(row, 1, color="#eef1f4", height=0.62)
        axes.barh(row, min(value, 1.0), color=_BAR if is_good else _NEVER, height=0.62)
        axes.text(-0.02, row, name, ha="right", va="center", fontsize=10, color=_INK)
        axes.text(1.02, row, words, ha="left", va="center", fontsize=10, color=_INK)
    axes.set_xlim(-0.55, 1.15)
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.axis("off")
