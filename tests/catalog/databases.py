"""Fixtures: databases and object stores, with real servers behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import text
from tests.catalog.postgres_server import postgres_fresh, postgres_server, postgres_url
from tests.catalog.s3_server import s3_server, s3_store, s3_url

from corporeal.catalog.database import Database
from corporeal.catalog.workspace import upgrade

__all__ = ["postgres_fresh", "postgres_server", "postgres_url", "s3_server", "s3_store", "s3_url"]


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database, once of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'catalog.db'}"
    fresh: Callable[[], str] = request.getfixturevalue("postgres_fresh")
    return fresh()


@pytest.fixture
def database(empty_url: str) -> Iterator[Database]:
    """A catalogue with its tables and nothing in them, once of each kind."""
    with Database(empty_url) as made:
        upgrade(made)
        yield made


def is_alive(database: Database) -> bool:
    """Whether the database answers."""
    with database.read() as connection:
        return bool(connection.execute(text("SELECT 1")).scalar() == 1)
