"""Parquet tables as numpy arrays: sizes are bounded first, and no row is handled alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from corporeal.errors import EpisodeError
from corporeal.files import refuse_pointer

MAX_BYTES = 1 << 32
_BATCH_ROWS, _BATCH_BYTES = 1 << 17, 1 << 28
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
# Codings in which a few bytes stand for a long text again and again.
_REPEATING = ("DICTIONARY", "DELTA_BYTE_ARRAY")
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
        size, rows = _measure(path, file.metadata, wanted)
        if size > MAX_BYTES:
            raise EpisodeError(
                f"{path}: unpacks to {size >> 20} MiB; expected at most {MAX_BYTES >> 20} MiB."
            )
        return _read_batches(file, wanted, path, rows, threads=size > 1 << 24)


def _read_batches(
    file: Any, names: Sequence[str], path: Path, rows: int, *, threads: bool
) -> pa.Table:
    """The columns, some rows at a time, for as long as they fit."""
    batches, total = [], 0
    for batch in file.iter_batches(batch_size=rows, columns=list(names), use_threads=threads):
        total += batch.nbytes
        if total > MAX_BYTES:
            raise EpisodeError(f"{path}: unpacks to more than {MAX_BYTES >> 20} MiB. Replace it.")
        batches.append(batch)
    if not batches:
        return file.read(columns=list(names)).select(names)
    return pa.Table.from_batches(batches).select(names)


def _measure(path: Path, metadata: Any, names: Sequence[str]) -> tuple[int, int]:
    """Bytes of the columns when unpacked, as their pages state; and how many rows to read at once.

    The footer may say less than the pages do, and a page of a few bytes may stand for a value in
    every row. Rows are fewer where each of them may repeat a long text or picture.
    """
    total, longest, count = 0, 1, 0
    with path.open("rb") as file:
        for column in _columns(metadata, names):
            width = _WIDTHS.get(column.physical_type, 4)
            repeats = any(word in coding for word in _REPEATING for coding in column.encodings)
            has_texts = column.physical_type not in _WIDTHS
            for page in read_pages(file, column):
                total += max(page.unpacked, page.values * width)
                in_dictionary = page.kind == DICTIONARY
                if has_texts and repeats and (in_dictionary or not column.has_dictionary_page):
                    longest = max(longest, page.unpacked)
                count += 1
                if count > MAX_PAGES:
                    raise ValueError(f"more than {MAX_PAGES} pages")
    return total, max(1, min(_BATCH_ROWS, _BATCH_BYTES // longest))


def _columns(metadata: Any, names: Sequence[str]) -> Iterator[Any]:
    """What the footer says of the named columns, in every group of rows."""
    tops = tuple(f"{name}." for name in names)
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for number in range(row_group.num_columns):
            column = row_group.column(number)
            if f"{column.path_in_schema}.".startswith(tops):
                yield column


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


DICTIONARY = 2
MAX_PAGES = 1 << 20
_HEADER_BYTES = 1 << 14
_DEPTH = 8
# Types of Thrift's compact protocol.
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_WHOLE = (4, 5, 6)
# Fields of a page's header, and those of the three kinds of page inside it.
_KIND, _UNPACKED, _PACKED = 1, 2, 3
_BODIES, _COUNT = (5, 7, 8), 1


@dataclass(frozen=True)
class Page:
    """One page: its kind, the bytes that it states when unpacked, and its number of values."""

    kind: int
    unpacked: int
    values: int


def read_pages(file: IO[bytes], column: Any) -> Iterator[Page]:
    """Every page of a column in one group of rows; raises ValueError where they do not follow."""
    start = column.data_page_offset
    if column.has_dictionary_page and 0 < column.dictionary_page_offset < start:
        start = column.dictionary_page_offset
    end = start + column.total_compressed_size
    seen = 0
    while start < end and seen < column.num_values:
        file.seek(start)
        reading = _Header(file.read(min(_HEADER_BYTES, end - start)))
        fields = reading.struct()
        unpacked, packed = fields.get(_UNPACKED, -1), fields.get(_PACKED, -1)
        if not (isinstance(unpacked, int) and isinstance(packed, int)) or min(unpacked, packed) < 0:
            raise ValueError(f"the page at byte {start} states no size")
        bodies = [fields[number] for number in _BODIES if isinstance(fields.get(number), dict)]
        count = bodies[0].get(_COUNT, 0) if bodies else 0
        if not isinstance(count, int) or count < 0:
            raise ValueError(f"the page at byte {start} states no number of values")
        yield Page(fields.get(_KIND, 0), unpacked, count)
        seen += 0 if fields.get(_KIND) == DICTIONARY else count
        start += reading.position + packed


class _Header:
    """A header in Thrift's compact protocol: whole numbers and structs are kept, others skipped."""

    def __init__(self, data: bytes) -> None:
        self.data, self.position = data, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Fields by number."""
        if depth > _DEPTH:
            raise ValueError("the header of a page is nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._signed()
            fields[number] = self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (_TRUE, _FALSE):
            return None
        if kind in _WHOLE:
            return self._signed()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_BYTE, _DOUBLE, _BINARY):
            self._skip({_BYTE: 1, _DOUBLE: 8}.get(kind) or self._unsigned())
            return None
        if kind in (_LIST, _SET, _MAP):
            # No page has one; a later version of the format may.
            raise ValueError("the header of a page holds a list")
        raise ValueError(f"the header of a page holds a value of kind {kind}")

    def _byte(self) -> int:
        if self.position >= len(self.data):
            raise ValueError("the header of a page is cut off or too long")
        self.position += 1
        return self.data[self.position - 1]

    def _skip(self, count: int) -> None:
        self.position += count
        if self.position > len(self.data):
            raise ValueError("the header of a page is cut off or too long")

    def _unsigned(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("the header of a page holds a number without end")

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
