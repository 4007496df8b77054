"""Episodes are put in once, looked up and moved, the same on both databases."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select
from tests.catalog.entries import changed, entry

from corporeal.catalog.audit import events_of, verify
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.episodes import (
    EpisodeEntry,
    EpisodeRow,
    FindingRow,
    ScoreRow,
    add_episodes,
    find_episode,
    move_episodes,
)
from corporeal.catalog.episodes.reading import find_by_hash
from corporeal.catalog.tables import (
    EDGE,
    EPISODE,
    EVENT,
    FINDING,
    GOVERNS,
    SCORE,
    STREAM,
)
from corporeal.catalog.workspace import upgrade
from corporeal.errors import CorporealError

PROJECT = Path(__file__).resolve().parents[2]


def _count(database: Database, table: Any) -> int:
    with database.read() as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def _put(database: Database, *entries: EpisodeEntry) -> int:
    with database.write() as connection:
        return add_episodes(connection, entries, who="anna")


def _ids(numbers: range) -> list[str]:
    return [entry(number).id for number in numbers]


def test_an_episode_comes_back_as_it_was_put_in(database: Database) -> None:
    assert _put(database, entry(8)) == 1
    with database.read() as connection:
        row = find_episode(connection, entry(8).id)
        assert row == replace(entry(8).row, ingested_at=row.ingested_at, number=1)
        assert row.state == "recorded"
        assert row.ingested_at.endswith("Z")
        finding = connection.execute(select(FINDING)).mappings().one()
        assert finding["frames"] == [[3, 9]]
        assert connection.execute(select(GOVERNS.c.document)).scalar_one() == "sha256:d0"
        assert connection.execute(select(EDGE.c.parent)).scalar_one() == "session:s0"
        assert find_by_hash(connection, [entry(8).hash, "sha256:other"]) == {
            entry(8).hash: (entry(8).id, "recorded")
        }


def test_what_is_there_already_is_left_as_it_is(database: Database) -> None:
    assert _put(database, *map(entry, range(10))) == 10
    again = [*map(entry, range(12)), entry(10, task="other"), entry(3, task="changed")]
    assert _put(database, *again) == 2
    assert _count(database, EPISODE) == _count(database, EVENT) == 12
    assert _count(database, STREAM) == _count(database, SCORE) == 12
    with database.read() as connection:
        assert find_episode(connection, entry(3).id).task == "task_3"


def test_the_same_file_under_another_id_is_not_put_in_again(database: Database) -> None:
    assert _put(database, entry(1), changed(entry(1), id="other")) == 1
    assert _put(database, changed(entry(1), id="other")) == 0


def test_an_unknown_episode_is_told_with_its_name(database: Database) -> None:
    with database.read() as connection, pytest.raises(CatalogError, match="'nobody'"):
        find_episode(connection, "nobody")


def test_many_episodes_move_with_one_event_each(database: Database) -> None:
    _put(database, *map(entry, range(2500)))
    ids = _ids(range(2500))
    with database.write() as connection:
        assert move_episodes(connection, ids[:10], "accepted", who="anna", why=None) == 10
        assert move_episodes(connection, ids + ids[:5], "checked", who="ben", why="anew") == 2500
        assert move_episodes(connection, ids, "checked", who="ben", why="anew") == 0
        found = [event["details"] for event in events_of(connection, f"episode:{ids[0]}")][1:]
        assert found == [
            {"from": "recorded", "to": "accepted"},
            {"from": "accepted", "to": "checked"},
        ]
        assert list(verify(connection)) == []
    assert _count(database, EVENT) == 5010


def test_moving_needs_few_statements(database: Database) -> None:
    from sqlalchemy import event

    _put(database, *map(entry, range(1000)))
    said: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *call: said.append(call[2]))
    with database.write() as connection:
        move_episodes(connection, _ids(range(1000)), "checked", who="anna", why=None)
    assert len(said) < 12


@pytest.mark.parametrize("wrong", ["released", "unknown"])
def test_a_move_that_is_refused_moves_nothing(database: Database, wrong: str) -> None:
    _put(database, *map(entry, range(3)))
    ids = _ids(range(3)) + (["nobody"] if wrong == "unknown" else [])
    with pytest.raises(CatalogError), database.write() as connection:
        move_episodes(
            connection, ids, "checked" if wrong == "unknown" else "released", who="x", why=None
        )
    with database.read() as connection:
        assert set(connection.execute(select(EPISODE.c.state)).scalars()) == {"recorded"}
    assert _count(database, EVENT) == 3


def test_names_sort_alike_whatever_the_language_of_the_server(database: Database) -> None:
    names = ["b", "B", "a", "Z", "_", "ä", "10", "9"]
    _put(database, *(entry(number, task=name) for number, name in enumerate(names)))
    with database.read() as connection:
        query = select(EPISODE.c.task).order_by(EPISODE.c.task)
        assert connection.execute(query).scalars().all() == sorted(names)


def test_what_is_no_number_is_missing(database: Database) -> None:
    _put(database, entry(1, score=math.nan, metadata={"a": [math.nan, math.inf, 1e22]}))
    with database.read() as connection:
        row = find_episode(connection, entry(1).id)
        assert row.score is None
        assert row.metadata == {"a": [None, None, 1e22]}
        high = select(EPISODE.c.id).where(EPISODE.c.score > 0.5)
        assert connection.execute(high).first() is None


@pytest.mark.parametrize(
    "facts",
    [
        {"task": "zero \0 byte"},
        {"task": "half a pair \ud800"},
        {"task": "x" * 501},
        {"recorded_ns": 1 << 63},
        {"metadata": {"a": "\0"}},
        {"metadata": {"a": b"bytes"}},
    ],
    ids=["zero", "surrogate", "long", "big", "json zero", "json bytes"],
)
def test_what_one_database_cannot_keep_both_refuse(
    database: Database, facts: dict[str, Any]
) -> None:
    with pytest.raises(CorporealError):
        _put(database, entry(1), entry(2, **facts))
    assert _count(database, EPISODE) == _count(database, EVENT) == 0


def test_a_column_that_no_table_has_is_refused(database: Database) -> None:
    with pytest.raises(CorporealError, match="no_such_column"):
        _put(database, entry(1), replace(entry(2), scores=[{"no_such_column": 1}]))
    assert _count(database, EPISODE) == _count(database, EVENT) == 0


def test_a_row_has_one_field_for_each_column_of_its_table() -> None:
    for table, row in ((EPISODE, EpisodeRow), (FINDING, FindingRow), (SCORE, ScoreRow)):
        assert [field.name for field in fields(row)] == list(table.c.keys())


@pytest.mark.parametrize("text", ["'; DROP TABLE episode; --", '" OR 1=1', "%s %(x)s :x ?", "\\"])
def test_names_that_look_like_statements_are_names(database: Database, text: str) -> None:
    _put(database, entry(1, task=text, operator=text))
    with database.write() as connection:
        move_episodes(connection, _ids(range(1, 2)), "checked", who=text, why=text)
        row = find_episode(connection, entry(1).id)
        assert (row.task, row.operator, row.state) == (text, text, "checked")
        with pytest.raises(CatalogError):
            find_episode(connection, text)
        assert list(verify(connection)) == []


_WRITER = """
import sys
from tests.catalog.entries import entry
from corporeal.catalog.episodes.reading import find_by_hash
from corporeal.catalog.episodes import add_episodes
from corporeal.catalog.database import Database

url, first, last, lot = sys.argv[1], *map(int, sys.argv[2:])
with Database(url) as database:
    print("ready", flush=True)
    sys.stdin.readline()
    for start in range(first, last, lot):
        with database.write() as connection:
            part = range(start, min(start + lot, last))
            add_episodes(connection, [entry(number) for number in part], who=str(first))
            print("added", flush=True)
"""


def _writer(url: str, first: int, last: int, lot: int) -> subprocess.Popen[str]:
    started = subprocess.Popen(
        [sys.executable, "-c", _WRITER, url, str(first), str(last), str(lot)],
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    return started


@pytest.mark.slow
def test_four_writers_at_once_lose_nothing_and_double_nothing(
    empty_url: str, database: Database
) -> None:
    # Each overlaps with the next by half.
    writers = [_writer(empty_url, first, first + 200, 7) for first in (0, 100, 200, 300)]
    for each in writers:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    for each in writers:
        _, said = each.communicate(timeout=60)
        assert each.returncode == 0, said
    with database.read() as connection:
        found = connection.execute(select(EPISODE.c.id)).scalars().all()
        assert sorted(found) == sorted(_ids(range(500)))
        assert list(verify(connection)) == []
        assert len(set(connection.execute(select(EVENT.c.who)).scalars())) > 1
    assert _count(database, EVENT) == _count(database, STREAM) == _count(database, SCORE) == 500


@pytest.mark.slow
def test_a_writer_killed_in_a_transaction_leaves_nothing_half_done(
    empty_url: str, database: Database
) -> None:
    for round_ in range(6):
        writer = _writer(empty_url, 0, 100_000, 40)
        assert writer.stdin is not None
        assert writer.stdout is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
        for _ in range(round_ + 2):
            assert writer.stdout.readline() == "added\n"
        time.sleep(0.004 * round_)
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate(timeout=30)
        with database.write() as connection:  # Not held up by the dead.
            assert list(verify(connection)) == []
        count = _count(database, EPISODE)
        assert count % 40 == 0
        for table in (STREAM, SCORE, EVENT, GOVERNS, EDGE):
            assert _count(database, table) == count
    assert _put(database, *map(entry, range(count + 10))) == 10


@pytest.mark.alone
@pytest.mark.slow
def test_a_hundred_thousand_rows_go_in_at_five_thousand_a_second(tmp_path: Path) -> None:
    entries = [EpisodeEntry(each.row) for each in map(entry, range(100_000))]
    with Database(f"sqlite:///{tmp_path / 'catalog.db'}") as database:
        upgrade(database)
        begin = time.process_time()
        for first in range(0, len(entries), 5000):
            _put(database, *entries[first : first + 5000])
        rate = len(entries) / (time.process_time() - begin)
    assert rate >= 5000
