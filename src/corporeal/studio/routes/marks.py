"""Acting on episodes: a verdict, tags and a note for some, or for all that a query finds; undo."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field

from corporeal.catalog.episodes import (
    MOST_MARKED,
    EpisodeMark,
    count_tags,
    mark_episodes,
    undo_mark,
)
from corporeal.catalog.permission import Actor, require
from corporeal.catalog.query import LONGEST_QUERY
from corporeal.labelling.review import note_episodes, take_back_notes
from corporeal.quality.check import Verdict
from corporeal.studio.authentication import Reader, allowed
from corporeal.studio.chosen_episodes import find_chosen
from corporeal.studio.context import StudioDep

ROUTER = APIRouter(tags=["marks"])
Annotator = Annotated[Actor, Depends(allowed("annotate"))]
_LONGEST_NOTE = 4000
_Tag = Annotated[str, Field(min_length=1, max_length=60)]


class NewMark(BaseModel):
    """What to put on which episodes: those of `episodes`, or all that `query` finds.

    `expected` is how many the query found when somebody decided; if it finds another number by
    now, nothing is done.
    """

    episodes: list[Annotated[str, Field(max_length=200)]] | None = Field(
        None, max_length=MOST_MARKED
    )
    query: str | None = Field(None, max_length=LONGEST_QUERY)
    expected: int | None = None
    verdict: Verdict | None = None
    reason: str | None = Field(None, max_length=500)
    tags: list[_Tag] = Field(default_factory=list, max_length=20)
    untags: list[_Tag] = Field(default_factory=list, max_length=20)
    note: str | None = Field(None, max_length=_LONGEST_NOTE)


class MadeMark(BaseModel):
    """What was done: `key` takes it back; `kept` are those whose state could not change, by id."""

    key: str
    count: int
    kept: dict[str, str]


class TagCount(BaseModel):
    """A tag and how many episodes have it."""

    tag: str
    count: int


@ROUTER.post("/marks", status_code=201)
def mark(asked: NewMark, studio: StudioDep, actor: Annotator) -> MadeMark:
    """Put a verdict, tags and a note on episodes, all or none of it."""
    wish = EpisodeMark(
        asked.verdict, asked.reason, tuple(tag.strip() for tag in asked.tags), tuple(asked.untags)
    )
    if asked.verdict is not None:
        require(actor, "judge")
    with studio.workspace.database.write() as connection:
        names = find_chosen(connection, asked.episodes, asked.query, asked.expected, by=actor)
        done = mark_episodes(connection, names, wish, who=actor.name)
        if asked.note:
            note_episodes(connection, names, asked.note, by=actor, mark=done.key)
    return MadeMark(key=done.key, count=done.count, kept=dict(done.kept))


@ROUTER.post("/marks/{key}/undo")
def undo(key: str, studio: StudioDep, actor: Annotator) -> MadeMark:
    """Put episodes back to what they were before a mark; its notes go."""
    with studio.workspace.database.write() as connection:
        done = undo_mark(connection, key, by=actor)
        take_back_notes(connection, key, by=actor)
    return MadeMark(key=key, count=done.count, kept=dict(done.kept))


@ROUTER.get("/tags")
def list_tags(studio: StudioDep, _: Reader) -> list[TagCount]:
    """The tags that episodes have, the frequent ones first."""
    with studio.workspace.database.read() as connection:
        return [TagCount(tag=tag, count=count) for tag, count in count_tags(connection)]
