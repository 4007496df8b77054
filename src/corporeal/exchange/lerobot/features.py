"""The features of a LeRobot dataset: what info.json says of each, and how Parquet stores it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corporeal.episode.label_track import NOTHING, Lane
from corporeal.exchange.format import ExportContext
from corporeal.exchange.layout import lane_key, main_lane
from corporeal.exchange.lerobot.files import BOOKKEEPING
from corporeal.exchange.table import EpisodeTable

MODE, SUBTASK = "mode", "subtask_index"
MAX_AXES = 5

ListName = Literal["List", "Sequence"]


@dataclass(frozen=True)
class FeatureColumn:
    """A column as it is stored: `shape` is that in the table, `given` the one the rows had."""

    key: str
    dtype: str
    shape: tuple[int, ...]
    given: tuple[int, ...]
    names: tuple[str, ...] | None = None
    units: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What info.json says of it besides, which LeRobot does not look at."""

    @property
    def is_scalar(self) -> bool:
        """Whether a row has a plain number, not a list of one."""
        return self.shape == (1,)

    def arrow_type(self) -> Any:
        """The type of one row in Parquet."""
        kind: Any = pa.from_numpy_dtype(np.dtype(self.dtype))
        if self.is_scalar:
            return kind
        if len(self.shape) == 1:
            return pa.list_(kind, self.shape[0])
        for _ in self.shape:
            kind = pa.list_(kind)
        return kind

    def arrow(self, values: NDArray[Any]) -> Any:
        """Values (rows, ...) as an Arrow array."""
        flat = np.ascontiguousarray(values, self.dtype).reshape(-1)
        if self.is_scalar:
            return pa.array(flat)
        if len(self.shape) == 1:
            return pa.FixedSizeListArray.from_arrays(pa.array(flat), self.shape[0])
        return nest_lists(flat.reshape(-1, *self.shape))

    def hugging_face(self, list_name: ListName) -> dict[str, Any]:
        """What the library datasets calls such a column."""
        if self.is_scalar:
            return {"dtype": self.dtype, "_type": "Value"}
        if len(self.shape) == 1:
            value = {"dtype": self.dtype, "_type": "Value"}
            return {"feature": value, "length": self.shape[0], "_type": list_name}
        kind = f"Array{len(self.shape)}D"
        return {"shape": list(self.shape), "dtype": self.dtype, "_type": kind}

    def entry(self) -> dict[str, Any]:
        """What info.json says of it; LeRobot does not look at units and the shape before."""
        names = list(self.names) if self.names else None
        stated: dict[str, Any] = {"dtype": self.dtype, "shape": list(self.shape), "names": names}
        if self.units:
            alike = len(set(self.units)) == 1
            stated["unit"] = self.units[0] if alike else list(self.units)
        if self.given != self.shape:
            stated |= {"names": None, "original_shape": list(self.given), "original_names": names}
        return {**stated, **self.facts}


def nest_lists(values: NDArray[Any]) -> Any:
    """Values (rows, ...) as lists of lists, one level for every axis after the first."""
    array: Any = pa.array(np.ascontiguousarray(values).reshape(-1))
    for size in reversed(values.shape[1:]):
        offsets = np.arange(0, len(array) + 1, size, dtype=np.int32)
        array = pa.ListArray.from_arrays(pa.array(offsets), array)
    return array


def columns_of(context: ExportContext, *, flat: bool = False) -> tuple[FeatureColumn, ...]:
    """All columns of the tables, LeRobot's own five last; `flat` leaves no column two axes."""
    columns = []
    for key, spec in context.layout.columns.items():
        dtype = "float32" if spec.dtype.startswith("float") else spec.dtype
        axes = len(spec.shape)
        given = spec.shape
        shape = (math.prod(given),) if axes > MAX_AXES or (flat and axes > 1) else given
        normalised = context.options.normalise != "none" and dtype == "float32"
        units = ("1",) * len(spec.units) if normalised else spec.units
        columns.append(FeatureColumn(key, dtype, shape, given, spec.names, units))
    if context.layout.mode:
        columns.append(FeatureColumn(MODE, "int64", (1,), (1,)))
    columns += _label_columns(context.layout.lanes)
    for key in BOOKKEEPING:
        columns.append(FeatureColumn(key, "float32" if key == "timestamp" else "int64", (1,), (1,)))
    return tuple(columns)


def _label_columns(lanes: Sequence[Lane]) -> Iterator[FeatureColumn]:
    """The columns of labels: the main lane under the name that LeRobot has, then the others."""
    main = main_lane(lanes)
    for lane in lanes:
        if lane is main:
            facts = {"lane": lane.name, "tiles": lane.tiles}
            yield FeatureColumn(SUBTASK, "int64", (1,), (1,), facts=facts)
        else:
            facts = {"labels": list(lane.labels), "tiles": lane.tiles}
            yield FeatureColumn(lane_key(lane), "int64", (1,), (1,), facts=facts)


def schema_of(columns: Sequence[FeatureColumn], list_name: ListName) -> Any:
    """The Parquet schema, with the note from which `datasets` knows the types at once."""
    features = {column.key: column.hugging_face(list_name) for column in columns}
    note = json.dumps({"info": {"features": features}})
    # Not as the extension type that `datasets` has for several axes: pandas cannot write that
    # back, and LeRobot's tools that join datasets go through pandas.
    fields = [pa.field(column.key, column.arrow_type()) for column in columns]
    return pa.schema(fields, metadata={"huggingface": note})


def camera_entry(movie: Mapping[str, Any], rate: int | float) -> dict[str, Any]:
    """What info.json says of a camera, by what is known of its first movie."""
    height, width = movie["size"]
    return {
        "dtype": "video",
        "shape": [height, width, 3],
        "names": ["height", "width", "channels"],
        "info": {
            "video.height": height,
            "video.width": width,
            "video.codec": movie["codec"],
            "video.pix_fmt": movie["pix_fmt"],
            "video.is_depth_map": False,
            "video.fps": rate,
            "video.channels": 3,
            "has_audio": False,
        },
    }


def feature_entries(
    columns: Sequence[FeatureColumn], movies: Mapping[str, Mapping[str, Any]], rate: int | float
) -> dict[str, Any]:
    """The features of info.json: columns, cameras, then LeRobot's own."""
    own = [column for column in columns if column.key in BOOKKEEPING]
    given = [column for column in columns if column.key not in BOOKKEEPING]
    return (
        {column.key: column.entry() for column in given}
        | {key: camera_entry(movie, rate) for key, movie in movies.items()}
        | {column.key: column.entry() for column in own}
    )


def label_values(table: EpisodeTable, first: int, stop: int) -> dict[str, NDArray[np.int64]]:
    """The numbers of some rows by column. A row without a subtask has the empty one, the last."""
    lanes = table.layout.lanes
    values = {lane_key(lane): table.labels[lane.name][first:stop] for lane in lanes}
    main = main_lane(lanes)
    if main is not None:
        numbers = values.pop(lane_key(main))
        values[SUBTASK] = np.where(numbers == NOTHING, len(main.labels), numbers)
    return values


def subtasks_of(lanes: Sequence[Lane]) -> tuple[str, ...]:
    """The list of subtasks: LeRobot looks names up by their place, so none may be missing."""
    main = main_lane(lanes)
    return (*main.labels, "") if main is not None else ()
