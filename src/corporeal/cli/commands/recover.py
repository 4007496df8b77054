"""`corporeal recover`: makes episodes of what killed writers left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corporeal.capture.conversion import episode_from_journal
from corporeal.cli.command import Command, argument
from corporeal.cli.output import AsJson, console, emphasise, print_json
from corporeal.episode.file import DAMAGED, find_leftovers
from corporeal.errors import CorporealError


def recover(
    folder: Annotated[Path, argument("A *.journal, or a folder of them.")],
    as_json: AsJson = False,
) -> None:
    """Make an episode of everything that a killed recorder or writer left behind.

    No journal is removed before its episode was opened again and matched its hashes; one that was
    damaged is kept beside it. Exit 1 if one could not be recovered: the others are all the same.

    Example: [bold]corporeal recover recordings/[/bold]
    """
    if not folder.exists():
        raise CorporealError(f"{folder}: does not exist; expected a folder of recordings.")
    recovered: list[str] = []
    kept: list[str] = []
    failed: dict[str, str] = {}
    for left in find_leftovers(folder):
        try:
            recovered.append(str(episode_from_journal(left)))
            damaged = left.with_name(left.name + DAMAGED)
            kept += [str(damaged)] if damaged.exists() else []
        except Exception as error:  # Whatever one journal holds, the others must be recovered.
            failed[str(left)] = str(error) or type(error).__name__
    if as_json:
        print_json({"recovered": recovered, "kept": kept, "failed": failed})
    else:
        for path in recovered:
            console().print(
                emphasise(
                    "recovered", f" {path}  (look at it: corporeal info {path})", style="green"
                )
            )
        for path in kept:
            console().print(f"  kept {path}: it was damaged; remove it when the episode will do")
        for path, reason in failed.items():
            console().print(emphasise("failed", f" {path}: {reason}", style="red"), soft_wrap=True)
        if not recovered and not failed:
            console().print(f"nothing to recover in {folder}")
    if failed:
        raise typer.Exit(1)


COMMAND = Command(recover, panel="Record")
