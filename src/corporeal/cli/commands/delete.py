"""`corporeal delete`: a new dataset without some episodes; the old one stays."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from corporeal.cli.command import Command, argument, option, spread_options
from corporeal.cli.export_options import EditChoices, Out, numbers_of
from corporeal.cli.export_run import edit_and_report, numbers_in
from corporeal.cli.output import AsJson
from corporeal.errors import CorporealError


@spread_options
def delete(
    path: Annotated[Path, argument("A dataset; it is not changed.")],
    episodes: Annotated[str, option("Numbers, such as 3,7-9.", "--episodes")],
    out: Out,
    choices: EditChoices,
    as_json: AsJson = False,
) -> None:
    """Write a new dataset that lacks the episodes named; the old one stays as it is.

    Example: [bold]corporeal delete dataset --episodes 3,7-9 --out cleaned[/bold]
    """
    gone = numbers_of(episodes)
    left = [number for number in numbers_in(path, gone) if number not in set(gone)]
    if not left:
        raise CorporealError(f"{path}: no episode would be left; expected at least one.")
    edit_and_report([path], out, choices, as_json=as_json, episodes=left)


COMMAND = Command(delete, panel="Exchange")
