"""`corporeal select`: a new dataset of some episodes, in the order given."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from corporeal.cli.command import Command, argument, option, spread_options
from corporeal.cli.export_options import EditChoices, Out, numbers_of
from corporeal.cli.export_run import edit_and_report, numbers_in
from corporeal.cli.output import AsJson


@spread_options
def select(
    path: Annotated[Path, argument("A dataset; it is not changed.")],
    episodes: Annotated[str, option("Numbers in order, such as 5,0-2.", "--episodes")],
    out: Out,
    choices: EditChoices,
    as_json: AsJson = False,
) -> None:
    """Write a new dataset of the episodes named, in that order; the old one stays as it is.

    Example: [bold]corporeal select dataset --episodes 0-9 --out first_ten[/bold]
    """
    wanted = numbers_of(episodes)
    numbers_in(path, wanted)
    edit_and_report([path], out, choices, as_json=as_json, episodes=wanted)


COMMAND = Command(select, panel="Exchange")
