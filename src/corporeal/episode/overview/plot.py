"""One page that shows an episode: what the cameras saw, how the joints moved, what was felt."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.episode import Episode
from corporeal.episode.file.streams import StreamReader
from corporeal.episode.recording import recording_of
from corporeal.units import SECOND_NS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK, _QUIET, _GRID = "#1d2733", "#7a8794", "#e6eaee"
_COLOURS = ("#1f77b4", "#e4572e", "#2a9d8f", "#f2a541", "#7b5ea7", "#5c6b73")
_STAMP = {"facecolor": "black", "alpha": 0.45, "edgecolor": "none", "pad": 1.2}
_PICTURES = 7
_MOST_LETTERS = 80
_MOST_CAMERAS = 4
_MOST_ROWS = 6000


def plot_episode(episode: Episode) -> Figure:
    """A matplotlib figure for a 16:9 slide; save it with `figure.savefig`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(16, 9), dpi=120, facecolor="white")
    begin, end = (stamp / SECOND_NS for stamp in episode.span_ns)
    span = (begin, max(end, begin + 1e-3))
    cameras = [path for path in episode if episode[path].spec.kind in ("video", "depth")]
    cameras = cameras[:_MOST_CAMERAS]
    joints = _joint_stream(episode)
    left = _column(figure, (0.075, 0.575), [1.0] * len(cameras) + [2.9] * (joints is not None))
    for axis, path in zip(left, cameras, strict=False):
        _film(axis, episode[path])
    if joints is not None:
        _dress(left[-1], span)
        _heat(left[-1], episode, joints)
        left[-1].tick_params(labelbottom=True)
    panels = _line_panels(episode)
    right = _column(figure, (0.69, 0.985), [1.0] * len(panels) + [2.4])
    for axis, panel in zip(right, panels, strict=False):
        _dress(axis, span)
        _curves(axis, *panel)
    _dress(right[-1], span)
    _timeline(right[-1], episode)
    right[-1].tick_params(labelbottom=True)
    right[-1].set_xlabel("seconds since the epoch", color=_QUIET, fontsize=8)
    _title(figure, episode)
    return figure


def _column(figure: Figure, sides: tuple[float, float], heights: list[float]) -> list[Axes]:
    grid = figure.add_gridspec(
        len(heights), 1, height_ratios=heights, left=sides[0], right=sides[1], top=0.865,
        bottom=0.055, hspace=0.34,
    )  # fmt: skip
    return [figure.add_subplot(grid[row]) for row in range(len(heights))]


def _title(figure: Figure, episode: Episode) -> None:
    stated = recording_of(episode).facts
    task = (stated.task or episode.path.stem).replace("_", " ")
    begin, end = episode.span_ns
    when = datetime.fromtimestamp(episode.epoch_ns / SECOND_NS, UTC).strftime("%Y-%m-%d %H:%M UTC")
    facts = [episode.robot or "no robot", f"{(end - begin) / SECOND_NS:.1f} s", when]
    named = {"operator": stated.operator, "station": stated.station, "mode": stated.mode}
    facts += [f"{name} {value}" for name, value in named.items() if value]
    facts.append(episode.content_hash[:19])
    figure.text(0.015, 0.955, task, fontsize=21, weight="bold", color=_INK, va="center")
    figure.text(0.015, 0.915, "   ·   ".join(facts), fontsize=10.5, color=_QUIET, va="center")
    spoken = [path for path in episode if episode[path].spec.kind == "text"]
    if spoken:
        said = str(episode[spoken[0]][0])
        said = said if len(said) < _MOST_LETTERS else said[: _MOST_LETTERS - 3] + "..."
        figure.text(0.985, 0.955, f"“{said}”", fontsize=14, style="italic", color=_INK,
                    va="center", ha="right")  # fmt: skip


def _dress(axis: Axes, span: tuple[float, float]) -> None:
    axis.set_xlim(*span)
    axis.tick_params(labelbottom=False, length=0, colors=_QUIET, labelsize=8)
    for side in axis.spines.values():
        side.set_visible(False)
    axis.set_facecolor("white")


def _label(axis: Axes, name: str, note: str = "") -> None:
    axis.set_title(name, loc="left", fontsize=9, color=_INK, pad=3)
    if note:
        axis.set_title(note, loc="right", fontsize=7.5, color=_QUIET, pad=3)


def _film(axis: Axes, reader: StreamReader) -> None:
    """Whole pictures side by side, evenly spread over the episode, each with its own time."""
    axis.axis("off")
    numbers = np.linspace(0, len(reader) - 1, min(_PICTURES, len(reader))).astype(int)
    for place, (number, picture) in enumerate(zip(numbers, reader[numbers], strict=True)):
        inset = axis.inset_axes(((place + 0.01) / _PICTURES, 0.0, 0.98 / _PICTURES, 1.0))
        inset.axis("off")
        if reader.spec.kind == "depth":
            measured = picture[picture > 0]
            low, high = np.percentile(measured, (2, 98)) if measured.size else (0, 1)
            shown = np.where(picture > 0, picture, np.nan).astype(float)
            inset.imshow(shown, cmap="turbo", vmin=low, vmax=high, aspect="auto")
        else:
            inset.imshow(picture, aspect="auto")
        moment = float(reader.time_ns[number]) / SECOND_NS
        inset.text(0.97, 0.06, f"{moment:.2f} s", transform=inset.transAxes, fontsize=6.5,
                   color="white", ha="right", bbox=_STAMP)  # fmt: skip
    shape = f"{reader.spec.shape[1]} x {reader.spec.shape[0]}, {len(reader)} frames"
    _label(axis, reader.spec.name.replace("_", " "), shape)


def _joint_stream(episode: Episode) -> StreamReader | None:
    names = ("observations/joint_position", "actions/joint_position_target")
    return next((episode[name] for name in names if name in episode), None)


def _heat(axis: Axes, episode: Episode, reader: StreamReader) -> None:
    """Every joint a row, coloured by where it is between its limits."""
    numbers = _thin(len(reader))
    values = np.asarray(reader[numbers], np.float64)
    low, high, names = _joint_range(episode, reader, values)
    scaled = np.clip(2 * (values - low) / np.where(high > low, high - low, 1) - 1, -1, 1)
    time_s = reader.time_ns[numbers] / SECOND_NS
    mesh = axis.imshow(
        scaled.T, aspect="auto", cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest",
        extent=(float(time_s[0]), float(time_s[-1]), len(names) - 0.5, -0.5),
    )  # fmt: skip
    axis.set_yticks(range(len(names)), names, fontsize=max(3.0, min(7.5, 175 / len(names))))
    axis.set_xlim(*(stamp / SECOND_NS for stamp in episode.span_ns))
    colour_bar = axis.inset_axes((1.008, 0.0, 0.009, 1.0))
    bar = axis.figure.colorbar(mesh, cax=colour_bar)
    bar.set_ticks([-0.97, 0.97], labels=["lower\nlimit", "upper\nlimit"])
    colour_bar.tick_params(labelsize=7, length=0, colors=_QUIET)
    bar.outline.set_visible(False)
    _label(axis, "where each joint is between its limits", f"{len(names)} joints")


def _joint_range(
    episode: Episode, reader: StreamReader, values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[str]]:
    names = list(reader.spec.components or map(str, range(values.shape[1])))
    low, high = values.min(axis=0), values.max(axis=0)
    if "embodiment" in episode.documents:
        known = {joint.name: joint for joint in episode.embodiment.joints}
        for column, name in enumerate(names):
            joint = known.get(name)
            if joint is not None and joint.lower is not None and joint.upper is not None:
                low[column], high[column] = joint.lower, joint.upper
    return low, high, [name.removesuffix("_joint").replace("_", " ") for name in names]


Curves = list[tuple[str, NDArray[np.float64], NDArray[np.float64]]]


def _line_panels(episode: Episode) -> list[tuple[str, str, Curves]]:
    """Tracking error, forces, accelerations and touch: whichever the episode has."""
    panels: list[tuple[str, str, Curves]] = []
    pair = ("actions/joint_position_target", "observations/joint_position")
    if all(path in episode for path in pair):
        # Both as curves: a held command would show the phase of the grid instead of the error.
        aligned = episode.align(50, list(pair), methods={pair[0]: "linear"})
        error = np.abs(aligned[pair[0]] - aligned[pair[1]])
        time_s = aligned.time_ns / SECOND_NS
        curves: Curves = [("worst joint", time_s, error.max(axis=1)),
                          ("mean", time_s, error.mean(axis=1))]  # fmt: skip
        panels.append(("distance of position from command", "rad", curves))
    for title, unit, word in (
        ("force", "N", "wrench"), ("acceleration", "m/s²", "imu"), ("mean touch", "Pa", "tactile")
    ):  # fmt: skip
        readers = [episode[path] for path in episode if word in path
                   and episode[path].spec.kind == "array"]  # fmt: skip
        if readers:
            panels.append((title, unit, [_magnitude(reader, word) for reader in readers[:6]]))
    return panels


def _magnitude(reader: StreamReader, word: str) -> tuple[str, NDArray[Any], NDArray[Any]]:
    numbers = _thin(len(reader))
    values = np.asarray(reader[numbers], np.float64).reshape(len(numbers), -1)
    size = values.mean(axis=1) if word == "tactile" else np.linalg.norm(values[:, :3], axis=1)
    label = reader.spec.name.replace(f"_{word}", "").replace("_", " ")
    return label, reader.time_ns[numbers] / SECOND_NS, size


def _curves(axis: Axes, title: str, unit: str, curves: Curves) -> None:
    for colour, (label, time_s, values) in zip(_COLOURS, curves, strict=False):
        axis.plot(time_s, values, lw=1.0, color=colour, label=label)
    axis.grid(axis="y", color=_GRID, lw=0.8)
    axis.set_axisbelow(True)
    axis.margins(y=0.12)
    axis.locator_params(axis="y", nbins=4)
    axis.legend(
        loc="lower right", bbox_to_anchor=(1.005, 0.98), ncols=6, fontsize=7, frameon=False,
        labelcolor=_QUIET, handlelength=0.9, borderaxespad=0.0, columnspacing=1.0,
    )  # fmt: skip
    _label(axis, f"{title} ({unit})")


def _timeline(axis: Axes, episode: Episode) -> None:
    """A bar for every stream, red where samples are missing."""
    for row, path in enumerate(episode):
        reader = episode[path]
        time_s = reader.time_ns / SECOND_NS
        if reader.spec.rate_hz is None:
            axis.plot(time_s, np.full(len(time_s), row), "d", ms=4, color=_COLOURS[3])
            continue
        axis.barh(row, time_s[-1] - time_s[0], left=time_s[0], height=0.62, color="#b9d3e6")
        for at in np.flatnonzero(np.diff(time_s) > 2.5 / reader.spec.rate_hz)[:200]:
            width = time_s[at + 1] - time_s[at]
            axis.barh(row, width, left=time_s[at], height=0.62, color=_COLOURS[1])
    names = [path.partition("/")[2].replace("_", " ") for path in episode]
    axis.set_yticks(range(len(episode)), names, fontsize=max(4.0, min(7.0, 120 / len(names))))
    axis.set_ylim(len(episode) - 0.5, -0.5)
    _label(axis, "when each stream has samples", "red: missing")


def _thin(count: int) -> NDArray[np.int64]:
    """Sample numbers, at most as many as the page can show."""
    return np.unique(np.linspace(0, count - 1, min(count, _MOST_ROWS)).astype(np.int64))
