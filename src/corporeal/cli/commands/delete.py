"""`corporeal delete`: a new dataset without some episodes; the old one stays."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corporeal.cli.command import Command
from corporeal.cli.dataset_edit import edit, require
from corporeal.cli.export_options import CORES, Jobs, Out, Python, Verify, numbers_of
from corporeal.cli.export_run import report
from corporeal.cli.output import AsJson
from corporeal.errors import CorporealError


def delete(
    path: Annotated[Path, typer.Argument(help="A dataset; it is not changed.")],
    episodes: Annotated[str, typer.Option("--episodes", help="Numbers, such as 3,7-9.")],
    out: Out,
    verify: Verify = True,
    python: Python = None,
    jobs: Jobs = CORES,
    as_json: AsJson = False,
) -> None:
    """Write a new dataset that lacks the episodes named; the old one stays as it is.

    Example: [bold]corporeal delete dataset --episodes 3,7-9 --out cleaned[/bold]
    """
    gone = numbers_of(episodes)
    left = [number for number in require(path, gone) if number not in set(gone)]
    if not left:
        raise CorporealError(f"{path}: no episode would be left; expected at least one.")
    exported, proof = edit([path], out, episodes=left, verify=verify, python=python, jobs=jobs)
    report(exported, proof, as_json=as_json, after=(f"corporeal check {out}",))


COMMAND = Command(delete, panel="Exchange")
