"""`corporeal init`: a workspace, in which episodes are kept, found and released."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corporeal.catalog.workspace import make_workspace
from corporeal.cli.command import Command
from corporeal.cli.output import AsJson, console, print_json


def init(
    folder: Annotated[Path, typer.Argument(help="The folder of the workspace.")] = Path(),
    catalog: Annotated[
        str, typer.Option(help="sqlite:///file, or postgresql://user@host/name.")
    ] = "sqlite:///catalog.db",
    store: Annotated[str, typer.Option(help="A folder, or s3://bucket/prefix.")] = "objects",
    endpoint: Annotated[
        str | None, typer.Option(help="The address of an S3 server that is not Amazon's.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a workspace: a catalogue and an object store, by default files in this folder.

    Example: [bold]corporeal init lab[/bold]
    """
    options = {"endpoint": endpoint} if endpoint else {}
    with make_workspace(folder, catalog=catalog, store=store, options=options) as workspace:
        made = {
            "root": str(workspace.root),
            "catalog": workspace.database.shown,
            "store": workspace.store.url,
        }
    if as_json:
        print_json(made)
        return
    page = console()
    page.print(f"workspace [bold]{made['root']}[/bold]")
    page.print(f"catalogue {made['catalog']}\nobjects   {made['store']}")
    page.print(f"next: corporeal ingest RECORDINGS --workspace {folder}")


COMMAND = Command(init, panel="Workspace")
