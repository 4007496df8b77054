"""How far people agree: the gates, and everybody who labels."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from corporeal.catalog.accounts import accounts
from corporeal.catalog.permission import Actor, may
from corporeal.labelling.agreement import agreement_of, compared_pairs, summarise
from corporeal.labelling.queues import PersonalWork, work_by_person
from corporeal.labelling.taxonomy import usable_taxonomies
from corporeal.operations.scope import read_scope
from corporeal.studio.authentication import Judge
from corporeal.studio.context import StudioDep
from corporeal.studio.label_facts import GateFacts, QualificationFacts, gate_facts, qualified

ROUTER = APIRouter(tags=["labels"])


class AgreementFacts(BaseModel):
    """The three gates over all pairs, and what people should be told."""

    gates: GateFacts
    alerts: list[str]


class AnnotatorFacts(BaseModel):
    """Somebody who labels: how much, how fast, how well."""

    name: str
    role: str
    done: int
    working: int
    seconds: float
    seconds_per_episode: float | None
    qualifications: list[QualificationFacts]
    figures: GateFacts | None


@ROUTER.get("/labels/agreement")
def agreement(
    studio: StudioDep, _: Judge, query: Annotated[str, Query(max_length=4000)] = ""
) -> AgreementFacts:
    """The gates over the episodes that a query finds; alerts are about all of them."""
    with studio.workspace.database.read() as connection:
        scope = read_scope(connection, query)
        pairs = compared_pairs(connection, scope.condition)
        told = [alert for each in usable_taxonomies(connection)
                for alert in agreement_of(connection, each).alerts]  # fmt: skip
        gates = gate_facts(summarise([each.agreement for each in pairs]))
        return AgreementFacts(gates=gates, alerts=list(dict.fromkeys(told)))


@ROUTER.get("/labels/people")
def people(studio: StudioDep, _: Judge) -> list[AnnotatorFacts]:
    """Everybody who labels or may, with how much, how fast and how well."""
    with studio.workspace.database.read() as connection:
        roles = {each.name: each.role for each in accounts(connection)
                 if not each.disabled and may(Actor(each.name, each.role), "annotate")}  # fmt: skip
        work = work_by_person(connection)
        pairs = compared_pairs(connection)
        found = []
        for name in dict.fromkeys([*roles, *work]):
            spent = work.get(name, PersonalWork())
            mine = [each.seen_by(name) for each in pairs if name in each.people]
            found.append(AnnotatorFacts(
                name=name, role=roles.get(name, ""), done=spent.done, working=spent.working,
                seconds=spent.seconds, seconds_per_episode=spent.seconds_per_task,
                qualifications=qualified(connection, name),
                figures=gate_facts(summarise(mine)) if mine else None,
            ))  # fmt: skip
        return found
