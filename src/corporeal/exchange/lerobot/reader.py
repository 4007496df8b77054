"""One episode of a LeRobot dataset as a recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.episode.label_track import LabelSpan, LabelTrack, Lane, spans_of_rows
from corporeal.episode.recording import METADATA_WRONG, ArraySignal, Recording
from corporeal.errors import EpisodeError, UnknownNameError
from corporeal.exchange.foreign_stream import EpisodeReading, array_stream, to_storable
from corporeal.exchange.layout import LABELS
from corporeal.exchange.lerobot.files import (
    BOOKKEEPING,
    RATE_TOLERANCE,
    SUBTASK,
    Columns,
    Files,
    check_rows,
    feature_contradictions,
    picture_size,
    rate_of,
    take_footage,
    take_rows,
    take_stamps,
    task_changes,
    why_absent,
)
from corporeal.exchange.lerobot.info import Feature, Info, Parts, joints_of, name_parts
from corporeal.exchange.lerobot.listing import LerobotEntry, read_texts
from corporeal.exchange.parquet import is_numeric, read_table
from corporeal.schema import Stream

# Marks of a frame, not measurements of the robot.
_MARKS = ("next.", "annotation.")
_SUCCESS = "next.success"
_NO_COLUMN = "info.json names it, but the table has no such column"
# Columns that are not streams, and what holds them.
_HELD = {
    "timestamp": "stamps",
    "frame_index": "order of the samples",
    "index": "order of the samples",
    "episode_index": "number of the episode",
    "task_index": "metadata instructions",
    _SUCCESS: "metadata success",
}


@dataclass(frozen=True, eq=False)
class LerobotReader:
    """Opens the episodes of a dataset one by one; `reported` is said of the whole set already."""

    files: Files
    robot: Embodiment | None
    modality: Mapping[str, Parts] = field(default_factory=dict)
    reported: frozenset[tuple[str, str]] = frozenset()
    lanes: Mapping[str, Lane] = field(default_factory=dict)
    """The columns that are labels, and what these are."""
    _specs: dict[tuple[Any, ...], Stream] = field(default_factory=dict)
    _starts: dict[int, int] = field(default_factory=dict)

    def open(self, index: int) -> Recording:
        """The episode with this number."""
        files, info, listing = self.files, self.files.info, self.files.listing
        listed = listing.by_number.get(index)
        if listed is None:
            raise UnknownNameError("episode", str(index), map(str, listing.by_number))
        entry = replace(listed, data=files.home(listed) or listed.data)
        reading = EpisodeReading(index, info.fps, self.robot, kind="column")
        whole = files.columns(entry.data)
        rows, is_in_place = take_rows(reading, files, listed)
        columns = {name: _picked(values, rows) for name, values in whole.items()}
        time_ns = take_stamps(reading, columns, len(rows))
        self._take_columns(reading, columns, time_ns)
        self._take_stills(reading, entry, rows, time_ns)
        tasks = task_changes(columns, listing.tasks, len(rows))
        if len({text for _, text in tasks}) > 1:
            spec = Stream(name="instruction", group="observations", kind="text")
            stamps = time_ns[[row for row, _ in tasks]]
            reading.signals["task_index"] = ArraySignal(spec, stamps, [text for _, text in tasks])
        self._account_rest(reading, entry, len(rows))
        first = self._start(entry) if is_in_place else None
        check_rows(reading, entry, columns, first=first, tasks=listing.tasks)
        self._check_features(reading, whole, time_ns)
        for camera in info.cameras:
            if (camera.key, "absent") not in self.reported:
                take_footage(reading, files, camera, entry, time_ns, self.reported)
            else:
                reason = why_absent(info, entry.clips.get(camera.key))
                reading.leave_out(camera.key, reason, kind="camera", lost=True)
        return reading.to_recording(
            f"{info.root.name}_{index:06d}",
            entry.data,
            self._metadata(entry, columns, tuple(dict.fromkeys(text for _, text in tasks))),
            claims=listing.claims_of(index),
            regridded=True,
            labels=_track_of(self.lanes, columns, time_ns),
        )

    def _take_columns(
        self, reading: EpisodeReading, columns: Columns, time_ns: NDArray[np.int64]
    ) -> None:
        left_out = {*BOOKKEEPING, *self.lanes}
        for feature in self.files.info.features.values():
            key, values = feature.key, columns.get(feature.key)
            if values is None or key in left_out or key.startswith(_MARKS):
                continue
            if key.endswith("_index") or 0 in values.shape[1:]:
                continue
            shape = feature.given_shape
            if shape is not None and values.shape[1:] == feature.shape:
                values = values.reshape(len(values), *shape)
            values = to_storable(values)
            reading.signals[key] = ArraySignal(self._spec(feature, values), time_ns, values)

    def _account_rest(self, reading: EpisodeReading, entry: LerobotEntry, count: int) -> None:
        """Account for every column of the table, and of info.json, that is no stream."""
        types = self.files.types(entry.data)
        features = self.files.info.features
        for key in dict.fromkeys((*features, *types)):
            feature = features.get(key)
            if key in reading.signals or (feature is not None and feature.is_video):
                continue
            if feature is not None and feature.is_image:
                reason = "no size of its pictures is stated" if key in types else _NO_COLUMN
                reading.leave_out(key, reason, kind="camera", lost=True)
            elif key not in types:
                reading.leave_out(key, _NO_COLUMN, lost=True)
            elif key in self.lanes:
                reading.account(key, "labels", samples=count)
            elif key in _HELD:
                reading.account(key, _HELD[key], samples=count)
            else:
                reason, lost = _why_left_out(key, feature, types[key])
                reading.leave_out(key, reason, samples=count, lost=lost)

    def _spec(self, feature: Feature, values: NDArray[Any]) -> Stream:
        key = (feature.key, values.shape[1:], values.dtype.name)
        if key not in self._specs:
            names = feature.last_names
            state = self.files.info.features.get("observation.state")
            if names is None and state is not None and state.shape == feature.shape:
                names = state.names
            parts, joints = self.modality.get(feature.key), None
            names = name_parts(names, parts) if names is not None and parts else names
            if self.robot is not None and parts is not None and len(feature.shape) == 1:
                joints = joints_of(feature, parts, self.robot)
            spec = array_stream(
                feature.key,
                values,
                rate_hz=self.files.info.fps,
                names=names,
                robot=self.robot,
                joints=joints,
            )
            self._specs[key] = as_stated(spec, feature)
        return self._specs[key]

    def _take_stills(
        self,
        reading: EpisodeReading,
        entry: LerobotEntry,
        rows: NDArray[np.int64],
        time_ns: NDArray[np.int64],
    ) -> None:
        for feature in self.files.info.features.values():
            size = picture_size(feature) if feature.is_image else None
            if size is not None and len(rows):
                pictures = TablePictures(entry.data, feature.key, rows)
                reading.take_pictures(feature.key, pictures, time_ns, size=size)

    def _start(self, entry: LerobotEntry) -> int | None:
        """The `index` of the episode's first row: how many rows come before it."""
        if entry.rows is not None:
            return entry.rows[0]
        if not self._starts:
            total = 0
            for other in self.files.listing.entries:
                self._starts[other.index] = total
                rows = self.files.rows(other.data)
                total += max(0, other.length) if rows is None else rows
        return self._starts[entry.index]

    def _check_features(
        self, reading: EpisodeReading, columns: Columns, time_ns: NDArray[np.int64]
    ) -> None:
        fps = self.files.info.fps
        for feature in self.files.info.features.values():
            for what, message in feature_contradictions(feature, columns):
                if (feature.key, what) not in self.reported:
                    reading.complain(METADATA_WRONG, message, feature.key)
        rate = rate_of(time_ns) if ("timestamp", "fps") not in self.reported else None
        if rate is not None and abs(rate - fps) > RATE_TOLERANCE * fps:
            message = f"frames are stamped at {rate:.4g} Hz, but info.json says fps {fps:g}"
            reading.complain(METADATA_WRONG, message, "timestamp", rate, fps)

    def _metadata(
        self, entry: LerobotEntry, columns: Columns, texts: tuple[str, ...]
    ) -> dict[str, Any]:
        """What is said of an episode; `texts` are the instructions that its rows point at."""
        info = self.files.info
        instructions = texts or entry.tasks
        stated: dict[str, Any] = dict(entry.facts)
        flags = columns.get(_SUCCESS)
        if flags is not None and len(flags):
            # The frame that ends a success is marked; where none is, the episode failed.
            stated.setdefault("success", bool(np.any(flags)))
        stated |= {"fps": info.fps, "robot_type": info.robot_type, "instructions": instructions}
        if instructions:
            stated |= {"task": instructions[0], "instruction": instructions[0]}
        return stated


def _why_left_out(key: str, feature: Feature | None, kind: Any) -> tuple[str, bool]:
    """Why a column of the table is no stream, and whether something is lost with it."""
    if not is_numeric(kind):
        return f"unknown type {str(kind)[:60]}", True
    if feature is None:
        return "info.json does not name it", True
    if key.startswith(_MARKS):
        return "a mark of the frame, not a measurement", False
    if key.endswith("_index"):
        return "a number that points into a list", False
    return "no value in a row", False


@dataclass(frozen=True, eq=False)
class TablePictures(Sequence[bytes]):
    """The encoded pictures of a column, read when the first is asked for."""

    path: Path
    column: str
    rows: NDArray[np.int64]
    _bytes: list[bytes] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, selection: Any) -> Any:
        if not self._bytes:
            column = read_table(self.path, [self.column]).column(self.column).take(self.rows)
            stored = [each.get("bytes") if isinstance(each, dict) else each
                      for each in column.to_pylist()]  # fmt: skip
            found = [each for each in stored if isinstance(each, bytes)]
            if len(found) < len(stored):
                raise EpisodeError(f"{self.path}: {self.column} has rows without a picture in it.")
            self._bytes.extend(found)
        return self._bytes[selection]


def as_stated(spec: Stream, feature: Feature) -> Stream:
    """The stream in the unit that info.json gives, which then also goes for joints that slide."""
    unit, names = feature.unit, feature.last_names
    last = spec.shape[-1] if spec.shape else 0
    if unit is None or (isinstance(unit, tuple) and len(unit) != last):
        return spec
    components = spec.components
    if names is not None and len(names) == last:
        given = components if isinstance(components, tuple) else names
        components = tuple(
            name if found == f"{name}_given" else found
            for name, found in zip(names, given, strict=True)
        )
    return spec.model_copy(update={"unit": unit, "components": components})


def _picked(values: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Rows of a column; a view where they follow each other."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
        return values[rows[0] : rows[-1] + 1]
    return values[rows]


LANE = "subtask"
"""What the lane is called in datasets of others."""
_NAME_LENGTH = 1024
_MAX_LABELS = 4096


def read_lanes(info: Info) -> dict[str, Lane]:
    """The columns of labels that a dataset has, ours or others'; none when it has no list."""
    lanes = {}
    for key, feature in info.features.items():
        labels = _subtasks(info) if key == SUBTASK else _labels(feature)
        if labels:
            stated = feature.facts.get("lane") if key == SUBTASK else key.removeprefix(LABELS)
            name = stated.strip()[:_NAME_LENGTH] if isinstance(stated, str) else ""
            tiles = feature.facts.get("tiles") is True
            lanes[key] = Lane(name=name or LANE, labels=labels, tiles=tiles)
    return lanes


def _track_of(
    lanes: Mapping[str, Lane], columns: Columns, time_ns: NDArray[np.int64]
) -> LabelTrack | None:
    """The labels of an episode's rows; None when they say nothing."""
    spans: list[LabelSpan] = []
    for key, lane in lanes.items():
        values = columns.get(key)
        if values is not None and values.size == len(time_ns) and values.dtype.kind in "iu":
            spans += spans_of_rows(lane, values.reshape(-1).astype(np.int64), time_ns)
    return LabelTrack(lanes=tuple(lanes.values()), spans=tuple(spans)) if spans else None


def _labels(feature: Feature) -> tuple[str, ...]:
    """The labels of a lane that Corporeal wrote beside the subtasks."""
    listed = feature.facts.get("labels")
    if not feature.key.startswith(LABELS) or not isinstance(listed, list):
        return ()
    return _named(dict(enumerate(listed)))


def _subtasks(info: Info) -> tuple[str, ...]:
    path = info.root / "meta" / "subtasks.parquet"
    path = path if path.is_file() else path.with_suffix(".jsonl")
    texts = read_texts(path, SUBTASK, "subtask")
    return _named(texts) if len(texts) <= _MAX_LABELS else ()


def _named(listed: Mapping[int, Any]) -> tuple[str, ...]:
    """Labels by their numbers, up to an empty one at the end, which stands for none."""
    if sorted(listed) != list(range(len(listed))):
        return ()
    texts = [str(listed[number] or "").strip()[:_NAME_LENGTH] for number in range(len(listed))]
    while texts and not texts[-1]:
        texts.pop()
    return tuple(texts) if all(texts) else ()
