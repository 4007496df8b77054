"""A log that holds together is not enough: heads noted elsewhere and the rows must agree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, select, update
from tests.catalog.entries import entry
from typer.testing import CliRunner

from corporeal.catalog import accounts
from corporeal.catalog.audit import (
    GENESIS,
    Change,
    Head,
    chain_hash,
    head,
    note_head,
    noted_heads,
    proof,
    record,
    unexplained_rows,
    verify,
)
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.episodes import add_episodes, move_episodes
from corporeal.catalog.permission import Actor
from corporeal.catalog.store import Store
from corporeal.catalog.stores.folder import FolderStore
from corporeal.catalog.tables import ACCOUNT, EPISODE, EVENT, HEAD
from corporeal.catalog.workspace import Workspace, make_workspace
from corporeal.cli.program import program


@pytest.fixture
def workspace(empty_url: str, tmp_path: Path) -> Iterator[Workspace]:
    """Ten episodes and an account, on either database, with the head noted in the store."""
    with make_workspace(tmp_path / "lab", catalog=empty_url) as made:
        with made.database.write() as connection:
            entries = [entry(number) for number in range(10)]
            ids = [each.id for each in entries]
            add_episodes(connection, entries, who="anna")
            move_episodes(connection, ids[:5], "checked", who="anna", why=None)
            move_episodes(connection, ids[:3], "accepted", who="anna", why="seen")
            accounts.add_account(connection, "bo", "admin", by=Actor("anna", "admin"))
            note_head(made.notes, head(connection))
        yield made


def _breaks(workspace: Workspace) -> list[str]:
    heads, lost = noted_heads(workspace.notes)
    with workspace.database.read() as connection:
        chain = [*lost, *verify(connection, noted=heads)]
        return [each.reason for each in chain or unexplained_rows(connection)]


def _write_anew(database: Database, change: Any) -> None:
    """What somebody does who can write the database: another log that holds together."""
    with database.write() as connection:
        rows = [dict(row) for row in
                connection.execute(select(EVENT).order_by(EVENT.c.number)).mappings()]  # fmt: skip
        connection.execute(delete(EVENT))
        previous = GENESIS
        for number, row in enumerate(change(rows), start=1):
            row |= {"number": number, "previous": previous}
            row["hash"] = previous = chain_hash(row)
            connection.execute(insert(EVENT).values(**row))
        connection.execute(update(HEAD).values(number=number, hash=previous))


def test_an_untouched_workspace_has_nothing_against_it(workspace: Workspace) -> None:
    assert _breaks(workspace) == []


@pytest.mark.parametrize("left", [18, 10, 1])
def test_a_tail_that_was_cut_off_with_its_head_is_missing_in_the_store(
    workspace: Workspace, left: int
) -> None:
    _write_anew(workspace.database, lambda rows: rows[:left])
    with workspace.database.read() as connection:
        assert list(verify(connection)) == []
    assert "event 19 is missing: it was noted in the store" in _breaks(workspace)


def test_a_chain_that_was_computed_anew_is_not_the_one_in_the_store(workspace: Workspace) -> None:
    _write_anew(workspace.database, lambda rows: [{**rows[0], "who": "mallory"}, *rows[1:]])
    (reason,) = _breaks(workspace)
    assert "is not the one that was noted in the store" in reason


def test_an_emptied_log_is_found_with_and_without_a_note(workspace: Workspace) -> None:
    with workspace.database.write() as connection:
        connection.execute(delete(EVENT))
        connection.execute(update(HEAD).values(number=0, hash=GENESIS))
        said = [each.reason for each in unexplained_rows(connection)]
    assert said == [
        "the log is empty, but the catalogue has 10 episodes",
        "the log is empty, but the catalogue has 1 accounts",
    ]
    assert "is missing: it was noted in the store" in _breaks(workspace)[0]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (update(EPISODE).values(state="accepted").where(EPISODE.c.state == "recorded"),
         "state: the catalogue says accepted, event"),
        (update(EPISODE).values(hash="sha256:" + "0" * 64).where(EPISODE.c.file ==
         "episode_000003.h5"), "hash: the catalogue says sha256:000"),
        (update(ACCOUNT).values(role="viewer"), "account bo: role: the catalogue says viewer"),
        (update(ACCOUNT).values(disabled=True), "account bo: disabled: the catalogue says True"),
        (delete(ACCOUNT), "account bo is in the log, but not in the catalogue"),
        (insert(ACCOUNT).values(name="mal", role="admin", created_at="", disabled=False),
         "account mal is in the catalogue, but no event tells of it"),
    ],
)  # fmt: skip
def test_rows_that_were_changed_behind_the_log_are_named(
    workspace: Workspace, change: Any, expected: str
) -> None:
    with workspace.database.write() as connection:
        connection.execute(change)
    reasons = _breaks(workspace)
    assert reasons
    assert all(expected in reason for reason in reasons)


def test_the_head_is_noted_whenever_the_log_passes_so_many_events(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "NOTE_EVERY", 25)
    before, _ = noted_heads(workspace.notes)
    for _ in range(4):
        with workspace.database.write() as connection:
            record(connection, [Change("anna", "seen", "thing:x")] * 4)
    after, _ = noted_heads(workspace.notes)
    assert [each.number for each in after.keys() - before.keys()] == [27]
    with suppress(ZeroDivisionError), workspace.database.write() as connection:
        record(connection, [Change("anna", "seen", "thing:x")] * 40)
        raise ZeroDivisionError
    assert noted_heads(workspace.notes)[0] == after


def test_a_note_that_was_changed_is_named(workspace: Workspace) -> None:
    assert isinstance(workspace.notes, FolderStore)
    (digest,) = workspace.notes.digests()
    path = workspace.notes.path(digest)
    path.chmod(0o644)
    path.write_text(path.read_text().replace("1", "2"))
    assert any("do not match its hash" in reason for reason in _breaks(workspace))


def test_a_bucket_with_object_lock_holds_the_notes(s3_store: Store) -> None:
    end = Head(7, "a" * 64)
    note_head(s3_store, end)
    assert noted_heads(s3_store) == ({end: "the store"}, [])
    (digest,) = s3_store.digests()
    with pytest.raises(CatalogError, match="is held until"):
        s3_store.erase(digest)


def test_what_somebody_noted_elsewhere_is_expected_on_the_command_line(tmp_path: Path) -> None:
    root = str(tmp_path / "lab")
    with make_workspace(tmp_path / "lab") as made, made.database.write() as connection:
        add_episodes(connection, [entry(1), entry(2)], who="anna")
        end = head(connection)

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(program(), ["audit", *arguments, "--workspace", root])

    noted = f"{end.number}:{end.hash}"
    assert noted in run("verify").stdout
    assert run("note").stdout.strip() == noted
    assert run("verify", "--expect", noted).exit_code == 0
    wrong = run("verify", "--expect", f"{end.number}:{'0' * 64}")
    assert wrong.exit_code == 1
    assert "event 2 is not the one that was noted in --expect" in wrong.stdout
    later = run("verify", "--expect", f"{end.number + 5}:{'0' * 64}")
    assert "event 7 is missing: it was noted in --expect" in later.stdout
    broken = run("verify", "--expect", "seven")
    assert "expected NUMBER:HASH" in str(broken.exception)
