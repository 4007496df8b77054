"""`corporeal fatigue`: how episodes drift with time since the last break, and how sure that is."""

from __future__ import annotations

from typing import Annotated

from rich.text import Text

from corporeal.catalog.people import note_view, pseudonyms, require_query
from corporeal.catalog.permission import (
    LEAST_PEOPLE,
    PersonHiddenError,
    require_person,
    sees_group,
    why_hidden,
)
from corporeal.catalog.query import Comparison
from corporeal.cli.command import Command, argument, option
from corporeal.cli.output import AsJson, console, make_table, print_json
from corporeal.cli.workspaces import WorkspaceOption, write_catalog
from corporeal.errors import UnknownNameError
from corporeal.operations.operators import FatigueReport, read_fatigue
from corporeal.operations.scope import read_scope
from corporeal.words import counted


def fatigue(
    query: Annotated[str | None, argument("As for corporeal ls; by default everything.")] = None,
    operator: Annotated[str | None, option("One operator; else all of them together.")] = None,
    days: Annotated[int | None, option("Only the last so many days.", min=1, max=36_500)] = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Say how duration, errors, smoothness and diversity drift with hours since the last break.

    A mixed-effects model with 95 % intervals; tasks and variants are held apart from time, and
    where there is too little data it says how many more sessions would be enough. It stands on
    what was recorded: a pause of five minutes is a break, one of three hours ends a session.

    Example: [bold]corporeal fatigue 'task = pick_place' --days 30[/bold]
    """
    with write_catalog(root, "read") as (connection, actor):
        require_query(connection, actor, query)
        if operator is not None:
            require_person(actor, operator, what=f"fatigue of {operator!r}")
            if operator not in (known := pseudonyms(connection)):
                raise UnknownNameError("operator", operator[:80], sorted(known) or ["none yet"])
        scope = read_scope(connection, query or "", days)
        if operator is not None:
            own = Comparison("operator", "=", operator)
            scope = type(scope)((*scope.parts, own), scope.now_ns, scope.has_erased)
            note_view(connection, actor, what="fatigue", operator=operator)
        report = read_fatigue(connection, scope)
        if operator is None and not sees_group(actor, report.people):
            raise PersonHiddenError(
                f"fatigue of {counted(report.people, 'operator')} together (fewer than "
                f"{LEAST_PEOPLE} would show single people): {why_hidden(actor)}"
            )
    if as_json:
        print_json(report)
        return
    _show(report)


def _show(report: FatigueReport) -> None:
    page = console()
    page.print(f"{counted(report.sessions, 'session')} of {counted(report.people, 'operator')}, "
               f"{counted(report.breaks, 'break')} in them")  # fmt: skip
    table = make_table("", "episodes", "")
    for each in report.drifts:
        style = "yellow" if each.is_seen else ""
        table.add_row(each.outcome, f"{each.episodes:,}", Text(each.words, style=style))
    page.print(table)


COMMAND = Command(fatigue, panel="People")
