"""A scope counts what its own query finds."""

from __future__ import annotations

import pytest
from tests.operations.made_up import fill, laboratory

from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.query import count_episodes
from corporeal.catalog.query.lexer import QueryError
from corporeal.operations.outcome import CONDITIONS, OUTCOMES
from corporeal.operations.scope import equals, on_days, read_scope


@pytest.mark.parametrize(
    ("query", "days"),
    [("", None), ("station = st3", None), ("task = reach or success = false", 10), ("", 3)],
)
def test_a_scope_holds_the_episodes_that_its_query_finds(
    database: Database, query: str, days: int | None
) -> None:
    fill(database, laboratory())
    with database.read() as connection:
        scope = read_scope(connection, query, days)
        inside = count_episodes(connection, scope.condition)
        assert inside == count_episodes(connection, scope.query())
        assert inside > 0


def test_an_alternative_in_a_query_stays_together_when_it_is_narrowed(database: Database) -> None:
    kept = fill(database, laboratory())
    with database.read() as connection:
        scope = read_scope(connection, 'task = reach or task = "or"')
    narrowed = scope.query(equals("station", "st1"))
    expected = sum(each.row.task in ("reach", "or") and each.row.station == "st1" for each in kept)
    with database.read() as connection:
        assert count_episodes(connection, narrowed) == expected


def test_every_episode_has_exactly_one_outcome(database: Database) -> None:
    kept = fill(database, laboratory())
    with database.read() as connection:
        scope = read_scope(connection)
        found = [count_episodes(connection, scope.query(CONDITIONS[each])) for each in OUTCOMES]
    assert sum(found) == len(kept)
    assert min(found) > 0


def test_without_erased_episodes_a_query_stays_short(database: Database) -> None:
    fill(database, [each for each in laboratory(40) if each.row.state != "erased"])
    with database.read() as connection:
        scope = read_scope(connection)
        assert scope.query() == ""
        assert scope.query(equals("operator", None)) == "operator is unknown"
        assert scope.query(*on_days(20_000)) == "recorded = 2024-10-04"


def test_a_scope_that_makes_no_sense_is_refused(database: Database) -> None:
    with database.read() as connection:
        with pytest.raises(QueryError, match="character 6"):
            read_scope(connection, "task task")
        with pytest.raises(CatalogError, match="days, got 0"):
            read_scope(connection, "", 0)
