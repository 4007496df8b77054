"""Vicon Nexus CSV: the section `Trajectories` of an ASCII export."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from corporeal.retargeting.motion import HumanMotion, Markers, MotionError
from corporeal.retargeting.person.marker_motion import (
    numbers,
    open_rows,
    person_from_markers,
)
from corporeal.retargeting.reader import ClipHints, MotionReader

_SECTIONS = ("Trajectories", "Devices", "Model Outputs", "Joints", "Segments", "Events")
_Rows = Iterator[tuple[int, list[str]]]


def recognises(path: Path) -> bool:
    """Whether the first line names a section of such an export."""
    return path.suffix.lower() in (".csv", ".txt") and _first(path).strip(",;\t ") in _SECTIONS


def read(path: Path, hints: ClipHints) -> HumanMotion:
    """The person whose trajectories the file holds; other sections are not read."""
    return person_from_markers(read_trajectories(path), hints)


def read_trajectories(path: Path) -> Markers:
    """The markers of the section Trajectories, in the file's unit and axes."""
    with open_rows(path, delimiter=_delimiter(path)) as rows:
        return _markers(path, rows)


def _first(path: Path) -> str:
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            # Nexus writes two blank lines first when asked for some of the sections only.
            lines = (file.readline(1000).strip() for _ in range(5))
            return next((line for line in lines if line.strip(",;\t ")), "")
    except OSError:
        return ""


def _delimiter(path: Path) -> str:
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        for line in iter(lambda: file.readline(1 << 20), ""):
            if line.startswith("Frame"):
                return max(",;\t", key=line.count)
    return ","


def _markers(path: Path, rows: _Rows) -> Markers:
    for _, row in rows:
        if row and row[0] == "Trajectories":
            break
    else:
        raise MotionError(
            f"{path}: has no section Trajectories. Export the trajectories of the markers."
        )
    head = [next(rows, (0, [])) for _ in range(4)]
    (line, rate), (_, names), (at, axes), (_, units) = head
    if axes[:1] != ["Frame"]:
        raise MotionError(
            f"{path}:{at or line}: got {','.join(axes[:3])!r}; expected Frame, Sub Frame, X, Y, Z "
            "in the third line of the section. Export the clip again."
        )
    labels: list[str] = []
    columns: list[int] = []
    for column, name in enumerate(names):
        if name and [cell.upper() for cell in axes[column : column + 3]] == ["X", "Y", "Z"]:
            labels.append(name)
            columns.extend(range(column, column + 3))
    if not labels:
        raise MotionError(f"{path}:{at}: no marker has columns X, Y and Z. Export positions.")
    table = numbers(rows, columns, max(columns) + 1, path)
    positions = table.reshape(len(table), len(labels), 3)
    # Nexus writes a lost marker as blank cells, older programs as three zeros.
    positions[(positions == 0).all(axis=2)] = np.nan
    stated = {unit.lower() for unit in (units[column] for column in columns if column < len(units))}
    return Markers(
        path=path,
        format="vicon_csv",
        labels=tuple(labels),
        positions=positions,
        rate_hz=_rate(rate),
        unit=stated.pop() if len(stated) == 1 else None,
    )


def _rate(row: list[str]) -> float:
    try:
        return float(row[0]) if row else math.nan
    except ValueError:
        return math.nan


READER = MotionReader(
    recognises, read, "Vicon Nexus CSV: trajectories of labelled markers", read_trajectories
)
