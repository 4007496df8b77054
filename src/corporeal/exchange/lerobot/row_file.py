"""The rows of one episode between `episode` and `assemble`: an Arrow file, read without a copy.

Its columns are those of the dataset, but `index` and `task_index` count inside the episode:
where it starts and which number its tasks have is known only when all episodes are there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corporeal.exchange.lerobot.features import MODE, FeatureColumn
from corporeal.exchange.lerobot.files import BOOKKEEPING
from corporeal.exchange.lerobot.labels import label_values
from corporeal.exchange.table import BLOCK_ROWS, EpisodeTable

NAME = "rows.arrow"


def write_rows(table: EpisodeTable, folder: Path, columns: Sequence[FeatureColumn]) -> None:
    """Write all rows of an episode, a block at a time."""
    schema = pa.schema([pa.field(column.key, column.arrow_type()) for column in columns])
    with pa.OSFile(str(folder / NAME), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for first, block in zip(range(0, len(table), BLOCK_ROWS), table.blocks(), strict=True):
            values = block | _own(table, first, min(first + BLOCK_ROWS, len(table)))
            arrays = [column.arrow(values[column.key]) for column in columns]
            writer.write_batch(pa.record_batch(arrays, schema=schema))


def _own(table: EpisodeTable, first: int, stop: int) -> dict[str, NDArray[Any]]:
    """Mode, time and numbers of some rows."""
    frames = np.arange(first, stop)
    own: dict[str, NDArray[Any]] = dict.fromkeys(BOOKKEEPING, frames)
    own["timestamp"] = frames / table.rate_hz
    own["episode_index"] = np.full(len(frames), table.number)
    own["task_index"] = table.instruction[first:stop]
    if table.mode is not None:
        own[MODE] = table.mode[first:stop]
    return own | label_values(table, first, stop)


@contextmanager
def open_rows(folder: Path) -> Iterator[Any]:
    """The file as `pyarrow` reads it: `num_record_batches`, `get_batch`."""
    with pa.memory_map(str(folder / NAME)) as source:
        yield pa.ipc.open_file(source)


def read_batches(folder: Path) -> Iterator[Any]:
    """The blocks of rows, in order."""
    with open_rows(folder) as file:
        for number in range(file.num_record_batches):
            yield file.get_batch(number)


def number_batch(batch: Any, *, start: int, tasks: Sequence[int]) -> Any:
    """A block with its place in the dataset: the number of its first row, those of its tasks."""
    index = pc.add(batch.column("index"), start)
    numbers = np.asarray(tasks, np.int64)[batch.column("task_index").to_numpy()]
    names = batch.schema.names
    arrays = list(batch.columns)
    arrays[names.index("index")] = index
    arrays[names.index("task_index")] = pa.array(numbers)
    return pa.record_batch(arrays, schema=batch.schema)


def values_of(batch: Any, column: FeatureColumn) -> NDArray[Any]:
    """A column of a block as (rows, width), without a copy where Arrow allows it."""
    array = batch.column(column.key)
    for _ in () if column.is_scalar else column.shape:
        array = array.flatten()
    flat = array.to_numpy(zero_copy_only=False)
    return np.asarray(flat).reshape(batch.num_rows, math.prod(column.shape))
