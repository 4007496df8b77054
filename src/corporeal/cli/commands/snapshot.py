"""`corporeal snapshot`: the whole catalogue as Parquet, for notebooks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corporeal.catalog.workspace import write_snapshot
from corporeal.cli.command import Command
from corporeal.cli.output import AsJson, console, print_json, stderr
from corporeal.cli.workspaces import WorkspaceOption, enter_workspace


def snapshot(
    folder: Annotated[Path, typer.Argument(help="A new folder.")],
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Write every table of the catalogue as a Parquet file, for DuckDB, pandas or polars.

    Secrets stay where they are. `views.sql` in the folder gives DuckDB the tables by name.

    Example: [bold]corporeal snapshot tables[/bold]
    """
    with enter_workspace(root, "export") as (workspace, _), stderr().status("writing"):
        tables = write_snapshot(workspace.database, folder)
    if as_json:
        print_json({"folder": str(folder), "tables": dict(tables)})
        return
    for name, rows in tables.items():
        console().print(f"{name:12} {rows:>10,} rows")
    console().print(f"next: duckdb -init {folder / 'views.sql'}")


COMMAND = Command(snapshot, panel="Workspace")
