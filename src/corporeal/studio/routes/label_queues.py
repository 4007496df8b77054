"""Queues of labelling: what there is to do, for whom, and how new ones are made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Query
from sqlalchemy import Connection, func, select

from corporeal.catalog.audit import now
from corporeal.catalog.database import CatalogError
from corporeal.catalog.permission import Actor, may
from corporeal.catalog.tables import LABEL_TASK
from corporeal.labelling.agreement.pairs import compared_pairs
from corporeal.labelling.comparison.comparison import summarise
from corporeal.labelling.tasks.assignment import take_next
from corporeal.labelling.tasks.edits import StaleEditError
from corporeal.labelling.tasks.qualification import is_qualified, qualifications
from corporeal.labelling.tasks.task import TaskStateError, UnknownTaskError
from corporeal.labelling.taxonomy.taxonomy_store import kept_taxonomy
from corporeal.studio.authentication import Judge, allowed
from corporeal.studio.charting.wording import hours
from corporeal.studio.context import Studio, StudioDep
from corporeal.studio.labelling.facts import (
    ListedTask,
    MyWork,
    NewQueue,
    QualificationFacts,
    QueueFacts,
    QueueOffer,
    QueuePreview,
    Share,
    TaxonomyFacts,
    figure_words,
    gate_facts,
    qualified_facts,
)
from corporeal.studio.labelling.lists import one_task, queue_facts, task_facts
from corporeal.studio.labelling.making import maker
from corporeal.studio.labelling.order import (
    LEAST_DOUBLE,
    Order,
    Plan,
    orders,
    plan,
    remember,
    taxonomies,
)
from corporeal.words import counted

ROUTER = APIRouter(tags=["labels"])
Annotator = Annotated[Actor, Depends(allowed("annotate"))]
_MINE = 200


@ROUTER.get("/labels/mine")
def my_work(studio: StudioDep, actor: Annotator) -> MyWork:
    """What the visitor has to do, what came back to them, and how they agree with others."""
    with studio.workspace.database.read() as connection:
        mine = LABEL_TASK.c.assigned_to == actor.name
        open_states = LABEL_TASK.c.state.in_(("working", "returned", "submitted", "open"))
        is_labelling = LABEL_TASK.c.kind != "adjudicate"
        spent = connection.execute(
            select(func.count().filter(LABEL_TASK.c.state == "done"),
                   func.sum(LABEL_TASK.c.seconds)).where(mine, is_labelling)
        ).one()  # fmt: skip
        pairs = [each for each in compared_pairs(connection) if actor.name in each.people]
        figures = gate_facts(summarise([each.seen_by(actor.name) for each in pairs]))
        return MyWork(
            name=actor.name,
            offers=_offers(connection, actor),
            tasks=task_facts(connection, mine, open_states, is_labelling, by=actor, limit=_MINE),
            done=int(spent[0]),
            seconds=float(spent[1] or 0),
            qualifications=qualified(connection, actor.name),
            figures=figures if pairs else None,
            words=figure_words(figures) if pairs else [],
        )


@ROUTER.get("/labels/queues")
def list_queues(studio: StudioDep, actor: Judge) -> list[QueueFacts]:
    """Every queue, the newest first; the making of one that was interrupted goes on."""
    making = maker(studio)
    if not studio.settings.read_only:
        with studio.workspace.database.read() as connection:
            ordered = orders(connection)
        for order in ordered.values():
            making.resume(studio, order, by=actor)
    with studio.workspace.database.read() as connection:
        return queue_facts(connection, making)


@ROUTER.get("/labels/taxonomies")
def list_taxonomies(studio: StudioDep, _: Judge) -> list[TaxonomyFacts]:
    """Taxonomies that a queue may be made under."""
    with studio.workspace.database.read() as connection:
        return [
            TaxonomyFacts(
                reference=each.reference,
                description=each.description,
                labels=sum(1 for _ in each.labels()),
                tasks=[need.task for need in each.requirements],
            )
            for each in taxonomies(connection)
        ]


@ROUTER.get("/labels/preview")
def preview_queue(
    studio: StudioDep,
    actor: Judge,
    taxonomy: Annotated[str, Query(max_length=120)],
    query: Annotated[str, Query(max_length=2000)] = "",
    double_share: Annotated[float, Query(ge=LEAST_DOUBLE, le=1)] = LEAST_DOUBLE,
    blind_share: Share = 0.1,
    skip_labelled: bool = True,
    kind: Annotated[str, Query(pattern="^(annotate|qualify)$")] = "annotate",
) -> QueuePreview:
    """What a queue would hold, before it is made."""
    order = Order("", query.strip(), taxonomy, double_share, blind_share, False, skip_labelled,
                  "qualify" if kind == "qualify" else "annotate", actor.name)  # fmt: skip
    with studio.workspace.database.read() as connection:
        return _preview(plan(connection, order), order)


@ROUTER.post("/labels/queues", status_code=201)
def make_queue(studio: StudioDep, actor: Judge, asked: NewQueue) -> QueueFacts:
    """Make a queue: tasks come in the background, with a proposal each."""
    given = asked.model_dump() | {"query": asked.query.strip()}
    order = Order(**given, by=actor.name, at=now())
    with writing(studio) as connection:
        found = plan(connection, order)
        if not found.episodes:
            raise CatalogError(_preview(found, order).words)
        remember(connection, order, by=actor)
    making = maker(studio)
    making.start(studio, order, found.episodes, by=actor)
    with studio.workspace.database.read() as connection:
        return next(each for each in queue_facts(connection, making) if each.name == order.name)


@ROUTER.post("/labels/queues/{queue}/take")
def take(queue: str, studio: StudioDep, actor: Annotator) -> ListedTask | None:
    """Take the next task; null when nothing is left for the visitor."""
    with writing(studio) as connection:
        avoid: list[str] = []
        # A lead decides on pairs elsewhere.
        while (held := take_next(connection, queue, by=actor, avoid=avoid)) is not None:
            if held.kind != "adjudicate":
                return one_task(connection, held.id, by=actor)
            avoid.append(held.id)
        return None


def qualified(connection: Connection, name: str) -> list[QualificationFacts]:
    """The last measurement of somebody for every taxonomy."""
    newest = {each.taxonomy: each for each in reversed(qualifications(connection, account=name))}
    return [
        qualified_facts(each, kept_taxonomy(connection, digest).reference)
        for digest, each in newest.items()
    ]


@contextmanager
def writing(studio: Studio) -> Iterator[Connection]:
    """A transaction; a Studio that only shows does not begin one."""
    if studio.settings.read_only:
        raise HTTPException(403, "This Studio only shows; start it without --read-only to label.")
    try:
        with studio.workspace.database.write() as connection:
            yield connection
    except UnknownTaskError as error:
        raise HTTPException(404, str(error)) from None
    except (TaskStateError, StaleEditError) as error:
        raise HTTPException(409, str(error)) from None


def _offers(connection: Connection, actor: Actor) -> list[QueueOffer]:
    """Queues that have something for somebody, tests first."""
    free = (LABEL_TASK.c.state == "open") & LABEL_TASK.c.assigned_to.is_(None)
    begun = (LABEL_TASK.c.assigned_to == actor.name) & LABEL_TASK.c.state.in_(
        ("open", "working", "returned")
    )
    twin = LABEL_TASK.alias("twin")
    # The other one of a pair is not for whoever has the first, and they are not told of it.
    is_other = select(twin.c.id).where(
        twin.c.pair == LABEL_TASK.c.pair, twin.c.assigned_to == actor.name
    )
    rows = connection.execute(
        select(
            LABEL_TASK.c.queue, LABEL_TASK.c.kind, LABEL_TASK.c.taxonomy,
            func.count().filter(free & ~is_other.exists()).label("open"),
            func.count().filter(begun).label("mine"),
            func.max(LABEL_TASK.c.settings["needs_qualification"].as_boolean()).label("needs"),
        )
        .where(LABEL_TASK.c.kind != "adjudicate")
        .group_by(LABEL_TASK.c.queue, LABEL_TASK.c.kind, LABEL_TASK.c.taxonomy)
        .order_by(LABEL_TASK.c.kind.desc(), LABEL_TASK.c.queue)
    ).all()  # fmt: skip
    found = []
    for queue, kind, taxonomy, free_tasks, mine, needs in rows:
        passed = is_qualified(connection, actor.name, taxonomy)
        is_test = kind == "qualify"
        left = 0 if is_test and passed else free_tasks + mine
        if not left and not (is_test and not passed):
            continue
        allowed_now = is_test or not needs or passed or may(actor, "judge")
        found.append(QueueOffer(
            queue=queue, kind=kind, taxonomy=kept_taxonomy(connection, taxonomy).reference,
            open=left, mine=mine, may_take=allowed_now,
            why_not=None if allowed_now else "Take the test for this taxonomy first.",
        ))  # fmt: skip
    return found


def _preview(found: Plan, order: Order) -> QueuePreview:
    return QueuePreview(
        episodes=len(found.episodes),
        labelled=found.labelled,
        queued=found.busy,
        doubles=found.doubles,
        blind=found.blind,
        tasks=found.tasks,
        hours=found.hours,
        words=_words(found, order),
    )


def _words(found: Plan, order: Order) -> str:
    count = len(found.episodes)
    if order.kind == "qualify":
        if not count:
            return "No episode here has accepted labels under this taxonomy; a test needs some."
        return f"{counted(count, 'episode')} with accepted labels become the test."
    out = []
    if found.labelled and order.skip_labelled:
        out.append(f"{found.labelled:,} are labelled")
    if found.busy:
        out.append(f"{found.busy:,} are in work")
    left = f" ({', '.join(out)} already)" if out else ""
    if not count:
        return f"No episode is left to label: {found.found:,} found{left}."
    spent = f" About {hours(found.hours)} of work." if found.hours else ""
    makes = "makes" if count == 1 else "make"
    twice = "is" if found.doubles == 1 else "are"
    return (
        f"{counted(count, 'episode')}{left} {makes} {counted(found.tasks, 'task')}: "
        f"{found.doubles:,} {twice} labelled twice, {found.blind:,} begin without a proposal."
        f"{spent}"
    )
