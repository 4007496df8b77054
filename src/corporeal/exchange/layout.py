"""Which columns, cameras and lanes of labels the tables of a dataset have, in every episode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.label_track import FIELD, NOTHING, LabelSpan, Lane, united
from corporeal.episode.recording import Recording, Signal
from corporeal.errors import CorporealError, EpisodeError, UnknownNameError
from corporeal.exchange.composition import (
    choose_action,
    choose_state,
    find_stream,
    require_action,
)
from corporeal.exchange.options import ExportOptions
from corporeal.schema import Stream, roles

STATE, ACTION, IMAGES, MODE = "observation.state", "action", "observation.images.", "mode"
LABELS = "labels."
"""What the keys of lanes of labels begin with."""


@dataclass(frozen=True)
class ColumnSpec:
    """A numeric column: its key, and the streams whose entries stand side by side in it.

    A column of more than one stream, or of joints, is flat: one name for each of its `width`.
    The names of joints stay as they are, those of what follows have the stream's in front.
    """

    key: str
    streams: tuple[Stream, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one row."""
        if len(self.streams) == 1:
            return self.streams[0].sizes or (1,)
        return (sum(stream.width for stream in self.streams),)

    @property
    def dtype(self) -> str:
        """The type of its values."""
        kinds = {stream.dtype for stream in self.streams}
        return kinds.pop() if len(kinds) == 1 else "float64" if "float64" in kinds else "float32"

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the entries of the last axis; None when nobody gave any."""
        if len(self.streams) == 1:
            return self.streams[0].names or None
        return tuple(name for stream in self.streams for name in self._names_in(stream))

    @property
    def units(self) -> tuple[str, ...]:
        """The unit of each entry of the last axis."""
        return tuple(unit for stream in self.streams for unit in stream.units)

    @property
    def places(self) -> tuple[slice, ...]:
        """Where the entries of each stream stand in a flat row."""
        ends = np.cumsum([stream.width for stream in self.streams]).tolist()
        return tuple(
            slice(end - stream.width, end) for stream, end in zip(self.streams, ends, strict=True)
        )

    def _names_in(self, stream: Stream) -> tuple[str, ...]:
        named = len(stream.names) == stream.width
        names = stream.names if named else tuple(map(str, range(stream.width)))
        is_body = stream is self.streams[0] and stream.name in (*roles.MEASURED, *roles.COMMANDED)
        return names if named and is_body else tuple(f"{stream.name}.{name}" for name in names)


@dataclass(frozen=True)
class CameraSpec:
    """A camera: its key and the stream it shows; `size` is (height, width) in the dataset."""

    key: str
    stream: Stream
    size: tuple[int, int]


@dataclass(frozen=True)
class TableLayout:
    """The columns and cameras of every table of a dataset, by key, in order."""

    columns: Mapping[str, ColumnSpec]
    cameras: Mapping[str, CameraSpec]
    rate_hz: float
    mode: bool = False
    """Whether every row says which mode the robot is in (the hierarchical view)."""
    lanes: tuple[Lane, ...] = ()
    """Lanes of which every row says the label that holds."""

    @property
    def composition(self) -> dict[str, str]:
        """What state and action are made of, in words."""
        parts = {"state": self.columns.get(STATE), "action": self.columns.get(ACTION)}
        return {
            part: ", ".join(f"{stream.name} ({stream.width})" for stream in column.streams)
            for part, column in parts.items()
            if column is not None
        }


def layout_of(
    recording: Recording, options: ExportOptions, *, needs_action: bool = False
) -> TableLayout:
    """The layout that an episode suggests for all; every stream stands in one column.

    Raises EpisodeError where it `needs_action` and nothing is one.
    """
    taken = _wanted(recording, options)
    columns: dict[str, ColumnSpec] = {}
    numbers = [signal.spec for signal in taken.values() if signal.spec.kind == "array"]
    state, action = choose_state(numbers, options), choose_action(numbers, options)
    if needs_action and not options.without_action:
        require_action(recording, action, numbers)
    if state:
        columns[STATE] = ColumnSpec(STATE, state)
    used = {stream.path for stream in (*state, *action)}
    for stream in numbers:
        if stream.path not in used:
            key = _key(stream)
            columns[key] = ColumnSpec(key, (stream,))
    if action:
        columns[ACTION] = ColumnSpec(ACTION, action)  # The last one, as people expect it.
    cameras: dict[str, CameraSpec] = {}
    for signal in taken.values():
        if signal.spec.kind == "video":
            key = f"{IMAGES}{signal.spec.name}"
            # Movies have even sizes; the row or column more is not worth a format of its own.
            height, width = (int(size) - int(size) % 2 for size in signal.spec.shape[:2])
            size = (
                (options.image_size, options.image_size) if options.image_size else (height, width)
            )
            cameras[key] = CameraSpec(key, signal.spec, size)
    if not columns and not cameras:
        raise EpisodeError(
            f"{recording.source}: no stream to export; expected numbers or pictures in "
            "observations or actions. Name others with --include."
        )
    rate_hz = options.rate_hz or natural_rate_hz(columns, cameras)
    lanes = recording.labels.used_lanes if recording.labels is not None else ()
    return TableLayout(columns, cameras, rate_hz, mode=options.view == "hierarchical", lanes=lanes)


def natural_rate_hz(columns: Mapping[str, ColumnSpec], cameras: Mapping[str, CameraSpec]) -> float:
    """The cameras' rate (the slowest one's), else the commands', else the state's."""
    seen = [camera.stream.rate_hz for camera in cameras.values() if camera.stream.rate_hz]
    if seen:
        return min(seen)
    ordered = [columns[key] for key in (ACTION, STATE) if key in columns] + list(columns.values())
    for column in ordered:
        for stream in column.streams:
            if stream.rate_hz:
                return stream.rate_hz
    raise EpisodeError("no stream has a rate, so the table has none. Give --rate.")


def match_signals(
    layout: TableLayout, recording: Recording
) -> dict[str, tuple[Signal, tuple[int, ...] | None]]:
    """The signals of an episode by stream path, with the order that their entries must take.

    None for an order that is right already. Raises EpisodeError when the episode lacks a stream
    or has other entries in it.
    """
    signals: dict[str, tuple[Signal, tuple[int, ...] | None]] = {}
    by_path = {signal.spec.path: signal for signal in recording.signals.values()}
    streams = [stream for column in layout.columns.values() for stream in column.streams]
    streams += [camera.stream for camera in layout.cameras.values()]
    for stream in streams:
        signal = by_path.get(stream.path)
        if signal is None or not len(signal):
            raise EpisodeError(
                f"{recording.source}: episode {recording.index} has no {stream.path}, which the "
                "first episode has. Leave the stream out with --exclude, or leave out the episode."
            )
        signals[stream.path] = signal, _order(stream, signal.spec, recording)
    return signals


def _order(wanted: Stream, got: Stream, recording: Recording) -> tuple[int, ...] | None:
    where = f"{recording.source}: {wanted.path} of episode {recording.index}"
    ours, theirs = wanted.names, got.names
    if wanted.kind == "array" and wanted.unit != got.unit and wanted.sizes == got.sizes:
        units = dict(zip(theirs, got.units, strict=False))
        if not ours or [units.get(name) for name in ours] != list(wanted.units):
            raise EpisodeError(f"{where} is in {got.unit}; expected {wanted.unit} as in the first.")
    if wanted.kind == "video" or (wanted.sizes == got.sizes and ours == theirs):
        return None
    if wanted.sizes != got.sizes or not ours or not theirs:
        raise EpisodeError(
            f"{where} has shape {list(got.sizes)} and names {theirs or None}; expected "
            f"{list(wanted.sizes)} and {ours or None} as in the first episode."
        )
    if sorted(ours) != sorted(theirs) or len(set(ours)) != len(ours):
        strange = sorted(set(theirs) ^ set(ours))
        raise EpisodeError(
            f"{where} has other entries than the first episode: {', '.join(strange[:6])}. "
            "Export robots of one kind together, or name the robot with --robot."
        )
    return tuple(theirs.index(name) for name in ours)


def _wanted(recording: Recording, options: ExportOptions) -> dict[str, Signal]:
    paths = {signal.spec.path: signal for signal in recording.signals.values()}
    missing = {item.name for item in recording.ledger.not_taken}
    for name in (*options.include, *options.exclude):
        # What was not taken from its source may be left out by the name that it has there.
        if find_stream(name, paths) is None and not (name in options.exclude and name in missing):
            raise UnknownNameError("stream", name, paths)
    shown = {find_stream(name, paths) for name in options.include}
    hidden = {find_stream(name, paths) for name in options.exclude}
    return {
        path: signal
        for path, signal in paths.items()
        if (signal.spec.group != "debug" or path in shown)
        and path not in hidden
        and len(signal)
        # A label that is there already is kept as one, not as a measurement.
        and not (options.view == "hierarchical" and signal.spec.name == MODE)
    }


def _key(stream: Stream) -> str:
    if stream.group == "actions":
        return f"action.{stream.name}"
    return f"observation.{stream.name}" if stream.name != roles.STATE else "observation.state_given"


Numbers = NDArray[np.int64]


def lane_key(lane: Lane) -> str:
    """The key of a lane beside those of columns and cameras."""
    return f"{LABELS}{lane.name}"


def main_lane(lanes: Sequence[Lane]) -> Lane | None:
    """What others call subtasks or phases: the first lane without gaps, else the first."""
    return next((lane for lane in lanes if lane.tiles), lanes[0] if lanes else None)


def label_words(lane: Lane, numbers: Numbers) -> list[str]:
    """The label of every row as text; empty where the lane says nothing."""
    return [lane.labels[number] if number != NOTHING else "" for number in numbers.tolist()]


def metadata_with_labels(recording: Recording) -> Mapping[str, Any]:
    """What a recording says of itself, its labels among it."""
    if recording.labels is None:
        return recording.metadata
    return {**recording.metadata, FIELD: recording.labels.to_json()}


def collect_lanes(
    open_recording: Callable[[int], Recording], numbers: Sequence[int]
) -> tuple[Lane, ...]:
    """The lanes of all recordings, for formats that say it only in each of them."""
    lanes = []
    for number in numbers:
        try:
            labels = open_recording(number).labels
        except CorporealError:
            continue
        if labels is not None:
            lanes.append(labels.used_lanes)
    return united(lanes)


MOMENT_NS = 100_000_000
"""How long a moment is shown: something without a length would not be seen."""


@dataclass(frozen=True)
class LabelChange:
    """From `time_ns` on this span holds; None: nothing does."""

    time_ns: int
    span: LabelSpan | None


def label_changes(spans: Sequence[LabelSpan]) -> Iterator[LabelChange]:
    """Every beginning of these spans of one lane, in order of time, and every end before a gap."""
    for number, span in enumerate(spans):
        yield LabelChange(span.start_ns, span)
        end_ns = span.end_ns if span.end_ns > span.start_ns else span.start_ns + MOMENT_NS
        if number + 1 == len(spans) or spans[number + 1].start_ns > end_ns:
            yield LabelChange(end_ns, None)
