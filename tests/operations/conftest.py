"""Fixtures of the tests of operations: a catalogue, once in SQLite and once in PostgreSQL."""

from __future__ import annotations

from tests.catalog.conftest import (
    database,
    empty_url,
    postgres_fresh,
    postgres_server,
    postgres_url,
)

__all__ = ["database", "empty_url", "postgres_fresh", "postgres_server", "postgres_url"]
