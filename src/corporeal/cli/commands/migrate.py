"""`corporeal migrate`: a workspace brought up to date, or carried to other servers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from corporeal.cli.command import Command
from corporeal.cli.output import AsJson, console, print_json, stderr
from corporeal.cli.workspaces import WorkspaceOption, entered


def migrate(
    to: Annotated[
        Path | None, typer.Option(help="Another workspace (made by init) to carry this one to.")
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Bring the catalogue's tables up to date; with --to, copy everything to another workspace.

    Every object is read back and compared at the other side; the source is not changed.

    Example: [bold]corporeal migrate --workspace lab --to team[/bold]
    """
    if to is None:
        _upgrade(workspace, as_json=as_json)
        return
    from corporeal.catalog.workspace import open_workspace, relocate

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
               TimeRemainingColumn())  # fmt: skip
    with (
        entered(workspace, "migrate") as (source, _),
        open_workspace(to) as target,
        Progress(*columns, console=stderr(), transient=True) as progress,
    ):
        task = progress.add_task("carrying objects", total=None)
        done = relocate(source, target, on_object=lambda _: progress.advance(task))
    if as_json:
        print_json(done.to_json())
    else:
        console().print(done.words)


def _upgrade(workspace: Path | None, *, as_json: bool) -> None:
    from corporeal.catalog.workspace import open_database, upgrade

    with open_database(workspace) as database:
        revision = upgrade(database)
    if as_json:
        print_json({"revision": revision})
    else:
        console().print(f"the catalogue is of revision {revision}")


COMMAND = Command(migrate, panel="Workspace")
