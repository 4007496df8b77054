"""Opens the workspace that a command works in, and says who is at work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

# The door itself, which loads the libraries of a database only where a workspace is opened.
from corporeal import catalog
from corporeal.cli.command import option

if TYPE_CHECKING:
    from sqlalchemy import Connection

WorkspaceOption = Annotated[
    Path | None,
    option("The workspace; by default the one here, or $CORPOREAL_WORKSPACE.", "--workspace", "-w"),
]


@contextmanager
def enter_workspace(
    root: Path | None, action: catalog.permission.Action
) -> Iterator[tuple[catalog.workspace.Workspace, catalog.permission.Actor]]:
    """The workspace and who works in it; raises when they may not do this."""
    with catalog.workspace.open_workspace(root) as workspace:
        with workspace.database.read() as connection:
            actor = catalog.accounts.current_actor(connection)
            actor = catalog.people.admit(connection, actor, workspace.grants)
        catalog.permission.require(actor, action)
        yield workspace, actor


@contextmanager
def read_catalog(root: Path | None, action: catalog.permission.Action) -> Iterator[Connection]:
    """A connection that reads the catalogue of the workspace."""
    with enter_workspace(root, action) as (workspace, _), workspace.database.read() as connection:
        yield connection


@contextmanager
def write_catalog(
    root: Path | None, action: catalog.permission.Action
) -> Iterator[tuple[Connection, catalog.permission.Actor]]:
    """A connection that changes the catalogue, all or nothing, and who does."""
    with enter_workspace(root, action) as (workspace, actor), workspace.database.write() as writer:
        yield writer, actor
