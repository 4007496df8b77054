"""A workspace is carried to other servers and back, with everything in it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, select, update
from tests.catalog.entries import changed, entry
from tests.catalog.s3_server import S3Server

from corporeal.catalog.audit import Change, head, record, verify
from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import EpisodeEntry, add_episodes, move_episodes
from corporeal.catalog.tables import EPISODE, EVENT, FINDING, METADATA, METRIC
from corporeal.catalog.workspace import Workspace, make_workspace, relocate


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Workspace]:
    """A laptop's workspace with 30 episodes, one of them erased, and a metric."""
    with make_workspace(tmp_path / "lab") as made:
        _ingest(made, range(30))
        with made.database.write() as connection:
            move_episodes(connection, [_held(7).id], "erased", who="anna", why="consent withdrawn")
            metric = {"scope": "batch", "subject": "b1", "name": "mean score", "at": "now"}
            connection.execute(insert(METRIC).values(value=0.5, **metric))
        made.store.erase(_digest(7))
        yield made


@pytest.fixture(params=["sqlite", "postgresql"])
def team(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workspace]:
    """An empty workspace on each database."""
    catalog = "sqlite:///catalog.db"
    if request.param == "postgresql":
        fresh: Callable[[], str] = request.getfixturevalue("postgres_fresh")
        catalog = fresh()
    with make_workspace(tmp_path / "team", catalog=catalog) as made:
        yield made


def _bytes(number: int) -> bytes:
    return f"episode {number} ".encode() * 50


def _digest(number: int) -> str:
    return f"sha256:{hashlib.sha256(_bytes(number)).hexdigest()}"


def _held(number: int) -> EpisodeEntry:
    made = entry(number)
    return changed(made, hash=_digest(number))


def _ingest(workspace: Workspace, numbers: range) -> None:
    source = workspace.root / "incoming"
    for number in numbers:
        source.write_bytes(_bytes(number))
        assert workspace.store.put(source) == _digest(number)
    with workspace.database.write() as connection:
        add_episodes(connection, [_held(number) for number in numbers], who="anna")


def _everything(workspace: Workspace) -> dict[str, list[dict[str, Any]]]:
    with workspace.database.read() as connection:
        return {
            table.name: [
                dict(row)
                for row in connection.execute(
                    select(table).order_by(*table.primary_key.columns)
                ).mappings()
            ]
            for table in METADATA.sorted_tables
        }


def _same(one: Workspace, other: Workspace) -> bool:
    objects = list(one.store.digests()) == list(other.store.digests())
    return objects and _everything(one) == _everything(other)


def test_everything_arrives_and_the_source_stays_as_it_was(lab: Workspace, team: Workspace) -> None:
    before = _everything(lab)
    heard: list[str] = []
    done = relocate(lab, team, on_object=heard.append)
    assert _same(lab, team)
    assert _everything(lab) == before
    assert (done.objects, done.copied, done.lost) == (29, 29, ())
    assert done.rows == sum(map(len, before.values()))
    assert done.bytes == sum(len(_bytes(number)) for number in range(30) if number != 7)
    assert sorted(heard) == list(lab.store.digests())
    assert "29 objects" in done.words
    assert done.to_json()["rows"] == done.rows


def test_work_goes_on_at_the_target(lab: Workspace, team: Workspace) -> None:
    relocate(lab, team)
    _ingest(team, range(30, 60))
    with team.database.write() as connection:
        metric = {"scope": "batch", "subject": "b2", "name": "mean score", "at": "now"}
        connection.execute(insert(METRIC).values(value=0.5, **metric))
        assert list(verify(connection)) == []
        numbers = connection.execute(select(FINDING.c.number)).scalars().all()
    assert sorted(numbers) == list(range(1, 16))


def test_an_interrupted_journey_goes_on_where_it_was(lab: Workspace, team: Workspace) -> None:
    heard: list[str] = []

    def stop(digest: str) -> None:
        heard.append(digest)
        if len(heard) == 11:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        relocate(lab, team, on_object=stop)
    assert _everything(team)["episode"] == []
    assert relocate(lab, team).copied == 29 - 11
    assert _same(lab, team)
    assert relocate(lab, team).copied == 0
    assert _same(lab, team)


def test_a_second_journey_follows_what_happened_meanwhile(lab: Workspace, team: Workspace) -> None:
    relocate(lab, team)
    _ingest(lab, range(30, 35))
    with lab.database.write() as connection:
        move_episodes(connection, [_held(3).id], "erased", who="anna", why="consent withdrawn")
        move_episodes(connection, [_held(4).id], "failed", who="anna", why=None)
    lab.store.erase(_digest(3))
    assert relocate(lab, team).copied == 5
    assert team.store.has(_digest(3)) is None
    assert _same(lab, team)


def test_a_target_with_a_history_of_its_own_is_refused(lab: Workspace, team: Workspace) -> None:
    with team.database.write() as connection:
        record(connection, [Change("ben", "state", "episode:other")])
    before = _everything(team)
    with pytest.raises(CatalogError, match="got a history of its own"):
        relocate(lab, team)
    assert _everything(team) == before


def test_a_target_that_went_on_by_itself_is_refused(lab: Workspace, team: Workspace) -> None:
    relocate(lab, team)
    _ingest(team, range(30, 31))
    before = _everything(team)
    with pytest.raises(CatalogError, match="got a history of its own"):
        relocate(lab, team)
    assert _everything(team) == before


def test_a_target_with_other_rows_or_objects_is_refused(lab: Workspace, team: Workspace) -> None:
    strange = team.root / "strange"
    strange.write_bytes(b"strange")
    digest = team.store.put(strange)
    with pytest.raises(CatalogError, match="got 1 objects that the source does not have"):
        relocate(lab, team)
    assert team.store.has(digest)
    with team.database.write() as connection:
        metric = {"scope": "batch", "subject": "b2", "name": "mean score", "at": "now"}
        connection.execute(insert(METRIC).values(value=0.5, **metric))
    with pytest.raises(CatalogError, match="rows of its own in the table metric"):
        relocate(lab, team)


def test_a_workspace_is_not_carried_to_itself(lab: Workspace) -> None:
    with pytest.raises(CatalogError, match="has the catalogue of the source"):
        relocate(lab, lab)


def test_a_broken_audit_log_is_not_carried(lab: Workspace, team: Workspace) -> None:
    with lab.database.write() as connection:
        connection.execute(update(EVENT).where(EVENT.c.number == 3).values(who="mallory"))
    with pytest.raises(CatalogError, match=r"audit log of the source: event 3 was changed"):
        relocate(lab, team)
    assert _everything(team)["event"] == []


def test_an_object_damaged_at_the_target_is_found(lab: Workspace, team: Workspace) -> None:
    relocate(lab, team)
    name = _digest(5).removeprefix("sha256:")
    path = Path(team.store.url) / name[:2] / name[2:4] / name
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(CatalogError, match=r"at the target: its \d+ bytes do not match"):
        relocate(lab, team)


def test_an_object_damaged_at_the_source_stops_the_journey(lab: Workspace, team: Workspace) -> None:
    name = _digest(5).removeprefix("sha256:")
    path = Path(lab.store.url) / name[:2] / name[2:4] / name
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(CatalogError, match="damaged"):
        relocate(lab, team)
    assert team.store.has(_digest(5)) is None
    assert _everything(team)["episode"] == []


def test_an_object_lost_at_the_source_is_told(lab: Workspace, team: Workspace) -> None:
    lab.store.erase(_digest(5))
    done = relocate(lab, team)
    assert done.lost == (_digest(5),)
    assert "1 objects are lost" in done.words


def test_what_was_deleted_at_the_target_comes_back(lab: Workspace, team: Workspace) -> None:
    relocate(lab, team)
    with team.database.write() as connection:
        connection.execute(delete(FINDING))
        connection.execute(update(EPISODE).values(task="changed"))
    relocate(lab, team)
    assert _same(lab, team)


@pytest.mark.slow
@pytest.mark.xdist_group("s3")
def test_a_laptop_moves_to_servers_and_back(
    lab: Workspace, s3_server: S3Server, s3_url: str, postgres_url: str, tmp_path: Path
) -> None:
    with make_workspace(
        tmp_path / "servers", catalog=postgres_url, store=s3_url, options=s3_server.options
    ) as servers:
        assert relocate(lab, servers).copied == 29
        assert _same(lab, servers)
        _ingest(servers, range(30, 35))
        with make_workspace(tmp_path / "home") as home:
            assert relocate(servers, home).copied == 34
            assert _same(servers, home)
            with home.database.read() as one, servers.database.read() as other:
                assert head(one) == head(other)
