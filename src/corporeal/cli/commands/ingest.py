"""`corporeal ingest`: episodes into a workspace, judged, stored and recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from corporeal.catalog.ingestion import Ingested
from corporeal.catalog.ingestion import ingest as take_in
from corporeal.catalog.workspace import Workspace
from corporeal.cli.command import Command, argument, option
from corporeal.cli.export_options import CORES, Jobs, On
from corporeal.cli.output import COLOURS, AsJson, console, make_table, print_json, show_progress
from corporeal.cli.tracking import Track, track_batch
from corporeal.cli.workspaces import WorkspaceOption, enter_workspace
from corporeal.quality.policy import open_policy

_MOST = 60


def ingest(
    paths: Annotated[list[Path], argument("Episodes, or folders of them.")],
    root: WorkspaceOption = None,
    batch: Annotated[str | None, option("The batch that they belong to.")] = None,
    policy: Annotated[Path | None, option("A policy document of your own.")] = None,
    pictures: Annotated[bool, option("Look at pictures as well.")] = True,
    check: Annotated[bool, option("Judge and score them now.")] = True,
    track: Track = None,
    on: On = "processes",
    jobs: Jobs = CORES,
    as_json: AsJson = False,
) -> None:
    """Take episodes into a workspace. The same episode twice is one; interrupted, it goes on.

    Exit 0 when all are there, 1 when one could not be taken in.

    Example: [bold]corporeal ingest recordings --batch monday[/bold]
    """
    with enter_workspace(root, "ingest") as (workspace, actor):
        with show_progress("taking in") as bar:
            done = take_in(
                workspace,
                paths,
                who=actor.name,
                policy=open_policy(policy),
                pictures=pictures,
                batch=batch,
                on=on,
                jobs=jobs,
                check=check,
                on_start=bar.start,
                on_episode=bar.advance,
            )
        track_batch(workspace, batch, track)
        _report(done, workspace, as_json=as_json)
    refused = done.having("refused", "damaged")
    raise typer.Exit(1 if refused else 0)


def _report(done: Ingested, workspace: Workspace, *, as_json: bool) -> None:
    if as_json:
        print_json({"episodes": done.outcomes})
        return
    show(done)
    console().print(f"next: corporeal ls 'state = accepted' --workspace {workspace.root}")


def show(done: Ingested) -> None:
    """What became of every file, the troubled ones first."""
    order = {"damaged": 0, "refused": 1, "added": 2, "judged": 3, "known": 4}
    table = make_table("file", "", "state", "score", "why")
    ranked = sorted(done.outcomes, key=lambda each: order.get(each.status, 9))
    for each in ranked[:_MOST]:
        state = Text(each.state or "", style=COLOURS.get(each.state or "", ""))
        score = "" if each.score is None else f"{each.score:.2f}"
        table.add_row(each.path.name, each.status, state, score, each.reason or "")
    page = console()
    page.print(table)
    if len(ranked) > _MOST:
        page.print(f"and {len(ranked) - _MOST} more; all of them: --json")
    new = len(done.having("added", "judged"))
    page.print(
        f"{new} new, {len(done.having('known'))} known, "
        f"{len(done.having('refused', 'damaged'))} not taken in"
    )


COMMAND = Command(ingest, panel="Workspace")
