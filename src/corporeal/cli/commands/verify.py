"""`corporeal verify`: is an episode still what was written?"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from corporeal.cli.command import Command, argument
from corporeal.cli.output import AsJson, console, print_json
from corporeal.cli.sources import local_paths
from corporeal.cli.workspaces import WorkspaceOption
from corporeal.episode.overview import Damage
from corporeal.episode.overview import verify as verify_episode
from corporeal.errors import EpisodeError


def verify(
    episodes: Annotated[
        list[Path], argument("Episode files (.h5); with -w: numbers, ids or a query.", "EPISODES")
    ],
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Read every byte and compare it with the hashes inside; exit 1 if anything changed.

    Example: [bold]corporeal verify demo.h5[/bold]
    """
    results: dict[str, tuple[Damage, ...]] = {}
    with ExitStack() as stack:
        paths = local_paths(episodes, root, stack)
        for path in paths:
            shown = str(path) if path in episodes else path.parent.name
            try:
                results[shown] = verify_episode(path)
            except EpisodeError as error:
                if len(paths) == 1:
                    raise
                results[shown] = (Damage("", str(error)),)
    if as_json:
        print_json(results)
    else:
        for name, damage in results.items():
            verdict = ("damaged", "red") if damage else ("whole", "green")
            console().print(Text.assemble(f"{name}: ", verdict))
            for item in damage:
                console().print(f"  {item.path or 'file'}: {item.message}")
    if any(results.values()):
        raise typer.Exit(1)


COMMAND = Command(verify, panel="Check")
