"""`corporeal verify`: is an episode still what was written?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from corporeal.cli.command import Command, argument
from corporeal.cli.output import AsJson, console, print_json
from corporeal.episode.overview import Damage
from corporeal.episode.overview import verify as verify_episode
from corporeal.errors import EpisodeError


def verify(
    episodes: Annotated[list[Path], argument("Episode files (.h5).")],
    as_json: AsJson = False,
) -> None:
    """Read every byte and compare it with the hashes inside; exit 1 if anything changed.

    Example: [bold]corporeal verify demo.h5[/bold]
    """
    results: dict[str, tuple[Damage, ...]] = {}
    for path in episodes:
        try:
            results[str(path)] = verify_episode(path)
        except EpisodeError as error:
            if len(episodes) == 1:
                raise
            results[str(path)] = (Damage("", str(error)),)
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


COMMAND = Command(verify)
