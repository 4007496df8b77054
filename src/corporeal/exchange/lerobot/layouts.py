"""Puts episodes together as LeRobot has them: v2.1 with a table and a movie for every one,
v3.0 with many in one table and in one movie.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corporeal.exchange.format import ExportContext, WrittenEpisode
from corporeal.exchange.json_text import write_json
from corporeal.exchange.lerobot.assembly import (
    CHUNK_FILES,
    LerobotAssembly,
    assembly_of,
    episode_statistics,
    to_lists,
    total_statistics,
)
from corporeal.exchange.lerobot.files import SUBTASK
from corporeal.exchange.lerobot.info import DATA_PATH, VIDEO_PATH
from corporeal.exchange.lerobot.writing import movie_file, nest_lists, subtasks_of
from corporeal.exchange.movie.writing import can_join, join_movies
from corporeal.files import link_or_copy

MAX_BYTES = 100 << 20
DATA_MB, VIDEO_MB = 100, 200
MAX_MOVIE_S = 1000.0
"""LeRobot compares times as 32-bit floats to 0.1 ms, which they cannot tell beyond 1024 s."""
_AT_ONCE = 64
_EPISODES_PATH = "episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"


def assemble_v21(episodes: Sequence[WrittenEpisode], out: Path, context: ExportContext) -> None:
    """Make the dataset in the empty folder `out`."""
    write_v21(assembly_of(episodes, context, "Sequence"), out)


def write_v21(assembly: LerobotAssembly, out: Path, *, total_cameras: bool = True) -> None:
    """Write tables, movies and lists; without `total_cameras` stats.json is of columns alone."""
    cameras = tuple(assembly.context.layout.cameras)
    numbers = range(len(assembly.episodes))
    for number in numbers:
        place = {"episode_chunk": number // CHUNK_FILES, "episode_index": number}
        with assembly.writer(_new_file(out / DATA_PATH[2].format(**place))) as writer:
            assembly.write_rows(writer, number)
        for key in cameras:
            target = _new_file(out / VIDEO_PATH[2].format(video_key=key, **place))
            link_or_copy(movie_file(assembly.episodes[number].folder, key), target)
    meta = out / "meta"
    _write_json_lines(meta / "episodes.jsonl", map(_episode_line, assembly.episodes))
    statistics = (to_lists(episode_statistics(assembly, number)) for number in numbers)
    lines = ({"episode_index": number, "stats": each} for number, each in enumerate(statistics))
    _write_json_lines(meta / "episodes_stats.jsonl", lines)
    tasks = enumerate(assembly.tasks)
    _write_json_lines(meta / "tasks.jsonl", ({"task_index": n, "task": text} for n, text in tasks))
    if subtasks := subtasks_of(assembly.context.layout.lanes):
        lines = ({SUBTASK: number, "subtask": text} for number, text in enumerate(subtasks))
        _write_json_lines(meta / "subtasks.jsonl", lines)
    total = total_statistics(assembly, cameras=total_cameras)
    write_json(meta / "stats.json", to_lists(total), indent=4)
    info = assembly.info(
        "v2.1",
        total_videos=len(numbers) * len(cameras),
        total_chunks=-(-len(numbers) // CHUNK_FILES),
        data_path=DATA_PATH[2],
        video_path=VIDEO_PATH[2] if cameras else None,
    )
    write_json(meta / "info.json", info, indent=4)


def _episode_line(episode: WrittenEpisode) -> dict[str, Any]:
    line: dict[str, Any] = {
        "episode_index": episode.number,
        "tasks": list(episode.instructions),
        "length": episode.rows,
    }
    return line if episode.success is None else line | {"success": episode.success}


def _write_json_lines(path: Path, lines: Iterable[Any]) -> None:
    with _new_file(path).open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _new_file(path: Path) -> Path:
    """The same path, with its folder made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@dataclass(frozen=True)
class Stretch:
    """A stretch of a movie: the number of its file, and seconds in it."""

    file: int
    from_s: float
    to_s: float


@dataclass(frozen=True)
class Limits:
    """When a file is full: LeRobot's own limits."""

    data_bytes: int = DATA_MB << 20
    video_bytes: int = VIDEO_MB << 20
    movie_s: float = MAX_MOVIE_S


def assemble_v3(
    episodes: Sequence[WrittenEpisode],
    out: Path,
    context: ExportContext,
    *,
    limits: Limits | None = None,
) -> None:
    """Make the dataset in the empty folder `out`."""
    limits = limits or Limits()
    assembly = assembly_of(episodes, context, "List")
    meta = out / "meta"
    files = _write_tables(assembly, out, limits)
    clips = {key: _write_movies(assembly, out, key, limits) for key in context.layout.cameras}
    _write_episode_table(assembly, meta, files, clips)
    write_json(meta / "stats.json", to_lists(total_statistics(assembly)), indent=4)
    _write_texts(meta / "tasks.parquet", "task_index", None, assembly.tasks)
    if subtasks := subtasks_of(context.layout.lanes):
        _write_texts(meta / "subtasks.parquet", SUBTASK, "subtask", subtasks)
    info = assembly.info(
        "v3.0",
        data_files_size_in_mb=DATA_MB,
        video_files_size_in_mb=VIDEO_MB,
        data_path=DATA_PATH[3],
        video_path=VIDEO_PATH[3] if clips else None,
    )
    write_json(meta / "info.json", info, indent=4)


def _numbered_file(root: Path, template: str, number: int, **fields: str) -> Path:
    chunk, file = divmod(number, CHUNK_FILES)
    return _new_file(root / template.format(chunk_index=chunk, file_index=file, **fields))


def _write_tables(assembly: LerobotAssembly, out: Path, limits: Limits) -> list[int]:
    """Write the rows of all episodes; the number of the file that each episode is in."""
    files: list[int] = []
    number = 0
    while len(files) < len(assembly.episodes):
        path = _numbered_file(out, DATA_PATH[3], number)
        files += [number] * _write_table(assembly, path, len(files), limits.data_bytes)
        number += 1
    return files


def _write_table(assembly: LerobotAssembly, path: Path, first: int, limit: int) -> int:
    """Write episodes from the first one on until the file is full; how many went in."""
    rows = 0
    with path.open("wb") as sink, assembly.writer(sink) as writer:
        for number in range(first, len(assembly.episodes)):
            coming = assembly.lengths[number]
            # The next episode is taken to need as much for a row as those before it.
            if rows and sink.tell() * (rows + coming) / rows >= limit:
                return number - first
            assembly.write_rows(writer, number)
            rows += coming
    return len(assembly.episodes) - first


def _write_movies(assembly: LerobotAssembly, out: Path, key: str, limits: Limits) -> list[Stretch]:
    """Join the movies of a camera; where the pictures of each episode lie."""
    rate_hz = assembly.context.layout.rate_hz
    movies = [movie_file(episode.folder, key) for episode in assembly.episodes]
    clips: list[Stretch] = []
    for number, group in enumerate(_groups(movies, assembly.lengths, rate_hz, limits)):
        target = _numbered_file(out, VIDEO_PATH[3], number, video_key=key)
        inside = movies[group.start : group.stop]
        if len(inside) == 1:
            link_or_copy(inside[0], target)
            begins: Sequence[int] = (0,)
        else:
            begins = join_movies(inside, target, rate_hz=rate_hz)
        for begin, length in zip(begins, assembly.lengths[group.start : group.stop], strict=True):
            clips.append(Stretch(number, begin / rate_hz, (begin + length) / rate_hz))
    return clips


def _groups(
    movies: Sequence[Path], lengths: Sequence[int], rate_hz: float, limits: Limits
) -> Iterator[range]:
    """The episodes whose movies go into one file."""
    first, size, rows = 0, 0, 0
    for number, movie in enumerate(movies):
        more = movie.stat().st_size
        full = (
            size + more >= limits.video_bytes or rows + lengths[number] > limits.movie_s * rate_hz
        )
        if number > first and (full or not can_join(movies[first], movie)):
            yield range(first, number)
            first, size, rows = number, 0, 0
        size += more
        rows += lengths[number]
    yield range(first, len(movies))


def _write_episode_table(
    assembly: LerobotAssembly, meta: Path, files: Sequence[int], clips: Mapping[str, list[Stretch]]
) -> None:
    """Write what is known of each episode, some at a time into files of bounded size."""
    count = len(assembly.episodes)
    waiting = deque(
        range(first, min(first + _AT_ONCE, count)) for first in range(0, count, _AT_ONCE)
    )
    file = 0
    while waiting:
        path = _numbered_file(meta, _EPISODES_PATH, file)
        table = _episode_rows(assembly, waiting.popleft(), files, clips, file)
        with path.open("wb") as sink, pq.ParquetWriter(sink, table.schema) as writer:
            writer.write_table(table)
            while waiting and sink.tell() < MAX_BYTES:
                writer.write_table(_episode_rows(assembly, waiting.popleft(), files, clips, file))
        file += 1


def _episode_rows(
    assembly: LerobotAssembly,
    numbers: range,
    files: Sequence[int],
    clips: Mapping[str, list[Stretch]],
    file: int,
) -> Any:
    """What the table says of these episodes; `file` is the number of its own file."""
    some = slice(numbers.start, numbers.stop)
    episodes, lengths = assembly.episodes[some], assembly.lengths[some]
    starts = np.array(assembly.starts[some], np.int64)
    columns: dict[str, Any] = {
        "episode_index": np.array(numbers, np.int64),
        "tasks": pa.array([list(each.instructions) for each in episodes], pa.list_(pa.string())),
        "length": np.array(lengths, np.int64),
        **_places("data", files[some]),
        "dataset_from_index": starts,
        "dataset_to_index": starts + lengths,
    }
    for key, stretches in clips.items():
        inside = stretches[some]
        columns |= _places(f"videos/{key}", [stretch.file for stretch in inside])
        columns[f"videos/{key}/from_timestamp"] = pa.array([each.from_s for each in inside])
        columns[f"videos/{key}/to_timestamp"] = pa.array([each.to_s for each in inside])
    statistics = [episode_statistics(assembly, number) for number in numbers]
    for key, stated in statistics[0].items():
        for name in stated:
            values = np.stack([each[key][name] for each in statistics])
            columns[f"stats/{key}/{name}"] = nest_lists(values)
    columns |= _places("meta/episodes", [file] * len(numbers))
    if any(episode.success is not None for episode in assembly.episodes):
        columns["success"] = pa.array([episode.success for episode in episodes], pa.bool_())
    return pa.table(columns)


def _places(what: str, files: Sequence[int]) -> dict[str, Any]:
    chunks, numbers = np.divmod(np.array(files, np.int64), CHUNK_FILES)
    return {f"{what}/chunk_index": chunks, f"{what}/file_index": numbers}


def _write_texts(path: Path, number: str, name: str | None, texts: Sequence[str]) -> None:
    """Numbered texts as pandas stores a table whose index they are, of this name or of none."""
    stored = name or "__index_level_0__"
    index = {"name": None, "field_name": None, "pandas_type": "unicode", "numpy_type": "object"}
    whole = {"name": number, "field_name": number, "pandas_type": "int64", "numpy_type": "int64"}
    note = {
        "index_columns": [stored],
        "column_indexes": [{**index, "metadata": {"encoding": "UTF-8"}}],
        "columns": [
            {**whole, "metadata": None},
            {**index, "name": name, "field_name": stored, "metadata": None},
        ],
    }
    schema = pa.schema(
        [(number, pa.int64()), (stored, pa.string())], metadata={"pandas": json.dumps(note)}
    )
    columns: list[Any] = [pa.array(range(len(texts)), pa.int64()), pa.array(texts, pa.string())]
    pq.write_table(pa.table(columns, schema=schema), path)
