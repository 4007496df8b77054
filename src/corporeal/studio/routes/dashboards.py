"""Charts: which there are, and each one's answer for the episodes that are asked for."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Query
from pydantic import BaseModel

from corporeal.catalog.audit import head
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.workspace import read_settings
from corporeal.errors import UnknownNameError
from corporeal.operations.scope import MOST_DAYS, read_scope
from corporeal.studio.chart import Choice, Payload, Section, charts
from corporeal.studio.studio import Shared, Studio
from corporeal.studio.visitor import Reader

ROUTER = APIRouter(tags=["dashboards"])
_KEEP_S = 30.0
_MOST_KEPT = 200
_LONGEST_QUERY = 4000
_MOST_SETTINGS = 8

Key = tuple[str, str, int | None, tuple[str, ...]]


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
    choices: list[Choice]
    query: str
    took_ms: int


class Kept:
    """The last answers, good while the audit log does not grow and for half a minute at most."""

    def __init__(self) -> None:
        self._answers: OrderedDict[Key, tuple[int, float, ChartAnswer]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: Key, number: int) -> ChartAnswer | None:
        """The answer to the same question about the same catalogue."""
        with self._lock:
            found = self._answers.get(key)
            if found is None or found[0] != number or time.monotonic() - found[1] > _KEEP_S:
                return None
            return found[2]

    def keep(self, key: Key, number: int, answer: ChartAnswer) -> None:
        """Remember an answer, and forget the oldest."""
        with self._lock:
            self._answers[key] = (number, time.monotonic(), answer)
            self._answers.move_to_end(key)
            while len(self._answers) > _MOST_KEPT:
                self._answers.popitem(last=False)


_KEPT: WeakKeyDictionary[Database, Kept] = WeakKeyDictionary()


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
    studio: Shared,
    _: Reader,
    query: Annotated[str, Query(max_length=_LONGEST_QUERY)] = "",
    days: Annotated[int | None, Query(ge=1, le=MOST_DAYS)] = None,
    set: Annotated[list[str] | None, Query(max_length=_MOST_SETTINGS)] = None,  # noqa: A002
) -> ChartAnswer:
    """One chart; `set=name:value` changes its settings, `query` and `days` what it is about."""
    if chart not in charts():
        raise UnknownNameError("chart", chart[:80], list(charts()))
    given = tuple(sorted(set or ()))
    key: Key = (chart, query.strip(), days, given)
    kept = _KEPT.setdefault(studio.workspace.database, Kept())
    with studio.workspace.database.read() as connection:
        number = head(connection).number
        found = kept.find(key, number)
        if found is not None:
            return found
        began = time.perf_counter()
        scope = read_scope(connection, query, days)
        drawing = charts()[chart].answer(connection, scope, _settings(studio, chart, given))
    answer = ChartAnswer(
        id=chart,
        title=charts()[chart].title,
        section=charts()[chart].section,
        answer=drawing.answer,
        payload=drawing.payload,
        notes=list(drawing.notes),
        advice=drawing.advice,
        choices=list(drawing.choices),
        query=scope.query(),
        took_ms=round(1000 * (time.perf_counter() - began)),
    )
    kept.keep(key, number, answer)
    return answer


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
