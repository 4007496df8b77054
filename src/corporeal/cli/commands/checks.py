"""`corporeal checks`: the catalogue of checks."""

from __future__ import annotations

from typing import Annotated

import typer

from corporeal.cli.command import Command, option
from corporeal.cli.output import AsJson, console, emphasise, make_table, print_json
from corporeal.errors import UnknownNameError
from corporeal.quality.check import checks as catalogue
from corporeal.quality.check import default_document, explain


def checks(
    topic: Annotated[str | None, option("Only this topic, such as joints.")] = None,
    as_policy: Annotated[
        bool, option("Print a policy document with every limit.", "--as-policy")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List every check with what a good episode has, its severity and its limits.

    Example: [bold]corporeal checks --topic joints[/bold]
    """
    found = catalogue()
    topics = sorted({check.topic for check in found.values()})
    if topic is not None and topic not in topics:
        raise UnknownNameError("topic", topic, topics)
    chosen = {name: each for name, each in found.items() if topic in (None, each.topic)}
    if as_policy:
        typer.echo(default_document(chosen), nl=False)
        return
    if as_json:
        print_json([
            {"check": name, "title": explain(name).title, "good": explain(name).good,
             "topic": each.topic, "unit": each.unit, "severity": each.severity,
             "scope": each.scope, "limits": each.limits}
            for name, each in chosen.items()
        ])  # fmt: skip
        return
    table = make_table("topic", "check", "a good one has", "severity")
    for name, each in sorted(chosen.items(), key=lambda item: (item[1].topic, item[0])):
        table.add_row(each.topic, emphasise(name), explain(name).good, each.severity)
    console().print(table)
    console().print(f"\n{len(chosen)} checks; one in full: corporeal check --explain NAME")


COMMAND = Command(checks, panel="Check")
