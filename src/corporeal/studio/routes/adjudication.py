"""Pairs of annotations that differ: a lead decides, card by card."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from corporeal.catalog.permission import Actor
from corporeal.labelling.adjudication import (
    Adjudication,
    CardChoice,
    decide_card,
    list_adjudications,
    open_adjudication,
)
from corporeal.labelling.review import submit
from corporeal.studio.adjudication_facts import (
    AdjudicationFacts,
    PairFacts,
    adjudication_facts,
    pair_facts,
)
from corporeal.studio.authentication import Judge
from corporeal.studio.context import StudioDep
from corporeal.studio.label_facts import writing

ROUTER = APIRouter(tags=["labels"])


class NewCardDecision(BaseModel):
    """What is decided; `frame` or `label` say what neither of the two has said."""

    choice: CardChoice
    frame: Annotated[int | None, Field(ge=0, le=1 << 40)] = None
    label: Annotated[str | None, Field(max_length=200)] = None
    key: Annotated[str, Field(min_length=8, max_length=40, pattern=r"^[A-Za-z0-9_-]+$")]


@ROUTER.get("/labels/pairs")
def list_pairs(studio: StudioDep, actor: Judge) -> list[PairFacts]:
    """Adjudications, those that wait first; not those of what the visitor has annotated."""
    with studio.workspace.database.read() as connection:
        return [pair_facts(each) for each in list_adjudications(connection, by=actor)]


@ROUTER.get("/labels/pairs/{pair}")
def one_pair(pair: str, studio: StudioDep, actor: Judge) -> AdjudicationFacts:
    """Both versions and every card."""
    with studio.workspace.database.read() as connection:
        return adjudication_facts(_opened(connection, pair, actor))


@ROUTER.post("/labels/pairs/{pair}/cards/{card_id}")
def decide(
    pair: str, card_id: str, studio: StudioDep, actor: Judge, asked: NewCardDecision
) -> AdjudicationFacts:
    """Decide on a card, or decide on it again; the same key twice is one decision."""
    with writing(studio) as connection:
        decide_card(connection, _opened(connection, pair, actor), card_id, by=actor,
                    **asked.model_dump())  # fmt: skip
        return adjudication_facts(_opened(connection, pair, actor))


@ROUTER.post("/labels/pairs/{pair}/accept")
def accept_pair(pair: str, studio: StudioDep, actor: Judge) -> AdjudicationFacts:
    """Let the labels count, once every card is decided."""
    with writing(studio) as connection:
        task = _opened(connection, pair, actor).task
        if task.state != "done":
            submit(connection, task.id, by=actor)
        return adjudication_facts(_opened(connection, pair, actor))


def _opened(connection: Connection, pair: str, actor: Actor) -> Adjudication:
    """The adjudication of a pair; for nobody who has annotated one of the two."""
    adjudication = open_adjudication(connection, pair, by=actor)
    if adjudication is None:
        raise HTTPException(
            404, "This pair has nothing to decide: both agree, or one of them is not submitted."
        )
    return adjudication
