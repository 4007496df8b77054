"""`corporeal split`: one dataset as several new ones, such as train and validation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from corporeal.cli.command import Command, argument, option, spread_options
from corporeal.cli.export_options import EditChoices, Out
from corporeal.cli.export_run import edit, numbers_in, show, to_json
from corporeal.cli.output import AsJson, print_json
from corporeal.errors import CorporealError
from corporeal.exchange.editing import draw_split, parse_shares


@spread_options
def split(
    path: Annotated[Path, argument("A dataset; it is not changed.")],
    out: Out,
    parts: Annotated[
        str, option("Names and shares, such as train=0.9,validation=0.1.")
    ] = "train=0.9,validation=0.1",
    seed: Annotated[int, option("Another seed, another draw.", min=0)] = 0,
    *,
    choices: EditChoices,
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
        exported, proof = edit([path], out / name, choices, episodes=episodes)
        results[name] = to_json(exported, proof)
        holds = holds and (proof is None or proof.holds)
        if not as_json:
            show(exported, proof)
    if as_json:
        print_json(results)
    raise typer.Exit(0 if holds else 1)


COMMAND = Command(split, panel="Exchange")
