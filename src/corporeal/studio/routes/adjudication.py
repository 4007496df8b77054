"""Pairs of annotations that differ: a lead decides, card by card."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from corporeal.catalog.episodes import find_episode
from corporeal.catalog.permission import Actor
from corporeal.errors import UnknownNameError
from corporeal.labelling.adjudication import (
    CardChoice,
    adjudication_of,
    cards_of,
    decide_card,
    list_adjudications,
    require_adjudicator,
    stamps_of,
)
from corporeal.labelling.queues import take
from corporeal.labelling.review import submit
from corporeal.labelling.tasks import LabelTask, task
from corporeal.labelling.taxonomy import kept_taxonomy
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
        return [
            pair_facts(held, cards_of(connection, held), about)
            for held, about in list_adjudications(connection, by=actor)
        ]


@ROUTER.get("/labels/pairs/{pair}")
def one_pair(pair: str, studio: StudioDep, actor: Judge) -> AdjudicationFacts:
    """Both versions and every card."""
    with studio.workspace.database.read() as connection:
        return _facts(connection, _held(connection, pair, actor))


@ROUTER.post("/labels/pairs/{pair}/cards/{card_id}")
def decide(
    pair: str, card_id: str, studio: StudioDep, actor: Judge, asked: NewCardDecision
) -> AdjudicationFacts:
    """Decide on a card, or decide on it again; the same key twice is one decision."""
    with writing(studio) as connection:
        held = _held(connection, pair, actor)
        if held.state == "open":
            held = take(connection, held.id, by=actor)
        cards = {each.id: each for each in cards_of(connection, held)}
        if card_id not in cards:
            raise UnknownNameError("card", card_id[:40], cards)
        decide_card(
            connection, held, cards[card_id], asked.choice, by=actor, key=asked.key,
            frame=asked.frame, label=asked.label,
        )  # fmt: skip
        return _facts(connection, task(connection, held.id))


@ROUTER.post("/labels/pairs/{pair}/accept")
def accept_pair(pair: str, studio: StudioDep, actor: Judge) -> AdjudicationFacts:
    """Let the labels count, once every card is decided."""
    with writing(studio) as connection:
        held = _held(connection, pair, actor)
        if held.state != "done":
            submit(connection, held.id, by=actor)
        return _facts(connection, task(connection, held.id))


def _held(connection: Connection, pair: str, actor: Actor) -> LabelTask:
    """The adjudication of a pair; for nobody who has annotated one of the two."""
    held = adjudication_of(connection, pair)
    if held is None:
        raise HTTPException(
            404, "This pair has nothing to decide: both agree, or one of them is not submitted."
        )
    require_adjudicator(connection, held, actor)
    return held


def _facts(connection: Connection, held: LabelTask) -> AdjudicationFacts:
    first, second = (task(connection, str(held.settings[side])) for side in ("first", "second"))
    return adjudication_facts(
        held, first, second, cards_of(connection, held), kept_taxonomy(connection, held.taxonomy),
        stamps_of(connection, held), find_episode(connection, held.episode).task,
    )  # fmt: skip
