"""`corporeal merge`: several datasets as one new one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from corporeal.cli.command import Command, argument, spread_options
from corporeal.cli.export_options import EditChoices, Out
from corporeal.cli.export_run import edit_and_report
from corporeal.cli.output import AsJson


@spread_options
def merge(
    paths: Annotated[list[Path], argument("Datasets of one kind of robot and rate.")],
    out: Out,
    choices: EditChoices,
    as_json: AsJson = False,
) -> None:
    """Put datasets one after the other into a new one, in the format of the first.

    Example: [bold]corporeal merge monday tuesday --out week[/bold]
    """
    edit_and_report(paths, out, choices, as_json=as_json)


COMMAND = Command(merge, panel="Exchange")
