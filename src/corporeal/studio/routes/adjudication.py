"""Pairs of annotations that differ: a lead decides, card by card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from corporeal.catalog.permission import Actor
from corporeal.labelling.adjudication import (
    Adjudication,
    Card,
    CardChoice,
    CardSide,
    decide_card,
    list_adjudications,
    open_adjudication,
)
from corporeal.labelling.agreement import NOTHING, DisagreementKind
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.frames import end_ns
from corporeal.labelling.review import submit
from corporeal.labelling.taxonomy import Taxonomy
from corporeal.studio.authentication import Judge
from corporeal.studio.context import StudioDep
from corporeal.studio.lanes import LaneFacts, label_lanes

ROUTER = APIRouter(tags=["labels"])


@dataclass(frozen=True)
class DisagreementSide(CardSide):
    """What one of two people said."""

    definition: str


class CardDecision(BaseModel):
    """What was decided, by whom."""

    choice: Literal["first", "second", "other"]
    frame: int | None
    label: str | None
    by: str
    at: str


class DisagreementCard(BaseModel):
    """One question; `events` are the events that the rule goes by, the surest first."""

    id: str
    kind: DisagreementKind
    lane: str
    lane_title: str
    rule: str
    rule_text: str | None
    question: str
    first: DisagreementSide
    second: DisagreementSide
    frames: int
    start_ns: int
    end_ns: int
    choices: list[str]
    events: list[str]
    decided: CardDecision | None


class PairFacts(BaseModel):
    """A pair in a list."""

    pair: str
    episode: str
    episode_task: str | None
    queue: str
    taxonomy: str
    state: Literal["open", "done"]
    cards: int
    decided: int
    changed_at: str


class AdjudicationFacts(BaseModel):
    """A pair with everything there is to decide; names are told when it is over."""

    facts: PairFacts
    reference: str
    start_ns: int
    end_ns: int
    frames: int
    names: tuple[str, str] | None
    first: list[LaneFacts]
    second: list[LaneFacts]
    result: list[LaneFacts]
    cards: list[DisagreementCard]


def _pair(adjudication: Adjudication) -> PairFacts:
    """A pair as lists show it."""
    task = adjudication.task
    return PairFacts(
        pair=adjudication.pair,
        episode=task.episode,
        episode_task=adjudication.episode_task,
        queue=task.queue,
        taxonomy=adjudication.taxonomy.reference,
        state="done" if task.state == "done" else "open",
        cards=len(adjudication.cards),
        decided=sum(each.resolved is not None for each in adjudication.cards),
        changed_at=task.changed_at,
    )


def _facts(adjudication: Adjudication) -> AdjudicationFacts:
    """A pair with everything there is to decide."""
    first, second, stamps = adjudication.first, adjudication.second, adjudication.stamps
    is_over = adjudication.task.state == "done"
    cards, taxonomy = adjudication.cards, adjudication.taxonomy
    return AdjudicationFacts(
        facts=_pair(adjudication),
        reference=first.annotation.reference,
        start_ns=int(stamps[0]),
        end_ns=end_ns(stamps),
        frames=len(stamps),
        # Whoever decides should not know whose word it is.
        names=(first.assigned_to or "", second.assigned_to or "") if is_over else None,
        first=_disputed(first.annotation, cards, taxonomy),
        second=_disputed(second.annotation, cards, taxonomy),
        result=_disputed(adjudication.task.annotation, cards, taxonomy),
        cards=[_card(each, taxonomy) for each in cards],
    )


def _disputed(annotation: Annotation, cards: Sequence[Card], taxonomy: Taxonomy) -> list[LaneFacts]:
    """The lanes about which the two differ, and the first one for orientation."""
    names = {each.lane for each in cards} | {taxonomy.lanes[0].name}
    kept = tuple(each for each in annotation.segments if each.lane in names)
    return label_lanes(annotation.model_copy(update={"segments": kept}), taxonomy)


def _card(card: Card, taxonomy: Taxonomy) -> DisagreementCard:
    lane = taxonomy.lane(card.lane)
    rule = taxonomy.rule(card.lane, card.rule) if card.kind == "boundary" else None
    sides = {
        "first": _side(card.first, card, taxonomy),
        "second": _side(card.second, card, taxonomy),
    }
    return DisagreementCard(
        **vars(card) | sides,
        id=card.id,
        lane_title=lane.title if lane else "The whole episode",
        rule_text=rule.text if rule else None,
        question=_question(card),
        frames=card.frames,
        choices=_choices(card, taxonomy),
        events=list(rule.events) if rule else [],
        decided=_decided(card),
    )


def _side(side: CardSide, card: Card, taxonomy: Taxonomy) -> DisagreementSide:
    if card.kind in ("attribute", "outcome"):
        choices = taxonomy.choices(card.rule)
        definition = next((each.definition for each in choices if each.name == side.label), "")
    else:
        lane = taxonomy.lane(card.lane)
        label = lane.label(side.label) if lane is not None else None
        definition = label.definition if label is not None else ""
    return DisagreementSide(**vars(side), definition=definition)


def _question(card: Card) -> str:
    name, _, edge = card.rule.partition(".")
    spoken = name.replace("_", " ")
    match card.kind:
        case "boundary":
            return f"In which frame does {spoken} {'begin' if edge == 'starts' else 'end'}?"
        case "label":
            return "What happens here?"
        case "missing":
            said = card.second.label if card.first.label == NOTHING else card.first.label
            return f"Is there {said.replace('_', ' ')} here?"
        case "attribute":
            return f"Which {spoken} is it?"
        case "outcome":
            return "How did it end?" if name == "outcome" else f"Which {spoken} is it?"


def _choices(card: Card, taxonomy: Taxonomy) -> list[str]:
    """What else could be said, besides what the two have said."""
    lane = taxonomy.lane(card.lane)
    names: list[str] = []
    if card.kind in ("label", "missing") and lane is not None:
        names = [each.name for each in lane.labels] + ([] if lane.tiles else [NOTHING])
    elif card.kind in ("attribute", "outcome"):
        names = [each.name for each in taxonomy.choices(card.rule)]
    return [each for each in names if each not in (card.first.label, card.second.label)]


def _decided(card: Card) -> CardDecision | None:
    told = card.resolved
    if not told:
        return None
    kind, _, value = str(told.get("note", "")).partition(" ")
    return CardDecision(
        choice=told["choice"],
        frame=int(value) if kind == "frame" and value.isdecimal() else None,
        label=value if kind == "label" else None,
        by=str(told["by"]),
        at=str(told["at"]),
    )


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
        return [_pair(each) for each in list_adjudications(connection, by=actor)]


@ROUTER.get("/labels/pairs/{pair}")
def one_pair(pair: str, studio: StudioDep, actor: Judge) -> AdjudicationFacts:
    """Both versions and every card."""
    with studio.workspace.database.read() as connection:
        return _facts(_opened(connection, pair, actor))


@ROUTER.post("/labels/pairs/{pair}/cards/{card_id}")
def decide(
    pair: str, card_id: str, studio: StudioDep, actor: Judge, asked: NewCardDecision
) -> AdjudicationFacts:
    """Decide on a card, or decide on it again; the same key twice is one decision."""
    with studio.workspace.database.write() as connection:
        decide_card(connection, _opened(connection, pair, actor), card_id, by=actor,
                    **asked.model_dump())  # fmt: skip
        return _facts(_opened(connection, pair, actor))


@ROUTER.post("/labels/pairs/{pair}/accept")
def accept_pair(pair: str, studio: StudioDep, actor: Judge) -> AdjudicationFacts:
    """Let the labels count, once every card is decided."""
    with studio.workspace.database.write() as connection:
        task = _opened(connection, pair, actor).task
        if task.state != "done":
            submit(connection, task.id, by=actor)
        return _facts(_opened(connection, pair, actor))


def _opened(connection: Connection, pair: str, actor: Actor) -> Adjudication:
    """The adjudication of a pair; for nobody who has annotated one of the two."""
    adjudication = open_adjudication(connection, pair, by=actor)
    if adjudication is None:
        raise HTTPException(
            404, "This pair has nothing to decide: both agree, or one of them is not submitted."
        )
    return adjudication
