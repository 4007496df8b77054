"""The list of episodes: pages of rows, landmarks to jump by, facets, help with the query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel
from sqlalchemy import Connection

from corporeal.catalog import query as queries
from corporeal.catalog.people import hides, pseudonyms, require_order
from corporeal.catalog.permission import sees_everybody
from corporeal.studio.authentication import Reader
from corporeal.studio.context import StudioDep
from corporeal.studio.episode_row import ListedEpisode, shown_rows
from corporeal.studio.people_view import without_people
from corporeal.studio.response_cache import ResponseCache

ROUTER = APIRouter(tags=["episodes"])
STEP = 100
"""Rows of a page, and from one landmark to the next."""
_MOST_COUNTED = 1_000_000
_MOST_RELAXED = 8

Asked = Annotated[str, Query(alias="query", max_length=queries.LONGEST_QUERY)]
Ordered = Annotated[str, Query(alias="order", max_length=40)]


class EpisodesPage(BaseModel):
    """Rows in order; `after` asks for those that follow, null at the end."""

    rows: list[ListedEpisode]
    after: str | None


class EpisodeCount(BaseModel):
    """How many episodes a query finds; with `more` at least so many."""

    count: int
    more: bool


@dataclass(frozen=True)
class ListingFacets(queries.Facets):
    """What the episodes of a query have in common; `total` is of the workspace."""

    total: int


class RefinedQuery(BaseModel):
    """A query, changed by a click."""

    query: str


class RelaxedQuery(BaseModel):
    """A part of a query, the query without it, and how many episodes that finds."""

    part: str
    query: str
    count: int


_MARKS: ResponseCache[queries.PageKeys] = ResponseCache()
_FACETS: ResponseCache[ListingFacets] = ResponseCache()


@ROUTER.get("/episodes")
def list_episodes(
    studio: StudioDep,
    actor: Reader,
    query: Asked = "",
    order: Ordered = "-recorded",
    after: Annotated[str | None, Query(max_length=500)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = STEP,
) -> EpisodesPage:
    """One page of the episodes that a query finds, each with its gravest finding."""
    require_order(actor, order)
    with studio.workspace.database.read() as connection:
        found = queries.episode_page(connection, query, order=order, limit=limit, after=after)
        rows = shown_rows(connection, found.rows)
    return EpisodesPage(rows=without_people(actor, rows), after=found.after)


@ROUTER.get("/listing/count")
def count_episodes(
    studio: StudioDep,
    _: Reader,
    query: Asked = "",
    up_to: Annotated[int, Query(ge=1, le=_MOST_COUNTED)] = _MOST_COUNTED,
) -> EpisodeCount:
    """How many episodes a query finds, counted up to a bound."""
    with studio.workspace.database.read() as connection:
        number = queries.count_episodes(connection, query, up_to=up_to)
    return EpisodeCount(count=number, more=number == up_to)


@ROUTER.get("/listing/landmarks")
def list_landmarks(
    studio: StudioDep, actor: Reader, query: Asked = "", order: Ordered = "-recorded"
) -> queries.PageKeys:
    """Every hundredth id: with one as `after`, a page in the middle comes as fast as the first."""
    require_order(actor, order)
    condition = queries.read_query(query)

    def walk(connection: Connection) -> queries.PageKeys:
        return queries.find_page_keys(connection, condition, order=order, step=STEP)

    return _MARKS.get(studio.workspace.database, (query, order), walk)


@ROUTER.get("/listing/facets")
def count_facets(studio: StudioDep, actor: Reader, query: Asked = "") -> ListingFacets:
    """How the episodes that a query finds are spread over tasks, people, verdicts and days."""
    condition = queries.read_query(query)

    def count(connection: Connection) -> ListingFacets:
        facets = queries.count_facets(connection, condition)
        return ListingFacets(**vars(facets), total=queries.count_episodes(connection))

    counted = _FACETS.get(studio.workspace.database, query, count)
    return replace(
        counted, facets=tuple(each for each in counted.facets if not hides(actor, each.name))
    )


@ROUTER.get("/listing/suggestions")
def suggest(
    studio: StudioDep,
    actor: Reader,
    query: Asked = "",
    cursor: Annotated[int | None, Query(ge=0, le=queries.LONGEST_QUERY)] = None,
) -> queries.Completion:
    """What could be written at the cursor: fields, signs, values that are there."""
    with studio.workspace.database.read() as connection:
        found = queries.complete(connection, query, len(query) if cursor is None else cursor)
        if sees_everybody(actor):
            return found
        people = pseudonyms(connection)
    items = tuple(each for each in found.items if each.text.strip("\"'") not in people)
    return replace(found, items=items)


@ROUTER.get("/listing/refined")
def refine(
    _: Reader,
    facet: Annotated[str, Query(max_length=80)],
    query: Asked = "",
    value: Annotated[str | None, Query(max_length=1000)] = None,
    span: Annotated[str | None, Query(max_length=200)] = None,
    clear: bool = False,
) -> RefinedQuery:
    """The query with a value of a facet more or less, or with another span of a number or date.

    Without `value` and `span` the value is "unknown"; `clear` takes the facet out.
    """
    before = queries.read_query(query)
    if clear:
        after = queries.drop_facet(before, facet)
    elif span is not None:
        after = queries.set_span(before, facet, span)
    else:
        after = queries.toggle_value(before, facet, value)
    return RefinedQuery(query="" if after is None else queries.query_text(after))


@ROUTER.get("/listing/relaxed")
def relax(studio: StudioDep, _: Reader, query: Asked = "") -> list[RelaxedQuery]:
    """What to leave out of a query that finds nothing: the parts without which there is most."""
    condition = queries.read_query(query)
    if condition is None:
        return []
    relaxed = []
    with studio.workspace.database.read() as connection:
        for part, rest in queries.relax(condition)[:_MOST_RELAXED]:
            number = queries.count_episodes(connection, rest, up_to=_MOST_COUNTED)
            text = "" if rest is None else queries.query_text(rest)
            relaxed.append(RelaxedQuery(part=queries.query_text(part), query=text, count=number))
    return sorted(relaxed, key=lambda each: -each.count)
