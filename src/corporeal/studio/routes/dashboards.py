"""Charts: which there are, and each one's answer for the episodes that are asked for."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel
from sqlalchemy import Connection

from corporeal.catalog.database import CatalogError
from corporeal.catalog.workspace import read_settings
from corporeal.errors import UnknownNameError
from corporeal.operations.question import ChartChoice, Payload, Section, charts
from corporeal.operations.scope import MOST_DAYS, Scope, read_scope
from corporeal.studio.authentication import Reader
from corporeal.studio.context import Studio, StudioDep
from corporeal.studio.response_cache import ResponseCache

ROUTER = APIRouter(tags=["dashboards"])
_LONGEST_QUERY = 4000
_MOST_SETTINGS = 8


class ChartFacts(BaseModel):
    """A chart, before it is drawn."""

    id: str
    title: str
    section: Section
    wide: bool


class ChartAnswer(BaseModel):
    """A chart that was drawn: its sentence, its marks, and what was assumed."""

    id: str
    title: str
    section: Section
    answer: str
    payload: Payload | None
    notes: list[str]
    advice: str
    choices: list[ChartChoice]
    query: str
    took_ms: int


_KEPT: ResponseCache[ChartAnswer] = ResponseCache()


@ROUTER.get("/dashboards")
def list_charts(_: Reader) -> list[ChartFacts]:
    """Every chart, in the order in which they are shown."""
    return [ChartFacts(**vars(chart), id=name) for name, chart in charts().items()]


@ROUTER.get("/dashboards/{chart}")
def draw_chart(
    chart: str,
    studio: StudioDep,
    _: Reader,
    query: Annotated[str, Query(max_length=_LONGEST_QUERY)] = "",
    days: Annotated[int | None, Query(ge=1, le=MOST_DAYS)] = None,
    changed: Annotated[list[str] | None, Query(alias="set", max_length=_MOST_SETTINGS)] = None,
) -> ChartAnswer:
    """One chart; `set=name:value` changes its settings, `query` and `days` what it is about."""
    if chart not in charts():
        raise UnknownNameError("chart", chart[:80], list(charts()))
    given = tuple(sorted(changed or ()))

    def answer(connection: Connection) -> ChartAnswer:
        scope = read_scope(connection, query, days)
        return _drawn(connection, chart, scope, _settings(studio, chart, given))

    key = (chart, query.strip(), days, given)
    return _KEPT.get(studio.workspace.database, key, answer)


def _drawn(
    connection: Connection, chart: str, scope: Scope, settings: dict[str, Any]
) -> ChartAnswer:
    began, asked = time.perf_counter(), charts()[chart]
    drawing = asked.answer(connection, scope, settings)
    return ChartAnswer(
        **vars(drawing),
        id=chart,
        title=asked.title,
        section=asked.section,
        query=scope.query(),
        took_ms=round(1000 * (time.perf_counter() - began)),
    )


def _settings(studio: Studio, chart: str, given: tuple[str, ...]) -> dict[str, Any]:
    """What `corporeal.toml` says of a chart, and before it what the reader has set."""
    own: Any = read_settings(studio.workspace.root).get("dashboards", {})
    own = own.get(chart, {}) if isinstance(own, dict) else None
    if not isinstance(own, dict):
        raise CatalogError(f"corporeal.toml: dashboards; expected sections [dashboards.{chart}].")
    settings = dict(own)
    for each in given:
        name, colon, value = each.partition(":")
        if not colon:
            raise CatalogError(f"set, got {each[:80]!r}; expected name:value.")
        settings[name] = value
    return settings
