"""`corporeal migrate`: a workspace brought up to date, or carried to other servers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corporeal.catalog.workspace import open_database, open_workspace, relocate, upgrade
from corporeal.cli.command import Command
from corporeal.cli.output import AsJson, console, print_json, show_progress
from corporeal.cli.workspaces import WorkspaceOption, enter_workspace


def migrate(
    to: Annotated[
        Path | None, typer.Option(help="Another workspace (made by init) to carry this one to.")
    ] = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Bring the catalogue's tables up to date; with --to, copy everything to another workspace.

    Every object is read back and compared at the other side; the source is not changed.

    Example: [bold]corporeal migrate --workspace lab --to team[/bold]
    """
    if to is None:
        _upgrade(root, as_json=as_json)
        return

    with (
        enter_workspace(root, "migrate") as (source, _),
        open_workspace(to) as target,
        show_progress("carrying objects") as bar,
    ):
        done = relocate(source, target, on_object=bar.advance)
    if as_json:
        print_json(done.to_json())
    else:
        console().print(done.words)


def _upgrade(root: Path | None, *, as_json: bool) -> None:
    with open_database(root) as database:
        revision = upgrade(database)
    if as_json:
        print_json({"revision": revision})
    else:
        console().print(f"the catalogue is of revision {revision}")


COMMAND = Command(migrate, panel="Workspace")
