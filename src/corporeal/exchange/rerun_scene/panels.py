"""How a scene is laid out: 3D and cameras on top, plots of state against action below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from corporeal.exchange.rerun_scene.plots import MAIN, Plot
from corporeal.exchange.rerun_scene.robot import PATHS, WORLD
from corporeal.exchange.rerun_scene.timeline import TIME
from corporeal.exchange.rerun_scene.viewer import rerun

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
