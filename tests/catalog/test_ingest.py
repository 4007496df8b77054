"""Ingest: everything lands once, whatever happens on the way, and nothing is thrown away."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from sqlalchemy import delete, func, select
from tests.exchange.small_sets import write_episode, write_episodes

from corporeal.catalog.audit import events_of, head, latest_events, noted_heads, verify
from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import (
    NEXT,
    assessments_of,
    find_episode,
    move_episodes,
    not_assessed_of,
)
from corporeal.catalog.episodes.rows import STATES
from corporeal.catalog.ingestion import ingest
from corporeal.catalog.ingestion import ingestion as ingest_module
from corporeal.catalog.ingestion.ingestion import files_of
from corporeal.catalog.ingestion.inspection import judge_files
from corporeal.catalog.query import count_episodes, every_episode
from corporeal.catalog.store.store import digest_of
from corporeal.catalog.tables import (
    ASSESSMENT,
    DOCUMENT,
    EPISODE,
    EVENT,
    FINDING,
    GOVERNS,
    SCORE,
    STREAM,
)
from corporeal.catalog.workspace import Workspace, make_workspace, open_workspace
from corporeal.episode import Episode, EpisodeWriter
from corporeal.episode.recording import recording_of
from corporeal.errors import EpisodeError
from corporeal.exchange.conversion import export
from corporeal.exchange.episode_file import write_recording
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.protocol import Protocol, open_protocol
from corporeal.quality.policy import default_policy
from corporeal.schema import Schema
from corporeal.studio.episode_row import shown_rows

PROJECT = Path(__file__).resolve().parents[2]
SIZE = (16, 32)
take = partial(ingest, who="anna", pictures=False)
enter = partial(take, check=False)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_episodes(tmp_path_factory.mktemp("ingest") / "eps", 3, seconds=1.0, size=SIZE)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with make_workspace(tmp_path / "workspace") as made:
        yield made


def test_the_head_of_the_log_is_noted_after_every_ingest(
    recordings: Path, workspace: Workspace
) -> None:
    enter(workspace, [recordings])
    with workspace.database.read() as connection:
        end = head(connection)
    notes, lost = noted_heads(workspace.notes)
    assert list(notes) == [end]
    assert lost == []
    enter(workspace, [recordings])
    assert list(noted_heads(workspace.notes)[0]) == [end]


@pytest.fixture
def copies(recordings: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(recordings, tmp_path / "copies"))


def _count(workspace: Workspace, table: Any) -> int:
    with workspace.database.read() as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def _rows(workspace: Workspace) -> list[dict[str, Any]]:
    with workspace.database.read() as connection:
        query = select(EPISODE).order_by(EPISODE.c.id)
        return [dict(row) for row in connection.execute(query).mappings()]


def _assert_sound(workspace: Workspace) -> None:
    """Every row has its object, every object its row, and the log is whole."""
    with workspace.database.read() as connection:
        assert list(verify(connection)) == []
    assert sorted(row["hash"] for row in _rows(workspace)) == list(workspace.store.digests())


def test_an_episode_lands_with_all_that_is_known_of_it(
    recordings: Path, workspace: Workspace
) -> None:
    told = take(workspace, [recordings], batch="monday")
    assert [each.status for each in told.outcomes] == ["added"] * 3
    first = told.outcomes[0]
    with workspace.database.read() as connection:
        row = find_episode(connection, str(first.id))
        streams = connection.execute(select(STREAM).where(STREAM.c.episode == first.id)).all()
        kinds = set(connection.scalars(select(GOVERNS.c.kind).where(GOVERNS.c.episode == first.id)))
    with Episode.open(first.path) as opened:
        assert row.metadata["content_hash"] == opened.content_hash
        assert {each.path for each in streams} == set(opened)
    assert row.hash == digest_of(first.path) == first.hash
    assert row.bytes == first.path.stat().st_size
    assert (row.task, row.operator, row.robot) == ("synthetic_reach", "op00", "g1")
    assert (row.batch, row.success) == ("monday", True)
    assert row.verdict == row.state == first.state
    assert row.score is not None
    assert 0 <= row.score <= 1
    assert row.score == first.score
    assert row.policy == "default@1.1.0"
    assert kinds == {"schema", "embodiment", "policy"}
    assert _count(workspace, DOCUMENT) == 3
    assert _count(workspace, SCORE) > 3
    _assert_sound(workspace)


def test_the_way_from_recorded_to_the_verdict_is_in_the_log(
    recordings: Path, workspace: Workspace
) -> None:
    told = take(workspace, [recordings])
    failed = next(each for each in told.outcomes if each.state == "failed")
    with workspace.database.read() as connection:
        events = list(events_of(connection, f"episode:{failed.id}"))
        messages = connection.scalars(
            select(FINDING.c.message).where(
                FINDING.c.episode == failed.id, FINDING.c.severity == "fail"
            )
        ).all()
    assert [(each["what"], each["who"]) for each in events] == [
        ("ingest", "anna"), ("state", "anna"), ("state", "anna"),
    ]  # fmt: skip
    assert events[0]["details"]["state"] == "recorded"
    assert [each["details"] for each in events[1:]] == [
        {"from": "recorded", "to": "checked"},
        {"from": "checked", "to": "failed"},
    ]
    assert events[1]["why"] == "checked under default@1.1.0"
    assert any(events[2]["why"].endswith(message) for message in messages)
    assert events[2]["why"] == failed.reason


def test_what_failed_is_kept_with_its_object(recordings: Path, workspace: Workspace) -> None:
    told = take(workspace, [recordings])
    assert told.count("failed") > 0
    for each in told.having("added"):
        assert workspace.store.has(str(each.hash)) == each.path.stat().st_size


def test_the_same_again_changes_nothing(recordings: Path, workspace: Workspace) -> None:
    first = take(workspace, [recordings])
    before = _count(workspace, EVENT), _rows(workspace)
    second = take(workspace, [recordings, recordings / "e0000.h5"])
    assert [each.status for each in second.outcomes] == ["known"] * 3
    assert [each.id for each in second.outcomes] == [each.id for each in first.outcomes]
    assert (_count(workspace, EVENT), _rows(workspace)) == before
    _assert_sound(workspace)


def test_the_same_file_under_two_names_is_one_object(copies: Path, workspace: Workspace) -> None:
    shutil.copy(copies / "e0000.h5", copies / "second_name.h5")
    told = enter(workspace, [copies])
    assert [each.status for each in told.outcomes] == ["added", "added", "added", "known"]
    assert told.outcomes[3].id == told.outcomes[0].id
    assert len(_rows(workspace)) == 3
    _assert_sound(workspace)


def test_a_damaged_file_is_named_and_the_others_go_on(copies: Path, workspace: Workspace) -> None:
    raw = bytearray((copies / "e0001.h5").read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    (copies / "e0001.h5").write_bytes(raw)
    (copies / "nothing.h5").write_bytes(b"not an episode at all")
    told = enter(workspace, [copies])
    assert [each.status for each in told.outcomes] == ["added", "damaged", "added", "damaged"]
    assert all(each.reason for each in told.having("damaged"))
    assert len(_rows(workspace)) == 2
    _assert_sound(workspace)


def test_an_episode_with_other_content_is_refused_not_replaced(
    copies: Path, workspace: Workspace
) -> None:
    with h5py.File(copies / "e0000.h5") as file:
        name = file.attrs["id"].decode()
    enter(workspace, [copies / "e0000.h5"])
    before = _rows(workspace)
    forged = write_episode(copies / "forged.h5", seed=9, seconds=0.3, size=SIZE)
    _write_with_id(forged, name)
    told = enter(workspace, [forged])
    assert told.outcomes[0].status == "refused"
    assert "other content" in str(told.outcomes[0].reason)
    assert _rows(workspace) == before
    _assert_sound(workspace)


def _write_with_id(path: Path, name: str) -> None:
    """The episode again, under the id of another."""
    target = path.with_name("again.h5")
    with Episode.open(path) as opened:
        write_recording(replace(recording_of(opened), id=name), target)
    target.replace(path)


def test_an_object_without_its_row_is_found_again(recordings: Path, workspace: Workspace) -> None:
    workspace.store.put(recordings / "e0001.h5")
    told = enter(workspace, [recordings])
    assert [each.status for each in told.outcomes] == ["added"] * 3
    _assert_sound(workspace)


def test_a_lost_object_is_put_back(recordings: Path, workspace: Workspace) -> None:
    told = enter(workspace, [recordings])
    workspace.store.erase(str(told.outcomes[1].hash))
    again = enter(workspace, [recordings])
    assert [each.status for each in again.outcomes] == ["known"] * 3
    _assert_sound(workspace)


def _rot(workspace: Workspace, digest: str) -> Path:
    """Change one bit of an object; its size stays."""
    path = workspace.store.path(digest)
    assert path is not None
    rotten = bytearray(path.read_bytes())
    rotten[len(rotten) // 2] ^= 1
    path.chmod(0o600)
    path.write_bytes(rotten)
    return path


def test_a_rotten_object_is_replaced(recordings: Path, workspace: Workspace) -> None:
    first = enter(workspace, [recordings]).outcomes[1]
    path = _rot(workspace, str(first.hash))
    again = enter(workspace, [recordings]).outcomes
    assert [each.status for each in again] == ["known"] * 3
    assert [each.is_mended for each in again] == [False, True, False]
    assert path.read_bytes() == (recordings / "e0001.h5").read_bytes()
    with workspace.database.read() as connection:
        (event,) = latest_events(connection, f"episode:{first.id}", ["mended"], most=9)
    assert "do not match its hash" in event["why"]
    _assert_sound(workspace)


def test_a_rotten_object_without_its_row_is_replaced(
    recordings: Path, workspace: Workspace
) -> None:
    path = _rot(workspace, workspace.store.put(recordings / "e0001.h5"))
    assert [each.status for each in enter(workspace, [recordings]).outcomes] == ["added"] * 3
    assert path.read_bytes() == (recordings / "e0001.h5").read_bytes()


def test_what_was_erased_does_not_come_back(recordings: Path, workspace: Workspace) -> None:
    told = enter(workspace, [recordings])
    gone = told.outcomes[0]
    with workspace.database.write() as connection:
        move_episodes(connection, [str(gone.id)], "erased", who="anna", why="consent withdrawn")
    workspace.store.erase(str(gone.hash))
    again = enter(workspace, [recordings])
    assert [each.status for each in again.outcomes] == ["refused", "known", "known"]
    assert workspace.store.has(str(gone.hash)) is None


def test_what_is_erased_while_it_is_looked_at_does_not_come_back(
    recordings: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = recordings / "e0000.h5"
    first = enter(workspace, [one]).outcomes[0]

    def erased_meanwhile(*given: Any, **named: Any) -> Any:
        with workspace.database.write() as connection:
            move_episodes(
                connection, [str(first.id)], "erased", who="anna", why="consent withdrawn"
            )
        workspace.store.erase(str(first.hash))
        return judge_files(*given, **named)

    monkeypatch.setattr(ingest_module, "judge_files", erased_meanwhile)
    told = take(workspace, [one])
    assert told.outcomes[0].status == "refused"
    assert list(workspace.store.digests()) == []
    assert _rows(workspace)[0]["verdict"] is None


def test_without_checks_an_episode_is_recorded_and_judged_later(
    recordings: Path, workspace: Workspace
) -> None:
    quick = take(workspace, [recordings], check=False)
    assert {(each.status, each.state) for each in quick.outcomes} == {("added", "recorded")}
    assert _count(workspace, FINDING) == 0
    assert {row["verdict"] for row in _rows(workspace)} == {None}
    assert {each.status for each in take(workspace, [recordings], check=False).outcomes} == {
        "known"
    }
    later = take(workspace, [recordings])
    assert {each.status for each in later.outcomes} == {"judged"}
    assert all(row["state"] == row["verdict"] is not None for row in _rows(workspace))
    assert _count(workspace, FINDING) > 0
    assert _count(workspace, GOVERNS) == 9
    assert {each.status for each in take(workspace, [recordings]).outcomes} == {"known"}
    _assert_sound(workspace)


@dataclass(frozen=True)
class _Changing:
    """A store that finds other bytes in the file than were looked at."""

    store: Any

    def has(self, digest: str) -> int | None:
        size: int | None = self.store.has(digest)
        return size

    def put(self, _: Path, **_options: bool) -> str:
        return "sha256:" + "0" * 64


def test_a_file_that_changes_meanwhile_is_not_recorded(
    recordings: Path, workspace: Workspace
) -> None:
    told = enter(replace(workspace, store=_Changing(workspace.store)), [recordings])  # type: ignore[arg-type]
    assert {each.status for each in told.outcomes} == {"damaged"}
    assert "changed while it was read" in str(told.outcomes[0].reason)
    assert _rows(workspace) == []


def test_every_file_is_told_of_once(copies: Path, workspace: Workspace) -> None:
    shutil.copy(copies / "e0000.h5", copies / "second_name.h5")
    (copies / "nothing.h5").write_bytes(b"not an episode at all")
    started: list[int] = []
    heard: list[Path] = []
    enter(workspace, [copies], on_start=started.append, on_episode=heard.append)
    assert started == [5]
    assert sorted(heard) == sorted(copies.iterdir())


def test_datasets_of_other_formats_are_to_be_imported_first(
    recordings: Path, workspace: Workspace, tmp_path: Path
) -> None:
    out = tmp_path / "exported"
    export(partial(open_dataset, [recordings]), out, "lerobot", ExportOptions(sides=False))
    with pytest.raises(CatalogError, match=r"is a dataset in lerobot.*corporeal import"):
        enter(workspace, [out])


def test_a_path_with_nothing_to_take_is_misuse(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="does not exist"):
        enter(workspace, [tmp_path / "nowhere"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(CatalogError, match="got no episode"):
        files_of([tmp_path / "empty"])


def test_groups_are_recorded_one_after_the_other(
    recordings: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest_module, "GROUP", 2)
    told = enter(workspace, [recordings])
    assert [each.status for each in told.outcomes] == ["added"] * 3
    _assert_sound(workspace)


def test_the_page_lists_the_states_as_they_are() -> None:
    page = (PROJECT / "docs" / "spec" / "catalog.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\| ([^|]*) \|$", page.split("## States")[1], re.M)
    told = {state: tuple(after.split(", ")) for state, after in rows if state in STATES}
    assert told == {state: NEXT[state] or ("nothing",) for state in STATES}


@pytest.mark.slow
def test_two_at_once_add_every_episode_once_in_postgresql(
    recordings: Path, tmp_path: Path, postgres_url: str
) -> None:
    with make_workspace(tmp_path / "shared", catalog=postgres_url) as workspace:
        with ThreadPoolExecutor(4) as pool:
            told = list(pool.map(lambda _: take(workspace, [recordings], check=False), range(4)))
        statuses = [each.status for one in told for each in one.outcomes]
        assert statuses.count("added") == 3
        assert statuses.count("known") == 9
        judged = take(workspace, [recordings])
        assert {each.status for each in judged.outcomes} == {"judged"}
        _assert_sound(workspace)


_PROGRAM = """\
import os, signal, sys
from pathlib import Path
from corporeal.catalog.ingestion import ingestion as module
from corporeal.catalog.workspace import open_workspace

def dies_after(real, calls):
    left = [calls]
    def call(*given, **named):
        result = real(*given, **named)
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    return call

if __name__ == "__main__":
    if len(sys.argv) > 3:
        name, calls = sys.argv[3].split(":")
        setattr(module, name, dies_after(getattr(module, name), int(calls)))
    with open_workspace(Path(sys.argv[1])) as workspace:
        module.ingest(workspace, [Path(sys.argv[2])], who="anna", pictures=False)
"""
DEATHS = {"inspect_files:1": (0, 0), "_store:2": (2, 0), "admit:1": (3, 0), "_told:1": (3, 3)}
"""After which call the program kills itself, and how many objects and rows there are then."""


def _start(*arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *map(str, arguments)],
        cwd=PROJECT,
        env=os.environ | {"PYTHONPATH": str(PROJECT / "src")},
    )


@pytest.mark.slow
def test_two_programs_at_once_add_every_episode_once(recordings: Path, tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    make_workspace(root).close()
    both = [_start(root, recordings) for _ in range(2)]
    assert [each.wait(60) for each in both] == [0, 0]
    with open_workspace(root) as workspace:
        assert len(_rows(workspace)) == 3
        assert _count(workspace, EVENT) == 9
        _assert_sound(workspace)


@pytest.mark.slow
def test_killed_anywhere_it_goes_on_and_ends_as_if_nothing_had_been(
    recordings: Path, tmp_path: Path
) -> None:
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    with make_workspace(whole) as workspace:
        take(workspace, [recordings])
        wanted = [_lasting(row) for row in _rows(workspace)]
    make_workspace(torn).close()
    for death, wanted_there in DEATHS.items():
        assert _start(torn, recordings, death).wait(60) == -signal.SIGKILL
        with open_workspace(torn) as workspace:
            objects = set(workspace.store.digests())
            there = _rows(workspace)
            assert {row["hash"] for row in there} <= objects
            assert (len(objects), len(there)) == wanted_there
    with open_workspace(torn) as workspace:
        take(workspace, [recordings])
        assert [_lasting(row) for row in _rows(workspace)] == wanted
        assert _count(workspace, EVENT) == 9
        _assert_sound(workspace)


def _lasting(row: dict[str, Any]) -> str:
    return json.dumps({name: row[name] for name in row if name != "ingested_at"}, default=str)


@pytest.mark.slow
def test_processes_find_what_one_finds(tmp_path: Path) -> None:
    recordings = write_episodes(tmp_path / "many", 16, seconds=0.05, size=SIZE)
    found = []
    for jobs in (1, 2):
        with make_workspace(tmp_path / f"jobs{jobs}") as workspace:
            take(workspace, [recordings], jobs=jobs)
            found.append([_lasting(row) for row in _rows(workspace)])
            _assert_sound(workspace)
    assert found[0] == found[1]


def _write_with_protocol(path: Path, protocol: Protocol) -> Path:
    schema = Schema.parse(
        "document: schema\nname: small\nversion: 1.0.0\n"
        "streams:\n  - {name: count, group: debug, shape: [2]}\n"
    )
    with EpisodeWriter(path, schema=schema, documents=[protocol]) as writer:
        writer.append("debug/count", 0, np.zeros(2, np.float32))
    return path


def test_a_version_of_a_protocol_has_one_content_for_ever(
    workspace: Workspace, tmp_path: Path
) -> None:
    protocol = open_protocol("pick_place")
    other = protocol.model_copy(update={"description": "dragged over the table"})
    raised = other.model_copy(update={"version": "9.0.0"})
    files = [
        _write_with_protocol(tmp_path / f"{name}.h5", document)
        for name, document in (("a", protocol), ("b", other), ("c", raised), ("d", protocol))
    ]
    # In one group, and against what is there.
    for chosen in (files[:2], files[1:2]):
        *_, refused = enter(workspace, chosen).outcomes
        assert refused.status == "refused"
        reason = str(refused.reason)
        assert f"protocol {protocol.reference} is {other.hash[:19]} here" in reason
        assert f"but {protocol.hash[:19]} in the catalogue; they differ in description." in reason
        assert "raise the version of the new one" in reason
    assert [each.status for each in enter(workspace, files[2:]).outcomes] == ["added", "added"]
    assert sorted(row["protocol"] for row in _rows(workspace)) == [
        protocol.reference, protocol.reference, raised.reference,
    ]  # fmt: skip
    _assert_sound(workspace)


def test_a_policy_that_changed_without_a_new_version_judges_nothing(
    recordings: Path, workspace: Workspace
) -> None:
    strict = default_policy().model_copy(update={"name": "strict"})
    take(workspace, [recordings / "e0000.h5"], policy=strict)
    changed = strict.model_copy(update={"description": "stricter"})
    with pytest.raises(CatalogError, match=r"policy strict@.* they differ in description\. A ver"):
        take(workspace, [recordings / "e0001.h5"], policy=changed)
    assert len(_rows(workspace)) == 1


def test_what_could_not_be_assessed_is_kept_with_its_reason_and_found_by_a_query(
    workspace: Workspace, recordings: Path
) -> None:
    take(workspace, [recordings])
    with workspace.database.read() as connection:
        rows = list(every_episode(connection))
        missing = not_assessed_of(connection, [row.id for row in rows])
        judgements = assessments_of(connection, rows[0].id)
        told = {each.check: each.reason for each in missing[rows[0].id]}
        assert told["camera_frozen"] == "pictures were not looked at"
        assert count_episodes(connection, "not_assessed = camera_frozen") == 3
        assert count_episodes(connection, "not_assessed = not_frozen") == 3
        assert count_episodes(connection, "not_assessed != camera_frozen") == 0
        assert count_episodes(connection, "not_assessed = values_not_finite") == 0
        assert count_episodes(connection, "not_assessed is known") == 3
        assert count_episodes(connection, "not_assessed in (camera_frozen, robot_fell)") == 3
        assert count_episodes(connection, "not_assessed ~ 'picture*'") == 3
    assert [each.number for each in judgements] == [1]
    assert judgements[0].verdict == rows[0].verdict
    assert judgements[0].facts["not_assessed"] == len(told)


def test_the_share_of_the_checks_that_could_run_is_found_by_a_query_as_the_list_shows_it(
    workspace: Workspace, recordings: Path
) -> None:
    take(workspace, [recordings])
    with workspace.database.read() as connection:
        rows = list(every_episode(connection))
        shares = [row.assessed for row in shown_rows(connection, rows)]
        low, *_, high = sorted(share for share in shares if share is not None)
        assert 0 < low <= high < 1
        assert count_episodes(connection, f"assessed < {low!r}") == 0
        assert count_episodes(connection, f"assessed <= {high!r}") == 3
        assert count_episodes(connection, f"assessed between {low!r} and {high!r}") == 3
        assert count_episodes(connection, f"assessed > {high!r} or assessed >= 1") == 0
        assert count_episodes(connection, "assessed is known") == 3
    with workspace.database.write() as connection:
        connection.execute(delete(ASSESSMENT).where(ASSESSMENT.c.episode == rows[0].id))
    with workspace.database.read() as connection:
        found = list(every_episode(connection, "assessed is unknown"))
        assert [row.id for row in found] == [rows[0].id]
        assert count_episodes(connection, "assessed < 1") == 2
        assert count_episodes(connection, "not assessed < 1") == 1


def test_an_episode_whose_pictures_nobody_looked_at_is_not_accepted(
    workspace: Workspace, recordings: Path
) -> None:
    done = take(workspace, [recordings])
    assert not done.count("accepted")
    with workspace.database.read() as connection:
        assert count_episodes(connection, "has finding judgement_incomplete") == 3


def test_a_link_out_of_a_folder_is_refused_and_nothing_taken_in(tmp_path: Path) -> None:
    folder = write_episodes(tmp_path / "given")
    assert files_of([folder])
    secret = next(folder.glob("*.h5")).rename(tmp_path / "secret.h5")
    (folder / "look.h5").symlink_to(secret)
    with pytest.raises(EpisodeError, match=r"look.h5: is a link out of .*; expected files inside"):
        files_of([folder])
