"""The statistics a LeRobot dataset states of itself, over all episodes and of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import Statistics
from corporeal.exchange.json_text import read_json, read_json_lines, whole
from corporeal.exchange.parquet import is_numeric, to_numpy


@dataclass(frozen=True, eq=False)
class Claims:
    """Statistics of each episode: as the lines of a file give them, or as columns of a table."""

    lines: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    columns: Mapping[str, Mapping[str, NDArray[Any]]] = field(default_factory=dict)
    rows: Mapping[int, int] = field(default_factory=dict)

    def of(self, index: int) -> dict[str, Statistics]:
        """What is stated of one episode, by feature."""
        if index in self.lines:
            return _statistics(self.lines[index])
        if index not in self.rows:
            return {}
        row = self.rows[index]
        return {
            feature: {name: np.asarray(rows[row], np.float64) for name, rows in stated.items()}
            for feature, stated in self.columns.items()
        }


def read_statistics(root: Path) -> dict[str, Statistics]:
    """meta/stats.json: over all episodes, by feature; empty when there is none."""
    path = root / "meta" / "stats.json"
    stated = read_json(path) if path.is_file() else {}
    return _statistics(stated) if isinstance(stated, dict) else {}


def read_claims(root: Path) -> Claims:
    """meta/episodes_stats.jsonl of v2.1; empty when there is none."""
    path = root / "meta" / "episodes_stats.jsonl"
    if not path.is_file():
        return Claims()
    lines = {}
    for entry in read_json_lines(path):
        stats = entry.get("stats")
        if isinstance(stats, dict):
            lines[whole(entry.get("episode_index"))] = stats
    return Claims(lines=lines)


def claims_of_table(table: Any, numbers: NDArray[Any]) -> Claims:
    """The stats/<feature>/<name> columns that the table of episodes has in v3.0."""
    columns: dict[str, dict[str, NDArray[Any]]] = {}
    for title in table.column_names:
        parts = title.split("/")
        if len(parts) < 3 or parts[0] != "stats" or not is_numeric(table.schema.field(title).type):
            continue
        try:
            rows = to_numpy(table.column(title))
        except ValueError:
            continue  # Lists of several sizes are no statistics of one feature.
        columns.setdefault("/".join(parts[1:-1]), {})[parts[-1]] = rows
    return Claims(columns=columns, rows={int(n): row for row, n in enumerate(numbers)})


def _statistics(stated: Mapping[str, Any]) -> dict[str, Statistics]:
    found: dict[str, Statistics] = {}
    for feature, values in stated.items():
        if isinstance(values, dict):
            arrays = {name: _array(value) for name, value in values.items()}
            found[feature] = {name: each for name, each in arrays.items() if each is not None}
    return found


def _array(value: Any) -> NDArray[np.float64] | None:
    try:
        return np.atleast_1d(np.asarray(value, np.float64))
    except (ValueError, TypeError):
        return None
