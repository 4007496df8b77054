"""`corporeal dataset`: new datasets out of old ones; an old one is never changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from corporeal.cli.command import Command, argument, group, option, spread_options
from corporeal.cli.export_options import EditChoices, Out, numbers_of
from corporeal.cli.export_run import edit, edit_and_report, numbers_in, show, to_json
from corporeal.cli.output import AsJson, print_json
from corporeal.errors import CorporealError
from corporeal.exchange.editing import draw_split, parse_shares

app = group("Write new datasets out of old ones: drop, keep, split or merge episodes.")
Source = Annotated[Path, argument("A dataset; it is not changed.", "DATASET")]


@app.command("drop")
@spread_options
def drop(
    path: Source,
    episodes: Annotated[str, option("Numbers, such as 3,7-9.", "--episodes", metavar="NUMBERS")],
    out: Out,
    choices: EditChoices,
    as_json: AsJson = False,
) -> None:
    """Write a new dataset that lacks the episodes named; the old one stays as it is.

    Example: [bold]corporeal dataset drop dataset --episodes 3,7-9 --out cleaned[/bold]
    """
    gone = numbers_of(episodes)
    left = [number for number in numbers_in(path, gone) if number not in set(gone)]
    if not left:
        raise CorporealError(f"{path}: no episode would be left; expected at least one.")
    edit_and_report([path], out, choices, as_json=as_json, episodes=left)


@app.command("keep")
@spread_options
def keep(
    path: Source,
    episodes: Annotated[
        str, option("Numbers in order, such as 5,0-2.", "--episodes", metavar="NUMBERS")
    ],
    out: Out,
    choices: EditChoices,
    as_json: AsJson = False,
) -> None:
    """Write a new dataset of the episodes named, in that order; the old one stays as it is.

    Example: [bold]corporeal dataset keep dataset --episodes 0-9 --out first_ten[/bold]
    """
    wanted = numbers_of(episodes)
    numbers_in(path, wanted)
    edit_and_report([path], out, choices, as_json=as_json, episodes=wanted)


@app.command("merge")
@spread_options
def merge(
    paths: Annotated[list[Path], argument("Datasets of one kind of robot and rate.", "DATASETS")],
    out: Out,
    choices: EditChoices,
    as_json: AsJson = False,
) -> None:
    """Put datasets one after the other into a new one, in the format of the first.

    Example: [bold]corporeal dataset merge monday tuesday --out week[/bold]
    """
    edit_and_report(paths, out, choices, as_json=as_json)


@app.command("split")
@spread_options
def split(
    path: Source,
    out: Out,
    parts: Annotated[
        str, option("Names and shares, such as train=0.9,validation=0.1.", metavar="SHARES")
    ] = "train=0.9,validation=0.1",
    seed: Annotated[int, option("Another seed, another draw.", min=0)] = 0,
    *,
    choices: EditChoices,
    as_json: AsJson = False,
) -> None:
    """Draw episodes into several new datasets below a new folder; the old one stays as it is.

    Example: [bold]corporeal dataset split dataset --parts train=0.8,validation=0.2 --out parts[/bold]
    """  # noqa: E501
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


COMMAND = Command(app, panel="Exchange")
