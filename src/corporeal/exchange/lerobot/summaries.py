"""Statistics of LeRobot features: of one episode while it is written, then of all together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.exchange.lerobot.assembly import LerobotAssembly
from corporeal.exchange.lerobot.features import FeatureColumn
from corporeal.exchange.lerobot.row_file import read_batches, values_of
from corporeal.exchange.statistics import (
    ColumnSummary,
    summarise,
    summarise_blocks,
    summarise_histogram,
)

NAME = "statistics.npz"
PLACED = ("index", "task_index")
"""Columns that get their values only when all episodes are there."""

_IN_MEMORY_BYTES = 64 << 20
# Entries of a long column that are summarised in one pass: a tactile map has hundreds.
_AT_ONCE = 64
_QUANTILES = ("q01", "q10", "q50", "q90", "q99")
_ROWS = ("min", "max", "mean", "std", *_QUANTILES)
_COUNTS = "counts/"

Statistics = dict[str, dict[str, NDArray[Any]]]
Blocks = Iterator[NDArray[Any]]


def write_statistics(
    folder: Path,
    columns: Iterable[FeatureColumn],
    rows: int,
    counts: Mapping[str, NDArray[np.int64]],
) -> None:
    """Keep the statistics of an episode: of its rows, and how often its cameras show each level."""
    stored: dict[str, NDArray[Any]] = {f"{_COUNTS}{key}": each for key, each in counts.items()}
    for column in columns:
        if column.key not in PLACED:
            stored[column.key] = _table(partial(_values, folder, column), rows, column)
    np.savez(folder / NAME, **stored)  # type: ignore[arg-type]


def episode_statistics(assembly: LerobotAssembly, number: int) -> Statistics:
    """The statistics of one episode, by feature, in the shapes that LeRobot gives them."""
    episode, rows = assembly.episodes[number], assembly.lengths[number]
    found: Statistics = {}
    with np.load(episode.folder / NAME, allow_pickle=False) as stored:
        for column in assembly.columns:
            if column.key in PLACED:
                table = _table(partial(_placed_values, assembly, column, (number,)), rows, column)
            else:
                table = stored[column.key]
            found[column.key] = _unstacked(table, column, rows)
        for key in assembly.context.layout.cameras:
            found[key] = _of_pictures(stored[f"{_COUNTS}{key}"], rows)
    return found


def total_statistics(assembly: LerobotAssembly, *, cameras: bool = True) -> Statistics:
    """The statistics over all rows and pictures of all episodes: no mean of means."""
    shown = assembly.context.layout.cameras if cameras else {}
    if len(assembly.episodes) == 1:
        own = episode_statistics(assembly, 0)
        left_out = set(assembly.context.layout.cameras) - set(shown)
        return {key: stated for key, stated in own.items() if key not in left_out}
    rows = sum(assembly.lengths)
    found: Statistics = {}
    for column in assembly.columns:
        table = _table(partial(_all_values, assembly, column), rows, column)
        found[column.key] = _unstacked(table, column, rows)
    counts = {key: np.zeros((3, 256), np.int64) for key in shown}
    for episode in assembly.episodes if counts else ():
        with np.load(episode.folder / NAME, allow_pickle=False) as stored:
            for key, total in counts.items():
                total += stored[f"{_COUNTS}{key}"]
    return found | {key: _of_pictures(total, rows) for key, total in counts.items()}


def to_lists(statistics: Mapping[str, Mapping[str, NDArray[Any]]]) -> dict[str, Any]:
    """The same for JSON."""
    return {
        key: {name: values.tolist() for name, values in stated.items()}
        for key, stated in statistics.items()
    }


def _values(folder: Path, column: FeatureColumn) -> Blocks:
    for batch in read_batches(folder):
        yield values_of(batch, column)


def _placed_values(
    assembly: LerobotAssembly, column: FeatureColumn, numbers: Iterable[int]
) -> Blocks:
    for number in numbers:
        for batch in assembly.blocks(number):
            yield values_of(batch, column)


def _all_values(assembly: LerobotAssembly, column: FeatureColumn) -> Blocks:
    if column.key in PLACED:
        yield from _placed_values(assembly, column, range(len(assembly.episodes)))
        return
    for episode in assembly.episodes:
        yield from _values(episode.folder, column)


def _table(blocks: Callable[[], Blocks], rows: int, column: FeatureColumn) -> NDArray[np.float64]:
    """The statistics of a column, one row for each in the order of `_ROWS`."""
    width = math.prod(column.shape)
    if 8 * rows * width <= _IN_MEMORY_BYTES:
        return _stacked(summarise(np.concatenate(list(blocks()))))
    parts = []
    for first in range(0, width, _AT_ONCE):
        some = slice(first, min(first + _AT_ONCE, width))
        summary = summarise_blocks((each[:, some] for each in blocks()), (some.stop - first,))
        parts.append(_stacked(summary))
    return np.concatenate(parts, axis=1)


def _stacked(summary: ColumnSummary) -> NDArray[np.float64]:
    """Statistics one below the other."""
    plain = (summary.min, summary.max, summary.mean, summary.std)
    return np.stack([*plain, *(summary.quantiles[name] for name in _QUANTILES)])


def _unstacked(
    table: NDArray[np.float64], column: FeatureColumn, count: int
) -> dict[str, NDArray[Any]]:
    named: dict[str, NDArray[Any]] = {
        name: values.reshape(column.shape) for name, values in zip(_ROWS, table, strict=True)
    }
    if "int" in column.dtype:
        named |= {name: named[name].astype(np.int64) for name in ("min", "max")}
    return _ordered(named, count)


def _of_pictures(counts: NDArray[np.int64], pictures: int) -> dict[str, NDArray[Any]]:
    table = _stacked(summarise_histogram(counts, pictures=pictures))
    return _ordered(dict(zip(_ROWS, table, strict=True)), pictures)


def _ordered(named: Mapping[str, NDArray[Any]], count: int) -> dict[str, NDArray[Any]]:
    """In LeRobot's order: the count stands before the quantiles."""
    plain = {name: named[name] for name in _ROWS[:4]}
    return plain | {"count": np.array([count])} | {name: named[name] for name in _QUANTILES}
