"""Pairs of annotations that differ: a lead decides, card by card."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, Field
from sqlalchemy import Connection, select

from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import episode as episode_row
from corporeal.catalog.permission import Actor
from corporeal.catalog.tables import EPISODE, LABEL_TASK
from corporeal.errors import UnknownNameError
from corporeal.labelling.annotation import Edit
from corporeal.labelling.tasks.adjudication import Side as Choice
from corporeal.labelling.tasks.adjudication import require_adjudicator, resolve
from corporeal.labelling.tasks.assignment import take
from corporeal.labelling.tasks.edits import save_edits
from corporeal.labelling.tasks.pair import adjudication_of, pair_of, stamps_of
from corporeal.labelling.tasks.submission import submit
from corporeal.labelling.tasks.task import LabelTask, task
from corporeal.labelling.taxonomy.document import Taxonomy
from corporeal.labelling.taxonomy.taxonomy_store import kept_taxonomy
from corporeal.studio.authentication import Judge
from corporeal.studio.context import StudioDep
from corporeal.studio.labelling.card_facts import (
    AdjudicationFacts,
    PairFacts,
    adjudication_facts,
    pair_facts,
)
from corporeal.studio.labelling.cards import Card, cards_from
from corporeal.studio.labelling.merging import steps_to_frame, steps_to_label
from corporeal.studio.routes.label_queues import writing

ROUTER = APIRouter(tags=["labels"])
_MOST = 500


class NewCardDecision(BaseModel):
    """What is decided; `frame` or `label` say what neither of the two has said."""

    choice: Choice
    frame: Annotated[int | None, Field(ge=0, le=1 << 40)] = None
    label: Annotated[str | None, Field(max_length=200)] = None
    key: Annotated[str, Field(min_length=8, max_length=40, pattern=r"^[A-Za-z0-9_-]+$")]


@ROUTER.get("/labels/pairs")
def list_pairs(studio: StudioDep, actor: Judge) -> list[PairFacts]:
    """Adjudications, those that wait first; not those of what the visitor has annotated."""
    with studio.workspace.database.read() as connection:
        rows = connection.execute(
            select(LABEL_TASK.c.id, EPISODE.c.task)
            .join(EPISODE, EPISODE.c.id == LABEL_TASK.c.episode)
            .where(LABEL_TASK.c.kind == "adjudicate", LABEL_TASK.c.state != "dropped")
            .order_by(LABEL_TASK.c.state == "done", LABEL_TASK.c.changed_at.desc())
            .limit(_MOST)
        ).all()
        found = [(task(connection, name), about) for name, about in rows]
        return [
            pair_facts(held, _cards(connection, held), about)
            for held, about in found
            if actor.name not in _annotators(connection, held)
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
        cards = {each.id: each for each in _cards(connection, held)}
        if card_id not in cards:
            raise UnknownNameError("card", card_id[:40], cards)
        _decide(connection, held, cards[card_id], asked, actor)
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


def _annotators(connection: Connection, held: LabelTask) -> set[str | None]:
    return {each.assigned_to for each in pair_of(connection, str(held.settings["of"]))}


def _taxonomy(connection: Connection, held: LabelTask) -> Taxonomy:
    return kept_taxonomy(connection, held.taxonomy)


def _cards(connection: Connection, held: LabelTask) -> list[Card]:
    told = held.settings.get("disagreements", ())
    return cards_from(told, _taxonomy(connection, held), stamps_of(connection, held))


def _facts(connection: Connection, held: LabelTask) -> AdjudicationFacts:
    first, second = (task(connection, str(held.settings[side])) for side in ("first", "second"))
    return adjudication_facts(
        held, first, second, _cards(connection, held), _taxonomy(connection, held),
        stamps_of(connection, held), episode_row(connection, held.episode)["task"],
    )  # fmt: skip


def _decide(
    connection: Connection, held: LabelTask, card: Card, asked: NewCardDecision, actor: Actor
) -> None:
    lane = _taxonomy(connection, held).lane(card.lane)
    tiles = lane is not None and lane.tiles
    note = ""
    if asked.choice == "other":
        note = _another(connection, held, card, asked, actor, tiles=tiles)
    elif card.kind == "boundary" and (card.resolved or {}).get("choice") == "other":
        # Another frame may lie outside of the two: what is between goes back first.
        back = steps_to_frame(held.annotation, card, card.first.time_ns, tiles=tiles)
        if back:
            edit = Edit(id=f"back-{asked.key}", action="resolve", steps=back)
            save_edits(connection, held.id, [edit], base_version=held.version, by=actor)
    for name in card.ids:
        resolve(connection, held.id, name, asked.choice, by=actor, note=note)


def _another(
    connection: Connection, held: LabelTask, card: Card, asked: NewCardDecision, actor: Actor,
    *, tiles: bool,
) -> str:  # fmt: skip
    """Put in what neither has said; the note that remembers it."""
    if card.kind == "boundary":
        stamps = stamps_of(connection, held)
        if asked.frame is None or asked.frame >= len(stamps):
            raise CatalogError(f"frame, got {asked.frame}; expected 0 to {len(stamps) - 1}.")
        steps = steps_to_frame(held.annotation, card, int(stamps[asked.frame]), tiles=tiles)
        note = f"frame {asked.frame}"
    else:
        if not asked.label:
            raise CatalogError("label, got nothing; expected what neither of the two has said.")
        steps = steps_to_label(held.annotation, card, asked.label)
        note = f"label {asked.label}"
    if steps:
        edit = Edit(id=f"other-{asked.key}", action="resolve", steps=steps)
        save_edits(connection, held.id, [edit], base_version=held.version, by=actor)
    return note
