"""Tables of marker positions as text: cells to numbers, with the line of every mistake."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from corporeal.geometry import Array
from corporeal.retargeting.motion import MotionError

MAX_CELLS = 1 << 26
_LOST = ("", "nan", "-nan", "nan(ind)", "null")


@contextmanager
def open_rows(path: Path, *, delimiter: str = ",") -> Iterator[Iterator[tuple[int, list[str]]]]:
    """The rows of a table with the number of their line, one at a time."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            reader = csv.reader(file, delimiter=delimiter)
            yield ((reader.line_num, [cell.strip() for cell in row]) for row in reader)
    except (OSError, csv.Error) as error:
        raise MotionError(f"{path}: not a table ({error}). Export the clip again.") from None


def numbers(
    rows: Iterable[tuple[int, list[str]]], columns: list[int], width: int, path: Path
) -> Array:
    """The chosen columns (T, C) of `width` up to the first empty row, NaN where a cell is blank."""
    table: list[Array] = []
    for line, row in rows:
        if not any(row):
            break
        if len(row) < width:
            raise MotionError(
                f"{path}:{line}: the line ends after {len(row)} of {width} cells, "
                f"{len(table)} whole frames are there. The file is cut off: export it again."
            )
        if (len(table) + 1) * len(columns) > MAX_CELLS:
            raise MotionError(
                f"{path}: more than {MAX_CELLS >> 20} million numbers; cut the clip, or export "
                "fewer markers."
            )
        table.append(np.array([_number(row[column], path, line) for column in columns]))
    if not table:
        raise MotionError(f"{path}: a head without frames. Export the clip again.")
    return np.stack(table)


def _number(cell: str, path: Path, line: int) -> float:
    try:
        value = float(cell)
    except ValueError:
        if cell.lower() in _LOST:
            return float("nan")
        raise MotionError(
            f"{path}:{line}: got {cell[:40]!r}; expected a number or nothing. Mend the line."
        ) from None
    return value if abs(value) < 1e9 else float("nan")
