"""Which episodes a LeRobot dataset lists, and where the rows and pictures of each lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
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

Claims = Callable[[int], dict[str, Statistics]]
"""What is stated of the values of one episode, by feature."""


def read_statistics(root: Path) -> dict[str, Statistics]:
    """meta/stats.json: over all episodes, by feature; empty when there is none."""
    path = root / "meta" / "stats.json"
    stated = read_json(path) if path.is_file() else {}
    return _statistics(stated) if isinstance(stated, dict) else {}


def _read_claims(path: Path) -> Claims:
    """episodes_stats.jsonl of v2.1: statistics of each episode; nothing when there is none."""
    stated = {whole(line.get("episode_index")): line.get("stats")
              for line in (read_json_lines(path) if path.is_file() else ())}  # fmt: skip
    lines = {number: stats for number, stats in stated.items() if isinstance(stats, dict)}
    return lambda index: _statistics(lines.get(index, {}))


def _claims_of_table(table: Any, numbers: NDArray[Any]) -> Claims:
    """The stats/<feature>/<name> columns that the table of episodes has in v3.0."""
    columns: dict[str, dict[str, NDArray[Any]]] = {}
    for title in table.column_names:
        parts = title.split("/")
        if len(parts) < 3 or parts[0] != "stats" or not is_numeric(table.schema.field(title).type):
            continue
        try:
            values = to_numpy(table.column(title))
        except ValueError:
            continue  # Lists of several sizes are no statistics of one feature.
        columns.setdefault("/".join(parts[1:-1]), {})[parts[-1]] = values
    rows = {int(number): row for row, number in enumerate(numbers)}

    def claims(index: int) -> dict[str, Statistics]:
        return {
            feature: {name: np.asarray(values[rows[index]], np.float64)
                      for name, values in stated.items()}
            for feature, stated in columns.items()
            if index in rows
        }  # fmt: skip

    return claims


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
_TAKEN = ("data/", "videos/", "meta/", "dataset_", "episode_index", "tasks", "length")


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
    claims_of: Claims
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
        claims_of=claims,
        repeated=tuple(sorted(number for number, count in often.items() if count > 1)),
    )


def _entries_v2(info: Info) -> tuple[list[LerobotEntry], Claims]:
    path = info.root / "meta" / "episodes.jsonl"
    entries = [_entry(info, path, line) for line in read_json_lines(path)]
    return entries, _read_claims(path.with_name("episodes_stats.jsonl"))


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
    entries = [_entry(info, folder, row) for row in table.select(plain).to_pylist()]
    return entries, _claims_of_table(table, to_numpy(table.column("episode_index")))


def _entry(info: Info, where: Path, row: Mapping[str, Any]) -> LerobotEntry:
    """An episode by what its line (v2) or its row (v3) says."""
    number = whole(row.get("episode_index"))
    if not 0 <= number < MAX_EPISODES:
        stated = row.get("episode_index")
        raise EpisodeError(f"{where}: episode_index, got {stated!r}; expected a number from 0.")
    keys = [camera.key for camera in info.cameras]
    if info.shares_files:
        chunk, file = (max(0, whole(row.get(f"data/{part}_index"))) for part in ("chunk", "file"))
        data = info.data_file(chunk_index=chunk, file_index=file)
        rows = whole(row.get("dataset_from_index")), whole(row.get("dataset_to_index"))
        clips = {key: clip for key in keys if (clip := _clip(info, key, row)) is not None}
    else:
        data, rows = info.data_file(episode_index=number), None
        clips = {key: ListedClip(info.video_file(key, episode_index=number)) for key in keys}
    tasks = row.get("tasks")
    return LerobotEntry(
        index=number,
        length=whole(row.get("length")),
        tasks=tuple(map(str, tasks)) if isinstance(tasks, list) else (),
        data=data,
        rows=rows,
        clips=clips,
        facts={key: value for key, value in row.items() if not key.startswith(_TAKEN)},
    )


def _clip(info: Info, key: str, row: Mapping[str, Any]) -> ListedClip | None:
    """Where a row says that the pictures of a camera are (v3); None when it does not."""
    chunk, file = (whole(row.get(f"videos/{key}/{part}_index")) for part in ("chunk", "file"))
    if min(chunk, file) < 0:
        return None
    times = (row.get(f"videos/{key}/{end}_timestamp") for end in ("from", "to"))
    return ListedClip(
        info.video_file(key, chunk_index=chunk, file_index=file), *map(_seconds, times)
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


def _seconds(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e9 else None
