"""Writes one episode for a LeRobot dataset: its rows, its movies, their statistics.

The rows wait in an Arrow file, which is read without a copy. Its columns are those of the dataset,
but `index` and `task_index` count inside the episode: where it starts and which number its tasks
have is known only when all episodes are there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corporeal.episode.label_track import NOTHING, Lane
from corporeal.exchange.camera_model import camera_models
from corporeal.exchange.format import ExportContext, Loss
from corporeal.exchange.layout import lane_key, main_lane
from corporeal.exchange.lerobot.files import BOOKKEEPING, MODE, SUBTASK
from corporeal.exchange.movie.pictures import LevelHistogram
from corporeal.exchange.movie.writing import write_movie
from corporeal.exchange.statistics import summarise, summarise_blocks
from corporeal.exchange.table import BLOCK_ROWS, EpisodeTable

LOSES: tuple[Loss, ...] = ("rates", "stamps", "precision", "pictures", "labels")
STATISTICS, HISTOGRAM = "statistics.npz", "counts/"
"""The file with the statistics of an episode, and what the keys of its cameras begin with."""
PLACED = ("index", "task_index")
"""Columns that get their values only when all episodes are there."""
_ROWS = "rows.arrow"
_IN_MEMORY_BYTES = 64 << 20
# Entries of a long column that are summarised in one pass: a tactile map has hundreds.
_AT_ONCE = 64

Blocks = Iterator[NDArray[Any]]
ListName = Literal["List", "Sequence"]
MAX_AXES = 5


@dataclass(frozen=True)
class FeatureColumn:
    """A column as it is stored: `shape` is that in the table, `given` the one the rows had."""

    key: str
    dtype: str
    shape: tuple[int, ...] = (1,)
    given: tuple[int, ...] = (1,)
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
        columns.append(FeatureColumn(MODE, "int64"))
    columns += _label_columns(context.layout.lanes)
    for key in BOOKKEEPING:
        columns.append(FeatureColumn(key, "float32" if key == "timestamp" else "int64"))
    return tuple(columns)


def _label_columns(lanes: Sequence[Lane]) -> Iterator[FeatureColumn]:
    """The columns of labels: the main lane under the name that LeRobot has, then the others."""
    main = main_lane(lanes)
    for lane in lanes:
        stated = {"lane": lane.name} if lane is main else {"labels": list(lane.labels)}
        key = SUBTASK if lane is main else lane_key(lane)
        yield FeatureColumn(key, "int64", facts={**stated, "tiles": lane.tiles})


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
    known = {"calibration": movie["calibration"]} if "calibration" in movie else {}
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
            **known,
        },
    }


def common_movies(movies: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What is known of the cameras' first movies; a calibration only where all episodes share it.

    What differs from episode to episode is in the documents beside the dataset.
    """
    found = {}
    for key, first in movies[0].items():
        stated = [each[key].get("calibration") for each in movies]
        shared = all(one == stated[0] for one in stated)
        found[key] = {name: value for name, value in first.items()
                      if name != "calibration" or shared}  # fmt: skip
    return found


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


def write_episode(
    table: EpisodeTable, folder: Path, context: ExportContext, *, flat: bool = False
) -> dict[str, Any]:
    """Write an episode into an empty folder. Every picture is decoded once, or not at all."""
    columns = columns_of(context, flat=flat)
    _write_rows(table, folder, columns)
    movies: dict[str, Any] = {}
    statistics: dict[str, NDArray[Any]] = {}
    models = camera_models(table.recording)
    for key, camera in table.cameras.items():
        histogram = LevelHistogram()
        path = movie_file(folder, key)
        movie = write_movie(camera, path, rate_hz=table.rate_hz, histogram=histogram)
        statistics[f"{HISTOGRAM}{key}"] = histogram.counts
        movies[key] = {
            "size": [movie.height, movie.width],
            "codec": movie.codec,
            "pix_fmt": movie.pix_fmt,
            "mended": movie.mended,
            "remuxed": movie.remuxed,
        }
        model = models.get(camera.signal.spec.name)
        if model is not None:
            movies[key]["calibration"] = model.scaled(movie.width, movie.height).to_json()
    for column in columns:
        if column.key not in PLACED:
            statistics[column.key] = summarise_column(
                partial(read_column, folder, column), len(table), column
            )
    np.savez(folder / STATISTICS, **statistics)  # type: ignore[arg-type]
    return {"movies": movies}


def movie_file(folder: Path, key: str) -> Path:
    """Where an episode keeps the movie of a camera."""
    return folder / f"{key}.mp4"


def _write_rows(table: EpisodeTable, folder: Path, columns: Sequence[FeatureColumn]) -> None:
    """Write all rows of an episode, a block at a time."""
    schema = pa.schema([pa.field(column.key, column.arrow_type()) for column in columns])
    with pa.OSFile(str(folder / _ROWS), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for first, block in zip(range(0, len(table), BLOCK_ROWS), table.blocks(), strict=True):
            values = block | _bookkeeping(table, first, min(first + BLOCK_ROWS, len(table)))
            arrays = [column.arrow(values[column.key]) for column in columns]
            writer.write_batch(pa.record_batch(arrays, schema=schema))


def _bookkeeping(table: EpisodeTable, first: int, stop: int) -> dict[str, NDArray[Any]]:
    """Time, numbers, mode and labels of some rows."""
    frames = np.arange(first, stop)
    values: dict[str, NDArray[Any]] = dict.fromkeys(BOOKKEEPING, frames)
    values["timestamp"] = frames / table.rate_hz
    values["episode_index"] = np.full(len(frames), table.number)
    values["task_index"] = table.instruction[first:stop]
    if table.mode is not None:
        values[MODE] = table.mode[first:stop]
    return values | label_values(table, first, stop)


def read_batches(folder: Path) -> Iterator[Any]:
    """The blocks of rows of an episode, in order."""
    with pa.memory_map(str(folder / _ROWS)) as source:
        file = pa.ipc.open_file(source)
        for number in range(file.num_record_batches):
            yield file.get_batch(number)


def read_column(folder: Path, column: FeatureColumn) -> Blocks:
    """The values (rows, width) of a column, a block at a time."""
    for batch in read_batches(folder):
        yield values_of(batch, column)


def values_of(batch: Any, column: FeatureColumn) -> NDArray[Any]:
    """A column of a block as (rows, width), without a copy where Arrow allows it."""
    array = batch.column(column.key)
    for _ in () if column.is_scalar else column.shape:
        array = array.flatten()
    flat = array.to_numpy(zero_copy_only=False)
    return np.asarray(flat).reshape(batch.num_rows, math.prod(column.shape))


def summarise_column(
    blocks: Callable[[], Blocks], rows: int, column: FeatureColumn
) -> NDArray[np.float64]:
    """The statistics of a column, one row for each in the order of `statistics.NAMES`."""
    width = math.prod(column.shape)
    if 8 * rows * width <= _IN_MEMORY_BYTES:
        return np.stack(list(summarise(np.concatenate(list(blocks()))).values()))
    parts = []
    for first in range(0, width, _AT_ONCE):
        some = slice(first, min(first + _AT_ONCE, width))
        summary = summarise_blocks((block[:, some] for block in blocks()), (some.stop - first,))
        parts.append(np.stack(list(summary.values())))
    return np.concatenate(parts, axis=1)
