"""Charts: which there are, and each one's answer for the episodes that are asked for."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel
from sqlalchemy import Connection

from corporeal.catalog.database import CatalogError
from corporeal.catalog.permission import sees_everybody, sees_person, why_hidden
from corporeal.catalog.query import Comparison
from corporeal.catalog.workspace import read_settings
from corporeal.errors import UnknownNameError
from corporeal.operations.question import Chart, ChartChoice, Payload, Section, charts
from corporeal.operations.scope import MOST_DAYS, Scope, read_scope
from corporeal.studio.authentication import Reader
from corporeal.studio.context import Studio, StudioDep
from corporeal.studio.people_view import log_view
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
    return [
        ChartFacts(id=name, title=each.title, section=each.section, wide=each.wide)
        for name, each in charts().items()
    ]


@ROUTER.get("/dashboards/{chart}")
def draw_chart(
    chart: str,
    studio: StudioDep,
    actor: Reader,
    query: Annotated[str, Query(max_length=_LONGEST_QUERY)] = "",
    days: Annotated[int | None, Query(ge=1, le=MOST_DAYS)] = None,
    changed: Annotated[list[str] | None, Query(alias="set", max_length=_MOST_SETTINGS)] = None,
) -> ChartAnswer:
    """One chart; `set=name:value` changes its settings, `query` and `days` what it is about.

    One that shows people is drawn for those alone who may see them; operators may see their own.
    """
    if chart not in charts():
        raise UnknownNameError("chart", chart[:80], list(charts()))
    asked, given = charts()[chart], tuple(sorted(changed or ()))
    settings = _settings(studio, chart, given)
    own: str | None = None
    if asked.shows_people(settings):
        if not sees_everybody(actor):
            own = actor.operator
            if not asked.of_one or not sees_person(actor, own):
                return _hidden(chart, asked, why_hidden(actor))
        log_view(studio, actor, what=f"dashboard: {asked.title}", operator=own)

    def answer(connection: Connection) -> ChartAnswer:
        scope = read_scope(connection, query, days)
        if own is not None:
            scope = replace(scope, parts=(*scope.parts, Comparison("operator", "=", own)))
        return _drawn(connection, chart, scope, settings)

    key = (chart, query.strip(), days, given, own)
    return _KEPT.get(studio.workspace.database, key, answer)


def _hidden(name: str, chart: Chart, why: str) -> ChartAnswer:
    """A chart of people for somebody who may not see it: why not, and what would change that."""
    return ChartAnswer(
        id=name, title=chart.title, section=chart.section, answer="Figures of single people are "
        "not shown here.", payload=None, notes=[], advice=f"This is {why}", choices=[], query="",
        took_ms=0,
    )  # fmt: skip


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
