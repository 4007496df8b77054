"""Numbers brought to -1 to 1 for training, by joint limits or by percentiles, and back again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from corporeal.embodiment import Embodiment
from corporeal.episode.recording import Recording
from corporeal.errors import EpisodeError, UnknownNameError, WriteError
from corporeal.exchange.layout import ColumnSpec, TableLayout
from corporeal.exchange.statistics import BlockSummary, merge_moments
from corporeal.exchange.table import table_of
from corporeal.exchange.training.joint_order import limits_of
from corporeal.schema import Document, Part

Values = NDArray[Any]
Source = Literal["limits", "range", "quantiles"]
METHODS = ("limits", "quantiles")

# A span below the rounding of float32 is noise: stretched to -1 to 1 it would look like motion.
_NO_SPAN = 4 * float(np.finfo(np.float32).eps)


class Scale(Part):
    """What -1 and 1 stand for, entry by entry of a row of `shape`, and how that was found."""

    shape: tuple[int, ...]
    names: tuple[str, ...] | None = None
    low: tuple[float, ...]
    high: tuple[float, ...]
    source: tuple[Source, ...]

    @model_validator(mode="after")
    def _has_one_for_each(self) -> Self:
        if any(size < 1 for size in self.shape):
            raise ValueError(f"shape is {list(self.shape)}; expected sizes of 1 or more")
        width = int(np.prod(self.shape, dtype=np.int64))
        for what, given in (("low", self.low), ("high", self.high), ("source", self.source)):
            if len(given) != width:
                raise ValueError(f"{what} has {len(given)} entries; expected {width}")
        if any(low > high for low, high in zip(self.low, self.high, strict=True)):
            raise ValueError("an entry of low is above high")
        return self

    @property
    def _arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The value that becomes 0, and the distance that becomes 1, entry by entry."""
        low, high = (np.array(each).reshape(self.shape) for each in (self.low, self.high))
        half = high / 2 - low / 2
        still = half <= 0
        unit = np.where(still, 1.0, half)
        return np.where(still, low, low + unit), unit


class Normalisation(Document):
    """Column by column, the values that become -1 and 1. Nothing is clipped, so all comes back.

    An entry with low equal to high has not moved: it becomes 0, and anything else its distance
    from there. Columns of whole numbers and flags are left as they are.
    """

    kind: ClassVar[str] = "normalisation"

    method: Literal["limits", "quantiles"]
    columns: dict[str, Scale] = Field(description="by key, such as observation.state")

    def apply(self, key: str, values: Values) -> Values:
        """Values (..., *row) with low at -1 and high at 1; the same when the key has no scale."""
        scale = self.columns.get(key)
        if scale is None:
            return values
        middle, unit = scale._arrays
        return ((values - middle) / unit).astype(_kept(values), copy=False)

    def invert(self, key: str, values: Values) -> Values:
        """What `apply` was given: turns the output of a policy into commands."""
        scale = self.columns.get(key)
        if scale is None:
            return values
        middle, unit = scale._arrays
        return (values * unit + middle).astype(_kept(values), copy=False)

    def save(self, path: Path | str) -> None:
        """Write it as JSON, which `load` reads."""
        try:
            Path(path).write_text(self.canonical() + "\n", "utf-8")
        except OSError as error:
            raise WriteError(f"{path}: cannot be written: {error.strerror}.") from None


def _kept(values: Values) -> np.dtype[Any]:
    kind = np.asarray(values).dtype
    return kind if kind.kind == "f" else np.dtype(np.float64)


def fit(
    recordings: Iterable[Recording], layout: TableLayout, method: str, robot: Embodiment | None
) -> Normalisation:
    """The scales of a dataset, exact over all rows of all episodes.

    `limits` takes the robot's joint limits, and the range of the data for what has none;
    `quantiles` the 1st and 99th percentile of each entry. Holds one block of rows in memory.
    """
    if method not in METHODS:
        raise UnknownNameError("method of normalisation", method, METHODS)
    scaled = {key: spec for key, spec in layout.columns.items() if spec.dtype.startswith("float")}
    rows = _rows(recordings, layout, scaled)
    ranges = _percentiles(rows, scaled) if method == "quantiles" else _ranges(rows)
    columns = {}
    for key, spec in scaled.items():
        low, high = _spread(*ranges[key])
        source: list[Source] = ["quantiles" if method == "quantiles" else "range"] * len(low)
        if method == "limits":
            for entry, (lower, upper) in _limits(spec, robot).items():
                low[entry], high[entry], source[entry] = lower, upper, "limits"
        columns[key] = Scale(
            shape=spec.shape, names=spec.names, low=tuple(low), high=tuple(high),
            source=tuple(source),
        )  # fmt: skip
    return Normalisation(
        document="normalisation", name=method, version="1.0.0", method=method, columns=columns
    )


def _spread(low: Values, high: Values) -> tuple[list[float], list[float]]:
    """The ends as numbers; equal where the entry does not move or was never measured."""
    low, high = np.nan_to_num(low, posinf=0.0), np.nan_to_num(high, neginf=0.0)
    still = high - low <= _NO_SPAN * np.maximum(np.abs(low), np.abs(high))
    return low.tolist(), np.where(still, low, high).tolist()


def _limits(spec: ColumnSpec, robot: Embodiment | None) -> dict[int, tuple[float, float]]:
    """Lower and upper limit by place in the row, where one is known."""
    limits = {entry: ends for entry, ends in enumerate(limits_of(spec, robot)) if ends is not None}
    first = 0
    for stream in spec.streams:
        quaternion = stream.quaternion_columns
        if quaternion is not None and len(stream.shape) == 1:
            limits |= {first + entry: (-1.0, 1.0) for entry in quaternion}
        first += stream.width
    return limits


Ends = dict[str, tuple[Values, Values]]


def _rows(
    recordings: Iterable[Recording], layout: TableLayout, scaled: Iterable[str]
) -> Iterator[dict[str, Values]]:
    """All rows of all episodes, a block at a time; NaN for what is not finite."""
    count = 0
    numbers_only = replace(layout, mode=False)
    for number, recording in enumerate(recordings):
        count += 1
        for block in table_of(recording, numbers_only, number=number).blocks():
            yield {key: np.where(np.isfinite(block[key]), block[key], np.nan) for key in scaled}
    if not count:
        raise EpisodeError("no episode to normalise by; expected at least one.")


def _ranges(rows: Iterable[dict[str, Values]]) -> Ends:
    moments = merge_moments(rows)
    return {key: (column.min.ravel(), column.max.ravel()) for key, column in moments.items()}


def _percentiles(rows: Iterable[dict[str, Values]], scaled: Mapping[str, ColumnSpec]) -> Ends:
    """Exact ones need all values at once: they wait on the disk, and come back entry by entry."""
    with ExitStack() as stack:
        summaries = {
            key: BlockSummary(stack.enter_context(tempfile.TemporaryFile()), spec.shape)
            for key, spec in scaled.items()
        }
        try:
            for block in rows:
                for key, values in block.items():
                    summaries[key].add(values)
        except OSError as error:
            raise WriteError(
                f"the values of all episodes cannot be put on the disk: {error.strerror}. Free "
                f"some space in {tempfile.gettempdir()}."
            ) from None
        results = {key: summary.result() for key, summary in summaries.items()}
    return {key: (each["q01"].ravel(), each["q99"].ravel()) for key, each in results.items()}
