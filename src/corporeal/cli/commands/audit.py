"""`corporeal audit`: who changed what, when and why; and whether anybody changed the log."""

from __future__ import annotations

from typing import Annotated

import typer

from corporeal.catalog.audit import (
    events_of,
    head,
    note_head,
    noted_heads,
    parse_head,
    unexplained_rows,
)
from corporeal.catalog.audit import verify as breaks_in
from corporeal.cli.command import Command, argument, group, option
from corporeal.cli.full_name import full_name
from corporeal.cli.output import AsJson, console, make_table, print_json, print_result
from corporeal.cli.workspaces import WorkspaceOption, enter_workspace
from corporeal.labelling.labels import unexplained_labels
from corporeal.release.reading import noted_in_releases, unexplained_releases

app = group("Read the audit log of a workspace, and check that nobody changed it.")
_MOST = 20


@app.command("verify")
def verify(
    expect: Annotated[
        list[str] | None,
        option("NUMBER:HASH that somebody noted elsewhere; the log must contain it."),
    ] = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Walk the whole log; exit 1 if it was changed, cut, emptied or written anew.

    Every event follows from the one before; the heads in the store, in release manifests and in
    `--expect` are in it; and it explains states, files, labels, accounts and releases as they are.
    Who can write the database and the store can change both: note what the last line says in a
    third place. Scores, findings, reviews and metadata in the catalogue are not held against it.

    Example: [bold]corporeal audit verify --expect 1204:9f0c...[/bold]
    """
    wanted = {parse_head(text): "--expect" for text in expect or ()}
    with enter_workspace(root, "verify") as (workspace, _):
        in_store, lost = noted_heads(workspace.notes)
        in_releases = noted_in_releases(workspace)
        with workspace.database.read() as connection:
            end = head(connection)
            noted = {**in_releases, **in_store, **wanted}
            breaks = [*lost, *breaks_in(connection, noted=noted)]
            if not breaks:
                # Only a log that holds together can say how the rows should be.
                breaks += unexplained_rows(connection)
                breaks += unexplained_labels(connection)
                breaks += unexplained_releases(connection)
    if as_json:
        print_json({"events": end.number, "hash": end.hash, "noted_in_store": len(in_store),
                    "noted_in_releases": len(in_releases), "breaks": breaks})  # fmt: skip
    elif breaks:
        for each in breaks[:_MOST]:
            console().print(each.reason, style="red")
        if len(breaks) > _MOST:
            console().print(f"and {len(breaks) - _MOST} more", style="red")
    else:
        console().print(f"{end.number} events, each follows from the one before")
        heads = f"{len(in_store)} heads in the store, {len(in_releases)} in release manifests"
        console().print(f"{heads}; states, labels, accounts and releases are as the log tells")
        console().print(f"the end is {end.number}:{end.hash}", style="dim")
    raise typer.Exit(1 if breaks else 0)


@app.command("note")
def note(root: WorkspaceOption = None, as_json: AsJson = False) -> None:
    """Note the end of the log in the store, and print it: for cron, and before a disk is lent.

    It is noted by itself after every ingest, every thousand events and every release.

    Example: [bold]corporeal audit note[/bold]
    """
    with enter_workspace(root, "verify") as (workspace, _):
        with workspace.database.read() as connection:
            end = head(connection)
        note_head(workspace.notes, end)
    values = {"events": end.number, "hash": end.hash}
    print_result(as_json, values, f"{end.number}:{end.hash}")


@app.command("log")
def log(
    subject: Annotated[
        str, argument("An episode such as 4 or '#4', NAME@VERSION of a release, or account:NAME.")
    ],
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Everything that happened to one thing.

    Example: [bold]corporeal audit log release:walks@1.0.0[/bold]
    """
    with enter_workspace(root, "read") as (workspace, _):
        subject = full_name(workspace, subject)
        with workspace.database.read() as connection:
            events = list(events_of(connection, subject))
    table = make_table("", "when", "who", "what", "why")
    for each in events:
        details = ", ".join(f"{name} {value}" for name, value in each["details"].items())
        why = each["why"] or details
        table.add_row(str(each["number"]), str(each["at"])[:19], each["who"], each["what"], why)
    values = {"subject": subject, "events": [dict(each) for each in events]}
    print_result(as_json, values, table if events else f"nothing is known of {subject}")


COMMAND = Command(app, panel="People")
