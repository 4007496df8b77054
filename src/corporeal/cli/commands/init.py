"""`corporeal init`: a workspace, in which episodes are kept, found and released."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rich.text import Text

from corporeal.catalog.workspace import make_workspace
from corporeal.cli.command import Command, argument, option
from corporeal.cli.output import AsJson, print_result


def init(
    folder: Annotated[Path, argument("The folder of the workspace.")] = Path(),
    catalog: Annotated[
        str, option("sqlite:///file, or postgresql://user@host/name.")
    ] = "sqlite:///catalog.db",
    store: Annotated[str, option("A folder, or s3://bucket/prefix.")] = "objects",
    endpoint: Annotated[
        str | None, option("The address of an S3 server that is not Amazon's.")
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
    print_result(
        as_json,
        made,
        Text.assemble("workspace ", (made["root"], "bold")),
        f"catalogue {made['catalog']}\nobjects   {made['store']}",
        f"next: corporeal ingest RECORDINGS --workspace {folder}",
    )


COMMAND = Command(init, panel="Start")
