"""Writes an episode as a scene (.rrd), with its layout inside."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.episode.label_track import LabelSpan, LabelTrack
from corporeal.episode.recording import Recording, Signal
from corporeal.errors import EpisodeError, WriteError
from corporeal.exchange.layout import label_changes, layout_of
from corporeal.exchange.link_poses import RobotPoses, link_poses_of
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.rerun_scene.entities import (
    CLOUDS,
    WORLD,
    RerunScene,
    add_camera,
    add_depth,
    add_frames,
    add_map,
    add_points,
    add_pose,
    add_robot,
    map_span,
    place_of,
    rerun,
)
from corporeal.exchange.rerun_scene.panels import (
    ABOUT,
    EVENTS,
    Contents,
    Plot,
    add_lines,
    panels,
    plots_of,
)
from corporeal.exchange.table import instructions_of, row_times
from corporeal.schema import Stream, roles
from corporeal.units import SECOND_NS

_ORDER = ("text", "array", "points", "video", "depth")
_MAP_SIDE = 4
_BRIEF = 80


def write_scene(
    recording: Recording, number: int, path: Path, options: ExportOptions
) -> tuple[str, ...]:
    """Write all streams but the excluded ones (by path or name); the paths of those written."""
    rr = rerun()
    exclude = options.exclude
    clock = _row_clock(recording, options)
    signals = [
        signal
        for signal in recording.signals.values()
        if len(signal) and not {signal.spec.path, signal.spec.name} & set(exclude)
    ]
    try:
        with rr.RecordingStream("corporeal", recording_id=recording.id) as stream:
            stream.save(path)
            stream.set_log_time_enabled(False)
            stream.set_log_tick_enabled(False)
            name = f"{recording.facts.task or 'episode'} {number}"
            stream.send_recording_name(name)
            _fill(RerunScene(stream, clock.time_ns), recording, clock, signals)
            stream.flush()
            stream.disconnect()
    except RuntimeError as error:
        # Rerun writes in a thread of its own, and says only that it is gone.
        reason = str(error).splitlines()[0]
        raise WriteError(f"{path}: Rerun cannot write it ({reason}). Is the disk full?") from error
    return tuple(signal.spec.path for signal in signals)


@dataclass(frozen=True, eq=False)
class _RowClock:
    """When the rows of an export would be; none where the recording cannot be put into rows."""

    time_ns: NDArray[np.int64]
    rate_hz: float


def _row_clock(recording: Recording, options: ExportOptions) -> _RowClock:
    try:
        layout = layout_of(recording, options)
        return _RowClock(row_times(recording, layout), layout.rate_hz)
    except EpisodeError:
        return _RowClock(np.zeros(0, np.int64), options.rate_hz or 1.0)


def _fill(
    scene: RerunScene, recording: Recording, clock: _RowClock, signals: Sequence[Signal]
) -> None:
    """The layout first and what is large last, so that a viewer soon has something to show."""
    rr = rerun()
    robot = recording.embodiment
    places = {signal.spec.path: _place(signal.spec, robot) for signal in signals}
    has_joints = any(signal.spec.name in roles.MEASURED for signal in signals)
    posture = link_poses_of(recording) if has_joints else None
    plots = plots_of([each for each in signals if places[each.spec.path][0] == "number"], robot)
    blueprint = panels(
        _contents((*places.values(), *label_places(recording.labels)), plots, posture)
    )
    scene.stream.send_blueprint(blueprint, make_active=True, make_default=True)
    scene.fix(ABOUT, rr.TextDocument(_about(recording, clock), media_type="text/markdown"))
    if posture is not None and robot is not None:
        add_robot(scene, robot, posture)
        add_frames(scene, robot)
    for plot in plots:
        for lines in plot.lines:
            add_lines(scene, lines)
    add_labels(scene, recording.labels)
    _add_maps(scene, [each for each in signals if places[each.spec.path][0] == "map"])
    for signal in sorted(signals, key=lambda signal: _ORDER.index(signal.spec.kind)):
        _add(scene, signal, *places[signal.spec.path])


def _add_maps(scene: RerunScene, maps: Sequence[Signal]) -> None:
    for unit in {signal.spec.unit for signal in maps}:
        alike = [signal for signal in maps if signal.spec.unit == unit]
        span = map_span(alike)
        for signal in alike:
            add_map(scene, f"/{signal.spec.path}", signal, span)


def _contents(
    places: Collection[tuple[str, str]], plots: tuple[Plot, ...], posture: RobotPoses | None
) -> Contents:
    def of(kind: str) -> tuple[str, ...]:
        return tuple(entity for each, entity in places if each == kind)

    return Contents(
        robot=posture is not None,
        eye=_eye(posture),
        pictures=(*of("video"), *of("depth")),
        clouds=tuple(each for each in of("points") if each.startswith(CLOUDS)),
        maps=of("map"),
        labels=of("state"),
        plots=plots,
        events=bool(of("text")),
    )


def _eye(posture: RobotPoses | None) -> tuple[float, float, float]:
    """The middle of the robot at the start."""
    if posture is None:
        return 0.0, 0.0, 0.0
    first = posture.positions[0]
    x, y, z = ((first.min(axis=0) + first.max(axis=0)) / 2).tolist()
    return x, y, z


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


def _about(recording: Recording, clock: _RowClock) -> str:
    """What is known of the episode, for people."""
    robot = recording.embodiment.name if recording.embodiment is not None else "unknown"
    lines = [f"# {instructions_of(recording)[0] or 'No instruction'}", ""]
    lines += [f"**Outcome:** {recording.facts.outcome}", "", f"**Robot:** {robot}", ""]
    lines += _labelled(recording.labels) if recording.labels is not None else []
    if recording.recovered:
        lines += [f"**Not complete:** {recording.recovered}", ""]
    lines += [f"| episode | {recording.id[:18]} |", "|---|---|"]
    lines.append(f"| rows | {len(clock.time_ns)} at {clock.rate_hz:g} Hz |")
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


LANES = "/labels"


def label_places(labels: LabelTrack | None) -> tuple[tuple[str, str], ...]:
    """How lanes are shown, and where: each as text and as states."""
    names = [lane.name for lane in labels.used_lanes] if labels is not None else []
    texts = tuple(("text", f"{EVENTS}/labels/{name}") for name in names)
    return (*texts, *(("state", f"{LANES}/{name}") for name in names))


def add_labels(scene: RerunScene, labels: LabelTrack | None) -> None:
    """Every segment in words at the time at which it begins, and as a state until it ends."""
    if labels is None:
        return
    for lane in labels.used_lanes:
        spans = labels.in_lane(lane.name)
        if spans:
            _add_words(scene, f"{EVENTS}/labels/{lane.name}", spans)
            _add_states(scene, f"{LANES}/{lane.name}", spans)


def _add_words(scene: RerunScene, entity: str, spans: tuple[LabelSpan, ...]) -> None:
    stamps = np.array([span.start_ns for span in spans], np.int64)
    texts = [_words(span) for span in spans]
    scene.add(entity, stamps, rerun().TextLog.columns(text=texts))


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
