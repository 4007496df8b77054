"""`corporeal convert`: a dataset of one format into another, proved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corporeal.cli.command import Command
from corporeal.cli.commands.export import export
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
)
from corporeal.cli.output import AsJson
from corporeal.cli.workspaces import WorkspaceOption


def convert(
    source: Annotated[Path, typer.Argument(help="A dataset, a folder of episodes, a bag.")],
    target: Annotated[Path, typer.Argument(help="A new folder; nothing is overwritten.")],
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
    """Turn a dataset into one of another format, and prove that nothing but the format changed.

    Example: [bold]corporeal convert old_lerobot_v21 new_rlds --format rlds[/bold]
    """
    export(
        [source], target, format_name, rate, view, normalise, image_size, state, include, exclude,
        episodes, weights, recipe, root, split, robot, smoke, sides, verify, python, on, jobs,
        as_json,
    )  # fmt: skip


COMMAND = Command(convert, panel="Exchange")
