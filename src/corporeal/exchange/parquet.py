"""Parquet tables as numpy arrays: sizes are bounded first, and no row is handled alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from corporeal.errors import EpisodeError
from corporeal.files import refuse_pointer

MAX_BYTES = 1 << 32
MAX_VALUES = 1 << 29


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    refuse_pointer(path)
    try:
        yield
    except EpisodeError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, MemoryError, OverflowError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise EpisodeError(
            f"{path}: cannot be read as a Parquet table ({reason}). Replace the file."
        ) from None


def row_count(path: Path) -> int:
    """Rows of a table, from its footer alone."""
    with _explained(path), pq.ParquetFile(path) as file:
        return int(file.metadata.num_rows)


def column_types(path: Path) -> dict[str, Any]:
    """The type of every column of a table by name, from its footer alone."""
    with _explained(path), pq.ParquetFile(path) as file:
        schema = file.schema_arrow
        return dict(zip(schema.names, schema.types, strict=True))


def read_table(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """The whole table, or those of the named columns that it has."""
    with _explained(path), pq.ParquetFile(path) as file:
        names = list(file.schema_arrow.names)
        wanted = names if columns is None else [name for name in columns if name in names]
        size = _size(file.metadata, wanted)
        if size > MAX_BYTES:
            raise EpisodeError(
                f"{path}: unpacks to {size >> 20} MiB; expected at most {MAX_BYTES >> 20} MiB."
            )
        table = file.read(columns=wanted, use_threads=size > 1 << 24)
        return table.select(wanted)


def _size(metadata: Any, names: Sequence[str]) -> int:
    tops = tuple(f"{name}." for name in names)
    total = 0
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for number in range(row_group.num_columns):
            column = row_group.column(number)
            if f"{column.path_in_schema}.".startswith(tops):
                total += max(0, column.total_uncompressed_size)
    return total


def is_numeric(kind: Any) -> bool:
    """Whether a column holds numbers, one or a list of them in each row."""
    while (
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    ):
        kind = kind.value_type
    return bool(
        pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)
    )


def to_numpy(column: Any) -> NDArray[Any]:
    """A numeric column as (N, ...); what a row lacks is NaN."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.chunks else pa.array([], array.type)
    return _values(array)


def _values(array: Any) -> NDArray[Any]:
    kind = array.type
    if pa.types.is_fixed_size_list(kind):
        width = kind.list_size
        inner = _values(array.values.slice(array.offset * width, len(array) * width))
        rows = inner.reshape(len(array), width, *inner.shape[1:])
        if array.null_count:
            rows = rows.astype(np.float64)
            rows[array.is_null().to_numpy(zero_copy_only=False)] = np.nan
        return rows
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        offsets = array.offsets.to_numpy()
        inner = _values(array.values.slice(offsets[0], offsets[-1] - offsets[0]))
        return _rows(inner, np.diff(offsets))
    values = array.to_numpy(zero_copy_only=False)
    if values.dtype == object:
        # Booleans with nulls come as objects.
        values = np.array([np.nan if each is None else float(each) for each in values])
    return np.asarray(values.astype(np.float32) if values.dtype == np.float16 else values)


def _rows(inner: NDArray[Any], widths: NDArray[Any]) -> NDArray[Any]:
    """Lists of these widths as rows; short ones are filled up with NaN."""
    if not len(widths) or (widths == widths[0]).all():
        width = int(widths[0]) if len(widths) else 0
        return inner.reshape(len(widths), width, *inner.shape[1:])
    widest = int(widths.max())
    if inner.ndim > 1 or widest * len(widths) > MAX_VALUES:
        raise ValueError(f"lists of {widths.min()} to {widest} values; expected one size")
    rows = np.full((len(widths), widest), np.nan)
    rows[np.arange(widest) < widths[:, None]] = inner
    return rows
