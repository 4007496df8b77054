"""What both layouts of a LeRobot dataset need to know of its episodes before files are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from corporeal.exchange.format import ExportContext, WrittenEpisode
from corporeal.exchange.layout import LABELS
from corporeal.exchange.lerobot.files import BOOKKEEPING, MODE, SUBTASK
from corporeal.exchange.lerobot.writing import (
    HISTOGRAM,
    PLACED,
    STATISTICS,
    Blocks,
    FeatureColumn,
    ListName,
    columns_of,
    common_movies,
    feature_entries,
    read_batches,
    read_column,
    schema_of,
    summarise_column,
    values_of,
)
from corporeal.exchange.statistics import NAMES, summarise_histogram

CHUNK_FILES = 1000
_FEW_VALUES = (MODE, SUBTASK, "episode_index", "task_index")

Statistics = dict[str, dict[str, NDArray[Any]]]


@dataclass(frozen=True, eq=False)
class LerobotAssembly:
    """All episodes of a dataset with their places: first rows, and numbers of their tasks."""

    episodes: Sequence[WrittenEpisode]
    context: ExportContext
    columns: tuple[FeatureColumn, ...]
    list_name: ListName

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """Rows of each episode."""
        return tuple(episode.rows for episode in self.episodes)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Number of each episode's first row in the dataset."""
        return tuple(int(start) for start in np.cumsum((0, *self.lengths[:-1])))

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """Every instruction once, in the order in which they come up."""
        return tuple(
            dict.fromkeys(text for episode in self.episodes for text in episode.instructions)
        )

    @cached_property
    def _task_numbers(self) -> dict[str, int]:
        return {text: number for number, text in enumerate(self.tasks)}

    def blocks(self, number: int) -> Iterator[Any]:
        """The rows of an episode with their final numbers, a block at a time."""
        episode = self.episodes[number]
        tasks = np.array([self._task_numbers[text] for text in episode.instructions], np.int64)
        for batch in read_batches(episode.folder):
            names, arrays = batch.schema.names, list(batch.columns)
            arrays[names.index("index")] = pc.add(batch.column("index"), self.starts[number])
            numbers = tasks[batch.column("task_index").to_numpy()]
            arrays[names.index("task_index")] = pa.array(numbers)
            yield pa.record_batch(arrays, schema=batch.schema)

    @cached_property
    def _schema(self) -> Any:
        return schema_of(self.columns, self.list_name)

    def writer(self, sink: Any) -> Any:
        """A Parquet writer for rows."""
        few = [key for key in self._schema.names if key in _FEW_VALUES or key.startswith(LABELS)]
        return pq.ParquetWriter(
            sink,
            self._schema,
            compression="snappy",
            # Measured numbers hardly repeat: a dictionary of them only costs time.
            use_dictionary=few,
            write_statistics=list(BOOKKEEPING),
        )

    def write_rows(self, writer: Any, number: int) -> None:
        """Write the rows of an episode, each block as one row group."""
        for batch in self.blocks(number):
            writer.write_table(pa.table(list(batch.columns), schema=self._schema))

    def info(self, version: str, **more: Any) -> dict[str, Any]:
        """The content of info.json: what it says in every version, and `more` before features."""
        rate_hz = float(self.context.layout.rate_hz)
        # Frames per second as LeRobot writes them: a whole number where it is one.
        rate = int(rate_hz) if rate_hz.is_integer() else rate_hz
        robot = self.context.robot
        movies = common_movies([each.details["movies"] for each in self.episodes])
        return {
            "codebase_version": version,
            "robot_type": robot.name if robot is not None else "unknown",
            "total_episodes": len(self.episodes),
            "total_frames": sum(self.lengths),
            "total_tasks": len(self.tasks),
            "chunks_size": CHUNK_FILES,
            "fps": rate,
            "splits": {"train": f"0:{len(self.episodes)}"},
            **more,
            "features": feature_entries(self.columns, movies, rate),
        }


def assembly_of(
    episodes: Sequence[WrittenEpisode],
    context: ExportContext,
    list_name: ListName,
    *,
    flat: bool = False,
) -> LerobotAssembly:
    """The episodes in the order of their numbers."""
    ordered = sorted(episodes, key=lambda episode: episode.number)
    return LerobotAssembly(tuple(ordered), context, columns_of(context, flat=flat), list_name)


def episode_statistics(assembly: LerobotAssembly, number: int) -> Statistics:
    """The statistics of one episode, by feature, in the shapes that LeRobot gives them."""
    rows = assembly.lengths[number]
    statistics: Statistics = {}
    with np.load(assembly.episodes[number].folder / STATISTICS, allow_pickle=False) as stored:
        for column in assembly.columns:
            if column.key in PLACED:
                table = summarise_column(
                    partial(_values, assembly, column, (number,)), rows, column
                )
            else:
                table = stored[column.key]
            statistics[column.key] = _unstack(table, column, rows)
        for key in assembly.context.layout.cameras:
            counts = stored[f"{HISTOGRAM}{key}"]
            statistics[key] = _with_count(summarise_histogram(counts), rows)
    return statistics


def total_statistics(assembly: LerobotAssembly, *, cameras: bool = True) -> Statistics:
    """The statistics over all rows and pictures of all episodes: no mean of means."""
    shown = assembly.context.layout.cameras if cameras else {}
    if len(assembly.episodes) == 1:
        own = episode_statistics(assembly, 0)
        left_out = set(assembly.context.layout.cameras) - set(shown)
        return {key: stated for key, stated in own.items() if key not in left_out}
    rows = sum(assembly.lengths)
    numbers = range(len(assembly.episodes))
    statistics: Statistics = {}
    for column in assembly.columns:
        table = summarise_column(partial(_values, assembly, column, numbers), rows, column)
        statistics[column.key] = _unstack(table, column, rows)
    counts = {key: np.zeros((3, 256), np.int64) for key in shown}
    for episode in assembly.episodes if counts else ():
        with np.load(episode.folder / STATISTICS, allow_pickle=False) as stored:
            for key, total in counts.items():
                total += stored[f"{HISTOGRAM}{key}"]
    for key, total in counts.items():
        statistics[key] = _with_count(summarise_histogram(total), rows)
    return statistics


def to_lists(statistics: Statistics) -> dict[str, Any]:
    """The same for JSON."""
    return {
        key: {name: values.tolist() for name, values in stated.items()}
        for key, stated in statistics.items()
    }


def _values(assembly: LerobotAssembly, column: FeatureColumn, numbers: Sequence[int]) -> Blocks:
    """The values of a column in these episodes, as they are in the dataset."""
    for number in numbers:
        if column.key in PLACED:
            yield from (values_of(batch, column) for batch in assembly.blocks(number))
        else:
            yield from read_column(assembly.episodes[number].folder, column)


def _unstack(
    table: NDArray[np.float64], column: FeatureColumn, count: int
) -> dict[str, NDArray[Any]]:
    named: dict[str, NDArray[Any]] = {
        name: values.reshape(column.shape) for name, values in zip(NAMES, table, strict=True)
    }
    if "int" in column.dtype:
        named |= {name: named[name].astype(np.int64) for name in ("min", "max")}
    return _with_count(named, count)


def _with_count(named: Mapping[str, NDArray[Any]], count: int) -> dict[str, NDArray[Any]]:
    """In LeRobot's order: the count stands before the quantiles."""
    ordered = list(named.items())
    return dict([*ordered[:4], ("count", np.array([count])), *ordered[4:]])
