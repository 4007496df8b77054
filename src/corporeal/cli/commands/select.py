"""`corporeal select`: a new dataset of some episodes, in the order given."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corporeal.cli.command import Command
from corporeal.cli.dataset_edit import edit, require
from corporeal.cli.export_options import CORES, Jobs, Out, Python, Verify, numbers_of
from corporeal.cli.export_run import report
from corporeal.cli.output import AsJson


def select(
    path: Annotated[Path, typer.Argument(help="A dataset; it is not changed.")],
    episodes: Annotated[str, typer.Option("--episodes", help="Numbers in order, such as 5,0-2.")],
    out: Out,
    verify: Verify = True,
    python: Python = None,
    jobs: Jobs = CORES,
    as_json: AsJson = False,
) -> None:
    """Write a new dataset of the episodes named, in that order; the old one stays as it is.

    Example: [bold]corporeal select dataset --episodes 0-9 --out first_ten[/bold]
    """
    wanted = numbers_of(episodes)
    require(path, wanted)
    exported, proof = edit([path], out, episodes=wanted, verify=verify, python=python, jobs=jobs)
    report(exported, proof, as_json=as_json, after=(f"corporeal check {out}",))


COMMAND = Command(select, panel="Exchange")
