"""`corporeal lineage`: where something came from, and what became of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rich.text import Text

from corporeal.catalog.workspace import Workspace
from corporeal.cli.command import Command, argument, option
from corporeal.cli.full_name import full_name
from corporeal.cli.output import AsJson, print_result, stderr
from corporeal.cli.workspaces import WorkspaceOption, enter_workspace
from corporeal.errors import CorporealError
from corporeal.release.lineage import (
    LineageGraph,
    as_mermaid,
    as_text,
    history_of,
    lineage_of,
    trace_frame,
    write_picture,
)


def lineage(
    subject: Annotated[
        str,
        argument(
            "A release, NAME or NAME@VERSION; 4 or '#4'; model:NAME, document:HASH, an export."
        ),
    ],
    episode: Annotated[
        str | None, option("With --row: the episode, by its number or its id.")
    ] = None,
    row: Annotated[
        int | None, option("One row of an exported dataset or a release.", min=0)
    ] = None,
    depth: Annotated[int, option("Steps in either direction.", min=1, max=20)] = 4,
    out: Annotated[
        Path | None, option("Draw it: a .png, .svg or .mmd (Mermaid).", "--out", "-o")
    ] = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Follow a release, an episode or a single row back to sensor, calibration, operator, protocol.

    Example: [bold]corporeal lineage dataset --episode 0 --row 120 --out path.png[/bold]
    """
    with enter_workspace(root, "read") as (workspace, _):
        graph = _graph(workspace, subject, episode, row, depth)
    if out is not None and out.suffix == ".mmd":
        out.write_text(as_mermaid(graph), "utf-8")
    elif out is not None:
        write_picture(graph, out)
    if out is not None:
        stderr().print(f"wrote {out}")
    print_result(as_json, graph, Text(as_text(graph)))


def _graph(
    workspace: Workspace, subject: str, episode: str | None, row: int | None, depth: int
) -> LineageGraph:
    if row is None and episode is None:
        name = full_name(workspace, subject)
        with workspace.database.read() as connection:
            return lineage_of(connection, name, depth=depth)
    if row is None or episode is None:
        raise CorporealError("a row, got half of its address; expected --episode and --row.")
    number: int | str = int(episode) if episode.isdigit() else episode
    target = subject.removeprefix("release:")
    return history_of(trace_frame(workspace, target, number, row))


COMMAND = Command(lineage, panel="Release")
