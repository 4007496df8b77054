"""`corporeal snapshot`: the whole catalogue as Parquet, for notebooks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from corporeal.catalog.workspace import write_snapshot
from corporeal.cli.command import Command, argument
from corporeal.cli.output import AsJson, print_result, stderr
from corporeal.cli.workspaces import WorkspaceOption, enter_workspace


def snapshot(
    folder: Annotated[Path, argument("A new folder.")],
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Write every table of the catalogue as a Parquet file, for DuckDB, pandas or polars.

    Secrets stay where they are. `views.sql` in the folder gives DuckDB the tables by name.

    Example: [bold]corporeal snapshot tables[/bold]
    """
    with enter_workspace(root, "export") as (workspace, _), stderr().status("writing"):
        tables = write_snapshot(workspace.database, folder)
    lines = [f"{name:12} {rows:>10,} rows" for name, rows in tables.items()]
    after = f"next: duckdb -init {folder / 'views.sql'}"
    print_result(as_json, {"folder": folder, "tables": dict(tables)}, *lines, after)


COMMAND = Command(snapshot, panel="Workspace")
