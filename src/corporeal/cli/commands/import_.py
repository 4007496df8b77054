"""`corporeal import`: datasets, bags and motions of others as episode files."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

from corporeal.cli.command import Command, argument, option
from corporeal.cli.export_options import (
    CORES,
    Chosen,
    Exclude,
    Jobs,
    Out,
    RecipeFile,
    SourceRate,
    Verify,
    numbers_of,
)
from corporeal.cli.export_run import report, run
from corporeal.cli.output import AsJson, console, make_table
from corporeal.cli.sources import opener_of, with_recipe
from corporeal.exchange import ExportOptions
from corporeal.exchange.editing import RobotMapping, require_robot


def import_(
    paths: Annotated[list[Path], argument("Datasets, bags, motions.")],
    out: Out,
    robot: Annotated[
        str | None,
        option("The robot: built-in, its file, or none to keep columns as named."),
    ] = None,
    source_rate: SourceRate = None,
    recipe: RecipeFile = None,
    exclude: Exclude = None,
    episodes: Chosen = None,
    verify: Verify = True,
    jobs: Jobs = CORES,
    as_json: AsJson = False,
) -> None:
    """Turn data of any format that is known into episode files: every stream at its own rate.

    Example: [bold]corporeal import lerobot_dataset --robot g1 --out recordings[/bold]
    """
    with ExitStack() as stack:
        opener = with_recipe(opener_of(paths, robot, stack, rate_hz=source_rate), recipe)
        mapping = require_robot(opener(), robot_given=robot is not None)
        if not as_json:
            _show(mapping)
        chosen = tuple(numbers_of(episodes)) if episodes is not None else None
        options = ExportOptions(episodes=chosen, exclude=tuple(exclude or ()), jobs=jobs)
        exported, proof = run(opener, out, "episodes", options, verify=verify)
    report(exported, proof, as_json=as_json, after=(f"corporeal check {out}",))


def _show(mapping: RobotMapping) -> None:
    """What became of every stream, and what nobody could place."""
    table = make_table("source", "stream", "joints", "not mapped")
    for row in mapping.rows():
        table.add_row(*row)
    console().print(table)


COMMAND = Command(import_, panel="Exchange")
