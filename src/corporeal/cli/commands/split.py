"""`corporeal split`: one dataset as several new ones, such as train and validation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from corporeal.cli.command import Command
from corporeal.cli.dataset_edit import edit, numbers_in
from corporeal.cli.export_options import CORES, Jobs, Out, Python, Verify
from corporeal.cli.export_run import show, to_json
from corporeal.cli.output import AsJson, print_json
from corporeal.errors import CorporealError
from corporeal.exchange.editing import draw_split, parse_shares


def split(
    path: Annotated[Path, typer.Argument(help="A dataset; it is not changed.")],
    out: Out,
    parts: Annotated[
        str, typer.Option(help="Names and shares, such as train=0.9,validation=0.1.")
    ] = "train=0.9,validation=0.1",
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another draw.")] = 0,
    verify: Verify = True,
    python: Python = None,
    jobs: Jobs = CORES,
    as_json: AsJson = False,
) -> None:
    """Draw episodes into several new datasets below a new folder; the old one stays as it is.

    Example: [bold]corporeal split dataset --parts train=0.8,validation=0.2 --out parts[/bold]
    """
    drawn = draw_split(numbers_in(path), parse_shares(parts), seed=seed)
    if out.exists():
        raise CorporealError(f"{out} already exists, and a split never changes one. Name another.")
    results: dict[str, Any] = {}
    holds = True
    for name, episodes in drawn.items():
        exported, proof = edit(
            [path], out / name, episodes=episodes, verify=verify, python=python, jobs=jobs
        )
        results[name] = to_json(exported, proof)
        holds = holds and (proof is None or proof.holds)
        if not as_json:
            show(exported, proof)
    if as_json:
        print_json(results)
    raise typer.Exit(0 if holds else 1)


COMMAND = Command(split, panel="Exchange")
