"""Which rows of a table are an episode's, and where its own numbers say otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import INDEX_WRONG, METADATA_WRONG, Defect
from corporeal.exchange.lerobot.files import Columns, Files
from corporeal.exchange.lerobot.listing import LerobotEntry
from corporeal.units import SECOND_NS


def rows_of(files: Files, entry: LerobotEntry) -> tuple[NDArray[np.int64], tuple[Defect, ...]]:
    """Numbers of the episode's rows in its file, and what is wrong with where they are said to be.

    In v3 the list of episodes and the table's own episode_index both say which rows these are. If
    they disagree, those count whose frames run from first to last without a break.
    """
    path = files.home(entry) or entry.data
    columns = files.columns(path)
    count = len(next(iter(columns.values()), ()))
    if entry.rows is None:
        return np.arange(count), ()
    start = files.first_row(path)
    stated = np.arange(max(0, entry.rows[0] - start), max(0, min(count, entry.rows[1] - start)))
    own = files.own_rows(path, entry.index)
    in_file = entry.rows[0] >= start and entry.rows[1] - start <= count
    if in_file and np.array_equal(stated, own):
        if path == entry.data:
            return stated, ()
        message = f"the list says its data is in {entry.data.name}, but it is in {path.name}"
        return stated, (Defect(INDEX_WRONG, message, entry.index),)
    runs = _runs_through(columns, stated) and in_file and len(stated)
    rows = stated if runs or not len(own) else own
    claim = f"dataset_from_index and dataset_to_index say rows {_span(entry.rows)}"
    where = _span((int(own[0]) + start, int(own[-1]) + 1 + start)) if len(own) else "no row"
    message = f"{claim}, but episode_index says {where} ({len(own)} rows)"
    defect = Defect(
        INDEX_WRONG, message, entry.index, value=float(len(own)), limit=float(len(stated))
    )
    return rows, (defect,)


def row_defects(
    entry: LerobotEntry, columns: Columns, *, first: int | None, tasks: Mapping[int, str]
) -> Iterator[Defect]:
    """What the rows' own numbers contradict; `first` is the index the first row should have."""
    count = len(next(iter(columns.values()), ()))
    if entry.length != count:
        yield Defect(
            INDEX_WRONG,
            f"meta lists {entry.length} frames, the table has {count}",
            entry.index,
            value=float(count),
            limit=float(entry.length),
        )
    expected = {
        "episode_index": np.full(count, entry.index),
        "frame_index": np.arange(count),
        "index": None if first is None else np.arange(first, first + count),
    }
    for name, right in expected.items():
        found = _flat(columns, name, count)
        if found is not None and right is not None and not np.array_equal(found, right):
            yield _wrong_numbers(entry, name, found, right)
    yield from _task_defects(entry, columns, tasks, count)


def _wrong_numbers(
    entry: LerobotEntry, name: str, found: NDArray[Any], right: NDArray[np.int64]
) -> Defect:
    bad = np.flatnonzero(~(found == right))
    row = int(bad[0])
    message = (
        f"{name} is wrong in {len(bad)} of {len(found)} rows, first in row {row}: "
        f"it is {found[row]:g}, expected {right[row]}"
    )
    return Defect(INDEX_WRONG, message, entry.index, name, float(len(bad)), 0.0)


def _task_defects(
    entry: LerobotEntry, columns: Columns, tasks: Mapping[int, str], count: int
) -> Iterator[Defect]:
    found = _flat(columns, "task_index", count)
    if found is None:
        return
    numbers = np.unique(found)
    outside = [number for number in numbers.tolist() if number not in tasks]
    if outside:
        message = f"task_index is {outside[0]:g}, which is not one of the {len(tasks)} listed tasks"
        yield Defect(INDEX_WRONG, message, entry.index, "task_index", float(outside[0]))
        return
    given = [tasks[int(number)] for number in numbers]
    other = [task for task in given if task not in entry.tasks]
    if entry.tasks and other:
        message = f"task_index points at {other[0]!r}, but meta lists {entry.tasks[0]!r}"
        yield Defect(INDEX_WRONG, message, entry.index, "task_index")


def instructions_of(
    entry: LerobotEntry, columns: Columns, tasks: Mapping[int, str], count: int
) -> tuple[str, ...]:
    """The episode's instructions: those its rows point at, else those its entry lists."""
    found = _flat(columns, "task_index", count)
    if found is not None and count:
        numbers, first = np.unique(found, return_index=True)
        ordered = numbers[np.argsort(first)].tolist()
        texts = tuple(tasks[int(number)] for number in ordered if number in tasks)
        if texts:
            return texts
    return entry.tasks


def task_changes(
    columns: Columns, tasks: Mapping[int, str], count: int
) -> tuple[tuple[int, str], ...]:
    """The rows in which another task than before is in force, and its text."""
    found = _flat(columns, "task_index", count)
    if found is None or not count:
        return ()
    rows = np.flatnonzero(np.concatenate(([True], found[1:] != found[:-1])))
    return tuple((int(row), tasks[int(found[row])]) for row in rows if found[row] in tasks)


def stamps_of(
    entry: LerobotEntry, columns: Columns, *, count: int, fps: float
) -> tuple[NDArray[np.int64], tuple[Defect, ...]]:
    """Stamps of the rows; a row without one is stamped by its number."""
    even = np.arange(count) / fps
    seconds = _flat(columns, "timestamp", count)
    if seconds is None:
        return np.round(even * SECOND_NS).astype(np.int64), ()
    seconds = np.asarray(seconds, np.float64)
    good = np.abs(seconds) < 1e9
    stamps = np.round(np.where(good, seconds, even) * SECOND_NS).astype(np.int64)
    if good.all():
        return stamps, ()
    lost = int((~good).sum())
    message = f"timestamp is not a time in {lost} of {count} rows"
    return stamps, (Defect(METADATA_WRONG, message, entry.index, "timestamp", float(lost), 0.0),)


def _runs_through(columns: Columns, rows: NDArray[np.int64]) -> bool:
    """Whether the frames in these rows run from first to last without a break."""
    number = columns.get("frame_index")
    if number is not None:
        return np.array_equal(np.ravel(number)[rows], np.arange(len(rows)))
    stamps = columns.get("timestamp")
    return stamps is None or bool((np.diff(np.ravel(stamps)[rows]) > 0).all())


def _flat(columns: Columns, name: str, count: int) -> NDArray[Any] | None:
    values = columns.get(name)
    if values is None or values.size != count:
        return None
    return values.reshape(count)


def _span(rows: tuple[int, int]) -> str:
    return f"{rows[0]} to {rows[1]}"
