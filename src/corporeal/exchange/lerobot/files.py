"""The data files of a LeRobot dataset: columns as arrays, the last files read kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import EpisodeError
from corporeal.exchange.lerobot.info import Info
from corporeal.exchange.lerobot.listing import LerobotEntry, Listing
from corporeal.exchange.movie.foreign_movie import Header, read_header
from corporeal.exchange.parquet import is_numeric, read_table, row_count, to_numpy

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
