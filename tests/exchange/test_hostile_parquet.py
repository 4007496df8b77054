"""A Parquet table is measured by its pages before any of it is unpacked."""

from __future__ import annotations

import resource
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corporeal.errors import EpisodeError
from corporeal.exchange import parquet


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_tables_of_all_kinds_of_pages_are_read_whole(
    tmp_path: Path, version: str, compression: str
) -> None:
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "number": rng.normal(size=5000),
            "few": np.arange(5000) % 3,
            "text": [f"word {number % 7}" for number in range(5000)],
            "list": [[1.0, 2.0] for _ in range(5000)],
            "bytes": [rng.bytes(100) for _ in range(5000)],
            "none": pa.array([None] * 5000, pa.int64()),
        }
    )
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, data_page_version=version, compression=compression,
                   data_page_size=4096, row_group_size=2000)  # fmt: skip
    assert parquet.read_table(path).equals(table)
    assert parquet.read_table(path, ["text", "absent"]).equals(table.select(["text"]))


def test_a_table_without_rows_is_read(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array([], pa.float64())})
    pq.write_table(table, tmp_path / "a.parquet")
    assert parquet.read_table(tmp_path / "a.parquet").equals(table)


def test_a_value_that_stands_for_every_row_counts_in_every_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": np.zeros(1 << 19)}), path)
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(parquet, "MAX_BYTES", 1 << 20)
    with pytest.raises(EpisodeError, match="unpacks to 4 MiB; expected at most 1 MiB"):
        parquet.read_table(path)


def test_a_text_that_is_repeated_in_every_row_is_read_a_few_rows_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    text = pa.DictionaryArray.from_arrays(np.zeros(20_000, np.int32), ["x" * (1 << 20)])
    pq.write_table(pa.table({"a": text}), path, store_schema=False)
    assert path.stat().st_size < 1 << 20
    monkeypatch.setattr(parquet, "MAX_BYTES", 1 << 25)
    monkeypatch.setattr(parquet, "_BATCH_BYTES", 1 << 23)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(EpisodeError, match="unpacks to more than 32 MiB"):
        parquet.read_table(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 18


def test_a_page_that_unpacks_to_more_than_the_footer_states_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [b"\0" * (1 << 22)]}), path, compression="zstd",
                   use_dictionary=False, write_statistics=False)  # fmt: skip
    column = pq.ParquetFile(path).metadata.row_group(0).column(0)
    monkeypatch.setattr(parquet, "MAX_BYTES", 1 << 20)
    monkeypatch.setattr(parquet, "_columns", lambda *_: [_Understated(column)])
    with pytest.raises(EpisodeError, match="unpacks to 4 MiB"):
        parquet.read_table(path)


class _Understated:
    """A column whose footer says that it unpacks to nothing."""

    total_uncompressed_size = 0

    def __init__(self, column: object) -> None:
        self._column = column

    def __getattr__(self, name: str) -> object:
        return getattr(self._column, name)
