"""`corporeal ls`: which episodes of a workspace are like this?"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated

from rich.table import Table
from rich.text import Text

from corporeal.catalog.episodes import EpisodeRow, NotAssessedRow, not_assessed_of, unchecked_among
from corporeal.catalog.people import PERSON_KEYS, require_order, require_query
from corporeal.catalog.permission import sees_person
from corporeal.catalog.query import count_episodes, episode_page
from corporeal.cli.command import Command, argument, option
from corporeal.cli.output import COLOURS, AsJson, make_table, print_result
from corporeal.cli.workspaces import WorkspaceOption, enter_workspace

COLUMNS = ("name", "state", "task", "operator", "success", "score", "duration_s", "recorded")


def ls(
    query: Annotated[
        str | None, argument("A condition, such as 'task = reach and score > 0.8'.")
    ] = None,
    root: WorkspaceOption = None,
    order: Annotated[
        str, option("A field to sort by; with - before it, the highest first.")
    ] = "-recorded",
    limit: Annotated[int, option("Max rows.", min=1, max=10_000)] = 50,
    after: Annotated[str | None, option("Go on behind the episode with this id.")] = None,
    as_json: AsJson = False,
) -> None:
    """List episodes by anything known about them.

    Example: [bold]corporeal ls 'score > 0.8 and has finding joints_swapped'[/bold]
    """
    with (
        enter_workspace(root, "read") as (workspace, actor),
        workspace.database.read() as connection,
    ):
        require_query(connection, actor, query)
        require_order(actor, order)
        found = episode_page(connection, query, order=order, limit=limit, after=after)
        total = count_episodes(connection, query)
        ids = [row.id for row in found.rows]
        missing, unchecked = not_assessed_of(connection, ids), unchecked_among(connection, ids)
    rows = tuple(row if sees_person(actor, row.operator) else _without_person(row)
                 for row in found.rows)  # fmt: skip
    episodes = [
        vars(row)
        | {"checked": row.id not in unchecked, "not_assessed": _reasons(missing.get(row.id, []))}
        for row in rows
    ]
    values = {"total": total, "after": found.after, "episodes": episodes}
    more = [f"more: --after {found.after}"] if found.after is not None else []
    counted = f"{len(found.rows)} of {total} episodes"
    print_result(as_json, values, _table(rows, missing, unchecked), counted, *more)


def _without_person(row: EpisodeRow) -> EpisodeRow:
    """A row of a list for somebody who may not see whose episodes are which."""
    kept = {name: value for name, value in row.metadata.items() if name not in PERSON_KEYS}
    return replace(row, operator=None, metadata=kept)


def _reasons(rows: list[NotAssessedRow]) -> list[dict[str, str]]:
    return [{"check": row.check, "reason": row.reason} for row in rows]


def _table(
    rows: tuple[EpisodeRow, ...], missing: dict[str, list[NotAssessedRow]], unchecked: set[str]
) -> Table:
    renamed = {"name": "episode", "success": "outcome", "duration_s": "duration"}
    titles = [renamed.get(name, name) for name in COLUMNS]
    table = make_table(*titles, "not assessed", right=("score", "duration", "not assessed"))
    for row in rows:
        count = Text("all", "yellow") if row.id in unchecked else str(len(missing.get(row.id, [])))
        table.add_row(*(_cell(name, row) for name in COLUMNS), count)
    return table


def _cell(name: str, row: EpisodeRow) -> str | Text:
    value = getattr(row, "recorded_ns" if name == "recorded" else name)
    if value is None:
        return Text("-", style="dim")
    if name == "recorded":
        return datetime.fromtimestamp(value / 1e9, UTC).strftime("%Y-%m-%d %H:%M")
    if name == "state":
        return Text(value, style=COLOURS.get(value, ""))
    if name == "success":
        return Text("success", style="green") if value else Text(row.failure or "failure", "red")
    if name == "duration_s":
        return f"{value:.1f} s"
    return f"{value:.2f}" if name == "score" else str(value)


COMMAND = Command(ls, panel="Workspace")
