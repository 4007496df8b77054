"""`corporeal ls`: which episodes of a workspace are like this?"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from rich.table import Table
from rich.text import Text

from corporeal.catalog.episodes import EpisodeRow, NotAssessedRow, not_assessed_of
from corporeal.catalog.query import count_episodes, episode_page
from corporeal.cli.command import Command, argument, option
from corporeal.cli.output import COLOURS, AsJson, make_table, print_result
from corporeal.cli.workspaces import WorkspaceOption, read_catalog

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
    with read_catalog(root, "read") as connection:
        found = episode_page(connection, query, order=order, limit=limit, after=after)
        total = count_episodes(connection, query)
        missing = not_assessed_of(connection, [row.id for row in found.rows])
    episodes = [vars(row) | {"not_assessed": _reasons(missing.get(row.id, []))}
                for row in found.rows]  # fmt: skip
    values = {"total": total, "after": found.after, "episodes": episodes}
    more = [f"more: --after {found.after}"] if found.after is not None else []
    counted = f"{len(found.rows)} of {total} episodes"
    print_result(as_json, values, _table(found.rows, missing), counted, *more)


def _reasons(rows: list[NotAssessedRow]) -> list[dict[str, str]]:
    return [{"check": row.check, "reason": row.reason} for row in rows]


def _table(rows: tuple[EpisodeRow, ...], missing: dict[str, list[NotAssessedRow]]) -> Table:
    renamed = {"name": "episode", "success": "outcome", "duration_s": "duration"}
    titles = [renamed.get(name, name) for name in COLUMNS]
    table = make_table(*titles, "not assessed", right=("score", "duration", "not assessed"))
    for row in rows:
        count = len(missing.get(row.id, [])) if row.verdict is not None else None
        cells = (_cell(name, row) for name in COLUMNS)
        table.add_row(*cells, Text("-", style="dim") if count is None else str(count))
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
