"""One episode of a LeRobot dataset as a recording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.episode.label_track import LabelSpan, LabelTrack, Lane, spans_of_rows
from corporeal.episode.recording import (
    METADATA_WRONG,
    ArraySignal,
    Defect,
    ImageSequence,
    Recording,
    Signal,
)
from corporeal.errors import EpisodeError, UnknownNameError
from corporeal.exchange.foreign_stream import array_stream, picture_stream, to_storable
from corporeal.exchange.layout import LABELS
from corporeal.exchange.lerobot.features import SUBTASK
from corporeal.exchange.lerobot.files import (
    BOOKKEEPING,
    Columns,
    Files,
    instructions_of,
    row_defects,
    rows_of,
    stamps_of,
    task_changes,
)
from corporeal.exchange.lerobot.footage import RATE_TOLERANCE, CameraFiles, picture_size
from corporeal.exchange.lerobot.info import Feature, Info, Joints, Parts, joints_of
from corporeal.exchange.lerobot.listing import LerobotEntry, read_texts
from corporeal.exchange.parquet import read_table
from corporeal.schema import Stream
from corporeal.units import SECOND_NS

# Marks of a frame, not measurements of the robot.
_MARKS = ("next.", "annotation.")
_SUCCESS = "next.success"


@dataclass(frozen=True, eq=False)
class LerobotReader:
    """Opens the episodes of a dataset one by one."""

    files: Files
    cameras: CameraFiles
    robot: Embodiment | None
    modality: Mapping[str, Parts] = field(default_factory=dict)
    reported: frozenset[tuple[str, str]] = frozenset()
    lanes: tuple[LaneColumn, ...] = ()
    _joints: dict[str, Joints | None] = field(default_factory=dict)
    _specs: dict[tuple[Any, ...], Stream] = field(default_factory=dict)
    _starts: dict[int, int] = field(default_factory=dict)

    def open(self, index: int) -> Recording:
        """The episode with this number."""
        listing = self.files.listing
        entry = listing.by_number.get(index)
        if entry is None:
            raise UnknownNameError("episode", str(index), map(str, listing.by_number))
        entry = replace(entry, data=self.files.home(entry) or entry.data)
        whole = self.files.columns(entry.data)
        rows, defects = rows_of(self.files, listing.by_number[index])
        count = len(rows)
        columns = {name: _picked(values, rows) for name, values in whole.items()}
        time_ns, lost = stamps_of(entry, columns, count=count, fps=self.files.info.fps)
        signals: dict[str, Signal] = dict(self._arrays(columns, time_ns))
        signals.update(self._stills(entry, rows, time_ns))
        signals.update(self._texts(columns, time_ns))
        more = [*defects, *lost, *self._row_defects(entry, columns, bool(defects))]
        more.extend(self._feature_defects(entry, whole, time_ns))
        for camera in self.files.info.cameras:
            footage, wrong = self.cameras.footage(camera, entry, time_ns)
            more.extend(wrong)
            if footage is not None:
                signals[camera.key] = footage
        return Recording(
            id=f"{self.files.info.root.name}_{index:06d}",
            source=entry.data,
            index=index,
            signals=signals,
            embodiment=self.robot,
            metadata=self._metadata(entry, columns, count),
            claims=listing.claims.of(index),
            defects=tuple(more),
            regridded=True,
            labels=track_of(self.lanes, columns, time_ns),
        )

    def _arrays(
        self, columns: Columns, time_ns: NDArray[np.int64]
    ) -> Iterator[tuple[str, ArraySignal]]:
        for feature in self.files.info.features.values():
            values = columns.get(feature.key)
            if values is None or feature.key in BOOKKEEPING or feature.key.startswith(_MARKS):
                continue
            if feature.key.endswith("_index") or 0 in values.shape[1:]:
                continue
            if any(feature.key == each.key for each in self.lanes):
                continue
            shape = feature.given_shape
            if shape is not None and values.shape[1:] == feature.shape:
                values = values.reshape(len(values), *shape)
            values = to_storable(values)
            spec = self._spec(feature, values)
            yield feature.key, ArraySignal(spec, time_ns, values)

    def _spec(self, feature: Feature, values: NDArray[Any]) -> Stream:
        key = (feature.key, values.shape[1:], values.dtype.name)
        if key not in self._specs:
            names = feature.last_names
            state = self.files.info.features.get("observation.state")
            if names is None and state is not None and state.shape == feature.shape:
                names = state.names
            spec = array_stream(
                feature.key,
                values,
                rate_hz=self.files.info.fps,
                names=names,
                robot=self.robot,
                joints=self._joints_of(feature),
            )
            self._specs[key] = as_stated(spec, feature)
        return self._specs[key]

    def _joints_of(self, feature: Feature) -> Joints | None:
        parts = self.modality.get(feature.key)
        if self.robot is None or parts is None or len(feature.shape) != 1:
            return None
        return joints_of(feature, parts, self.robot)

    def _stills(
        self, entry: LerobotEntry, rows: NDArray[np.int64], time_ns: NDArray[np.int64]
    ) -> Iterator[tuple[str, ImageSequence]]:
        for feature in self.files.info.features.values():
            size = picture_size(feature) if feature.is_image else None
            if size is not None and len(rows):
                spec = picture_stream(
                    feature.key, height=size[0], width=size[1], rate_hz=self.files.info.fps
                )
                pictures = TablePictures(entry.data, feature.key, rows)
                yield feature.key, ImageSequence(spec, time_ns, pictures)

    def _texts(
        self, columns: Columns, time_ns: NDArray[np.int64]
    ) -> Iterator[tuple[str, ArraySignal]]:
        """The instructions and when each was given, where there is more than one."""
        given = task_changes(columns, self.files.listing.tasks, len(time_ns))
        if len({text for _, text in given}) > 1:
            spec = Stream(name="instruction", group="observations", kind="text")
            stamps = time_ns[[row for row, _ in given]]
            yield "task_index", ArraySignal(spec, stamps, [text for _, text in given])

    def _row_defects(self, entry: LerobotEntry, columns: Columns, moved: bool) -> Iterator[Defect]:
        first = None if moved else self._start(entry)
        yield from row_defects(entry, columns, first=first, tasks=self.files.listing.tasks)

    def _start(self, entry: LerobotEntry) -> int | None:
        """The `index` of the episode's first row: how many rows come before it."""
        if entry.rows is not None:
            return entry.rows[0]
        if not self._starts:
            total = 0
            for each in self.files.listing.entries:
                self._starts[each.index] = total
                rows = self.files.rows(each.data)
                total += max(0, each.length) if rows is None else rows
        return self._starts[entry.index]

    def _feature_defects(
        self, entry: LerobotEntry, columns: Columns, time_ns: NDArray[np.int64]
    ) -> Iterator[Defect]:
        info = self.files.info
        for feature in info.features.values():
            for what, message in feature_contradictions(feature, columns):
                if (feature.key, what) not in self.reported:
                    yield Defect(METADATA_WRONG, message, entry.index, feature.key)
        rate = rate_of(time_ns) if ("timestamp", "fps") not in self.reported else None
        if rate is not None and abs(rate - info.fps) > RATE_TOLERANCE * info.fps:
            message = f"frames are stamped at {rate:.4g} Hz, but info.json says fps {info.fps:g}"
            yield Defect(METADATA_WRONG, message, entry.index, "timestamp", rate, info.fps)

    def _metadata(self, entry: LerobotEntry, columns: Columns, count: int) -> dict[str, Any]:
        info = self.files.info
        instructions = instructions_of(entry, columns, self.files.listing.tasks, count)
        text = instructions[0] if instructions else None
        stated: dict[str, Any] = dict(entry.facts)
        flags = columns.get(_SUCCESS)
        if flags is not None and len(flags):
            # The frame that ends a success is marked; where none is, the episode failed.
            stated.setdefault("success", bool(np.any(flags)))
        stated |= {"fps": info.fps, "robot_type": info.robot_type, "instructions": instructions}
        return stated if text is None else stated | {"task": text, "instruction": text}


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


def feature_contradictions(feature: Feature, columns: Columns) -> Iterator[tuple[str, str]]:
    """What info.json says of a column and the table denies: (what, message)."""
    if feature.is_video or feature.is_image or feature.dtype in ("string", "language"):
        return
    values = columns.get(feature.key)
    if values is None:
        yield "data", f"info.json lists {feature.key}, but the table has no such numbers"
        return
    width = int(np.prod(values.shape[1:], dtype=np.int64))
    if len(values) and width != feature.width:
        yield (
            "width",
            f"info.json says {feature.width} values in {feature.key}, but the table has {width}",
        )


def rate_of(time_ns: NDArray[np.int64]) -> float | None:
    """The rate that most stamps follow; None when there are too few of them."""
    steps = np.diff(time_ns)
    steps = steps[steps > 0]
    return float(SECOND_NS / np.median(steps)) if len(steps) >= 2 else None


def _picked(values: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Rows of a column; a view where they follow each other."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
        return values[rows[0] : rows[-1] + 1]
    return values[rows]


LANE = "subtask"
"""What the lane is called in datasets of others."""
_NAME_LENGTH = 1024
_MAX_LABELS = 4096


@dataclass(frozen=True)
class LaneColumn:
    """A column of label numbers in a dataset that is read."""

    key: str
    lane: Lane


def lane_columns(info: Info) -> tuple[LaneColumn, ...]:
    """The columns of labels that a dataset has, ours or others'; none when it has no list."""
    columns = []
    for feature in info.features.values():
        labels = _subtasks(info) if feature.key == SUBTASK else _labels(feature)
        if labels:
            tiles = feature.facts.get("tiles") is True
            lane = Lane(name=_lane_name(feature), labels=labels, tiles=tiles)
            columns.append(LaneColumn(feature.key, lane))
    return tuple(columns)


def _lane_name(feature: Feature) -> str:
    if feature.key != SUBTASK:
        return feature.key.removeprefix(LABELS).strip()[:_NAME_LENGTH] or LANE
    stated = feature.facts.get("lane")
    return stated.strip()[:_NAME_LENGTH] or LANE if isinstance(stated, str) else LANE


def track_of(
    lane_columns: Sequence[LaneColumn],
    columns: Mapping[str, NDArray[Any]],
    time_ns: NDArray[np.int64],
) -> LabelTrack | None:
    """The labels of an episode's rows; None when they say nothing."""
    spans: list[LabelSpan] = []
    for column in lane_columns:
        values = columns.get(column.key)
        if values is not None and values.size == len(time_ns) and values.dtype.kind in "iu":
            numbers = values.reshape(-1).astype(np.int64)
            spans += spans_of_rows(column.lane, numbers, time_ns)
    lanes = tuple(column.lane for column in lane_columns)
    return LabelTrack(lanes=lanes, spans=tuple(spans)) if spans else None


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
