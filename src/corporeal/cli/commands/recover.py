"""`corporeal recover`: makes episodes of what killed writers left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corporeal.cli.command import Command
from corporeal.cli.output import AsJson, console, print_json
from corporeal.errors import CorporealError


def recover(
    folder: Annotated[
        Path, typer.Argument(help="A *.partial folder, or a folder with some in it.")
    ],
    as_json: AsJson = False,
) -> None:
    """Make an episode of every *.partial folder that a killed writer left.

    Nothing is deleted before the episode is in place. Exit 1 if one could not be recovered.

    Example: [bold]corporeal recover recordings/[/bold]
    """
    from corporeal.episode.recovery import find_spools
    from corporeal.episode.recovery import recover as recover_spool

    if not folder.is_dir():
        raise CorporealError(f"{folder}: not a folder; expected one with *.partial folders in it.")
    recovered: list[str] = []
    failed: dict[str, str] = {}
    for spool in find_spools(folder):
        try:
            recovered.append(str(recover_spool(spool)))
        except CorporealError as error:
            failed[str(spool)] = str(error)
    if as_json:
        print_json({"recovered": recovered, "failed": failed})
    else:
        for path in recovered:
            console().print(f"[green]recovered[/green] {path}  (look at it: corporeal info {path})")
        for path, reason in failed.items():
            console().print(f"[red]failed[/red] {path}: {reason}", soft_wrap=True)
        if not recovered and not failed:
            console().print(f"nothing to recover in {folder}")
    if failed:
        raise typer.Exit(1)


COMMAND = Command(recover)
