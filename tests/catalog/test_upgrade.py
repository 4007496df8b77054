"""The catalogue's tables are made, brought up to date and compared with the program."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, func, insert, inspect, select, text
from tests.catalog.entries import entry

from corporeal.catalog.audit import GENESIS
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.episodes import add_episodes, find_named
from corporeal.catalog.tables import FINDING, HEAD, METADATA, METRIC
from corporeal.catalog.versions import r0004_check_names
from corporeal.catalog.workspace import upgrade
from corporeal.catalog.workspace.migration import current_revision, latest_revision, require_current
from corporeal.quality.check import checks, present_name


@pytest.fixture
def empty(empty_url: str) -> Iterator[Database]:
    with Database(empty_url) as made:
        if made.is_sqlite:
            Path(str(made.url.database)).touch()
        yield made


def test_the_revisions_make_the_tables_that_the_program_uses(database: Database) -> None:
    with database.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, METADATA) == []


def test_every_index_and_constraint_is_made(database: Database) -> None:
    with database.read() as connection:
        there = inspect(connection)
        for table in METADATA.sorted_tables:
            made = {index["name"] for index in there.get_indexes(table.name)}
            assert {index.name for index in table.indexes} <= made
            keys = {key["name"] for key in there.get_foreign_keys(table.name)}
            assert {key.name for key in table.foreign_key_constraints} == keys


def test_the_audit_log_begins_with_its_head(database: Database) -> None:
    with database.read() as connection:
        assert connection.execute(select(HEAD)).all() == [(1, 0, GENESIS)]


def test_an_upgrade_of_what_is_current_changes_nothing(database: Database) -> None:
    assert upgrade(database) == upgrade(database) == latest_revision()
    require_current(database)
    with database.read() as connection:
        assert connection.execute(select(func.count()).select_from(HEAD)).scalar() == 1


def test_an_empty_database_is_told_from_an_old_one(empty: Database) -> None:
    assert current_revision(empty) is None
    with pytest.raises(CatalogError, match=r"is empty.*corporeal migrate"):
        require_current(empty)


def test_a_catalogue_of_an_older_program_is_to_be_brought_up_to_date(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corporeal.catalog.workspace.migration.latest_revision", lambda: "9999")
    with pytest.raises(CatalogError) as told:
        require_current(database)
    assert str(told.value) == (
        "the catalogue is of revision 0012; this Corporeal needs 9999. "
        "Bring it up to date with: corporeal migrate."
    )


def test_a_catalogue_of_a_newer_program_is_left_alone(database: Database) -> None:
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for act in (require_current, upgrade):
        with pytest.raises(CatalogError, match=r"revision 9999; this Corporeal needs .* older"):
            act(database)
    assert current_revision(database) == "9999"


def test_four_programs_upgrade_at_once_and_make_one_catalogue(empty: Database) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(upgrade, [empty] * 4)) == {latest_revision()}
    require_current(empty)


def test_an_upgrade_that_fails_leaves_no_table_behind(
    empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corporeal.catalog.workspace.migration.GENESIS", None)
    with pytest.raises(CatalogError):
        upgrade(empty)
    with empty.read() as connection:
        assert inspect(connection).get_table_names() == []


def _drop_what_came_with_numbers(connection: Connection) -> None:
    """What revision 7 and all after it made is taken away again."""
    people = ("practice", "certified_task", "certificate", "training", "operator", "setting")
    for later in (
        "decision",
        "tag",
        "held",
        "halt",
        "station_check",
        "campaign_card",
        "campaign",
        *people,
    ):
        connection.execute(text(f"DROP TABLE {later}"))
    connection.execute(text("ALTER TABLE review_item DROP COLUMN shown"))
    connection.execute(text("DROP INDEX ix_episode_number"))
    connection.execute(text("ALTER TABLE episode DROP COLUMN number"))


def test_findings_and_figures_of_revision_3_get_the_present_names_of_their_checks(
    database: Database,
) -> None:
    episode = entry(1)
    rows = [{"episode": episode.id, "number": number, "check": check, "severity": "fail",
             "message": "it fell", "frames": []}
            for number, check in enumerate(("stays_upright", "of_somebody_else"), 1)]  # fmt: skip
    metric = {"number": 1, "scope": "batch", "subject": "b1", "name": "findings.stays_upright",
              "at": "2026-01-01T00:00:00Z", "value": 0.5}  # fmt: skip
    with database.write() as connection:
        add_episodes(connection, [episode], who="ann")
        connection.execute(insert(FINDING), rows)
        connection.execute(insert(METRIC), [metric])
        for later in (
            "not_assessed",
            "assessment",
            "synopsis",
            "reference",
            "login",
        ):
            connection.execute(text(f"DROP TABLE {later}"))
        _drop_what_came_with_numbers(connection)
        connection.execute(text("UPDATE alembic_version SET version_num = '0003'"))
    assert upgrade(database) == latest_revision()
    with database.read() as connection:
        query = select(FINDING.c.check).order_by(FINDING.c.number)
        assert connection.execute(query).scalars().all() == ["robot_fell", "of_somebody_else"]
        assert connection.execute(select(METRIC.c.name)).scalar() == "findings.robot_fell"


def test_episodes_from_before_there_were_numbers_are_counted_as_they_came_in(
    database: Database,
) -> None:
    with database.write() as connection:
        for number in (5, 3, 9):
            add_episodes(connection, [entry(number)], who="ann")
        _drop_what_came_with_numbers(connection)
        connection.execute(text("UPDATE alembic_version SET version_num = '0006'"))
    assert upgrade(database) == latest_revision()
    with database.write() as connection:
        add_episodes(connection, [entry(1)], who="ann")
        ids = [find_named(connection, f"#{number}").id for number in range(1, 5)]
    assert ids == [entry(number).id for number in (5, 3, 9, 1)]


def test_every_name_that_revision_4_changes_still_leads_to_the_same_check() -> None:
    renamed = r0004_check_names._RENAMED
    assert len(renamed) == len(set(renamed.values())) == 102
    for old, new in renamed.items():
        assert present_name(old) == present_name(new) in checks()
