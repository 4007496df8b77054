"""The metrics of a result in words, and a page: errors, feet, motors, self-distance, joints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.collision import CollisionModel
from corporeal.embodiment.embodiment import model_of
from corporeal.embodiment.kinematics import Kinematics
from corporeal.geometry import Array
from corporeal.retargeting.goal.soles import sole_points, soles_of
from corporeal.retargeting.measure.grounding import Grounding
from corporeal.retargeting.measure.limbs import LimbSpread
from corporeal.retargeting.measure.metrics import (
    OVERLAP_M,
    QUICK_HZ,
    ErrorSpread,
    Metrics,
    Violations,
)
from corporeal.retargeting.result import ENDS, FAR_M, KNOWN, Retargeted
from corporeal.retargeting.solver.effort import efforts_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def metric_rows(metrics: Metrics) -> list[tuple[str, str]]:
    """What was measured as (name, value) pairs, for a table."""
    ground = metrics.grounding
    pairs = [
        ("frames", f"{metrics.frames} at {metrics.rate_hz:g} Hz"),
        ("hands off", _spread(metrics.hand_error)),
        ("feet off", _spread(metrics.foot_error)),
        ("limbs off", _limbs(metrics.limbs)),
        ("stance drift", f"{_cm(ground.drift_mean_m)} mean, {_cm(ground.drift_max_m)} max of "
         f"{ground.stances} stances"),
        ("hover", f"{_cm(ground.hover_mean_m)} mean, {_cm(ground.hover_max_m)} max"),
        ("knees, hands, trunk", _rests(ground)),
        ("soles sunk", f"{_cm(ground.sole_depth_max_m)} max"),
        ("body sunk", f"{_cm(ground.body_depth_max_m)} max"),
        ("self-collision", _overlap(metrics)),
        ("beyond position limits", _broken(metrics.position, "rad")),
        ("beyond speed limits", _broken(metrics.speed, "")),
        ("beyond effort limits", _broken(metrics.effort, "")),
        ("jumps", str(metrics.smoothness.jumps)),
        ("jerk", f"{metrics.smoothness.jerk_mean_rad_s3:.0f} mean, "
         f"{metrics.smoothness.jerk_p95_rad_s3:.0f} p95 rad/s3"),
        (f"power over {QUICK_HZ:g} Hz", f"{100 * metrics.smoothness.quick_share:.1f} %"),
        (
            "base acceleration",
            f"{metrics.smoothness.base_gain_p95_m_s2:.1f} p95, "
            f"{metrics.smoothness.base_gain_max_m_s2:.1f} max m/s2",
        ),
        ("way of the base", f"{metrics.base_path_m:.2f} m"),
    ]  # fmt: skip
    if metrics.far_frames is not None:
        share = 100 * metrics.far_frames / max(1, metrics.frames)
        text = f"{metrics.far_frames} frames ({share:.1f} %)"
        pairs.insert(4, (f"over {100 * FAR_M:g} cm off", text))
    return pairs


def _rests(ground: Grounding) -> str:
    if not ground.supported_frames:
        return "never on the ground"
    return (
        f"on the ground in {ground.supported_frames} frames, hover {_cm(ground.rest_hover_max_m)}"
    )


def _cm(metres: float) -> str:
    return f"{100 * metres:.2f} cm"


def _spread(spread: ErrorSpread | None) -> str:
    if spread is None:
        return "not known"
    return f"{_cm(spread.mean_m)} mean, {_cm(spread.p95_m)} p95, {_cm(spread.max_m)} max"


def _limbs(spread: LimbSpread | None) -> str:
    if spread is None:
        return "not known"
    mean, p95, most = (
        np.degrees(each) for each in (spread.mean_rad, spread.p95_rad, spread.max_rad)
    )
    return f"{mean:.1f} deg mean, {p95:.1f} p95, {most:.0f} max ({_words(spread.worst)})"


def _broken(violations: Violations | None, unit: str) -> str:
    if violations is None:
        return "not known"
    if not violations.stated:
        return "the robot states no limit"
    if not violations.count:
        return "none"
    worst = f"{violations.worst:.3f} {unit}" if unit else f"{100 * violations.worst:.0f} %"
    return f"{violations.frames} frames, worst {_words(violations.joint)} by {worst}"


def _overlap(metrics: Metrics) -> str:
    overlaps = metrics.overlaps
    if overlaps.pair is None:
        return f"none over {1000 * OVERLAP_M:g} mm"
    one, other = (name.replace("_", " ") for name in overlaps.pair)
    return f"{overlaps.frames} frames, worst {_cm(overlaps.worst_m)}: {one}, {other}"


_INK, _QUIET, _GRID, _ALARM = "#1d2733", "#7a8794", "#e6eaee", "#e4572e"
_COLOURS = ("#1f77b4", "#7fb2d9", "#2a9d8f", "#f2a541")
_MOST_POINTS = 3000
# Farther apart than this nothing is about to touch; the panel ends there.
_SHOWN_CM = 10.0


def plot_report(result: Retargeted, metrics: Metrics) -> Figure:
    """A matplotlib figure for a 16:9 slide; save it with `figure.savefig`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(16, 9), dpi=120, facecolor="white")
    grid = figure.add_gridspec(4, 1, left=0.05, right=0.49, top=0.86, bottom=0.06, hspace=0.42)
    left = [figure.add_subplot(grid[row]) for row in range(4)]
    right = figure.add_gridspec(
        2, 1, height_ratios=[3.0, 1.7], left=0.615, right=0.95, top=0.86, bottom=0.03, hspace=0.16
    )
    time_s = np.arange(len(result)) / result.rate_hz
    for axis in left:
        _dress(axis, time_s)
    shown = _thin(len(result))
    _errors(left[0], time_s[shown], result.error_m[shown], result.goals.confidence[shown] > KNOWN)
    _feet(left[1], time_s, result, shown)
    _motors(left[2], time_s[shown], result, shown)
    _self_distance(left[3], time_s[shown], result, shown)
    left[3].set_xlabel("seconds", color=_QUIET, fontsize=8)
    _joints(figure.add_subplot(right[0]), time_s, result, shown)
    _table(figure.add_subplot(right[1]), metrics)
    _title(figure, result)
    return figure


def draw_report(result: Retargeted, metrics: Metrics, path: Path) -> Path:
    """Draw the page into a file: PNG, SVG or PDF, by its suffix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    plot_report(result, metrics).savefig(path)
    return path


def _title(figure: Figure, result: Retargeted) -> None:
    from corporeal.retargeting.preview.look import legible

    origin = result.human.origin
    name = legible(result.human.name.replace("_", " "))
    facts = [
        result.robot.name,
        f"{len(result) / result.rate_hz:.1f} s",
        f"from {legible(origin.path.name)} ({origin.format})",
        "converged" if result.converged else "did not converge",
    ]
    figure.text(0.015, 0.955, name, fontsize=21, weight="bold", color=_INK, va="center")
    colour = _QUIET if result.converged else _ALARM
    figure.text(0.015, 0.915, "   ·   ".join(facts), fontsize=10.5, color=colour, va="center")


def _errors(axis: Axes, time_s: Array, error_m: Array, known: NDArray[np.bool_]) -> None:
    shown = 100 * np.where(known, error_m, np.nan)
    for column, name in enumerate(ENDS):
        axis.plot(time_s, shown[:, column], lw=1.0, color=_COLOURS[column], label=_words(name))
    axis.axhline(100 * FAR_M, color=_ALARM, lw=1.0, ls=(0, (4, 3)))
    axis.set_ylim(0, max(1.15 * 100 * FAR_M, 1.05 * float(np.nanmax(shown, initial=0.0))))
    _legend(axis)
    _label(axis, f"distance from the goal (cm), limit {100 * FAR_M:g} cm")


def _feet(axis: Axes, time_s: Array, result: Retargeted, shown: NDArray[np.int64]) -> None:
    """Heights of heel and toe, and below them a bar for every contact."""
    poses = model_of(result.robot, Kinematics).transforms(result.q, result.base)
    heights = 100 * sole_points(model_of(result.robot, soles_of), poses)[..., 2]
    parts = [(side, part) for side in range(2) for part in range(2)]
    names = ("left heel", "left toe", "right heel", "right toe")
    top = max(5.0, 1.05 * float(heights.max()))
    for number, ((side, part), name) in enumerate(zip(parts, names, strict=True)):
        colour = _COLOURS[number]
        axis.plot(time_s[shown], heights[shown, side, part], lw=1.0, color=colour, label=name)
        level = -(0.10 + 0.08 * number) * top
        stands = np.where(result.goals.contacts[:, side, part], level, np.nan)
        axis.plot(time_s, stands, lw=4.0, color=colour, solid_capstyle="butt")
    axis.axhline(0.0, color=_QUIET, lw=0.8)
    axis.set_ylim(min(-0.42 * top, 1.1 * float(heights.min())), top)
    _legend(axis)
    _label(axis, "height of the soles (cm), bars: meant to stand")


def _motors(axis: Axes, time_s: Array, result: Retargeted, shown: NDArray[np.int64]) -> None:
    """The motors that work hardest, in per cent of what they have."""
    goals = result.goals
    efforts = efforts_of(
        result.robot, result.rate_hz, result.q, result.base, goals.contacts, goals.supports
    )
    stated = [n for n, joint in enumerate(result.robot.actuated) if joint.effort]
    if efforts is None or not stated:
        axis.set_yticks([])
        _label(axis, "efforts of the motors: not known")
        return
    limits = np.array([result.robot.actuated[n].effort for n in stated], np.float64)
    shares = 100 * np.abs(efforts[:, stated]) / limits
    hardest = np.argsort(-shares.max(axis=0), kind="stable")[: len(_COLOURS)]
    for number, column in enumerate(hardest):
        name = _words(result.robot.joint_names[stated[column]].removesuffix("_joint"))
        colour = _COLOURS[number]
        axis.plot(time_s, shares[shown, column], lw=1.0, color=colour, label=name)
    axis.axhline(100.0, color=_ALARM, lw=1.0, ls=(0, (4, 3)))
    axis.set_ylim(0, max(115.0, 1.05 * float(shares.max())))
    _legend(axis)
    _label(axis, "hardest-working motors (% of limit)")


def _self_distance(axis: Axes, time_s: Array, result: Retargeted, shown: NDArray[np.int64]) -> None:
    nearest = 100 * model_of(result.robot, CollisionModel).distances(result.q[shown]).minimum_m
    axis.plot(time_s, np.minimum(nearest, _SHOWN_CM), lw=1.0, color=_COLOURS[0])
    axis.axhline(-100 * OVERLAP_M, color=_ALARM, lw=1.0, ls=(0, (4, 3)))
    lowest = float(np.nanmin(nearest, initial=0.0))
    axis.set_ylim(min(-1.0, 1.1 * lowest), _SHOWN_CM)
    _label(axis, f"nearest two links (cm), overlap allowed: {100 * OVERLAP_M:g} cm")


def _joints(axis: Axes, time_s: Array, result: Retargeted, shown: NDArray[np.int64]) -> None:
    """Every joint a row, coloured by where it is between its limits."""
    joints = result.robot.actuated
    q = result.q[shown]
    low = np.array([q[:, n].min() if j.lower is None else j.lower for n, j in enumerate(joints)])
    high = np.array([q[:, n].max() if j.upper is None else j.upper for n, j in enumerate(joints)])
    scaled = 2 * (q - low) / np.where(high > low, high - low, 1.0) - 1
    end = max(float(time_s[-1]), 1e-3)
    mesh = axis.imshow(
        scaled.T, aspect="auto", cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest",
        extent=(0.0, end, len(joints) - 0.5, -0.5),
    )  # fmt: skip
    names = [_words(joint.name.removesuffix("_joint")) for joint in joints]
    axis.set_yticks(range(len(names)), names, fontsize=max(3.0, min(7.5, 175 / len(names))))
    axis.tick_params(length=0, colors=_QUIET, labelsize=7)
    for side in axis.spines.values():
        side.set_visible(False)
    colour_bar = axis.inset_axes((1.012, 0.0, 0.014, 1.0))
    bar = axis.figure.colorbar(mesh, cax=colour_bar)
    bar.set_ticks([-0.97, 0.97], labels=["lower\nlimit", "upper\nlimit"])
    colour_bar.tick_params(labelsize=7, length=0, colors=_QUIET)
    bar.outline.set_visible(False)
    _label(axis, "where each joint is between its limits")


def _table(axis: Axes, metrics: Metrics) -> None:
    axis.axis("off")
    table = metric_rows(metrics)
    for number, (name, value) in enumerate(table):
        height = 1.0 - (number + 0.5) / len(table)
        axis.text(-0.17, height, name, fontsize=8.5, color=_QUIET, va="center")
        axis.text(0.2, height, value, fontsize=8.5, color=_INK, va="center")


def _dress(axis: Axes, time_s: Array) -> None:
    axis.set_xlim(0.0, max(float(time_s[-1]), 1e-3))
    axis.tick_params(length=0, colors=_QUIET, labelsize=8)
    axis.grid(axis="y", color=_GRID, lw=0.8)
    axis.set_axisbelow(True)
    for side in axis.spines.values():
        side.set_visible(False)


def _label(axis: Axes, name: str) -> None:
    axis.set_title(name, loc="left", fontsize=9, color=_INK, pad=3)


def _legend(axis: Axes) -> None:
    axis.legend(
        loc="lower right", bbox_to_anchor=(1.005, 0.98), ncols=4, fontsize=7, frameon=False,
        labelcolor=_QUIET, handlelength=0.9, borderaxespad=0.0, columnspacing=1.0,
    )  # fmt: skip


def _thin(count: int) -> NDArray[np.int64]:
    """Frame numbers, at most as many as the page can show."""
    return np.unique(np.linspace(0, count - 1, min(count, _MOST_POINTS)).astype(np.int64))


def _words(name: str) -> str:
    return name.replace("_", " ")
