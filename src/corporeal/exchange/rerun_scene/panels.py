"""How a scene is laid out: 3D and cameras on top, plots of state against action below."""

from __future__ import annotations

import colorsys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corporeal.embodiment import Embodiment
from corporeal.episode.recording import Signal
from corporeal.exchange.rerun_scene.entities import PATHS, TIME, WORLD, RerunScene, rerun
from corporeal.schema import Stream

MAX_LINES = 64
MAIN = "State and action"
_BLOCK = 1 << 15
_TABS = (("Velocity", ("rad/s", "m/s")), ("Effort", ("N m", "N")), ("Motion", ("m/s2",)))


@dataclass(frozen=True, eq=False)
class Lines:
    """Some entries of a stream, drawn together."""

    entity: str
    signal: Signal
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Plot:
    """One panel: what it is called, the tab it is in, and the lines it shows."""

    tab: str
    name: str
    lines: list[Lines] = field(default_factory=list)


def plots_of(signals: Sequence[Signal], robot: Embodiment | None) -> tuple[Plot, ...]:
    """The panels for streams of numbers: a command is with what it commands, joints by limb."""
    commanded = {_base(signal.spec.name) for signal in signals if signal.spec.group == "actions"}
    plots: dict[tuple[str, str], Plot] = {}
    for signal in signals:
        spec = signal.spec
        if spec.width > MAX_LINES:
            continue
        tab = MAIN if _base(spec.name) in commanded else _tab(spec)
        for part, columns in _parts(spec, robot).items():
            entity = f"/{spec.path}/{part}" if part else f"/{spec.path}"
            title = part or _base(spec.name)
            plot = plots.setdefault((tab, title), Plot(tab, title.replace("_", " ")))
            plot.lines.append(Lines(entity, signal, columns))
    return tuple(plots.values())


def _base(name: str) -> str:
    return name.removesuffix("_target")


def _tab(spec: Stream) -> str:
    units = spec.units
    for tab, known in reversed(_TABS):
        if any(unit in known for unit in units):
            return tab if not (tab == "Effort" and "N" in units and "N m" in units) else "Force"
    return "Pose" if spec.quaternion_columns is not None else "Other"


def _parts(spec: Stream, robot: Embodiment | None) -> Mapping[str, tuple[int, ...]]:
    """Joints by the limb they belong to; anything else is one part without a name."""
    if robot is None or not set(spec.names) & set(robot.joint_names):
        return {"": tuple(range(spec.width))}
    parts: dict[str, list[int]] = {}
    for column, name in enumerate(spec.names):
        parts.setdefault(robot.group_of(name) or "other", []).append(column)
    order = sorted(parts, key=lambda part: ("arm" not in part, "leg" in part, part))
    return {part: tuple(parts[part]) for part in order}


def add_lines(scene: RerunScene, lines: Lines) -> None:
    """The numbers themselves, with names and colours."""
    rr = rerun()
    signal, columns = lines.signal, lines.columns
    is_command = signal.spec.group == "actions"
    named = [name.removesuffix("_joint") for name in signal.spec.names]
    names = [named[column] if named else str(column) for column in columns]
    look = rr.SeriesLines(
        names=[f"{name} (target)" if is_command else name for name in names],
        colors=[_colour(place, len(columns), pale=is_command) for place in range(len(columns))],
        widths=[1.0 if is_command else 2.0] * len(columns),
    )
    scene.fix(lines.entity, look)
    for first in range(0, len(signal), _BLOCK):
        block = np.asarray(signal[first : first + _BLOCK], np.float64)
        flat = block.reshape(len(block), -1)[:, list(columns)]
        stamps = signal.time_ns[first : first + len(block)]
        scene.add(lines.entity, stamps, rr.Scalars.columns(scalars=flat))


def _colour(place: int, count: int, *, pale: bool) -> tuple[int, int, int]:
    """Hues around the circle, so that neighbours differ; a command has the pale one."""
    hue = (0.58 + place / max(count, 1)) % 1.0
    levels = colorsys.hsv_to_rgb(hue, 0.32 if pale else 0.72, 0.98 if pale else 0.88)
    red, green, blue = (round(255 * level) for level in levels)
    return red, green, blue


ABOUT, EVENTS = "/about", "/events"
# A legend may not hide what it explains: in a small panel fewer lines have one.
_LEGEND_LINES, _LEGEND_LINES_SMALL = 8, 4


@dataclass(frozen=True)
class Contents:
    """What there is to show; entities."""

    robot: bool
    eye: tuple[float, float, float]
    """Where the robot is, to look at."""
    pictures: tuple[str, ...]
    clouds: tuple[str, ...]
    maps: tuple[str, ...]
    labels: tuple[str, ...]
    """Lanes of labels."""
    plots: tuple[Plot, ...]
    events: bool


def panels(contents: Contents) -> Any:
    """The blueprint."""
    rrb = rerun().blueprint
    top = _top(rrb, contents)
    bottom = _tabs(rrb, contents)
    rows = [rrb.Horizontal(*top, column_shares=_shares(contents))]
    rows += [bottom] if bottom is not None else []
    shares = [3, 2][: len(rows)]
    return rrb.Blueprint(
        rrb.Vertical(*rows, row_shares=shares),
        rrb.TimePanel(timeline=TIME, state="collapsed", play_state="playing", loop_mode="all"),
        rrb.SelectionPanel(state="collapsed"),
        rrb.BlueprintPanel(state="collapsed"),
        auto_views=False,
        auto_layout=False,
    )


def _shares(contents: Contents) -> list[float]:
    shares = [2.0] if contents.robot else []
    shares += [3.0] if contents.pictures or contents.clouds else []
    return [*shares, 1.2]


def _top(rrb: Any, contents: Contents) -> list[Any]:
    views = []
    if contents.robot:
        x, y, z = contents.eye
        eye = rrb.EyeControls3D(position=(x + 1.5, y + 0.9, z + 0.5), look_target=(x, y, z),
                                eye_up=(0, 0, 1))  # fmt: skip
        views.append(rrb.Spatial3DView(origin=WORLD, name="Robot", eye_controls=eye,
                                       contents=[f"{WORLD}/**", f"{PATHS}/**"]))  # fmt: skip
    pictures = [rrb.Spatial2DView(origin=each, name=_title(each)) for each in contents.pictures]
    pictures += [rrb.Spatial3DView(origin=each, name=_title(each)) for each in contents.clouds]
    if pictures:
        columns = 1 if len(pictures) == 1 else 2 if len(pictures) <= 4 else 3
        views.append(rrb.Grid(*pictures, grid_columns=columns))
    about = rrb.TextDocumentView(origin=ABOUT, name="Episode")
    if contents.events:
        events = rrb.TextLogView(origin=EVENTS, name="Events")
        views.append(rrb.Vertical(about, events, row_shares=[3, 1]))
    else:
        views.append(about)
    return views


def _tabs(rrb: Any, contents: Contents) -> Any | None:
    by_tab: dict[str, list[Plot]] = {MAIN: []}
    for plot in contents.plots:
        by_tab.setdefault(plot.tab, []).append(plot)
    tabs = [
        rrb.Grid(
            *(_plot(rrb, plot, len(plots)) for plot in plots),
            grid_columns=_columns(plots),
            name=tab,
        )
        for tab, plots in by_tab.items()
        if plots
    ]
    if contents.maps:
        maps = [rrb.Spatial2DView(origin=each, name=_title(each)) for each in contents.maps]
        tabs.append(rrb.Grid(*maps, name="Touch"))
    if contents.labels:
        lanes = list(contents.labels)
        tabs.append(rrb.StateTimelineView(origin="/", contents=lanes, name="Labels"))
    return rrb.Tabs(*tabs, active_tab=0) if tabs else None


def _columns(plots: Sequence[Plot]) -> int:
    return len(plots) if len(plots) <= 3 else (len(plots) + 1) // 2 if len(plots) <= 8 else 4


def _plot(rrb: Any, plot: Plot, beside: int) -> Any:
    most = _LEGEND_LINES if beside <= 3 else _LEGEND_LINES_SMALL
    shown = sum(len(lines.columns) for lines in plot.lines) <= most
    entities = [lines.entity for lines in plot.lines]
    return rrb.TimeSeriesView(origin="/", contents=entities, name=plot.name,
                              plot_legend=rrb.PlotLegend(visible=shown))  # fmt: skip


def _title(entity: str) -> str:
    return entity.rsplit("/", 1)[-1].replace("_", " ")
