"""An episode goes by one number in a workspace; the number, the id or a part of it finds it."""

from __future__ import annotations

import pytest
from tests.catalog.entries import entry, made_entry

from corporeal.catalog.database import Database
from corporeal.catalog.episodes import (
    UnknownEpisodeError,
    add_episodes,
    find_named,
    move_episodes,
    numbers_of,
)
from corporeal.catalog.query import episode_page, parse, query_text

FACTS = {"bytes": 1, "file": "walk.h5"}
ALIKE = ("01a1e2a2-7f45-0000-0000-00000000abcd", "01a1e2a2-7f46-0000-0000-00000000ffff")


def _put(database: Database, *ids: str) -> None:
    entries = [made_entry(name, {**FACTS, "hash": f"sha256:{name}"}) for name in ids]
    with database.write() as connection:
        add_episodes(connection, entries, who="anna")


def test_numbers_count_up_in_the_order_of_ingest_and_are_kept(database: Database) -> None:
    with database.write() as connection:
        add_episodes(connection, [entry(7), entry(2)], who="anna")
        add_episodes(connection, [entry(2), entry(5)], who="anna")
        move_episodes(connection, [entry(5).id], "erased", who="anna", why="consent")
        add_episodes(connection, [entry(1)], who="anna")
        ids = [entry(number).id for number in (7, 2, 5, 1)]
        assert numbers_of(connection, ids) == dict(zip(ids, (1, 2, 3, 4), strict=True))


@pytest.mark.parametrize("name", ["#2", "2", "0002", ALIKE[1], "FFFF", "0000ffff", "01a1e2a2-7f46"])
def test_any_name_that_means_one_episode_finds_it(database: Database, name: str) -> None:
    _put(database, *ALIKE)
    with database.read() as connection:
        assert find_named(connection, name).id == ALIKE[1]


def test_a_part_of_several_ids_is_answered_with_their_numbers(database: Database) -> None:
    _put(database, *ALIKE)
    with database.read() as connection:
        with pytest.raises(UnknownEpisodeError, match="several ids, those of #1 and #2; expected"):
            find_named(connection, "01a1e2a2")
        for unknown in ("#3", "3", "fff", "nobody", "#ffff", "%%%%"):
            with pytest.raises(UnknownEpisodeError, match="not in the catalogue"):
                find_named(connection, unknown)


def test_a_query_asks_for_numbers(database: Database) -> None:
    _put(database, *ALIKE)
    with database.read() as connection:
        for query, number in (("#2", 2), ("number = 1", 1), ("#1 and file = walk.h5", 1)):
            assert [row.number for row in episode_page(connection, query).rows] == [number]
        assert len(episode_page(connection, "#1 or #2").rows) == 2
        highest = episode_page(connection, order="-number").rows
        assert [row.name for row in highest] == ["#2", "#1"]
    assert query_text(parse("#2")) == "number = 2"
