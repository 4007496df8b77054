"""`corporeal stations`: what each station is, how it differs from the others, which one drifts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from corporeal.catalog.people import require_query
from corporeal.cli.command import Command, argument, option
from corporeal.cli.output import COLOURS, AsJson, console, make_table, print_json
from corporeal.cli.workspaces import WorkspaceOption, write_catalog
from corporeal.operations.monitoring import (
    OffsetReport,
    RegisteredStation,
    read_offsets,
    read_register,
)
from corporeal.operations.scope import read_scope
from corporeal.words import counted, listed

_MOST_EXCHANGES = 5


def stations(
    query: Annotated[str | None, argument("As for corporeal ls; by default everything.")] = None,
    days: Annotated[int | None, option("Only the last so many days.", min=1, max=36_500)] = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """List stations as their episodes say, and say which one differs from the others or changed.

    Robot, tasks, sensors and exchanged serials, the state of the calibration, the last verdicts.
    Then duration, score, errors and smoothness by a mixed model that holds tasks, operators and
    sessions apart from stations: offsets from the median station with 95 % intervals. People must
    have changed places, else the command says so. Exit 1 where a station is off or has changed.

    Example: [bold]corporeal stations 'task = pick_place' --days 14[/bold]
    """
    with write_catalog(root, "read") as (connection, actor):
        require_query(connection, actor, query)
        scope = read_scope(connection, query or "", days)
        register = read_register(connection, scope)
        reports = read_offsets(connection, scope)
    if as_json:
        print_json({"stations": register, "offsets": reports})
    elif register:
        _show(register)
        _show_offsets(reports)
    else:
        console().print("no episode here names its station: say --station when you record")
    if any(each.is_off or each.since for report in reports for each in report.stations):
        raise typer.Exit(1)


def _show(register: Sequence[RegisteredStation]) -> None:
    page = console()
    table = make_table("station", "robot", "tasks", "episodes", "last 7 days", "people",
                       "last recorded", "last verdicts", "calibration",
                       right=("episodes", "last 7 days", "people"))  # fmt: skip
    for each in register:
        verdicts = "".join({"accepted": "+", "quarantined": "?", "failed": "-"}.get(verdict or "",
                                                                                    ".")
                           for verdict in each.latest)  # fmt: skip
        calibration = f"{each.calibration or 'none'}: {each.calibration_state}"
        style = COLOURS["failed"] if each.calibration_state == "halted" else None
        table.add_row(each.name, each.robot or "", listed(each.tasks), f"{each.episodes:,}",
                      str(each.this_week), str(each.operators), str(each.last_day), verdicts,
                      calibration, style=style)  # fmt: skip
    page.print(table)
    page.print("verdicts, the newest last: + accepted, ? quarantined, - failed, . not judged",
               style="dim")  # fmt: skip
    for each in register:
        for change in each.exchanges[-_MOST_EXCHANGES:]:
            page.print(f"{each.name}: {change.sensor} has serial {change.after or 'none'} since "
                       f"{change.day}, before {change.before or 'none'}")  # fmt: skip


def _show_offsets(reports: Sequence[OffsetReport]) -> None:
    page = console()
    table = make_table("compared by", "episodes", "")
    for report in reports:
        table.add_row(report.measure, f"{report.episodes:,}", report.words)
    page.print(table)
    compared = [report for report in reports if report.stations]
    if compared:
        people = counted(compared[0].operators, "operator")
        page.print(f"{people} who changed places; a station is named where chance explains it on "
                   "fewer than one floor in twenty", style="dim")  # fmt: skip


COMMAND = Command(stations, panel="People")
