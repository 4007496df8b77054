"""`corporeal watch`: are the batches still what they were?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text
from sqlalchemy import Connection

from corporeal.catalog.episodes import batch_names
from corporeal.catalog.workspace import read_settings
from corporeal.cli.command import Command, option
from corporeal.cli.output import AsJson, console, print_json, stderr
from corporeal.cli.workspaces import WorkspaceOption, enter_workspace
from corporeal.operations.alert import alert_channels
from corporeal.operations.monitoring import (
    WATCHED,
    WatchResult,
    measure_batch,
    metric_names,
    read_series,
    record_metrics,
    save_chart,
)
from corporeal.operations.monitoring import watch as look
from corporeal.words import counted


def watch(
    root: WorkspaceOption = None,
    charts: Annotated[
        Path | None, option("Draw a control chart of every metric into this folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute the metrics of every batch, hold them against control charts, and alert on changes.

    New alarms go to the channels in the section alerts of corporeal.toml. Fixed limits, such as
    those of agreement between annotators, are changed in its section limits. Exit 0 when all is
    as it was, 1 when a metric is beyond its limits.

    Example: [bold]corporeal watch --charts charts[/bold]
    """
    with enter_workspace(root, "ingest") as (workspace, actor):
        settings = read_settings(workspace.root)
        channels = alert_channels(settings, root=workspace.root)
        with workspace.database.write() as connection:
            batches = _compute(connection, actor.name)
        found = look(workspace.database, channels, who=actor.name, limits=settings.get("limits"))
        if charts is not None:
            with workspace.database.read() as connection:
                _draw(connection, charts)
    if as_json:
        print_json({"batches": batches, "alarms": [each.facts for each in found.alarms],
                    "standing": [each.facts for each in found.standing],
                    "unknown": dict(found.unknown)})  # fmt: skip
    else:
        _show(found, batches)
    raise typer.Exit(1 if found.alarms or found.standing else 0)


def _compute(connection: Connection, who: str) -> int:
    """Put the figures of all batches into the catalogue; how many batches there are."""
    names = batch_names(connection)
    for name in names:
        record_metrics(connection, name, measure_batch(connection, name), who=who)
    return len(names)


def _draw(connection: Connection, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in metric_names(connection):
        if name in WATCHED:
            save_chart(folder / f"{name}.png", read_series(connection, name))
    stderr().print(f"wrote charts to {folder}")


def _show(found: WatchResult, batches: int) -> None:
    page = console()
    for alarm in found.alarms:
        page.print(Text(alarm.sentence, style="red"))
    for alarm in found.standing:
        page.print(Text(f"still: {alarm.sentence}", style="yellow"))
    for alert in found.recovered:
        page.print(Text(alert.text, style="green"))
    for delivery in found.deliveries:
        if delivery.reason is not None:
            page.print(f"{delivery.channel} could not be told: {delivery.reason}", style="yellow")
    if found.unknown:
        name, reason = next(iter(found.unknown.items()))
        page.print(
            f"{counted(len(found.unknown), 'metric')} cannot be judged, {name}: {reason}",
            style="dim",
        )
    beyond = len(found.alarms) + len(found.standing)
    page.print(f"{counted(batches, 'batch', 'batches')}, {beyond} beyond limits")


COMMAND = Command(watch, panel="Workspace")
