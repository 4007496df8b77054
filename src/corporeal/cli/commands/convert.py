"""`corporeal convert`: a dataset of one format into another, proved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from corporeal.cli.command import Command, argument, spread_options
from corporeal.cli.export_options import ExportChoices
from corporeal.cli.export_run import export_paths
from corporeal.cli.output import AsJson


@spread_options
def convert(
    source: Annotated[Path, argument("A dataset, a folder of episodes, a bag.")],
    target: Annotated[Path, argument("A new folder; nothing is overwritten.")],
    choices: ExportChoices,
    as_json: AsJson = False,
) -> None:
    """Turn a dataset into one of another format, and verify the round trip.

    Example: [bold]corporeal convert old_lerobot_v21 new_rlds --format rlds[/bold]
    """
    export_paths([source], target, choices, as_json=as_json)


COMMAND = Command(convert, panel="Exchange")
