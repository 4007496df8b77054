"""`corporeal audit`: who changed what, when and why; and whether anybody changed the log."""

from __future__ import annotations

from typing import Annotated

import typer

from corporeal.catalog.audit import events_of, head
from corporeal.catalog.audit import verify as breaks_in
from corporeal.cli.command import Command, argument, group
from corporeal.cli.output import AsJson, console, make_table, print_json, print_result
from corporeal.cli.workspaces import WorkspaceOption, read_catalog

app = group("Read the audit log of a workspace, and check that nobody changed it.")
_MOST = 20


@app.command("verify")
def verify(root: WorkspaceOption = None, as_json: AsJson = False) -> None:
    """Walk the whole log; exit 1 if an event was changed, removed or added later.

    Note down the number and hash of the last event elsewhere: who can write the database could
    write the whole log anew.

    Example: [bold]corporeal audit verify[/bold]
    """
    with read_catalog(root, "verify") as connection:
        end = head(connection)
        breaks = list(breaks_in(connection))
    if as_json:
        print_json({"events": end.number, "hash": end.hash,
                    "breaks": breaks})  # fmt: skip
    elif breaks:
        for each in breaks[:_MOST]:
            console().print(each.reason, style="red")
    else:
        console().print(f"{end.number} events, each follows from the one before")
        console().print(f"the last one is {end.hash}", style="dim")
    raise typer.Exit(1 if breaks else 0)


@app.command("log")
def log(
    subject: Annotated[
        str, argument("What to follow: episode:ID, release:NAME@VERSION, account:NAME.")
    ],
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Everything that happened to one thing.

    Example: [bold]corporeal audit log release:walks@1.0.0[/bold]
    """
    with read_catalog(root, "read") as connection:
        events = list(events_of(connection, subject))
    table = make_table("", "when", "who", "what", "why")
    for each in events:
        details = ", ".join(f"{name} {value}" for name, value in each["details"].items())
        why = each["why"] or details
        table.add_row(str(each["number"]), str(each["at"])[:19], each["who"], each["what"], why)
    values = {"subject": subject, "events": [dict(each) for each in events]}
    print_result(as_json, values, table if events else f"nothing is known of {subject}")


COMMAND = Command(app, panel="People")
