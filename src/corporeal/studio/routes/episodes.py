"""The list of episodes: pages of rows, landmarks to jump by, facets, help with the query."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel
from sqlalchemy import Connection

from corporeal.catalog import query as queries
from corporeal.studio.authentication import Reader
from corporeal.studio.context import StudioDep
from corporeal.studio.episode_row import ListedEpisode, shown_rows
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


class ListingLandmarks(BaseModel):
    """How many there are, and the last id of each full page of `step` rows."""

    total: int
    step: int
    ids: list[str]


class FacetValueFacts(BaseModel):
    """A value, null where it is unknown, and how many episodes have it."""

    value: str | None
    count: int
    chosen: bool


class FacetFacts(BaseModel):
    """The most frequent values of a field; `more`: there are others."""

    name: str
    values: list[FacetValueFacts]
    more: bool


class FacetBar(BaseModel):
    """Episodes from `low` to before `high`."""

    low: str
    high: str
    count: int


class ListingFacets(BaseModel):
    """What the episodes of a query have in common; `total` is of the workspace."""

    facets: list[FacetFacts]
    scores: list[FacetBar]
    days: list[FacetBar]
    total: int


class Suggestion(BaseModel):
    """A text to put in, what it is, and a word about it."""

    text: str
    kind: Literal["field", "sign", "value", "keyword"]
    detail: str


class Suggestions(BaseModel):
    """What could stand from character `start` to `end` (counted from 0) of the query."""

    start: int
    end: int
    items: list[Suggestion]


class RefinedQuery(BaseModel):
    """A query, changed by a click."""

    query: str


class RelaxedQuery(BaseModel):
    """A part of a query, the query without it, and how many episodes that finds."""

    part: str
    query: str
    count: int


_MARKS: ResponseCache[ListingLandmarks] = ResponseCache()
_FACETS: ResponseCache[ListingFacets] = ResponseCache()


@ROUTER.get("/episodes")
def list_episodes(
    studio: StudioDep,
    _: Reader,
    query: Asked = "",
    order: Ordered = "-recorded",
    after: Annotated[str | None, Query(max_length=500)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = STEP,
) -> EpisodesPage:
    """One page of the episodes that a query finds, each with its gravest finding."""
    with studio.workspace.database.read() as connection:
        found = queries.episode_page(
            connection, queries.read_query(query), order=order, limit=limit, after=after
        )
        return EpisodesPage(rows=shown_rows(connection, found.rows), after=found.after)


@ROUTER.get("/listing/count")
def count_episodes(
    studio: StudioDep,
    _: Reader,
    query: Asked = "",
    up_to: Annotated[int, Query(ge=1, le=_MOST_COUNTED)] = _MOST_COUNTED,
) -> EpisodeCount:
    """How many episodes a query finds, counted up to a bound."""
    with studio.workspace.database.read() as connection:
        number = queries.count_episodes(connection, queries.read_query(query), up_to=up_to)
    return EpisodeCount(count=number, more=number == up_to)


@ROUTER.get("/listing/landmarks")
def list_landmarks(
    studio: StudioDep, _: Reader, query: Asked = "", order: Ordered = "-recorded"
) -> ListingLandmarks:
    """Every hundredth id: with one as `after`, a page in the middle comes as fast as the first."""
    condition = queries.read_query(query)

    def walk(connection: Connection) -> ListingLandmarks:
        found = queries.find_page_keys(connection, condition, order=order, step=STEP)
        return ListingLandmarks(total=found.total, step=found.step, ids=list(found.ids))

    return _MARKS.get(studio.workspace.database, (query, order), walk)


@ROUTER.get("/listing/facets")
def count_facets(studio: StudioDep, _: Reader, query: Asked = "") -> ListingFacets:
    """How the episodes that a query finds are spread over tasks, people, verdicts and days."""
    condition = queries.read_query(query)
    return _FACETS.get(
        studio.workspace.database, query, lambda connection: _facets(connection, condition)
    )


def _facets(connection: Connection, condition: queries.Condition | None) -> ListingFacets:
    found = queries.count_facets(connection, condition)
    total = queries.count_episodes(connection)
    return ListingFacets(
        facets=[
            FacetFacts(name=facet.name, more=facet.more,
                  values=[FacetValueFacts(**vars(value)) for value in facet.values])
            for facet in found.facets
        ],
        scores=[FacetBar(**vars(bar)) for bar in found.scores],
        days=[FacetBar(**vars(bar)) for bar in found.days],
        total=total,
    )  # fmt: skip


@ROUTER.get("/listing/suggestions")
def suggest(
    studio: StudioDep,
    _: Reader,
    query: Asked = "",
    cursor: Annotated[int | None, Query(ge=0, le=queries.LONGEST_QUERY)] = None,
) -> Suggestions:
    """What could be written at the cursor: fields, signs, values that are there."""
    with studio.workspace.database.read() as connection:
        found = queries.complete(connection, query, len(query) if cursor is None else cursor)
    return Suggestions(
        start=found.start,
        end=found.end,
        items=[Suggestion(text=i.text, kind=i.kind, detail=i.detail) for i in found.items],
    )


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
    found = []
    with studio.workspace.database.read() as connection:
        for part, rest in queries.relax(condition)[:_MOST_RELAXED]:
            number = queries.count_episodes(connection, rest, up_to=_MOST_COUNTED)
            text = "" if rest is None else queries.query_text(rest)
            found.append(RelaxedQuery(part=queries.query_text(part), query=text, count=number))
    return sorted(found, key=lambda each: -each.count)
