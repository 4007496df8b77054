"""The data files of a LeRobot dataset: which rows are an episode's, and where their numbers lie."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import INDEX_WRONG, METADATA_WRONG, Defect
from corporeal.errors import EpisodeError
from corporeal.exchange.lerobot.info import Info
from corporeal.exchange.lerobot.listing import LerobotEntry, Listing
from corporeal.exchange.movie.foreign_movie import Header, read_header
from corporeal.exchange.parquet import is_numeric, read_table, row_count, to_numpy
from corporeal.units import SECOND_NS

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


def rows_of(files: Files, entry: LerobotEntry) -> tuple[NDArray[np.int64], tuple[Defect, ...]]:
    """Numbers of the episode's rows in its file, and what is wrong with where they are said to be.

    In v3 the list of episodes and the table's own episode_index both say which rows these are. If
    they disagree, those count whose frames run from first to last without a break.
    """
    path = files.home(entry) or entry.data
    columns = files.columns(path)
    count = len(next(iter(columns.values()), ()))
    if entry.rows is None:
        return np.arange(count), ()
    start = files.first_row(path)
    stated = np.arange(max(0, entry.rows[0] - start), max(0, min(count, entry.rows[1] - start)))
    own = files.own_rows(path, entry.index)
    in_file = entry.rows[0] >= start and entry.rows[1] - start <= count
    if in_file and np.array_equal(stated, own):
        if path == entry.data:
            return stated, ()
        message = f"the list says its data is in {entry.data.name}, but it is in {path.name}"
        return stated, (Defect(INDEX_WRONG, message, entry.index),)
    runs = _runs_through(columns, stated) and in_file and len(stated)
    rows = stated if runs or not len(own) else own
    claim = f"dataset_from_index and dataset_to_index say rows {_span(entry.rows)}"
    where = _span((int(own[0]) + start, int(own[-1]) + 1 + start)) if len(own) else "no row"
    message = f"{claim}, but episode_index says {where} ({len(own)} rows)"
    defect = Defect(
        INDEX_WRONG, message, entry.index, value=float(len(own)), limit=float(len(stated))
    )
    return rows, (defect,)


def row_defects(
    entry: LerobotEntry, columns: Columns, *, first: int | None, tasks: Mapping[int, str]
) -> Iterator[Defect]:
    """What the rows' own numbers contradict; `first` is the index the first row should have."""
    count = len(next(iter(columns.values()), ()))
    if entry.length != count:
        yield Defect(
            INDEX_WRONG,
            f"meta lists {entry.length} frames, the table has {count}",
            entry.index,
            value=float(count),
            limit=float(entry.length),
        )
    expected = {
        "episode_index": np.full(count, entry.index),
        "frame_index": np.arange(count),
        "index": None if first is None else np.arange(first, first + count),
    }
    for name, right in expected.items():
        found = _flat(columns, name, count)
        if found is not None and right is not None and not np.array_equal(found, right):
            yield _wrong_numbers(entry, name, found, right)
    yield from _task_defects(entry, columns, tasks, count)


def _wrong_numbers(
    entry: LerobotEntry, name: str, found: NDArray[Any], right: NDArray[np.int64]
) -> Defect:
    bad = np.flatnonzero(~(found == right))
    row = int(bad[0])
    message = (
        f"{name} is wrong in {len(bad)} of {len(found)} rows, first in row {row}: "
        f"it is {found[row]:g}, expected {right[row]}"
    )
    return Defect(INDEX_WRONG, message, entry.index, name, float(len(bad)), 0.0)


def _task_defects(
    entry: LerobotEntry, columns: Columns, tasks: Mapping[int, str], count: int
) -> Iterator[Defect]:
    found = _flat(columns, "task_index", count)
    if found is None:
        return
    numbers = np.unique(found)
    outside = [number for number in numbers.tolist() if number not in tasks]
    if outside:
        message = f"task_index is {outside[0]:g}, which is not one of the {len(tasks)} listed tasks"
        yield Defect(INDEX_WRONG, message, entry.index, "task_index", float(outside[0]))
        return
    given = [tasks[int(number)] for number in numbers]
    other = [task for task in given if task not in entry.tasks]
    if entry.tasks and other:
        message = f"task_index points at {other[0]!r}, but meta lists {entry.tasks[0]!r}"
        yield Defect(INDEX_WRONG, message, entry.index, "task_index")


def instructions_of(
    entry: LerobotEntry, columns: Columns, tasks: Mapping[int, str], count: int
) -> tuple[str, ...]:
    """The episode's instructions: those its rows point at, else those its entry lists."""
    found = _flat(columns, "task_index", count)
    if found is not None and count:
        numbers, first = np.unique(found, return_index=True)
        ordered = numbers[np.argsort(first)].tolist()
        texts = tuple(tasks[int(number)] for number in ordered if number in tasks)
        if texts:
            return texts
    return entry.tasks


def task_changes(
    columns: Columns, tasks: Mapping[int, str], count: int
) -> tuple[tuple[int, str], ...]:
    """The rows in which another task than before is in force, and its text."""
    found = _flat(columns, "task_index", count)
    if found is None or not count:
        return ()
    rows = np.flatnonzero(np.concatenate(([True], found[1:] != found[:-1])))
    return tuple((int(row), tasks[int(found[row])]) for row in rows if found[row] in tasks)


def stamps_of(
    entry: LerobotEntry, columns: Columns, *, count: int, fps: float
) -> tuple[NDArray[np.int64], tuple[Defect, ...]]:
    """Stamps of the rows; a row without one is stamped by its number."""
    even = np.arange(count) / fps
    seconds = _flat(columns, "timestamp", count)
    if seconds is None:
        return np.round(even * SECOND_NS).astype(np.int64), ()
    seconds = np.asarray(seconds, np.float64)
    good = np.abs(seconds) < 1e9
    stamps = np.round(np.where(good, seconds, even) * SECOND_NS).astype(np.int64)
    if good.all():
        return stamps, ()
    lost = int((~good).sum())
    message = f"timestamp is not a time in {lost} of {count} rows"
    return stamps, (Defect(METADATA_WRONG, message, entry.index, "timestamp", float(lost), 0.0),)


def _runs_through(columns: Columns, rows: NDArray[np.int64]) -> bool:
    """Whether the frames in these rows run from first to last without a break."""
    number = columns.get("frame_index")
    if number is not None:
        return np.array_equal(np.ravel(number)[rows], np.arange(len(rows)))
    stamps = columns.get("timestamp")
    return stamps is None or bool((np.diff(np.ravel(stamps)[rows]) > 0).all())


def _flat(columns: Columns, name: str, count: int) -> NDArray[Any] | None:
    values = columns.get(name)
    if values is None or values.size != count:
        return None
    return values.reshape(count)


def _span(rows: tuple[int, int]) -> str:
    return f"{rows[0]} to {rows[1]}"
