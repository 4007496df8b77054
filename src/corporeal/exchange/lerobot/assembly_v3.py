"""Puts episodes together as LeRobot v3.0 has them: many in one table and in one movie."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from corporeal.exchange.format import ExportContext, WrittenEpisode
from corporeal.exchange.lerobot.assembly import (
    CHUNK_FILES,
    LerobotAssembly,
    assembly_of,
    movie_file,
    write_batch,
    write_json,
)
from corporeal.exchange.lerobot.features import nest_lists
from corporeal.exchange.lerobot.labels import write_subtasks
from corporeal.exchange.lerobot.summaries import episode_statistics, to_lists, total_statistics
from corporeal.exchange.movie.writing import can_join, join_movies
from corporeal.files import link_or_copy

MAX_BYTES = 100 << 20
_AT_ONCE = 64
_NAME = "episodes/chunk-{chunk:03d}/file-{file:03d}.parquet"

Statistics = Mapping[str, Mapping[str, NDArray[Any]]]


@dataclass(frozen=True)
class Stretch:
    """A stretch of a movie: the number of its file, and seconds in it."""

    file: int
    from_s: float
    to_s: float


@dataclass(frozen=True)
class EpisodesTableRow:
    """What the table says of one episode."""

    number: int
    tasks: tuple[str, ...]
    start: int
    length: int
    file: int
    clips: Mapping[str, Stretch]
    success: bool | None
    statistics: Statistics


def write_episode_table(meta: Path, rows: Iterable[EpisodesTableRow], *, outcomes: bool) -> None:
    """Write all episodes below the folder `meta`; `outcomes` adds whether each succeeded."""
    waiting = iter(rows)
    block = list(islice(waiting, _AT_ONCE))
    number = 0
    while block:
        path = meta / _NAME.format(chunk=number // CHUNK_FILES, file=number % CHUNK_FILES)
        path.parent.mkdir(parents=True, exist_ok=True)
        table = _table(block, number, outcomes)
        with path.open("wb") as sink, pq.ParquetWriter(sink, table.schema) as writer:
            while block:
                writer.write_table(_table(block, number, outcomes))
                block = list(islice(waiting, _AT_ONCE))
                if sink.tell() >= MAX_BYTES:
                    break
        number += 1


def _table(rows: Sequence[EpisodesTableRow], file: int, outcomes: bool) -> Any:
    columns = dict(_columns(rows, file))
    if outcomes:
        columns["success"] = pa.array([row.success for row in rows], pa.bool_())
    return pa.table(columns)


def _columns(rows: Sequence[EpisodesTableRow], file: int) -> Iterator[tuple[str, Any]]:
    yield "episode_index", _whole([row.number for row in rows])
    yield "tasks", pa.array([list(row.tasks) for row in rows], pa.list_(pa.string()))
    yield "length", _whole([row.length for row in rows])
    yield from _places("data", [row.file for row in rows])
    yield "dataset_from_index", _whole([row.start for row in rows])
    yield "dataset_to_index", _whole([row.start + row.length for row in rows])
    for key in rows[0].clips:
        clips = [row.clips[key] for row in rows]
        yield from _places(f"videos/{key}", [clip.file for clip in clips])
        yield f"videos/{key}/from_timestamp", pa.array([clip.from_s for clip in clips])
        yield f"videos/{key}/to_timestamp", pa.array([clip.to_s for clip in clips])
    for key, stated in rows[0].statistics.items():
        for name in stated:
            values = np.stack([row.statistics[key][name] for row in rows])
            yield f"stats/{key}/{name}", nest_lists(values)
    yield from _places("meta/episodes", [file] * len(rows))


def _places(what: str, files: Sequence[int]) -> Iterator[tuple[str, Any]]:
    yield f"{what}/chunk_index", _whole([file // CHUNK_FILES for file in files])
    yield f"{what}/file_index", _whole([file % CHUNK_FILES for file in files])


def _whole(numbers: Sequence[int]) -> Any:
    return pa.array(numbers, pa.int64())


DATA_MB, VIDEO_MB = 100, 200
MAX_MOVIE_S = 1000.0
"""LeRobot compares times as 32-bit floats to 0.1 ms, which they cannot tell beyond 1024 s."""
_DATA = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
_VIDEO = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
_TASKS_NOTE = (
    b'{"index_columns": ["__index_level_0__"], "column_indexes": [{"name": null, "field_name": '
    b'null, "pandas_type": "unicode", "numpy_type": "object", "metadata": {"encoding": "UTF-8"}}], '
    b'"columns": [{"name": "task_index", "field_name": "task_index", "pandas_type": "int64", '
    b'"numpy_type": "int64", "metadata": null}, {"name": null, "field_name": "__index_level_0__", '
    b'"pandas_type": "unicode", "numpy_type": "object", "metadata": null}]}'
)


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
    files = _write_tables(assembly, out, limits)
    clips = {key: _write_movies(assembly, out, key, limits) for key in context.layout.cameras}
    rows = _rows(assembly, files, clips)
    write_episode_table(out / "meta", rows, outcomes=assembly.knows_outcomes)
    write_json(out / "meta" / "stats.json", to_lists(total_statistics(assembly)))
    _write_tasks(out / "meta" / "tasks.parquet", assembly.tasks)
    if assembly.subtasks:
        write_subtasks(out / "meta" / "subtasks.parquet", assembly.subtasks)
    info = assembly.head_entries("v3.0")
    info |= {"data_files_size_in_mb": DATA_MB, "video_files_size_in_mb": VIDEO_MB,
             "data_path": _DATA, "video_path": _VIDEO if clips else None}  # fmt: skip
    info["features"] = info.pop("features")
    write_json(out / "meta" / "info.json", info)


def _rows(
    assembly: LerobotAssembly, files: Sequence[int], clips: dict[str, list[Stretch]]
) -> Iterator[EpisodesTableRow]:
    for number, episode in enumerate(assembly.episodes):
        yield EpisodesTableRow(
            number=number,
            tasks=assembly.texts(episode),
            start=assembly.starts[number],
            length=assembly.lengths[number],
            file=files[number],
            clips={key: places[number] for key, places in clips.items()},
            success=episode.success,
            statistics=episode_statistics(assembly, number),
        )


def _write_tables(assembly: LerobotAssembly, out: Path, limits: Limits) -> list[int]:
    """Write the rows of all episodes; the number of the file that each episode is in."""
    files: list[int] = []
    number, done = 0, 0
    while done < len(assembly.episodes):
        path = out / _DATA.format(chunk_index=number // CHUNK_FILES,
                                  file_index=number % CHUNK_FILES)  # fmt: skip
        path.parent.mkdir(parents=True, exist_ok=True)
        count = _write_table(assembly, path, done, limits.data_bytes)
        files += [number] * count
        done += count
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
            for batch in assembly.blocks(number):
                write_batch(writer, batch, assembly.schema)
            rows += coming
    return len(assembly.episodes) - first


def _write_movies(assembly: LerobotAssembly, out: Path, key: str, limits: Limits) -> list[Stretch]:
    """Join the movies of a camera; where the pictures of each episode lie."""
    rate_hz = assembly.context.layout.rate_hz
    movies = [movie_file(episode.folder, key) for episode in assembly.episodes]
    clips: list[Stretch] = []
    for number, group in enumerate(_groups(movies, assembly.lengths, rate_hz, limits)):
        target = out / _VIDEO.format(video_key=key, chunk_index=number // CHUNK_FILES,
                                     file_index=number % CHUNK_FILES)  # fmt: skip
        target.parent.mkdir(parents=True, exist_ok=True)
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


def _write_tasks(path: Path, tasks: Sequence[str]) -> None:
    """The tasks as pandas stores a table that they are the index of."""
    columns: list[Any] = [pa.array(range(len(tasks)), pa.int64()), pa.array(tasks, pa.string())]
    schema = pa.schema(
        [("task_index", pa.int64()), ("__index_level_0__", pa.string())],
        metadata={b"pandas": _TASKS_NOTE},
    )
    pq.write_table(pa.table(columns, schema=schema), path)
