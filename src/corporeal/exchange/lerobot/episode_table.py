"""The table of episodes of LeRobot v3.0: where each one lies, its tasks, its statistics."""

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

from corporeal.exchange.lerobot.assembly import CHUNK_FILES
from corporeal.exchange.lerobot.features import nested

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
class EpisodeRow:
    """What the table says of one episode."""

    number: int
    tasks: tuple[str, ...]
    start: int
    length: int
    file: int
    clips: Mapping[str, Stretch]
    success: bool | None
    statistics: Statistics


def write_episode_table(meta: Path, rows: Iterable[EpisodeRow], *, outcomes: bool) -> None:
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


def _table(rows: Sequence[EpisodeRow], file: int, outcomes: bool) -> Any:
    columns = dict(_columns(rows, file))
    if outcomes:
        columns["success"] = pa.array([row.success for row in rows], pa.bool_())
    return pa.table(columns)


def _columns(rows: Sequence[EpisodeRow], file: int) -> Iterator[tuple[str, Any]]:
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
            yield f"stats/{key}/{name}", nested(values)
    yield from _places("meta/episodes", [file] * len(rows))


def _places(what: str, files: Sequence[int]) -> Iterator[tuple[str, Any]]:
    yield f"{what}/chunk_index", _whole([file // CHUNK_FILES for file in files])
    yield f"{what}/file_index", _whole([file % CHUNK_FILES for file in files])


def _whole(numbers: Sequence[int]) -> Any:
    return pa.array(numbers, pa.int64())
