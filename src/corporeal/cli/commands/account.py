"""`corporeal account`: who may do what in a workspace."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from corporeal.catalog.accounts import accounts, add_account, new_token, revoke_token
from corporeal.cli.command import Command, group
from corporeal.cli.output import AsJson, console, make_table, print_json
from corporeal.cli.workspaces import WorkspaceOption, read_catalog, write_catalog

app = group("Accounts with roles, and tokens for programs.")
Name = Annotated[str, typer.Argument(help="The name of the account.")]


@app.command("add")
def add(
    name: Name,
    role: Annotated[str, typer.Option(help="viewer, operator, annotator, lead or admin.")],
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Add an account. The first one is an admin, and from then on accounts count.

    Example: [bold]corporeal account add ada --role admin[/bold]
    """
    with write_catalog(root, "account") as (connection, actor):
        made = add_account(connection, name, role, by=actor)
    if as_json:
        print_json(asdict(made))
    else:
        console().print(f"{made.name} is {made.role}; next: corporeal account token {made.name}")


@app.command("list")
def list_all(root: WorkspaceOption = None, as_json: AsJson = False) -> None:
    """List all accounts.

    Example: [bold]corporeal account list[/bold]
    """
    with read_catalog(root, "read") as connection:
        found = accounts(connection)
    if as_json:
        print_json([asdict(each) for each in found])
        return
    table = make_table("account", "role", "", "since")
    for each in found:
        state = "disabled" if each.disabled else ""
        table.add_row(each.name, each.role, state, each.created_at[:10])
    console().print(table if found else "no account: everybody on this machine is admin")


@app.command("token")
def token(
    name: Name,
    label: Annotated[str, typer.Option(help="What it is for.")] = "command line",
    days: Annotated[int, typer.Option(min=1, max=3650, help="How long it is good for.")] = 90,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Make a token; it is shown this once and never again.

    Example: [bold]corporeal account token ada --label notebook[/bold]
    """
    expires = datetime.now(UTC) + timedelta(days=days)
    with write_catalog(root, "read") as (connection, actor):
        secret = new_token(connection, name, label, expires=expires, by=actor)
    if as_json:
        print_json({"account": name, "token": secret})
    else:
        console().print(
            f"{secret}\nset CORPOREAL_TOKEN to it; it is not stored and not shown again"
        )


@app.command("revoke")
def revoke(
    name: Name,
    label: Annotated[str, typer.Option(help="The token's label.")],
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """End a token.

    Example: [bold]corporeal account revoke ada --label notebook[/bold]
    """
    with write_catalog(root, "read") as (connection, actor):
        revoke_token(connection, name, label, by=actor)
    if as_json:
        print_json({"account": name, "label": label, "revoked": True})
    else:
        console().print(f"the token {label!r} of {name} is revoked")


COMMAND = Command(app, panel="Workspace")
