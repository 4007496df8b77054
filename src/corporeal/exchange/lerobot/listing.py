"""Which episodes a LeRobot dataset lists, and where the rows and pictures of each lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corporeal.episode.recording import Statistics
from corporeal.errors import EpisodeError
from corporeal.exchange.json_text import read_json, read_json_lines, whole
from corporeal.exchange.lerobot.info import Info
from corporeal.exchange.parquet import is_numeric, read_table, to_numpy


@dataclass(frozen=True, eq=False)
class Claims:
    """Statistics of each episode: as the lines of a file give them, or as columns of a table."""

    lines: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    columns: Mapping[str, Mapping[str, NDArray[Any]]] = field(default_factory=dict)
    rows: Mapping[int, int] = field(default_factory=dict)

    def of(self, index: int) -> dict[str, Statistics]:
        """What is stated of one episode, by feature."""
        if index in self.lines:
            return _statistics(self.lines[index])
        if index not in self.rows:
            return {}
        row = self.rows[index]
        return {
            feature: {name: np.asarray(rows[row], np.float64) for name, rows in stated.items()}
            for feature, stated in self.columns.items()
        }


def read_statistics(root: Path) -> dict[str, Statistics]:
    """meta/stats.json: over all episodes, by feature; empty when there is none."""
    path = root / "meta" / "stats.json"
    stated = read_json(path) if path.is_file() else {}
    return _statistics(stated) if isinstance(stated, dict) else {}


def read_claims(root: Path) -> Claims:
    """meta/episodes_stats.jsonl of v2.1; empty when there is none."""
    path = root / "meta" / "episodes_stats.jsonl"
    if not path.is_file():
        return Claims()
    lines = {}
    for entry in read_json_lines(path):
        stats = entry.get("stats")
        if isinstance(stats, dict):
            lines[whole(entry.get("episode_index"))] = stats
    return Claims(lines=lines)


def claims_of_table(table: Any, numbers: NDArray[Any]) -> Claims:
    """The stats/<feature>/<name> columns that the table of episodes has in v3.0."""
    columns: dict[str, dict[str, NDArray[Any]]] = {}
    for title in table.column_names:
        parts = title.split("/")
        if len(parts) < 3 or parts[0] != "stats" or not is_numeric(table.schema.field(title).type):
            continue
        try:
            rows = to_numpy(table.column(title))
        except ValueError:
            continue  # Lists of several sizes are no statistics of one feature.
        columns.setdefault("/".join(parts[1:-1]), {})[parts[-1]] = rows
    return Claims(columns=columns, rows={int(n): row for row, n in enumerate(numbers)})


def _statistics(stated: Mapping[str, Any]) -> dict[str, Statistics]:
    statistics: dict[str, Statistics] = {}
    for feature, values in stated.items():
        if isinstance(values, dict):
            arrays = {name: _array(value) for name, value in values.items()}
            statistics[feature] = {name: each for name, each in arrays.items() if each is not None}
    return statistics


def _array(value: Any) -> NDArray[np.float64] | None:
    try:
        return np.atleast_1d(np.asarray(value, np.float64))
    except (ValueError, TypeError):
        return None


MAX_EPISODES = 1 << 24


@dataclass(frozen=True)
class ListedClip:
    """Where the pictures of one camera lie: all of a movie, or a stretch of it in seconds."""

    path: Path
    from_s: float | None = None
    to_s: float | None = None


@dataclass(frozen=True)
class LerobotEntry:
    """One listed episode. `rows` are its first row and the one after its last over all files."""

    index: int
    length: int
    tasks: tuple[str, ...]
    data: Path
    rows: tuple[int, int] | None = None
    clips: Mapping[str, ListedClip] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Listing:
    """All listed episodes in order of their numbers, the tasks by number, what is claimed."""

    info: Info
    entries: tuple[LerobotEntry, ...]
    tasks: Mapping[int, str]
    claims: Claims
    repeated: tuple[int, ...] = ()
    """Numbers that more than one entry has; the last of them counts."""

    @cached_property
    def by_number(self) -> dict[int, LerobotEntry]:
        """Every entry by its episode's number."""
        return {entry.index: entry for entry in self.entries}

    @cached_property
    def by_file(self) -> dict[Path, list[LerobotEntry]]:
        """The entries of each data file."""
        entries: dict[Path, list[LerobotEntry]] = {}
        for entry in self.entries:
            entries.setdefault(entry.data, []).append(entry)
        return entries


def read_listing(info: Info) -> Listing:
    """The lists in meta/; raises EpisodeError when one is missing or cannot be read."""
    entries, claims = _entries_v2(info) if info.major == 2 else _entries_v3(info)
    by_number = {entry.index: entry for entry in entries}
    often = Counter(entry.index for entry in entries)
    tasks = info.root / "meta" / ("tasks.jsonl" if info.major == 2 else "tasks.parquet")
    return Listing(
        info=info,
        entries=tuple(by_number[number] for number in sorted(by_number)),
        tasks={
            number: str(text) for number, text in read_texts(tasks, "task_index", "task").items()
        },
        claims=claims,
        repeated=tuple(sorted(number for number, count in often.items() if count > 1)),
    )


def _entries_v2(info: Info) -> tuple[list[LerobotEntry], Claims]:
    path = info.root / "meta" / "episodes.jsonl"
    entries = []
    for line in read_json_lines(path):
        number = _number(path, line.get("episode_index"))
        tasks = line.get("tasks")
        clips = {
            camera.key: ListedClip(info.video_file(camera.key, episode_index=number))
            for camera in info.cameras
        }
        facts = {k: v for k, v in line.items() if k not in ("episode_index", "tasks", "length")}
        entries.append(
            LerobotEntry(
                index=number,
                length=whole(line.get("length")),
                tasks=tuple(map(str, tasks)) if isinstance(tasks, list) else (),
                data=info.data_file(episode_index=number),
                clips=clips,
                facts=facts,
            )
        )
    return entries, read_claims(info.root)


def _entries_v3(info: Info) -> tuple[list[LerobotEntry], Claims]:
    folder = info.root / "meta" / "episodes"
    files = sorted(folder.glob("chunk-*/file-*.parquet"))
    if not files:
        raise EpisodeError(f"{folder}: no table of episodes; expected chunk-000/file-000.parquet.")
    tables = [read_table(file) for file in files]
    try:
        table = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise EpisodeError(f"{folder}: the tables do not fit together ({error}).") from None
    if table.num_rows > MAX_EPISODES or "episode_index" not in table.column_names:
        raise EpisodeError(f"{folder}: got {table.num_rows} rows; expected a list of episodes.")
    plain = [name for name in table.column_names if not name.startswith("stats/")]
    rows = table.select(plain).to_pylist()
    numbers = to_numpy(table.column("episode_index"))
    return [_entry_v3(info, folder, row) for row in rows], claims_of_table(table, numbers)


def _entry_v3(info: Info, folder: Path, row: Mapping[str, Any]) -> LerobotEntry:
    clips = {}
    for camera in info.cameras:
        prefix = f"videos/{camera.key}"
        chunk, file = (whole(row.get(f"{prefix}/{part}_index")) for part in ("chunk", "file"))
        if min(chunk, file) >= 0:
            clips[camera.key] = ListedClip(
                info.video_file(camera.key, chunk_index=chunk, file_index=file),
                _seconds(row.get(f"{prefix}/from_timestamp")),
                _seconds(row.get(f"{prefix}/to_timestamp")),
            )
    chunk, file = (max(0, whole(row.get(f"data/{part}_index"))) for part in ("chunk", "file"))
    first, stop = (whole(row.get(f"dataset_{end}_index")) for end in ("from", "to"))
    tasks = row.get("tasks")
    taken = ("data/", "videos/", "meta/", "dataset_", "episode_index", "tasks", "length")
    return LerobotEntry(
        index=_number(folder, row["episode_index"]),
        length=whole(row.get("length")),
        tasks=tuple(map(str, tasks)) if isinstance(tasks, list) else (),
        data=info.data_file(chunk_index=chunk, file_index=file),
        rows=(first, stop),
        clips=clips,
        facts={key: value for key, value in row.items() if not key.startswith(taken)},
    )


def read_texts(path: Path, number: str, name: str) -> dict[int, Any]:
    """The texts by number in a table or a file of lines; none when there is no such file."""
    if not path.is_file():
        return {}
    if path.suffix == ".jsonl":
        return {whole(line.get(number)): line.get(name, "") for line in read_json_lines(path)}
    table = read_table(path)
    texts = [
        column.name
        for column in table.schema
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    ]
    if number not in table.column_names or not texts:
        return {}
    title = next((title for title in (name, "__index_level_0__") if title in texts), texts[0])
    numbers = map(whole, table.column(number).to_pylist())
    return dict(zip(numbers, table.column(title).to_pylist(), strict=True))


def _number(path: Path, value: Any) -> int:
    number = whole(value)
    if not 0 <= number < MAX_EPISODES:
        raise EpisodeError(f"{path}: episode_index, got {value!r}; expected a number from 0.")
    return number


def _seconds(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e9 else None
