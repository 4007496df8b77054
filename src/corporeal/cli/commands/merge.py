"""`corporeal merge`: several datasets as one new one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corporeal.cli.command import Command
from corporeal.cli.dataset_edit import edit
from corporeal.cli.export_options import CORES, Jobs, Out, Python, Verify
from corporeal.cli.export_run import report
from corporeal.cli.output import AsJson


def merge(
    paths: Annotated[list[Path], typer.Argument(help="Datasets of one kind of robot and rate.")],
    out: Out,
    verify: Verify = True,
    python: Python = None,
    jobs: Jobs = CORES,
    as_json: AsJson = False,
) -> None:
    """Put datasets one after the other into a new one, in the format of the first.

    Example: [bold]corporeal merge monday tuesday --out week[/bold]
    """
    exported, proof = edit(paths, out, verify=verify, python=python, jobs=jobs)
    report(exported, proof, as_json=as_json, after=(f"corporeal check {out}",))


COMMAND = Command(merge, panel="Exchange")
