"""Episodes that somebody chose, exported on the server in the background."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from corporeal.catalog.audit import Change, record
from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import MOST_MARKED, find_episode
from corporeal.catalog.query import LONGEST_QUERY
from corporeal.studio.authentication import Exporter, Reader
from corporeal.studio.chosen_episodes import find_chosen
from corporeal.studio.context import StudioDep
from corporeal.studio.exports import ExportFormat, ExportState, exports_for

ROUTER = APIRouter(tags=["exports"])
NAME = re.compile(r"[0-9]+-episodes-[0-9a-f]{10}")


class EpisodesToExport(BaseModel):
    """Which episodes to export, and as what: those of `episodes`, or all that `query` finds."""

    episodes: list[Annotated[str, Field(max_length=200)]] | None = Field(
        None, min_length=1, max_length=MOST_MARKED
    )
    query: str | None = Field(None, max_length=LONGEST_QUERY)
    expected: int | None = None
    format: ExportFormat = "lerobot"


class StartedExport(BaseModel):
    """What an export of episodes is called, and how far it is in every format."""

    name: str
    states: list[ExportState]


@ROUTER.post("/exports", status_code=202)
def start(asked: EpisodesToExport, studio: StudioDep, actor: Exporter) -> StartedExport:
    """Export episodes in the background; the same ones again go on where it ended."""
    workspace = studio.workspace
    with workspace.database.read() as connection:
        names = find_chosen(connection, asked.episodes, asked.query, asked.expected, by=actor)
        rows = [find_episode(connection, name) for name in names]
    rows = [row for row in rows if row.state != "erased"]
    if not rows:
        raise CatalogError("export, got no episode; expected one or more. Choose some in the list.")
    exports = exports_for(workspace.database)
    with workspace.database.write() as connection:
        details = {"format": asked.format}
        changes = [Change(actor.name, "export", f"episode:{row.id}", None, details) for row in rows]
        record(connection, changes)
    name = exports.start_episodes(workspace, rows, asked.format)
    return StartedExport(name=name, states=exports.of(workspace, name))


@ROUTER.get("/exports/{name}")
def read(name: str, studio: StudioDep, _: Reader) -> list[ExportState]:
    """How far an export of episodes is, by format; nothing where there is none of this name."""
    if not NAME.fullmatch(name):
        return []
    return exports_for(studio.workspace.database).of(studio.workspace, name)
