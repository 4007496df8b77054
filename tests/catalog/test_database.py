"""A database is reached, shared and explained."""

from __future__ import annotations

import contextlib
import sys
import threading
from pathlib import Path

import pytest
from sqlalchemy import func, insert, select, text
from sqlalchemy.exc import DBAPIError
from tests.catalog.databases import is_alive

from corporeal.catalog import database as database_module
from corporeal.catalog.database import CatalogError, Database, masked
from corporeal.catalog.tables import DOCUMENT
from corporeal.errors import MissingExtraError

_DOCUMENT = {"kind": "schema", "name": "lab", "version": "1", "text": ""}


def _add(database: Database, name: str) -> None:
    with database.write() as connection:
        connection.execute(insert(DOCUMENT).values(hash=name, **_DOCUMENT))


def _count(database: Database) -> int:
    with database.read() as connection:
        return int(connection.execute(select(func.count()).select_from(DOCUMENT)).scalar_one())


def test_a_database_answers(database: Database) -> None:
    assert is_alive(database)


def test_a_transaction_stays_as_a_whole(database: Database) -> None:
    _add(database, "one")
    assert _count(database) == 1


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, CatalogError])
def test_a_transaction_that_fails_leaves_nothing(
    database: Database, error: type[BaseException]
) -> None:
    def fail() -> None:
        with database.write() as connection:
            connection.execute(insert(DOCUMENT).values(hash="one", **_DOCUMENT))
            raise error

    with pytest.raises(error):
        fail()
    assert _count(database) == 0
    _add(database, "two")


def test_nothing_that_is_done_while_reading_stays(database: Database) -> None:
    with contextlib.suppress(CatalogError), database.read() as connection:
        connection.execute(insert(DOCUMENT).values(hash="one", **_DOCUMENT))
    assert _count(database) == 0


def test_a_reader_neither_waits_for_a_writer_nor_sees_half_of_its_work(database: Database) -> None:
    with database.write() as connection:
        connection.execute(insert(DOCUMENT).values(hash="one", **_DOCUMENT))
        assert _count(database) == 0
    assert _count(database) == 1


def test_writers_take_turns_from_their_first_look_on(database: Database) -> None:
    order = []
    inside = threading.Event()

    def second() -> None:
        inside.wait()
        with database.write() as connection:
            order.append(connection.execute(select(func.count()).select_from(DOCUMENT)).scalar())

    other = threading.Thread(target=second)
    other.start()
    with database.write() as connection:
        inside.set()
        other.join(0.2)
        connection.execute(insert(DOCUMENT).values(hash="one", **_DOCUMENT))
        order.append(None)
    other.join(30)
    assert order == [None, 1]


def test_a_writer_who_waits_too_long_is_told(
    empty_url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "_WAIT_S", 1)
    with (
        Database(empty_url) as other,
        database.write(),
        pytest.raises(CatalogError, match=r"lock"),
        other.write(),
    ):
        pytest.fail("two writers at once")
    _add(database, "one")


def test_a_mistake_is_told_in_one_sentence(database: Database) -> None:
    _add(database, "one")
    with pytest.raises(CatalogError) as told:
        _add(database, "one")
    assert "\n" not in str(told.value)
    assert isinstance(told.value.__cause__, DBAPIError)


def test_a_foreign_key_is_kept(database: Database) -> None:
    with pytest.raises(CatalogError, match=r"(?i)foreign key"), database.write() as connection:
        connection.execute(text("INSERT INTO score (episode, part) VALUES ('nobody', 'x')"))


def test_a_catalogue_that_is_not_there_is_not_made_by_looking(tmp_path: Path) -> None:
    with (
        Database("sqlite:///catalog.db", root=tmp_path) as database,
        pytest.raises(CatalogError, match="does not exist"),
    ):
        is_alive(database)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").write_text("something else entirely " * 50)
    with (
        Database("sqlite:///catalog.db", root=tmp_path) as database,
        pytest.raises(CatalogError, match="not a database"),
    ):
        is_alive(database)


def test_a_power_cut_loses_no_transaction_that_was_told_of(tmp_path: Path) -> None:
    with Database("sqlite:///catalog.db", root=tmp_path) as database, database.write() as made:
        assert made.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert made.execute(text("PRAGMA synchronous")).scalar() == 2
        assert made.execute(text("PRAGMA foreign_keys")).scalar() == 1


@pytest.mark.parametrize(
    "url",
    [
        "",
        "catalog.db",
        "mysql://me@there/db",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:catalog.db",
        "sqlite:///catalog.db?uri=true",
        "sqlite:///../catalog.db",
        "sqlite:///a/../../catalog.db",
        "postgresql://me:secret@there:port/db",
        "postgresql://me@there/db?password=secret",
        "nonsense//me:secret@there",
        "no_such_thing+driver://me:secret@there/db",
    ],
)
def test_another_address_is_refused_without_saying_its_password(tmp_path: Path, url: str) -> None:
    with pytest.raises(CatalogError, match=r"expected .*") as told:
        Database(url, root=tmp_path)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:secret@there/db", "postgresql://me:***@there/db"),
        ("postgresql://me:sec@ret@there/db", "postgresql://me:***@there/db"),
        ("postgresql://me@there/db?sslpassword=secret&a=b",
         "postgresql://me@there/db?sslpassword=***&a=b"),
        ("postgresql://me@there:5432/db", "postgresql://me@there:5432/db"),
        ("sqlite:///catalog.db", "sqlite:///catalog.db"),
        ("objects", "objects"),
    ],
)  # fmt: skip
def test_an_address_is_shown_without_its_password(url: str, shown: str) -> None:
    assert masked(url) == shown


def test_a_server_that_does_not_answer_is_told_without_the_password() -> None:
    pytest.importorskip("psycopg")
    with Database("postgresql://me:secret@127.0.0.1:1/db") as database:
        assert "secret" not in database.shown
        with pytest.raises(CatalogError, match=r"127\.0\.0\.1") as told:
            is_alive(database)
    assert "secret" not in str(told.value)
    assert "\n" not in str(told.value)


def test_without_its_driver_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"corporeal\[server\]"):
        Database("postgresql://me@there/db")
