"""How far people agree: the gates, and everybody who labels."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel
from sqlalchemy import Connection, func, select

from corporeal.catalog.accounts import accounts
from corporeal.catalog.permission import Actor, may
from corporeal.catalog.tables import LABEL_TASK
from corporeal.labelling.agreement.pairs import compared_pairs
from corporeal.labelling.agreement.report import agreement_of
from corporeal.labelling.comparison.comparison import summarise
from corporeal.operations.scope import read_scope
from corporeal.studio.authentication import Judge
from corporeal.studio.context import StudioDep
from corporeal.studio.labelling.facts import AnnotatorFacts, GateFacts, gate_facts
from corporeal.studio.labelling.order import taxonomies
from corporeal.studio.routes.label_queues import qualified

ROUTER = APIRouter(tags=["labels"])


class AgreementFacts(BaseModel):
    """The three gates over all pairs, and what people should be told."""

    gates: GateFacts
    alerts: list[str]


@ROUTER.get("/labels/agreement")
def agreement(
    studio: StudioDep, _: Judge, query: Annotated[str, Query(max_length=4000)] = ""
) -> AgreementFacts:
    """The gates over the episodes that a query finds; alerts are about all of them."""
    with studio.workspace.database.read() as connection:
        scope = read_scope(connection, query)
        pairs = compared_pairs(connection, scope.where)
        told = [alert for each in taxonomies(connection)
                for alert in agreement_of(connection, each).alerts]  # fmt: skip
        gates = gate_facts(summarise([each.agreement for each in pairs]))
        return AgreementFacts(gates=gates, alerts=list(dict.fromkeys(told)))


@ROUTER.get("/labels/people")
def people(studio: StudioDep, _: Judge) -> list[AnnotatorFacts]:
    """Everybody who labels or may, with how much, how fast and how well."""
    with studio.workspace.database.read() as connection:
        roles = {each.name: each.role for each in accounts(connection)
                 if not each.disabled and may(Actor(each.name, each.role), "annotate")}  # fmt: skip
        work = _work(connection)
        pairs = compared_pairs(connection)
        found = []
        for name in dict.fromkeys([*roles, *work]):
            done, working, seconds, counted = work.get(name, (0, 0, 0.0, 0))
            mine = [each.seen_by(name) for each in pairs if name in each.people]
            found.append(AnnotatorFacts(
                name=name, role=roles.get(name, ""), done=done, working=working, seconds=seconds,
                seconds_per_episode=seconds / counted if counted and seconds else None,
                qualifications=qualified(connection, name),
                figures=gate_facts(summarise(mine)) if mine else None,
            ))  # fmt: skip
        return found


def _work(connection: Connection) -> dict[str, tuple[int, int, float, int]]:
    """Tasks that are over, tasks in work, seconds, and tasks handed in, of everybody."""
    state = LABEL_TASK.c.state
    rows = connection.execute(
        select(
            LABEL_TASK.c.assigned_to,
            func.count().filter(state == "done"),
            func.count().filter(state.in_(("working", "returned"))),
            func.sum(LABEL_TASK.c.seconds),
            func.count().filter(state.in_(("submitted", "done"))),
        )
        .where(LABEL_TASK.c.assigned_to.is_not(None), LABEL_TASK.c.kind != "adjudicate")
        .group_by(LABEL_TASK.c.assigned_to)
        .order_by(LABEL_TASK.c.assigned_to)
    )
    return {str(who): (int(done), int(working), float(seconds or 0), int(given))
            for who, done, working, seconds, given in rows}  # fmt: skip
