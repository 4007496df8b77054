"""What both layouts of a LeRobot dataset need to know of its episodes before files are written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corporeal.exchange.format import ExportContext, WrittenEpisode
from corporeal.exchange.layout import LABELS
from corporeal.exchange.lerobot.features import (
    MODE,
    SUBTASK,
    FeatureColumn,
    ListName,
    columns_of,
    feature_entries,
    schema_of,
    whole_rate,
)
from corporeal.exchange.lerobot.files import BOOKKEEPING
from corporeal.exchange.lerobot.labels import subtasks
from corporeal.exchange.lerobot.row_file import number_batch, read_batches

CHUNK_FILES = 1000
_FEW_VALUES = (MODE, SUBTASK, "episode_index", "task_index")


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
            dict.fromkeys(text for episode in self.episodes for text in self.texts(episode))
        )

    @cached_property
    def task_numbers(self) -> dict[str, int]:
        """The number of each instruction."""
        return {text: number for number, text in enumerate(self.tasks)}

    def texts(self, episode: WrittenEpisode) -> tuple[str, ...]:
        """The instructions of an episode."""
        return tuple(str(text) for text in episode.instructions)

    def own_tasks(self, number: int) -> list[int]:
        """Numbers of an episode's instructions, in its own order."""
        return [self.task_numbers[text] for text in self.texts(self.episodes[number])]

    @cached_property
    def subtasks(self) -> tuple[str, ...]:
        """The labels of the main lane by their numbers; none without labels."""
        return subtasks(self.context.layout.lanes)

    @cached_property
    def knows_outcomes(self) -> bool:
        """Whether it is known of any episode that it succeeded or failed."""
        return any(episode.success is not None for episode in self.episodes)

    def blocks(self, number: int) -> Iterator[Any]:
        """The rows of an episode with their final numbers, a block at a time."""
        tasks = self.own_tasks(number)
        for batch in read_batches(self.episodes[number].folder):
            yield number_batch(batch, start=self.starts[number], tasks=tasks)

    @cached_property
    def schema(self) -> Any:
        """The schema of the tables."""
        return schema_of(self.columns, self.list_name)

    def writer(self, sink: Any) -> Any:
        """A Parquet writer for rows."""
        few = [key for key in self.schema.names if key in _FEW_VALUES or key.startswith(LABELS)]
        return pq.ParquetWriter(
            sink,
            self.schema,
            compression="snappy",
            # Measured numbers hardly repeat: a dictionary of them only costs time.
            use_dictionary=few,
            write_statistics=list(BOOKKEEPING),
        )

    def head_entries(self, version: str) -> dict[str, Any]:
        """What info.json says in every version."""
        rate = whole_rate(self.context.layout.rate_hz)
        robot = self.context.robot
        movies = self.episodes[0].details["movies"]
        return {
            "codebase_version": version,
            "robot_type": robot.name if robot is not None else "unknown",
            "total_episodes": len(self.episodes),
            "total_frames": sum(self.lengths),
            "total_tasks": len(self.tasks),
            "chunks_size": CHUNK_FILES,
            "fps": rate,
            "splits": {"train": f"0:{len(self.episodes)}"},
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


def movie_file(folder: Path, key: str) -> Path:
    """Where a episode keeps the movie of a camera."""
    return folder / f"{key}.mp4"


def write_batch(writer: Any, batch: Any, schema: Any) -> None:
    """Write a block as one row group."""
    writer.write_table(pa.table(list(batch.columns), schema=schema))


def write_json(path: Path, values: Any) -> None:
    """Write a JSON file with its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values, ensure_ascii=False, indent=4) + "\n", "utf-8")


def write_json_lines(path: Path, lines: Iterator[Any] | Sequence[Any]) -> None:
    """Write one JSON object on every line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
