"""Labels in a LeRobot dataset: `subtask_index` with its list in meta/, other lanes beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from corporeal.episode.label_track import NOTHING, LabelSpan, LabelTrack, Lane, spans_of_rows
from corporeal.exchange.json_text import read_json_lines, whole
from corporeal.exchange.label_columns import lane_key, main_lane
from corporeal.exchange.layout import LABELS
from corporeal.exchange.lerobot.features import SUBTASK
from corporeal.exchange.lerobot.info import Feature, Info
from corporeal.exchange.parquet import read_table
from corporeal.exchange.table import EpisodeTable

LANE = "subtask"
"""What the lane is called in datasets of others."""
_NAME_LENGTH = 1024
_MOST = 4096
_NOTE = (
    b'{"index_columns": ["subtask"], "column_indexes": [{"name": null, "field_name": null, '
    b'"pandas_type": "unicode", "numpy_type": "object", "metadata": {"encoding": "UTF-8"}}], '
    b'"columns": [{"name": "subtask_index", "field_name": "subtask_index", "pandas_type": "int64", '
    b'"numpy_type": "int64", "metadata": null}, {"name": "subtask", "field_name": "subtask", '
    b'"pandas_type": "unicode", "numpy_type": "object", "metadata": null}]}'
)


@dataclass(frozen=True)
class LaneColumn:
    """A column of label numbers in a dataset that is read."""

    key: str
    lane: Lane


def label_values(table: EpisodeTable, first: int, stop: int) -> dict[str, NDArray[np.int64]]:
    """The numbers of some rows by column. A row without a subtask has the empty one, the last."""
    lanes = table.layout.lanes
    values = {lane_key(lane): table.labels[lane.name][first:stop] for lane in lanes}
    main = main_lane(lanes)
    if main is not None:
        numbers = values.pop(lane_key(main))
        values[SUBTASK] = np.where(numbers == NOTHING, len(main.labels), numbers)
    return values


def subtasks(lanes: Sequence[Lane]) -> tuple[str, ...]:
    """The list of subtasks: LeRobot looks names up by their place, so none may be missing."""
    main = main_lane(lanes)
    return (*main.labels, "") if main is not None else ()


def write_subtasks(path: Path, texts: Sequence[str]) -> None:
    """The subtasks as pandas stores a table that they are the index of."""
    columns: list[Any] = [pa.array(range(len(texts)), pa.int64()), pa.array(texts, pa.string())]
    schema = pa.schema(
        [(SUBTASK, pa.int64()), ("subtask", pa.string())], metadata={b"pandas": _NOTE}
    )
    pq.write_table(pa.table(columns, schema=schema), path)


def lane_columns(info: Info) -> tuple[LaneColumn, ...]:
    """The columns of labels that a dataset has, ours or others'; none when it has no list."""
    found = []
    for feature in info.features.values():
        labels = _subtasks(info) if feature.key == SUBTASK else _labels(feature)
        if labels:
            tiles = feature.facts.get("tiles") is True
            lane = Lane(name=_lane_name(feature), labels=labels, tiles=tiles)
            found.append(LaneColumn(feature.key, lane))
    return tuple(found)


def _lane_name(feature: Feature) -> str:
    if feature.key != SUBTASK:
        return feature.key.removeprefix(LABELS).strip()[:_NAME_LENGTH] or LANE
    stated = feature.facts.get("lane")
    return stated.strip()[:_NAME_LENGTH] or LANE if isinstance(stated, str) else LANE


def track_of(
    found: Sequence[LaneColumn],
    columns: Mapping[str, NDArray[Any]],
    time_ns: NDArray[np.int64],
) -> LabelTrack | None:
    """The labels of an episode's rows; None when they say nothing."""
    spans: list[LabelSpan] = []
    for each in found:
        values = columns.get(each.key)
        if values is not None and values.size == len(time_ns) and values.dtype.kind in "iu":
            numbers = values.reshape(-1).astype(np.int64)
            spans += spans_of_rows(each.lane, numbers, time_ns)
    lanes = tuple(each.lane for each in found)
    return LabelTrack(lanes=lanes, spans=tuple(spans)) if spans else None


def _labels(feature: Feature) -> tuple[str, ...]:
    """The labels of a lane that Corporeal wrote beside the subtasks."""
    listed = feature.facts.get("labels")
    if not feature.key.startswith(LABELS) or not isinstance(listed, list):
        return ()
    return _named(dict(enumerate(listed)))


def _subtasks(info: Info) -> tuple[str, ...]:
    meta = info.root / "meta"
    if (meta / "subtasks.parquet").is_file():
        table = read_table(meta / "subtasks.parquet")
        texts = [column.name for column in table.schema if pa.types.is_string(column.type)
                 or pa.types.is_large_string(column.type)]  # fmt: skip
        if SUBTASK not in table.column_names or not texts or table.num_rows > _MOST:
            return ()
        name = next((each for each in ("subtask", "__index_level_0__") if each in texts), texts[0])
        numbers = map(whole, table.column(SUBTASK).to_pylist())
        return _named(dict(zip(numbers, table.column(name).to_pylist(), strict=True)))
    lines = meta / "subtasks.jsonl"
    if not lines.is_file():
        return ()
    found: dict[int, Any] = {}
    for line in read_json_lines(lines):
        found[whole(line.get(SUBTASK))] = line.get("subtask")
        if len(found) > _MOST:
            return ()
    return _named(found)


def _named(found: Mapping[int, Any]) -> tuple[str, ...]:
    """Labels by their numbers, up to an empty one at the end, which stands for none."""
    if sorted(found) != list(range(len(found))):
        return ()
    texts = [str(found[number] or "").strip()[:_NAME_LENGTH] for number in range(len(found))]
    while texts and not texts[-1]:
        texts.pop()
    return tuple(texts) if all(texts) else ()
