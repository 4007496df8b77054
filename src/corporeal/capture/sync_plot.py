"""A sync test on one page: a lane for every stream around one motion, its onset and its lag."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corporeal.capture.sync import StreamSync, SyncReport
from corporeal.errors import CorporealError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK, _QUIET, _GRID = "#1d2733", "#7a8794", "#e6eaee"
_CURVE, _FILL = "#1f77b4", "#b9d3e6"
_COLOURS = {
    "reference": _INK,
    "in sync": "#2a9d8f",
    "late": "#e4572e",
    "early": "#e4572e",
    "cannot tell": "#b7791f",
    "no onset found": _QUIET,
}
_BEFORE_MS, _AFTER_MS = 260.0, 400.0


def plot_sync(report: SyncReport, *, title: str = "sync test", event: int = 0) -> Figure:
    """A matplotlib figure for a 16:9 slide that shows one event of a report."""
    from matplotlib.figure import Figure

    if not 0 <= event < len(report.events_s):
        raise CorporealError(
            f"event number, got {event}; expected 0 to {len(report.events_s) - 1}."
        )
    figure = Figure(figsize=(16, 9), dpi=120, facecolor="white")
    grid = figure.add_gridspec(
        len(report.streams), 1, left=0.17, right=0.73, top=0.85, bottom=0.085, hspace=0.18
    )
    lanes = [figure.add_subplot(grid[row]) for row in range(len(report.streams))]
    for lane, stream in zip(lanes, report.streams, strict=True):
        _draw(lane, stream, report.events_s[event])
    lanes[-1].tick_params(labelbottom=True)
    lanes[-1].set_xlabel(
        "milliseconds after the robot's joints began to move", color=_QUIET, fontsize=9
    )
    _head(figure, report, title, event)
    return figure


def _head(figure: Figure, report: SyncReport, title: str, event: int) -> None:
    count = len(report.events_s)
    facts = [
        f"motion {event + 1} of {count}, at {report.events_s[event]:.2f} s",
        f"lags from {'all of them together' if count > 1 else 'this one'}",
        f"reference {_short(report.reference)}",
        f"tolerance {report.tolerance_s * 1e3:g} ms",
    ]
    figure.text(0.015, 0.945, title, fontsize=21, weight="bold", color=_INK, va="center")
    figure.text(0.015, 0.9, "   ·   ".join(facts), fontsize=10.5, color=_QUIET, va="center")
    colour = _COLOURS["in sync" if report.is_in_sync else "late"]
    figure.text(0.985, 0.945, report.in_words(), fontsize=15, weight="bold", color=colour,
                va="center", ha="right")  # fmt: skip


def _draw(lane: Axes, stream: StreamSync, at_s: float) -> None:
    colour = _COLOURS[stream.verdict]
    lane.set_xlim(-_BEFORE_MS, _AFTER_MS)
    lane.set_ylim(-0.12, 1.12)
    lane.set_yticks([])
    lane.tick_params(labelbottom=False, length=0, colors=_QUIET, labelsize=9)
    for side in lane.spines.values():
        side.set_visible(False)
    lane.axhline(-0.1, color=_GRID, lw=0.8)
    _curve(lane, stream, at_s)
    lane.axvline(0.0, color=_INK, lw=1.0)
    if stream.lag_s is not None and stream.uncertainty_s is not None:
        lag, sure = stream.lag_s * 1e3, stream.uncertainty_s * 1e3
        lane.axvspan(lag - sure, lag + sure, color=colour, alpha=0.16, lw=0)
        lane.plot([lag], [-0.02], marker="^", ms=7, color=colour, clip_on=False, zorder=5)
    lane.text(-0.012, 0.45, _short(stream.path), transform=lane.transAxes, fontsize=9.5,
              color=_INK, ha="right", va="center")  # fmt: skip
    lane.text(1.012, 0.45, stream.in_words(), transform=lane.transAxes, fontsize=9.5, color=colour,
              va="center")  # fmt: skip


def _curve(lane: Axes, stream: StreamSync, at_s: float) -> None:
    """The energy of the stream, from its rest to its highest."""
    time_ms = (stream.energy.time_s - at_s) * 1e3
    shown = (time_ms > -_BEFORE_MS - 60) & (time_ms < _AFTER_MS + 60)
    if shown.sum() < 2:
        return
    value = stream.energy.value[shown]
    low, high = float(np.min(value)), float(np.max(value))
    # Noise is not blown up to the height of a motion.
    seen = min(1.0, stream.snr / 12) if stream.verdict == "no onset found" else 1.0
    height = seen * (value - low) / max(high - low, 1e-12)
    lane.fill_between(time_ms[shown], 0.0, height, color=_FILL, alpha=0.45, lw=0)
    marker = "o" if shown.sum() < 60 else None
    lane.plot(time_ms[shown], height, color=_CURVE, lw=1.2, marker=marker, ms=2.6)


def _short(path: str) -> str:
    return path.partition("/")[2].replace("_", " ")
