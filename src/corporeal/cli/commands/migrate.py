"""`corporeal migrate`: a workspace brought up to date, or carried to other servers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from corporeal.catalog.workspace import open_database, open_workspace, relocate, upgrade
from corporeal.cli.command import Command, option
from corporeal.cli.output import AsJson, print_result, show_progress
from corporeal.cli.workspaces import WorkspaceOption, enter_workspace


def migrate(
    to: Annotated[
        Path | None, option("Another workspace (made by init) to carry this one to.")
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
    print_result(as_json, done, done.words)


def _upgrade(root: Path | None, *, as_json: bool) -> None:
    with open_database(root) as database:
        revision = upgrade(database)
    print_result(as_json, {"revision": revision}, f"the catalogue is of revision {revision}")


COMMAND = Command(migrate, panel="Workspace")
