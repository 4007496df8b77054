"""`corporeal account`: who may do what in a workspace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from corporeal.catalog.accounts import (
    Account,
    accounts,
    add_account,
    change_role,
    end_sessions,
    new_token,
    recover_token,
    revoke_token,
    sessions,
    set_disabled,
    tokens,
)
from corporeal.catalog.accounts import account as read_account
from corporeal.catalog.permission import require
from corporeal.catalog.workspace import open_workspace
from corporeal.cli.command import Command, argument, group, option
from corporeal.cli.output import AsJson, make_table, print_result
from corporeal.cli.workspaces import (
    WorkspaceOption,
    enter_workspace,
    read_catalog,
    write_catalog,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

app = group("Accounts with roles, and tokens for programs.")
Name = Annotated[str, argument("The name of the account.")]
Why = Annotated[str | None, option("The reason, for the audit log.")]


@app.command("add")
def add(
    name: Name,
    role: Annotated[str, option("viewer, operator, annotator, lead or admin.")],
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Add an account. The first one is an admin, and from then on accounts count.

    Example: [bold]corporeal account add ada --role admin[/bold]
    """
    with write_catalog(root, "account") as (connection, actor):
        made = add_account(connection, name, role, by=actor)
    sentence = f"{made.name} is {made.role}; next: corporeal account token {made.name}"
    print_result(as_json, made, sentence)


@app.command("list")
def list_all(root: WorkspaceOption = None, as_json: AsJson = False) -> None:
    """List all accounts.

    Example: [bold]corporeal account list[/bold]
    """
    with read_catalog(root, "read") as connection:
        listed = accounts(connection)
    table = make_table("account", "role", "", "since")
    for known in listed:
        state = "disabled" if known.disabled else ""
        table.add_row(known.name, known.role, state, known.created_at[:10])
    empty = "no account: everybody on this machine is admin"
    print_result(as_json, listed, table if listed else empty)


@app.command("role")
def role(
    name: Name,
    to: Annotated[str, argument("viewer, operator, annotator, lead or admin.")],
    why: Why = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Give an account another role, from its next request on; one admin always stays.

    Example: [bold]corporeal account role bo lead --why promoted[/bold]
    """
    with write_catalog(root, "account") as (connection, actor):
        change_role(connection, name, to, by=actor, why=why)
        changed = read_account(connection, name)
    print_result(as_json, changed, f"{changed.name} is {changed.role}")


@app.command("disable")
def disable(
    name: Name, why: Why = None, root: WorkspaceOption = None, as_json: AsJson = False
) -> None:
    """Shut an account: its tokens, sessions and share links end at once.

    Example: [bold]corporeal account disable bo --why "has left"[/bold]
    """
    changed = _set_disabled(name, True, why, root)
    print_result(as_json, changed, f"{name} is disabled; the way back: corporeal account enable")


@app.command("enable")
def enable(
    name: Name, why: Why = None, root: WorkspaceOption = None, as_json: AsJson = False
) -> None:
    """Open an account again, with the tokens and share links that it had; sessions stay ended.

    Example: [bold]corporeal account enable bo[/bold]
    """
    changed = _set_disabled(name, False, why, root)
    print_result(as_json, changed, f"{name} is {changed.role} again")


def _set_disabled(name: str, disabled: bool, why: str | None, root: Path | None) -> Account:
    with write_catalog(root, "account") as (connection, actor):
        set_disabled(connection, name, disabled, by=actor, why=why)
        return read_account(connection, name)


@app.command("token")
def token(
    name: Name,
    label: Annotated[str, option("What it is for.")] = "command line",
    days: Annotated[int, option("How long it is good for.", min=1, max=3650)] = 90,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Make a token; it is shown this once and never again.

    Example: [bold]corporeal account token ada --label notebook[/bold]
    """
    expires = datetime.now(UTC) + timedelta(days=days)
    with write_catalog(root, "read") as (connection, actor):
        secret = new_token(connection, name, label, expires=expires, by=actor)
    once = "set CORPOREAL_TOKEN to it; it is not stored and not shown again"
    print_result(as_json, {"account": name, "token": secret}, secret, once)


@app.command("tokens")
def list_tokens(name: Name, root: WorkspaceOption = None, as_json: AsJson = False) -> None:
    """List the tokens of an account, never their secrets; those of others take an admin.

    Example: [bold]corporeal account tokens ada[/bold]
    """
    with _own(root, name) as connection:
        listed = tokens(connection, name)
    table = make_table("label", "made", "until", "revoked")
    for token in listed:
        dates = (token.created_at, token.expires_at, token.revoked_at)
        table.add_row(token.label, *((date or "")[:10] for date in dates))
    print_result(as_json, listed, table if listed else f"{name} has no token")


@app.command("sessions")
def list_sessions(name: Name, root: WorkspaceOption = None, as_json: AsJson = False) -> None:
    """List the browsers in which an account is logged in; those of others take an admin.

    Example: [bold]corporeal account sessions ada[/bold]
    """
    with _own(root, name) as connection:
        listed = sessions(connection, name)
    table = make_table("session", "token", "from", "since", "until")
    for session in listed:
        table.add_row(session.id, session.label, session.address, session.created_at[:16],
                      session.expires_at[:10])  # fmt: skip
    print_result(as_json, listed, table if listed else f"{name} is logged in nowhere")


@app.command("log-out")
def log_out(
    name: Name,
    session: Annotated[str | None, option("Only this one, as `sessions` lists it.")] = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """End the sessions of an account in all browsers, or one of them.

    Example: [bold]corporeal account log-out ada[/bold]
    """
    with write_catalog(root, "read") as (connection, actor):
        ended = end_sessions(connection, name, by=actor, session=session)
    sentence = f"{ended} session{'s' * (ended != 1)} of {name} ended"
    print_result(as_json, {"account": name, "ended": ended}, sentence)


@app.command("recover")
def recover(name: Name, root: WorkspaceOption = None, as_json: AsJson = False) -> None:
    """Make a token for an admin who has lost theirs; for the owner of a catalogue in a file.

    Example: [bold]corporeal account recover ada[/bold]
    """
    with open_workspace(root) as workspace:
        secret = recover_token(workspace.database, name)
    once = "set CORPOREAL_TOKEN to it; it is not stored and not shown again"
    print_result(as_json, {"account": name, "token": secret}, secret, once)


@contextmanager
def _own(root: Path | None, name: str) -> Iterator[Connection]:
    """The catalogue, for what is one's own, or as admin anybody's."""
    with (
        enter_workspace(root, "read") as (workspace, actor),
        workspace.database.read() as connection,
    ):
        read_account(connection, name)
        if actor.guest or actor.name != name:
            require(actor, "account")
        yield connection


@app.command("revoke")
def revoke(
    name: Name,
    label: Annotated[str, option("The token's label.")],
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """End a token and the sessions that were made of it.

    Example: [bold]corporeal account revoke ada --label notebook[/bold]
    """
    with write_catalog(root, "read") as (connection, actor):
        revoke_token(connection, name, label, by=actor)
    values = {"account": name, "label": label, "revoked": True}
    print_result(as_json, values, f"the token {label!r} of {name} is revoked")


COMMAND = Command(app, panel="People")
