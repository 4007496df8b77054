"""The whole catalogue as Parquet files, one for each table, for notebooks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    Integer,
    LargeBinary,
    Table,
    select,
)

from corporeal.catalog.audit import now
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.tables import HEAD, LOGIN, METADATA, SHARE, TOKEN
from corporeal.files import atomic_folder

BLOCK = 20_000
"""Rows that are in memory at once."""
SECRET = (SHARE, TOKEN, LOGIN)
"""Tables that stay at home."""
VIEWS = "views.sql"
FACTS = "snapshot.json"

_MORE_VIEWS = """
-- Episodes with times that DuckDB can count with.
CREATE OR REPLACE VIEW episodes AS
SELECT *, make_timestamp(recorded_ns // 1000) AS recorded,
       CAST(ingested_at AS TIMESTAMPTZ) AS ingested
FROM episode;

-- One row for each release, split and episode in it.
CREATE OR REPLACE VIEW released AS
SELECT member.name || '@' || member.version AS release, member.split, episode.*
FROM member JOIN episode ON episode.id = member.episode;

-- How often each check speaks, and in how many episodes.
CREATE OR REPLACE VIEW findings_by_check AS
SELECT "check", severity, count(*) AS findings, count(DISTINCT episode) AS episodes
FROM finding GROUP BY "check", severity;
"""


def write_snapshot(database: Database, folder: Path) -> dict[str, int]:
    """Write every table into a new folder, all as of one moment; rows of each by its name.

    Tokens are left out. The folder appears when everything is in it, or not at all.
    """
    if folder.exists():
        raise CatalogError(f"{folder} is there already; expected a new folder. Name another one.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with atomic_folder(folder) as part:
        with database.read() as connection:
            head = connection.execute(select(HEAD.c.number, HEAD.c.hash)).first()
            rows = {table.name: _write(connection, table, part) for table in tables()}
        facts = {
            "written_at": now(),
            "last_event": None if head is None else {"number": head.number, "hash": head.hash},
            "rows": rows,
        }
        (part / FACTS).write_text(json.dumps(facts, indent=2) + "\n", "utf-8")
        (part / VIEWS).write_text(_views(), "utf-8")
    return rows


def tables() -> list[Table]:
    """The tables of a snapshot."""
    return [table for table in METADATA.sorted_tables if table not in SECRET]


def _write(connection: Connection, table: Table, folder: Path) -> int:
    import pyarrow
    import pyarrow.parquet

    schema = pyarrow.schema([(column.name, _arrow_type(column)) for column in table.c])
    texts = [column.name for column in table.c if isinstance(column.type, JSON)]
    query = select(table).order_by(*table.primary_key.columns)
    total = 0
    with pyarrow.parquet.ParquetWriter(
        folder / f"{table.name}.parquet", schema, compression="zstd"
    ) as file:
        result = connection.execute(query.execution_options(yield_per=BLOCK))
        for block in result.mappings().partitions():
            rows = [dict(row) for row in block]
            for row in rows:
                row.update({name: _text(row[name]) for name in texts})
            file.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
            total += len(rows)
    return total


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _arrow_type(column: Column[Any]) -> Any:
    import pyarrow

    kinds = (
        (Boolean, pyarrow.bool_()),
        (BigInteger, pyarrow.int64()),
        (Integer, pyarrow.int64()),
        (Float, pyarrow.float64()),
        (LargeBinary, pyarrow.binary()),
    )
    # JSON and dates stay text, as the tables have them.
    return next((made for kind, made in kinds if isinstance(column.type, kind)), pyarrow.string())


def _views() -> str:
    lines = [
        "-- Views over a snapshot of the catalogue, for DuckDB. Start it in this folder, or say",
        "-- first: SET file_search_path = '<folder>';",
        *(
            f'CREATE OR REPLACE VIEW "{table.name}" AS '  # nosec B608
            f"SELECT * FROM read_parquet('{table.name}.parquet');"
            for table in tables()
        ),
    ]
    return "\n".join(lines) + "\n" + _MORE_VIEWS
