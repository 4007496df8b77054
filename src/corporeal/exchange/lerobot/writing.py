"""Writes one episode for a LeRobot dataset: its rows, its movies, their statistics.

The rows wait in an Arrow file, which is read without a copy. Its columns are those of the dataset,
but `index` and `task_index` count inside the episode: where it starts and which number its tasks
have is known only when all episodes are there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corporeal.exchange.format import ExportContext, Loss
from corporeal.exchange.lerobot.features import MODE, FeatureColumn, columns_of, label_values
from corporeal.exchange.lerobot.files import BOOKKEEPING
from corporeal.exchange.movie.pictures import LevelHistogram
from corporeal.exchange.movie.writing import write_movie
from corporeal.exchange.statistics import summarise, summarise_blocks
from corporeal.exchange.table import BLOCK_ROWS, EpisodeTable

LOSES: tuple[Loss, ...] = ("rates", "stamps", "precision", "pictures", "labels")
STATISTICS, HISTOGRAM = "statistics.npz", "counts/"
"""The file with the statistics of an episode, and what the keys of its cameras begin with."""
PLACED = ("index", "task_index")
"""Columns that get their values only when all episodes are there."""
_ROWS = "rows.arrow"
_IN_MEMORY_BYTES = 64 << 20
# Entries of a long column that are summarised in one pass: a tactile map has hundreds.
_AT_ONCE = 64

Blocks = Iterator[NDArray[Any]]


def write_episode(
    table: EpisodeTable, folder: Path, context: ExportContext, *, flat: bool = False
) -> dict[str, Any]:
    """Write an episode into an empty folder. Every picture is decoded once, or not at all."""
    columns = columns_of(context, flat=flat)
    _write_rows(table, folder, columns)
    movies: dict[str, Any] = {}
    statistics: dict[str, NDArray[Any]] = {}
    for key, camera in table.cameras.items():
        histogram = LevelHistogram()
        path = movie_file(folder, key)
        movie = write_movie(camera, path, rate_hz=table.rate_hz, histogram=histogram)
        statistics[f"{HISTOGRAM}{key}"] = histogram.counts
        movies[key] = {
            "size": [movie.height, movie.width],
            "codec": movie.codec,
            "pix_fmt": movie.pix_fmt,
            "mended": movie.mended,
            "remuxed": movie.remuxed,
        }
    for column in columns:
        if column.key not in PLACED:
            statistics[column.key] = summarise_column(
                partial(read_column, folder, column), len(table), column
            )
    np.savez(folder / STATISTICS, **statistics)  # type: ignore[arg-type]
    return {"movies": movies}


def movie_file(folder: Path, key: str) -> Path:
    """Where an episode keeps the movie of a camera."""
    return folder / f"{key}.mp4"


def _write_rows(table: EpisodeTable, folder: Path, columns: Sequence[FeatureColumn]) -> None:
    """Write all rows of an episode, a block at a time."""
    schema = pa.schema([pa.field(column.key, column.arrow_type()) for column in columns])
    with pa.OSFile(str(folder / _ROWS), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for first, block in zip(range(0, len(table), BLOCK_ROWS), table.blocks(), strict=True):
            values = block | _bookkeeping(table, first, min(first + BLOCK_ROWS, len(table)))
            arrays = [column.arrow(values[column.key]) for column in columns]
            writer.write_batch(pa.record_batch(arrays, schema=schema))


def _bookkeeping(table: EpisodeTable, first: int, stop: int) -> dict[str, NDArray[Any]]:
    """Time, numbers, mode and labels of some rows."""
    frames = np.arange(first, stop)
    values: dict[str, NDArray[Any]] = dict.fromkeys(BOOKKEEPING, frames)
    values["timestamp"] = frames / table.rate_hz
    values["episode_index"] = np.full(len(frames), table.number)
    values["task_index"] = table.instruction[first:stop]
    if table.mode is not None:
        values[MODE] = table.mode[first:stop]
    return values | label_values(table, first, stop)


def read_batches(folder: Path) -> Iterator[Any]:
    """The blocks of rows of an episode, in order."""
    with pa.memory_map(str(folder / _ROWS)) as source:
        file = pa.ipc.open_file(source)
        for number in range(file.num_record_batches):
            yield file.get_batch(number)


def read_column(folder: Path, column: FeatureColumn) -> Blocks:
    """The values (rows, width) of a column, a block at a time."""
    for batch in read_batches(folder):
        yield values_of(batch, column)


def values_of(batch: Any, column: FeatureColumn) -> NDArray[Any]:
    """A column of a block as (rows, width), without a copy where Arrow allows it."""
    array = batch.column(column.key)
    for _ in () if column.is_scalar else column.shape:
        array = array.flatten()
    flat = array.to_numpy(zero_copy_only=False)
    return np.asarray(flat).reshape(batch.num_rows, math.prod(column.shape))


def summarise_column(
    blocks: Callable[[], Blocks], rows: int, column: FeatureColumn
) -> NDArray[np.float64]:
    """The statistics of a column, one row for each in the order of `statistics.NAMES`."""
    width = math.prod(column.shape)
    if 8 * rows * width <= _IN_MEMORY_BYTES:
        return np.stack(list(summarise(np.concatenate(list(blocks()))).values()))
    parts = []
    for first in range(0, width, _AT_ONCE):
        some = slice(first, min(first + _AT_ONCE, width))
        summary = summarise_blocks((block[:, some] for block in blocks()), (some.stop - first,))
        parts.append(np.stack(list(summary.values())))
    return np.concatenate(parts, axis=1)
