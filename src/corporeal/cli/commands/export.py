"""`corporeal export`: episodes out, in the format that people train from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from corporeal.cli.command import Command, argument, spread_options
from corporeal.cli.export_options import ExportChoices, Out
from corporeal.cli.export_run import export_paths
from corporeal.cli.output import AsJson


@spread_options
def export(
    paths: Annotated[
        list[Path],
        argument(
            "Files, datasets, bags; a release, NAME@VERSION; with -w: episodes by number, id or "
            "query; hf://OWNER/NAME."
        ),
    ],
    out: Out,
    choices: ExportChoices,
    as_json: AsJson = False,
) -> None:
    """Write a training dataset from episodes, and prove that it holds what they hold.

    Example: [bold]corporeal export recordings --format lerobot --out dataset[/bold]
    """
    export_paths(paths, out, choices, as_json=as_json)


COMMAND = Command(export, panel="Exchange")
