"""Labels from files on the command line, made to count."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corporeal.cli.annotating import find_taxonomy
from corporeal.cli.output import AsJson, console, print_json
from corporeal.cli.workspaces import WorkspaceOption, enter_workspace
from corporeal.labelling.labels import accept_label_files

FormatName = Annotated[
    str | None,
    typer.Option("--format", "-f", help="csv, elan or json; by default as the name ends."),
]


def bring_in(
    files: Annotated[list[Path], typer.Argument(help="Files of labels; episodes by their ids.")],
    taxonomy: Annotated[
        str, typer.Option("--taxonomy", "-t", help="A ready one, a file, or name@version.")
    ] = "manipulation",
    format_name: FormatName = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Let the labels in files count, all or none; boundaries go to the nearest frame.

    Example: [bold]corporeal annotate import labels.csv --taxonomy manipulation[/bold]
    """
    with enter_workspace(root, "judge") as (workspace, actor):
        with workspace.database.read() as connection:
            document = find_taxonomy(connection, taxonomy)
        made = accept_label_files(workspace, files, document, by=actor, format_name=format_name)
    if as_json:
        print_json([{"episode": each.episode, "number": each.number, "hash": each.hash}
                    for each in made])  # fmt: skip
        return
    for each in made:
        console().print(f"{each.episode}: labels {each.number} are in force")
