"""A snapshot holds every table but the secrets, as of one moment, in files others can read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from sqlalchemy import func, select
from tests.catalog.entries import made_entry

from corporeal.catalog.accounts import add_account, new_token
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.episodes import add_episodes
from corporeal.catalog.permission import Actor
from corporeal.catalog.tables import EPISODE, METADATA
from corporeal.catalog.workspace import snapshot, write_snapshot

ROOT = Actor("root", "admin")


@pytest.fixture
def filled(database: Database) -> Database:
    entries = [
        made_entry(
            f"e{number:03d}",
            {"hash": f"sha256:{number:064x}", "bytes": number, "file": "x.h5", "task": "wälzen",
             "success": number % 2 == 0, "score": number / 100 if number % 3 else None,
             "recorded_ns": 1_800_000_000_000_000_000 + number, "metadata": {"shelf": [number]}},
            findings=[{"check": "one", "severity": "note", "message": "m", "frames": [[1, 2]]}],
        ) for number in range(50)
    ]  # fmt: skip
    with database.write() as connection:
        add_episodes(connection, entries, who="test")
    return database


def test_every_table_comes_back_as_it_is(
    filled: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "BLOCK", 7)
    folder = tmp_path / "out" / "snapshot"
    rows = write_snapshot(filled, folder)
    with filled.read() as connection:
        for table in METADATA.sorted_tables:
            if table not in snapshot.SECRET:
                total = connection.execute(select(func.count()).select_from(table)).scalar_one()
                read = pyarrow.parquet.read_table(folder / f"{table.name}.parquet")
                assert read.num_rows == total == rows[table.name]
                assert read.column_names == [column.name for column in table.c]
        expected = [dict(row) for row in connection.execute(
            select(EPISODE).order_by(EPISODE.c.id)).mappings()]  # fmt: skip
    got = pyarrow.parquet.read_table(folder / "episode.parquet").to_pylist()
    assert [{**row, "metadata": json.loads(row["metadata"])} for row in got] == expected
    facts = json.loads((folder / "snapshot.json").read_text())
    assert facts["last_event"]["number"] == 50
    assert [path.name for path in folder.parent.iterdir()] == ["snapshot"]


def test_no_token_leaves_the_catalogue(filled: Database, tmp_path: Path) -> None:
    with filled.write() as connection:
        add_account(connection, "ann", "admin", by=ROOT)
        secret = new_token(connection, "ann", "laptop", by=ROOT)
    write_snapshot(filled, tmp_path / "snapshot")
    assert not (tmp_path / "snapshot" / "token.parquet").exists()
    whole = b"".join(path.read_bytes() for path in (tmp_path / "snapshot").iterdir())
    assert secret[4:].encode() not in whole
    assert b"token.parquet" not in whole


def test_a_folder_that_is_there_is_left_alone(filled: Database, tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="is there already"):
        write_snapshot(filled, tmp_path)
    assert list(tmp_path.glob("*.parquet")) == []


def test_half_a_snapshot_does_not_stay(
    filled: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> str:
        raise OSError("disk full")

    monkeypatch.setattr(snapshot, "_views", fail)
    (tmp_path / "out").mkdir()
    with pytest.raises(OSError, match="disk full"):
        write_snapshot(filled, tmp_path / "out" / "snapshot")
    assert list((tmp_path / "out").iterdir()) == []


def test_others_may_write_while_a_snapshot_is_made(
    filled: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = snapshot._write

    def write_and_interfere(connection: Any, table: Any, folder: Path) -> int:
        with filled.write() as other:
            facts = {"hash": f"new{table.name}", "bytes": 1, "file": "x"}
            add_episodes(other, [made_entry(f"new_{table.name}", facts)], who="test")
        return write(connection, table, folder)

    monkeypatch.setattr(snapshot, "_write", write_and_interfere)
    rows = write_snapshot(filled, tmp_path / "snapshot")
    assert (rows["episode"], rows["event"]) == (50, 50)


def test_duckdb_reads_the_views(filled: Database, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    write_snapshot(filled, tmp_path / "snapshot")
    with duckdb.connect() as connection:
        connection.execute(f"SET file_search_path = '{tmp_path / 'snapshot'}'")
        connection.execute((tmp_path / "snapshot" / "views.sql").read_text())
        assert connection.execute("SELECT count(*) FROM episodes").fetchone() == (50,)
        year = "SELECT DISTINCT year(recorded) FROM episodes"
        assert connection.execute(year).fetchall() == [(2027,)]
        found = connection.execute("SELECT * FROM findings_by_check").fetchall()
        assert found == [("one", "note", 50, 50)]
        assert connection.execute("SELECT count(*) FROM released").fetchone() == (0,)
