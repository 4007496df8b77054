"""Writes an episode as a scene (.rrd), with its layout inside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.episode.label_track import LabelSpan, LabelTrack
from corporeal.episode.recording import Recording, Signal
from corporeal.errors import EpisodeError, WriteError
from corporeal.exchange.episode_file import is_named
from corporeal.exchange.layout import label_changes, layout_of
from corporeal.exchange.link_poses import RobotPoses, link_poses_of
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.rerun_scene.entities import (
    CLOUDS,
    MAIN,
    PATHS,
    TIME,
    WORLD,
    Plot,
    RerunScene,
    add_camera,
    add_depth,
    add_frames,
    add_lines,
    add_map,
    add_points,
    add_pose,
    add_robot,
    map_span,
    place_of,
    plots_of,
    rerun,
)
from corporeal.exchange.table import instructions_of, row_times
from corporeal.schema import Stream, roles
from corporeal.units import SECOND_NS

ABOUT, EVENTS, LANES = "/about", "/events", "/labels"
_ORDER = ("text", "array", "points", "video", "depth")
_MAP_SIDE = 4
_BRIEF = 80


def write_scene(
    recording: Recording, number: int, path: Path, options: ExportOptions
) -> tuple[str, ...]:
    """Write all streams but the excluded ones (by path or name); the paths of those written."""
    rr = rerun()
    rows_ns, rate_hz = _row_clock(recording, options)
    signals = [
        signal
        for signal in recording.signals.values()
        if len(signal) and not is_named(signal.spec, options.exclude)
    ]
    try:
        with rr.RecordingStream("corporeal", recording_id=recording.id) as stream:
            stream.save(path)
            stream.set_log_time_enabled(False)
            stream.set_log_tick_enabled(False)
            stream.send_recording_name(f"{recording.facts.task or 'episode'} {number}")
            _fill(RerunScene(stream, rows_ns), recording, rate_hz, signals)
            stream.flush()
            stream.disconnect()
    except RuntimeError as error:
        # Rerun writes in a thread of its own, and says only that it is gone.
        reason = str(error).splitlines()[0]
        raise WriteError(f"{path}: Rerun cannot write it ({reason}). Is the disk full?") from error
    return tuple(signal.spec.path for signal in signals)


def _row_clock(recording: Recording, options: ExportOptions) -> tuple[NDArray[np.int64], float]:
    """When the rows of an export would be; none where the recording cannot be put into rows."""
    try:
        layout = layout_of(recording, options)
        return row_times(recording, layout), layout.rate_hz
    except EpisodeError:
        return np.zeros(0, np.int64), options.rate_hz or 1.0


def _fill(
    scene: RerunScene, recording: Recording, rate_hz: float, signals: Sequence[Signal]
) -> None:
    """The layout first and what is large last, so that a viewer soon has something to show."""
    rr = rerun()
    robot = recording.embodiment
    places = {signal.spec.path: _place(signal.spec, robot) for signal in signals}
    has_joints = any(signal.spec.name in roles.MEASURED for signal in signals)
    posture = link_poses_of(recording) if has_joints else None
    plots = plots_of([each for each in signals if places[each.spec.path][0] == "number"], robot)
    shown: dict[str, list[str]] = {}
    for kind, entity in (*places.values(), *_label_places(recording.labels)):
        shown.setdefault(kind, []).append(entity)
    blueprint = _blueprint(shown, plots, posture)
    scene.stream.send_blueprint(blueprint, make_active=True, make_default=True)
    about = _about(recording, f"{len(scene.rows_ns)} at {rate_hz:g} Hz")
    scene.fix(ABOUT, rr.TextDocument(about, media_type="text/markdown"))
    if posture is not None and robot is not None:
        add_robot(scene, robot, posture)
        add_frames(scene, robot)
    for plot in plots:
        for lines in plot.lines:
            add_lines(scene, lines)
    _add_labels(scene, recording.labels)
    _add_maps(scene, [each for each in signals if places[each.spec.path][0] == "map"])
    for signal in sorted(signals, key=lambda signal: _ORDER.index(signal.spec.kind)):
        _add(scene, signal, *places[signal.spec.path])


def _add_maps(scene: RerunScene, maps: Sequence[Signal]) -> None:
    for unit in {signal.spec.unit for signal in maps}:
        alike = [signal for signal in maps if signal.spec.unit == unit]
        span = map_span(alike)
        for signal in alike:
            add_map(scene, f"/{signal.spec.path}", signal, span)


def _place(spec: Stream, robot: Embodiment | None) -> tuple[str, str]:
    """How a stream is shown, and where."""
    if spec.kind == "points":
        place = place_of(robot, spec.frame)
        return "points", f"{place or CLOUDS}/{spec.name}"
    if spec.kind == "text":
        return "text", f"{EVENTS}/{spec.name}"
    if spec.kind != "array":
        return spec.kind, f"/{spec.path}"
    is_map = len(spec.shape) == 2 and min(spec.sizes) >= _MAP_SIDE
    return "map" if is_map else "number", f"/{spec.path}"


def _add(scene: RerunScene, signal: Signal, kind: str, entity: str) -> None:
    """Add what is neither a line of a plot nor a map; a pose is also drawn."""
    spec = signal.spec
    if kind == "text":
        columns = rerun().TextLog.columns(text=list(signal[:]))
        scene.add(entity, signal.time_ns, columns)
    elif kind == "number":
        is_pose = set(spec.names) == set(roles.POSE) and spec.frame == "world"
        if is_pose and spec.name != roles.BASE_POSE:
            add_pose(scene, f"{WORLD}/{spec.name}", signal)
    elif kind != "map":
        add = {"video": add_camera, "depth": add_depth, "points": add_points}[kind]
        add(scene, entity, signal)


def _about(recording: Recording, rows: str) -> str:
    """What is known of the episode, for people."""
    robot = recording.embodiment.name if recording.embodiment is not None else "unknown"
    lines = [f"# {instructions_of(recording)[0] or 'No instruction'}", ""]
    lines += [f"**Outcome:** {recording.facts.outcome}", "", f"**Robot:** {robot}", ""]
    lines += _labelled(recording.labels) if recording.labels is not None else []
    if recording.recovered:
        lines += [f"**Not complete:** {recording.recovered}", ""]
    lines += [f"| episode | {recording.id[:18]} |", "|---|---|"]
    lines.append(f"| rows | {rows} |")
    facts = {**recording.metadata, **recording.facts.outcome.measures}
    for name, value in sorted(facts.items()):
        if name != "instruction" and (brief := _brief(value)):
            lines.append(f"| {name.replace('_', ' ')} | {brief} |")
    return "\n".join(lines) + "\n"


def _labelled(labels: LabelTrack) -> list[str]:
    """What people said of the whole episode, besides its instruction and outcome."""
    stated = {
        "Failure": labels.failure_mode,
        "Also said": "; ".join(labels.instructions[1:]),
        "Variant": labels.variant,
        "Flags": ", ".join(labels.flags),
        "Labelled by": labels.taxonomy,
    }
    lines = []
    for name, text in stated.items():
        lines += [f"**{name}:** {' '.join(text.split())}", ""] if text else []
    return lines


def _brief(value: Any) -> str:
    """A value in a few words; nothing for what has parts, or would not fit."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if not isinstance(value, str | int):
        return ""
    text = str(value).replace("|", "/").replace("\n", " ")
    return text if len(text) <= _BRIEF else ""


def _label_places(labels: LabelTrack | None) -> Iterator[tuple[str, str]]:
    """How lanes are shown, and where: each as text and as states."""
    for lane in labels.used_lanes if labels is not None else ():
        yield "text", f"{EVENTS}/labels/{lane.name}"
        yield "state", f"{LANES}/{lane.name}"


def _add_labels(scene: RerunScene, labels: LabelTrack | None) -> None:
    """Every segment in words at the time at which it begins, and as a state until it ends."""
    for lane in labels.used_lanes if labels is not None else ():
        assert labels is not None
        spans = labels.in_lane(lane.name)
        if spans:
            stamps = np.array([span.start_ns for span in spans], np.int64)
            words = rerun().TextLog.columns(text=[_words(span) for span in spans])
            scene.add(f"{EVENTS}/labels/{lane.name}", stamps, words)
            _add_states(scene, f"{LANES}/{lane.name}", spans)


def _add_states(scene: RerunScene, entity: str, spans: tuple[LabelSpan, ...]) -> None:
    changes = list(label_changes(spans))
    stamps = np.array([each.time_ns for each in changes], np.int64)
    states = [each.span.label for each in changes if each.span is not None]
    # What holds no state is an empty row: `rrd verify` refuses a null among texts.
    sizes = [0 if each.span is None else 1 for each in changes]
    scene.add(entity, stamps, rerun().StateChange.columns(state=states).partition(sizes))


def _words(span: LabelSpan) -> str:
    attributes = ", ".join(str(each) for each in span.attributes.values() if each is not None)
    until = f" until {span.end_ns / SECOND_NS:.2f} s" if span.end_ns > span.start_ns else ""
    return f"{span.lane}: {span.label}" + (f" ({attributes})" if attributes else "") + until


# A legend may not hide what it explains: in a small panel fewer lines have one.
_LEGEND_LINES, _LEGEND_LINES_SMALL = 8, 4


def _blueprint(
    shown: Mapping[str, Sequence[str]], plots: Sequence[Plot], posture: RobotPoses | None
) -> Any:
    """How the scene is laid out: 3D and cameras on top, plots of state against action below.

    `shown` are the entities by how they are shown.
    """
    rrb = rerun().blueprint
    top = _top(rrb, shown, posture)
    shares = [share for _, share in top]
    rows = [rrb.Horizontal(*(view for view, _ in top), column_shares=shares)]
    bottom = _tabs(rrb, shown, plots)
    rows += [bottom] if bottom is not None else []
    return rrb.Blueprint(
        rrb.Vertical(*rows, row_shares=[3, 2][: len(rows)]),
        rrb.TimePanel(timeline=TIME, state="collapsed", play_state="playing", loop_mode="all"),
        rrb.SelectionPanel(state="collapsed"),
        rrb.BlueprintPanel(state="collapsed"),
        auto_views=False,
        auto_layout=False,
    )


def _top(
    rrb: Any, shown: Mapping[str, Sequence[str]], posture: RobotPoses | None
) -> list[tuple[Any, float]]:
    """The views of the upper row, each with its share of the width."""
    views: list[tuple[Any, float]] = []
    if posture is not None:
        # The middle of the robot at the start.
        first = posture.positions[0]
        x, y, z = ((first.min(axis=0) + first.max(axis=0)) / 2).tolist()
        eye = rrb.EyeControls3D(position=(x + 1.5, y + 0.9, z + 0.5), look_target=(x, y, z),
                                eye_up=(0, 0, 1))  # fmt: skip
        scene = rrb.Spatial3DView(origin=WORLD, name="Robot", eye_controls=eye,
                                  contents=[f"{WORLD}/**", f"{PATHS}/**"])  # fmt: skip
        views.append((scene, 2.0))
    flat = [*shown.get("video", ()), *shown.get("depth", ())]
    pictures = [rrb.Spatial2DView(origin=each, name=_title(each)) for each in flat]
    pictures += [rrb.Spatial3DView(origin=each, name=_title(each))
                 for each in shown.get("points", ()) if each.startswith(CLOUDS)]  # fmt: skip
    if pictures:
        columns = 1 if len(pictures) == 1 else 2 if len(pictures) <= 4 else 3
        views.append((rrb.Grid(*pictures, grid_columns=columns), 3.0))
    about = rrb.TextDocumentView(origin=ABOUT, name="Episode")
    if "text" in shown:
        events = rrb.TextLogView(origin=EVENTS, name="Events")
        about = rrb.Vertical(about, events, row_shares=[3, 1])
    return [*views, (about, 1.2)]


def _tabs(rrb: Any, shown: Mapping[str, Sequence[str]], plots: Sequence[Plot]) -> Any | None:
    by_tab: dict[str, list[Plot]] = {MAIN: []}
    for plot in plots:
        by_tab.setdefault(plot.tab, []).append(plot)
    tabs = [
        rrb.Grid(
            *(_plot(rrb, plot, len(together)) for plot in together),
            grid_columns=_columns(len(together)),
            name=tab,
        )
        for tab, together in by_tab.items()
        if together
    ]
    if "map" in shown:
        maps = [rrb.Spatial2DView(origin=each, name=_title(each)) for each in shown["map"]]
        tabs.append(rrb.Grid(*maps, name="Touch"))
    if "state" in shown:
        tabs.append(rrb.StateTimelineView(origin="/", contents=shown["state"], name="Labels"))
    return rrb.Tabs(*tabs, active_tab=0) if tabs else None


def _columns(plots: int) -> int:
    return plots if plots <= 3 else (plots + 1) // 2 if plots <= 8 else 4


def _plot(rrb: Any, plot: Plot, beside: int) -> Any:
    most = _LEGEND_LINES if beside <= 3 else _LEGEND_LINES_SMALL
    shown = sum(len(lines.columns) for lines in plot.lines) <= most
    entities = [lines.entity for lines in plot.lines]
    return rrb.TimeSeriesView(origin="/", contents=entities, name=plot.name,
                              plot_legend=rrb.PlotLegend(visible=shown))  # fmt: skip


def _title(entity: str) -> str:
    return entity.rsplit("/", 1)[-1].replace("_", " ")
