"""`corporeal account`: who may do what in a workspace."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

from corporeal.catalog.accounts import accounts, add_account, new_token, revoke_token
from corporeal.cli.command import Command, argument, group, option
from corporeal.cli.output import AsJson, make_table, print_result
from corporeal.cli.workspaces import WorkspaceOption, read_catalog, write_catalog

app = group("Accounts with roles, and tokens for programs.")
Name = Annotated[str, argument("The name of the account.")]


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
        found = accounts(connection)
    table = make_table("account", "role", "", "since")
    for each in found:
        state = "disabled" if each.disabled else ""
        table.add_row(each.name, each.role, state, each.created_at[:10])
    empty = "no account: everybody on this machine is admin"
    print_result(as_json, found, table if found else empty)


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


@app.command("revoke")
def revoke(
    name: Name,
    label: Annotated[str, option("The token's label.")],
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """End a token.

    Example: [bold]corporeal account revoke ada --label notebook[/bold]
    """
    with write_catalog(root, "read") as (connection, actor):
        revoke_token(connection, name, label, by=actor)
    values = {"account": name, "label": label, "revoked": True}
    print_result(as_json, values, f"the token {label!r} of {name} is revoked")


COMMAND = Command(app, panel="Workspace")
