"""`corporeal smoke-train`: do ACT and Diffusion Policy take steps on this data?"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated

import typer

from corporeal.cli.command import Command, option
from corporeal.cli.export_options import Robot, SomeData
from corporeal.cli.export_run import FIRST, show_smoke, smoke_on
from corporeal.cli.output import AsJson, print_json, stderr
from corporeal.cli.sources import opener_of
from corporeal.cli.workspaces import WorkspaceOption
from corporeal.exchange import ExportOptions
from corporeal.exchange.training import POLICIES, is_trainable
from corporeal.exchange.training import smoke_train as train


def smoke_train(
    paths: SomeData,
    policy: Annotated[list[str] | None, option("act or diffusion; by default both.")] = None,
    steps: Annotated[int, option("Steps of each.", min=6, max=10_000)] = 20,
    robot: Robot = None,
    root: WorkspaceOption = None,
    python: Annotated[str | None, option("A Python that has lerobot.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train on the first 100 episodes for a few steps, before anybody converts or trains on all.

    Says for every hand whether its command can be told from the joints. Exit 0 when the losses are
    finite and fall and the action has the hands that were commanded, 1 when not.

    Example: [bold]corporeal smoke-train dataset --steps 20[/bold]
    """
    chosen = tuple(policy) if policy else POLICIES
    with ExitStack() as stack:
        opener = opener_of(paths, robot, stack, root=root)
        numbers = opener().episodes[:FIRST]
        if len(paths) == 1 and is_trainable(paths[0]):
            with stderr().status(f"training on {len(numbers)} episodes"):
                report = train(paths[0], policies=chosen, steps=steps, episodes=numbers,
                               python=python)  # fmt: skip
        else:
            options = ExportOptions(sides=False)
            report = smoke_on(opener, options, steps=steps, policies=chosen, python=python)
    if as_json:
        print_json(report.to_json())
    else:
        show_smoke(report)
    raise typer.Exit(0 if report.passed else 1)


COMMAND = Command(smoke_train, panel="Exchange")
