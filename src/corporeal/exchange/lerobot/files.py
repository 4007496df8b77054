"""The tables and movies of a LeRobot dataset: what of them is an episode's, and what is wrong."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import (
    FOOTAGE_INCOMPLETE,
    INDEX_WRONG,
    METADATA_WRONG,
    DefectCheck,
)
from corporeal.errors import EpisodeError
from corporeal.exchange.foreign_stream import EpisodeReading
from corporeal.exchange.lerobot.info import Feature, Info
from corporeal.exchange.lerobot.listing import LerobotEntry, ListedClip, Listing
from corporeal.exchange.movie.foreign_movie import Header, read_header
from corporeal.exchange.parquet import column_types, is_numeric, read_table, row_count, to_numpy
from corporeal.units import SECOND_NS

RATE_TOLERANCE = 0.01
MODE, SUBTASK = "mode", "subtask_index"
KEPT = 2
BOOKKEEPING = ("timestamp", "frame_index", "episode_index", "index", "task_index")
Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Files:
    """Reads every file once as long as its episodes are asked for in order."""

    listing: Listing
    _columns: OrderedDict[Path, Columns] = field(default_factory=OrderedDict)
    _headers: dict[Path, Header | EpisodeError] = field(default_factory=dict)
    _rows: dict[Path, int | None] = field(default_factory=dict)
    _first: dict[Path, int] = field(default_factory=dict)
    _pictures: dict[Path, dict[int, int]] = field(default_factory=dict)
    _types: dict[Path, dict[str, Any]] = field(default_factory=dict)

    @property
    def info(self) -> Info:
        """The head of the dataset."""
        return self.listing.info

    def columns(self, path: Path) -> Columns:
        """Every numeric column of a data file (N, ...); read-only, as others share it."""
        if path not in self._columns:
            features = self.info.features.values()
            wanted = [each.key for each in features if not each.is_video and not each.is_image]
            table = read_table(path, [*dict.fromkeys((*wanted, *BOOKKEEPING))])
            self._columns[path] = _arrays(path, table)
            while len(self._columns) > KEPT:
                self._columns.popitem(last=False)
        self._columns.move_to_end(path)
        return self._columns[path]

    def types(self, path: Path) -> Mapping[str, Any]:
        """The type of every column that a data file has, whether info.json names it or not."""
        if path not in self._types:
            self._types[path] = column_types(path)
        return self._types[path]

    def rows(self, path: Path) -> int | None:
        """Rows of a data file; None when it is not there or cannot be read."""
        if path not in self._rows:
            try:
                self._rows[path] = row_count(path) if path.is_file() else None
            except EpisodeError:
                self._rows[path] = None
        return self._rows[path]

    def first_row(self, path: Path) -> int:
        """How many rows the data files before this one have (v3)."""
        if not self._first:
            total = 0
            for file, entries in sorted(self.listing.by_file.items()):
                rows = self.rows(file)
                self._first[file] = total
                stated = sum(max(0, entry.length) for entry in entries)
                total += stated if rows is None else rows
        return self._first[path]

    def header(self, path: Path) -> Header:
        """What a movie's container says; raises EpisodeError when it is none."""
        if path not in self._headers:
            try:
                self._headers[path] = read_header(path)
            except EpisodeError as error:
                self._headers[path] = error
        found = self._headers[path]
        if isinstance(found, EpisodeError):
            raise found
        return found

    def home(self, entry: LerobotEntry) -> Path | None:
        """The file that has the episode's data: the one listed, or the one where its rows are."""
        if not self.listing.info.shares_files:
            return entry.data if entry.data.is_file() else None
        first = entry.rows[0] if entry.rows is not None else -1
        if entry.data.is_file() and self._reaches(entry.data, first):
            return entry.data
        others = [path for path in self.listing.by_file if path != entry.data and path.is_file()]
        likely = [path for path in others if self._reaches(path, first)]
        for path in (entry.data, *likely) if entry.data.is_file() else likely:
            try:
                if len(self.own_rows(path, entry.index)):
                    return path
            except EpisodeError:
                continue
        return None

    def _reaches(self, path: Path, row: int) -> bool:
        """Whether a row, counted over all files, is in this one."""
        rows = self.rows(path)
        # A file that cannot be read is not absent: opening the episode says what is wrong.
        return rows is None or 0 <= row - self.first_row(path) < rows

    def first_picture(self, key: str, entry: LerobotEntry, header: Header, stated: int) -> int:
        """Where an episode begins in its movie, by lengths that leave no doubt, or as `stated`."""
        path = entry.clips[key].path
        if path not in self._pictures:
            inside = [other for other in self.listing.entries
                      if key in other.clips and other.clips[key].path == path]  # fmt: skip
            lengths = np.array([max(0, other.length) for other in inside], np.int64)
            starts = (np.cumsum(lengths) - lengths).tolist()
            sure = int(lengths.sum()) == header.frames
            self._pictures[path] = {
                other.index: start for other, start in zip(inside, starts, strict=True) if sure
            }
        return self._pictures[path].get(entry.index, stated)

    def own_rows(self, path: Path, episode: int) -> NDArray[np.int64]:
        """Numbers of the rows in a file that say they are of this episode."""
        number = self.columns(path).get("episode_index")
        if number is None:
            return np.zeros(0, np.int64)
        return np.flatnonzero(number.reshape(len(number), -1)[:, :1].ravel() == episode)


def _arrays(path: Path, table: Any) -> dict[str, NDArray[Any]]:
    arrays = {}
    for name in table.column_names:
        if not is_numeric(table.schema.field(name).type):
            continue
        try:
            values = to_numpy(table.column(name))
        except ValueError as error:
            raise EpisodeError(f"{path}: column {name!r} has {error}. Replace the file.") from None
        values.flags.writeable = False
        arrays[name] = values
    return arrays


def take_rows(
    reading: EpisodeReading, files: Files, entry: LerobotEntry
) -> tuple[NDArray[np.int64], bool]:
    """Numbers of the episode's rows in its file, and whether they are where they are said to be.

    In v3 the list of episodes and the table's own episode_index both say which rows these are. If
    they disagree, those count whose frames run from first to last without a break.
    """
    path = files.home(entry) or entry.data
    columns = files.columns(path)
    count = len(next(iter(columns.values()), ()))
    if entry.rows is None:
        return np.arange(count), True
    start = files.first_row(path)
    stated = np.arange(max(0, entry.rows[0] - start), max(0, min(count, entry.rows[1] - start)))
    own = files.own_rows(path, entry.index)
    in_file = entry.rows[0] >= start and entry.rows[1] - start <= count
    if in_file and np.array_equal(stated, own):
        if path != entry.data:
            message = f"the list says its data is in {entry.data.name}, but it is in {path.name}"
            reading.complain(INDEX_WRONG, message)
        return stated, path == entry.data
    runs = _runs_through(columns, stated) and in_file and len(stated)
    span = f"{own[0] + start} to {own[-1] + 1 + start}" if len(own) else "no row"
    message = (
        f"dataset_from_index and dataset_to_index say rows {entry.rows[0]} to {entry.rows[1]}, "
        f"but episode_index says {span} ({len(own)} rows)"
    )
    reading.complain(INDEX_WRONG, message, None, float(len(own)), float(len(stated)))
    return stated if runs or not len(own) else own, False


def check_rows(
    reading: EpisodeReading,
    entry: LerobotEntry,
    columns: Columns,
    *,
    first: int | None,
    tasks: Mapping[int, str],
) -> None:
    """Complain of what the rows' own numbers contradict.

    `first` is the index that the first row should have, if that is known.
    """
    count = len(next(iter(columns.values()), ()))
    if entry.length != count:
        message = f"meta lists {entry.length} frames, the table has {count}"
        reading.complain(INDEX_WRONG, message, None, float(count), float(entry.length))
    expected = {"episode_index": np.full(count, entry.index), "frame_index": np.arange(count)}
    if first is not None:
        expected["index"] = np.arange(first, first + count)
    for name, right in expected.items():
        numbers = _flat(columns, name, count)
        if numbers is not None and not np.array_equal(numbers, right):
            wrong = np.flatnonzero(~(numbers == right))
            row = int(wrong[0])
            message = (
                f"{name} is wrong in {len(wrong)} of {count} rows, first in row {row}: "
                f"it is {numbers[row]:g}, expected {right[row]}"
            )
            reading.complain(INDEX_WRONG, message, name, float(len(wrong)), 0.0)
    numbers = _flat(columns, "task_index", count)
    if numbers is not None:
        _check_tasks(reading, entry, np.unique(numbers).tolist(), tasks)


def _check_tasks(
    reading: EpisodeReading, entry: LerobotEntry, numbers: list[Any], tasks: Mapping[int, str]
) -> None:
    outside = [number for number in numbers if number not in tasks]
    if outside:
        message = f"task_index is {outside[0]:g}, which is not one of the {len(tasks)} listed tasks"
        reading.complain(INDEX_WRONG, message, "task_index", float(outside[0]))
        return
    unlisted = [tasks[number] for number in numbers if tasks[number] not in entry.tasks]
    if entry.tasks and unlisted:
        message = f"task_index points at {unlisted[0]!r}, but meta lists {entry.tasks[0]!r}"
        reading.complain(INDEX_WRONG, message, "task_index")


def task_changes(
    columns: Columns, tasks: Mapping[int, str], count: int
) -> tuple[tuple[int, str], ...]:
    """The rows in which another task than before is in force, and its text."""
    numbers = _flat(columns, "task_index", count)
    if numbers is None or not count:
        return ()
    rows = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))
    return tuple((int(row), tasks[int(numbers[row])]) for row in rows if numbers[row] in tasks)


def take_stamps(reading: EpisodeReading, columns: Columns, count: int) -> NDArray[np.int64]:
    """Stamps of the rows; a row without one is stamped by its number."""
    even = np.arange(count) / reading.rate_hz
    stated = _flat(columns, "timestamp", count)
    seconds = even if stated is None else np.asarray(stated, np.float64)
    good = np.abs(seconds) < 1e9
    lost = int((~good).sum())
    if lost:
        message = f"timestamp is not a time in {lost} of {count} rows"
        reading.complain(METADATA_WRONG, message, "timestamp", float(lost), 0.0)
    return np.round(np.where(good, seconds, even) * SECOND_NS).astype(np.int64)


def _runs_through(columns: Columns, rows: NDArray[np.int64]) -> bool:
    """Whether the frames in these rows run from first to last without a break."""
    number = columns.get("frame_index")
    if number is not None:
        return np.array_equal(np.ravel(number)[rows], np.arange(len(rows)))
    stamps = columns.get("timestamp")
    return stamps is None or bool((np.diff(np.ravel(stamps)[rows]) > 0).all())


def _flat(columns: Columns, name: str, count: int) -> NDArray[Any] | None:
    values = columns.get(name)
    return None if values is None or values.size != count else values.reshape(count)


def rate_of(time_ns: NDArray[np.int64]) -> float | None:
    """The rate that most stamps follow; None when there are too few of them."""
    steps = np.diff(time_ns)
    steps = steps[steps > 0]
    return float(SECOND_NS / np.median(steps)) if len(steps) >= 2 else None


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
        message = f"info.json says {feature.width} values in {feature.key}, but the table has"
        yield "width", f"{message} {width}"


def take_footage(
    reading: EpisodeReading,
    files: Files,
    camera: Feature,
    entry: LerobotEntry,
    time_ns: NDArray[np.int64],
    reported: Collection[tuple[str, str]],
) -> None:
    """One camera's pictures in one episode, and where they do not fit its table."""
    key, clip, rows = camera.key, entry.clips.get(camera.key), len(time_ns)
    if clip is None or not clip.path.is_file():
        gone = f"{clip.path.name} of {key} is missing" if clip else f"no place listed of {key}"
        reading.complain(FOOTAGE_INCOMPLETE, gone, key, 0.0, float(rows))
        reading.leave_out(key, why_absent(files.info, clip), kind="camera", lost=True)
        return
    try:
        header = files.header(clip.path)
    except EpisodeError as error:
        message = f"the movie of {key} cannot be opened: {error}"
        reading.complain(FOOTAGE_INCOMPLETE, message, key, 0.0, float(rows))
        reading.leave_out(key, "its movie cannot be opened", kind="camera", lost=True)
        return
    for what, check, message in footage_contradictions(camera, header, reading.rate_hz):
        if (key, what) not in reported:
            reading.complain(check, message, key)
    first, count = 0, None
    if clip.from_s is not None and clip.to_s is not None:
        rate = header.fps or reading.rate_hz
        first = max(0, round(clip.from_s * rate))
        count = max(0, round(clip.to_s * rate) - first)
    there = max(0, min(header.frames - first, header.frames if count is None else count))
    if there != rows:
        short = "too few" if there < rows else "too many"
        message = f"{clip.path.name} of {key} has {there} pictures for {rows} rows: {short}"
        reading.complain(FOOTAGE_INCOMPLETE, message, key, float(there), float(rows))
    expected = first if clip.from_s is None else files.first_picture(key, entry, header, first)
    if first != expected:
        message = (
            f"from_timestamp of {key} points at picture {first} of {clip.path.name}, but the "
            f"episodes before it in that file have {expected}"
        )
        reading.complain(INDEX_WRONG, message, key, float(first), float(expected))
    if not camera.is_depth:
        size = header.height, header.width
        reading.take_movie(key, clip.path, time_ns, size=size, first=first, count=count)
    else:
        reason = "depth as a movie cannot be read back exactly"
        reading.leave_out(key, reason, samples=there, kind="camera", lost=True)


def why_absent(info: Info, clip: ListedClip | None) -> str:
    """Why there is no movie of a camera that info.json names, and where others lie instead."""
    if clip is None:
        return "no movie listed"
    stated = clip.path.relative_to(info.root)
    folder = next((each for each in sorted(info.root.iterdir())
                   if each.is_dir() and each.name != stated.parts[0]
                   and next(each.rglob("*.mp4"), None) is not None), None)  # fmt: skip
    if not (info.root / stated.parts[0]).is_dir() and folder is not None:
        return f"movie missing: {stated} is not here; is it in {folder.name}?"
    return f"movie missing: {stated} is not here"


def footage_contradictions(
    camera: Feature, header: Header, fps: float
) -> Iterator[tuple[str, DefectCheck, str]]:
    """What info.json says of a camera and its movie denies: (what, check, message)."""
    size = picture_size(camera)
    if size is not None and size != (header.height, header.width):
        yield (
            "size",
            FOOTAGE_INCOMPLETE,
            f"{camera.key} has pictures of {header.height} x {header.width}, but info.json says "
            f"{size[0]} x {size[1]}",
        )
    rate = header.fps if header.frames > 2 else None
    if rate is not None and abs(rate - fps) > RATE_TOLERANCE * fps:
        yield (
            "fps",
            METADATA_WRONG,
            f"the movie of {camera.key} runs at {rate:g} frames per second, but info.json says "
            f"{fps:g}",
        )


def picture_size(camera: Feature) -> tuple[int, int] | None:
    """Height and width that info.json gives, whether channels come first or last."""
    if len(camera.shape) != 3:
        return None
    if camera.shape[0] in (1, 3, 4) and camera.shape[2] not in (1, 3, 4):
        return camera.shape[1], camera.shape[2]
    return camera.shape[0], camera.shape[1]
