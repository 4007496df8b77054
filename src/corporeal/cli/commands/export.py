"""`corporeal export`: episodes out, in the format that people train from."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from corporeal.cli.command import Command
from corporeal.cli.export_options import (
    CORES,
    Chosen,
    Exclude,
    FormatName,
    ImageSize,
    Include,
    Jobs,
    Normalised,
    On,
    Out,
    Python,
    Rate,
    RecipeFile,
    Robot,
    Sides,
    Smoke,
    SplitName,
    State,
    Verify,
    ViewName,
    Weights,
    numbers_of,
)
from corporeal.cli.exporting import report, run, training_lines
from corporeal.cli.opening import opener_of, with_recipe
from corporeal.cli.output import AsJson
from corporeal.cli.smoke import smoke_first
from corporeal.cli.workspaces import WorkspaceOption
from corporeal.exchange import ExportOptions
from corporeal.exchange.format import writer_of
from corporeal.exchange.training import read_weights


def export(
    paths: Annotated[
        list[Path], typer.Argument(help="Episodes, datasets, bags, or a release: NAME@VERSION.")
    ],
    out: Out,
    format_name: FormatName = "lerobot",
    rate: Rate = None,
    view: ViewName = "flat",
    normalise: Normalised = "none",
    image_size: ImageSize = None,
    state: State = None,
    include: Include = None,
    exclude: Exclude = None,
    episodes: Chosen = None,
    weights: Weights = None,
    recipe: RecipeFile = None,
    root: WorkspaceOption = None,
    split: SplitName = None,
    robot: Robot = None,
    smoke: Smoke = False,
    sides: Sides = True,
    verify: Verify = True,
    python: Python = None,
    on: On = "processes",
    jobs: Jobs = CORES,
    as_json: AsJson = False,
) -> None:
    """Write a training dataset from episodes, and prove that it holds what they hold.

    Example: [bold]corporeal export recordings --format lerobot --out dataset[/bold]
    """
    options = ExportOptions(
        rate_hz=rate,
        view=view,
        normalise=normalise,
        image_size=image_size,
        state=tuple(state or ()),
        include=tuple(include or ()),
        exclude=tuple(exclude or ()),
        sides=sides,
        episodes=tuple(numbers_of(episodes)) if episodes is not None else None,
        weights=read_weights(weights) if weights is not None else None,
        on=on,
        jobs=jobs,
    )
    writer_of(format_name)
    with ExitStack() as stack:
        opener = with_recipe(opener_of(paths, robot, stack, root=root, splits=split or ()), recipe)
        if smoke:
            smoke_first(opener, options, python=python)
        exported, proof = run(opener, out, format_name, options, verify=verify, python=python)
    report(exported, proof, as_json=as_json, after=training_lines(out, format_name))


COMMAND = Command(export, panel="Exchange")
