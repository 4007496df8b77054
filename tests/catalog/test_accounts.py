"""Accounts and tokens: audited, revocable, and the secret is nowhere but with its owner."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from corporeal.catalog.accounts import (
    MOST_SESSIONS,
    accounts,
    actor_of_session,
    actor_of_token,
    add_account,
    begin_session,
    change_role,
    current_actor,
    end_session,
    end_sessions,
    new_token,
    recover_token,
    revoke_token,
    sessions,
    set_disabled,
    tokens,
)
from corporeal.catalog.audit import events_of, verify
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.permission import Actor, PermissionDeniedError
from corporeal.catalog.tables import EVENT, METADATA, TOKEN
from corporeal.catalog.workspace import make_workspace
from corporeal.errors import CorporealError, UnknownNameError

ROOT = Actor("root", "admin")


def _everything(database: Database) -> str:
    """All rows of all tables as text."""
    with database.read() as connection:
        return "\n".join(
            repr(row)
            for table in METADATA.sorted_tables
            for row in connection.execute(select(table))
        )


@pytest.fixture
def staffed(database: Database) -> Database:
    with database.write() as connection:
        add_account(connection, "ann", "admin", by=ROOT)
        add_account(connection, "otto", "operator", by=ROOT)
    return database


def test_a_laptop_needs_no_log_in(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "mia <b>'")
    with database.read() as connection:
        assert current_actor(connection, environment={}) == Actor("mia__b__", "admin")


def test_a_user_without_a_name_is_called_local(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody() -> str:
        raise OSError("no such user")

    monkeypatch.setattr("getpass.getuser", nobody)
    with database.read() as connection:
        assert current_actor(connection, environment={}).name == "local"


def test_with_accounts_only_a_token_may_write_and_no_variable_names_an_account(
    staffed: Database,
) -> None:
    with staffed.write() as connection:
        token = new_token(connection, "otto", "laptop", by=ROOT)
    with staffed.read() as connection:
        for around in ({}, {"CORPOREAL_ACCOUNT": "ann"}):
            guest = current_actor(connection, environment=around)
            assert (guest.role, guest.guest) == ("viewer", True)
        by_token = current_actor(connection, environment={"CORPOREAL_TOKEN": token})
        assert by_token == Actor("otto", "operator")
        with pytest.raises(PermissionDeniedError, match="not known"):
            current_actor(connection, environment={"CORPOREAL_TOKEN": "crp_" + "x" * 43})


def _session_of(database: Database, name: str = "otto", label: str = "laptop") -> str:
    with database.write() as connection:
        token = new_token(connection, name, label, by=ROOT)
        return begin_session(connection, token, address="10.0.0.7")


def test_a_session_ends_by_log_out_and_a_copy_of_its_cookie_with_it(staffed: Database) -> None:
    secret = _session_of(staffed)
    assert secret not in _everything(staffed)
    with staffed.write() as connection:
        assert actor_of_session(connection, secret) == Actor("otto", "operator")
        (listed,) = sessions(connection, "otto")
        assert (listed.address, listed.label) == ("10.0.0.7", "laptop")
        end_session(connection, secret)
        end_session(connection, secret)
        with pytest.raises(PermissionDeniedError, match="has ended"):
            actor_of_session(connection, secret)
        assert sessions(connection, "otto") == []
        told = [event["what"] for event in events_of(connection, "account:otto")]
        assert told == ["account added", "token made", "logged in", "logged out"]


def test_a_session_ends_with_its_token_its_account_and_by_an_admin(staffed: Database) -> None:
    by_token, by_admin, other = (_session_of(staffed, label=label) for label in ("a", "b", "c"))
    with staffed.write() as connection:
        revoke_token(connection, "otto", "a", by=ROOT)
        chosen = sessions(connection, "otto")[0].id
        with pytest.raises(PermissionDeniedError):
            end_sessions(connection, "otto", by=Actor("eve", "lead"))
        assert end_sessions(connection, "otto", by=ROOT, session=chosen) == 1
        with pytest.raises(CatalogError, match="is not open"):
            end_sessions(connection, "otto", by=ROOT, session=chosen)
        for secret in (by_token, by_admin):
            with pytest.raises(PermissionDeniedError):
                actor_of_session(connection, secret)
        assert actor_of_session(connection, other).name == "otto"
        set_disabled(connection, "otto", True, by=ROOT)
        set_disabled(connection, "otto", False, by=ROOT)
        with pytest.raises(PermissionDeniedError, match="has ended"):
            actor_of_session(connection, other)


def test_sessions_of_one_token_are_bounded_and_the_oldest_gives_way(staffed: Database) -> None:
    with staffed.write() as connection:
        token = new_token(connection, "otto", "laptop", by=ROOT)
        secrets = [begin_session(connection, token, address="x") for _ in range(MOST_SESSIONS + 2)]
        assert len(sessions(connection, "otto")) == MOST_SESSIONS
        with pytest.raises(PermissionDeniedError):
            actor_of_session(connection, secrets[0])
        assert actor_of_session(connection, secrets[-1]).name == "otto"


def test_an_admin_who_lost_every_token_gets_one_from_the_owner_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make_workspace(tmp_path / "lab") as workspace:
        with workspace.database.write() as connection:
            add_account(connection, "ann", "admin", by=ROOT)
            add_account(connection, "otto", "operator", by=ROOT)
        with pytest.raises(CatalogError, match="is no admin"):
            recover_token(workspace.database, "otto")
        secret = recover_token(workspace.database, "ann")
        with workspace.database.read() as connection:
            assert actor_of_token(connection, secret) == Actor("ann", "admin")
            told = [event["what"] for event in events_of(connection, "account:ann")]
            assert told == ["account added", "token made", "token recovered"]
        stranger = os.geteuid() + 4711
        monkeypatch.setattr("os.geteuid", lambda: stranger)
        with pytest.raises(PermissionDeniedError, match="owner of a catalogue in a file"):
            recover_token(workspace.database, "ann")


def test_the_first_token_takes_none_and_is_that_of_an_admin(staffed: Database) -> None:
    guest = Actor("somebody", "viewer", guest=True)
    with staffed.write() as connection:
        with pytest.raises(PermissionDeniedError, match="to account, got 'somebody'"):
            new_token(connection, "otto", "laptop", by=guest)
        with pytest.raises(PermissionDeniedError, match="to account, got 'otto'"):
            new_token(connection, "ann", "laptop", by=Actor("otto", "operator"))
        first = new_token(connection, "ann", "laptop", by=guest)
        assert actor_of_token(connection, first) == Actor("ann", "admin")
        revoke_token(connection, "ann", "laptop", by=actor_of_token(connection, first))
        with pytest.raises(PermissionDeniedError, match="to account, got 'somebody'"):
            new_token(connection, "ann", "laptop", by=guest)


def test_a_token_is_stored_as_its_hash_alone(staffed: Database) -> None:
    with staffed.write() as connection:
        token = new_token(connection, "otto", "laptop", by=ROOT)
    assert token.startswith("crp_")
    assert len(token) == 4 + 43
    stored = _everything(staffed)
    assert "laptop" in stored
    assert token not in stored
    assert token[4:] not in stored
    with staffed.read() as connection:
        assert token[4:] not in repr(tokens(connection, "otto"))
        digest = connection.execute(select(TOKEN.c.hash)).scalar_one()
        details = connection.execute(select(EVENT.c.details)).scalars().all()
        assert digest not in repr(details)


def test_two_tokens_are_never_the_same(staffed: Database) -> None:
    with staffed.write() as connection:
        made = {new_token(connection, "otto", f"t{number}", by=ROOT) for number in range(20)}
    assert len(made) == 20


def test_a_revoked_expired_or_disabled_token_is_refused_without_being_repeated(
    staffed: Database,
) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    with staffed.write() as connection:
        good = new_token(connection, "otto", "good", soon, by=ROOT)
        revoked = new_token(connection, "otto", "revoked", by=ROOT)
        revoke_token(connection, "otto", "revoked", by=ROOT)
        expired = new_token(connection, "otto", "expired", soon, by=ROOT)
        old = "2020-01-01T00:00:00.000000Z"
        connection.execute(update(TOKEN).where(TOKEN.c.label == "expired").values(expires_at=old))
        disabled = new_token(connection, "ann", "disabled", by=ROOT)
        add_account(connection, "eve", "admin", by=ROOT)
        set_disabled(connection, "ann", True, by=ROOT, why="left")
    with staffed.read() as connection:
        assert actor_of_token(connection, good) == Actor("otto", "operator")
        for token, reason in ((revoked, "revoked"), (expired, "expired"), (disabled, "disabled"),
                              (good[:-1] + "!", "expected crp_"), (good + "a", "expected crp_"),
                              ("crp_" + "A" * 43, "not known"), ("", "expected crp_"),
                              ("crp_' or 1=1 --", "expected crp_")):  # fmt: skip
            with pytest.raises(PermissionDeniedError, match=reason) as refused:
                actor_of_token(connection, token)
            assert not token or token not in str(refused.value)


def test_the_last_comparison_takes_the_same_time_for_every_token(
    staffed: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def compare(one: str, other: str) -> bool:
        seen.append((one, other))
        return False

    monkeypatch.setattr("hmac.compare_digest", compare)
    with staffed.write() as connection:
        token = new_token(connection, "otto", "laptop", by=ROOT)
        with pytest.raises(PermissionDeniedError, match="not known"):
            actor_of_token(connection, token)
    assert len(seen) == 1


def test_only_admins_change_accounts_and_people_their_own_tokens(staffed: Database) -> None:
    otto = Actor("otto", "operator")
    with staffed.write() as connection:
        new_token(connection, "otto", "mine", by=otto)
        revoke_token(connection, "otto", "mine", by=otto)
        with pytest.raises(PermissionDeniedError):
            new_token(connection, "ann", "hers", by=otto)
        with pytest.raises(PermissionDeniedError):
            new_token(connection, "otto", "x", by=Actor("otto", "viewer", guest=True))
        with pytest.raises(PermissionDeniedError):
            add_account(connection, "eve", "viewer", by=otto)
        with pytest.raises(PermissionDeniedError):
            change_role(connection, "otto", "admin", by=otto)
        with pytest.raises(PermissionDeniedError):
            set_disabled(connection, "ann", True, by=otto)


def test_one_admin_always_stays(database: Database) -> None:
    with database.write() as connection:
        with pytest.raises(CatalogError, match="first account, got viewer; expected admin"):
            add_account(connection, "otto", "viewer", by=ROOT)
        add_account(connection, "ann", "admin", by=ROOT)
        with pytest.raises(CatalogError, match="last admin"):
            change_role(connection, "ann", "viewer", by=ROOT)
        with pytest.raises(CatalogError, match="last admin"):
            set_disabled(connection, "ann", True, by=ROOT)
        add_account(connection, "eve", "admin", by=ROOT)
        change_role(connection, "ann", "viewer", by=ROOT, why="moved")
        assert [(each.name, each.role) for each in accounts(connection)] == [
            ("ann", "viewer"), ("eve", "admin"),
        ]  # fmt: skip


def test_every_change_is_in_the_audit_log(staffed: Database) -> None:
    with staffed.write() as connection:
        change_role(connection, "otto", "lead", by=ROOT, why="promoted")
        change_role(connection, "otto", "lead", by=ROOT)
        set_disabled(connection, "otto", True, by=ROOT)
        set_disabled(connection, "otto", False, by=ROOT)
        new_token(connection, "otto", "laptop", by=ROOT)
        revoke_token(connection, "otto", "laptop", by=ROOT)
    with staffed.read() as connection:
        said = [(row["who"], row["what"]) for row in events_of(connection, "account:otto")]
        assert said == [("root", what) for what in (
            "account added", "account role", "account disabled", "account enabled", "token made",
            "token revoked",
        )]  # fmt: skip
        assert list(verify(connection)) == []


@pytest.mark.parametrize(
    "name",
    ["", "Ann", "../ann", "ann'; drop table account; --", "<img src=x onerror=alert(1)>", "a" * 65,
     "a\n", "ann\0"],
)  # fmt: skip
def test_a_name_that_could_do_harm_is_refused(database: Database, name: str) -> None:
    with database.write() as connection:
        with pytest.raises(CatalogError, match="account name"):
            add_account(connection, name, "admin", by=ROOT)
        assert accounts(connection) == []


def test_what_makes_no_sense_is_refused(staffed: Database) -> None:
    past = datetime.now(UTC) - timedelta(seconds=1)
    with staffed.write() as connection:
        for label, expires in (("", None), ("a\nb", None), ("x" * 81, None), ("x", past),
                               ("x", datetime(2999, 1, 1))):  # fmt: skip
            with pytest.raises(CorporealError):
                new_token(connection, "otto", label, expires, by=ROOT)
        new_token(connection, "otto", "laptop", by=ROOT)
        with pytest.raises(CatalogError, match="exists already"):
            new_token(connection, "otto", "laptop", by=ROOT)
        with pytest.raises(CatalogError, match="exists already"):
            add_account(connection, "otto", "viewer", by=ROOT)
        with pytest.raises(UnknownNameError, match="unknown role"):
            add_account(connection, "eve", "root", by=ROOT)
        with pytest.raises(CatalogError, match="not in use"):
            revoke_token(connection, "otto", "other", by=ROOT)
        set_disabled(connection, "otto", True, by=ROOT)
        with pytest.raises(CatalogError, match="disabled"):
            new_token(connection, "otto", "more", by=ROOT)
