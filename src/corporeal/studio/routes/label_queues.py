"""Queues of labelling: what there is to do, for whom, and how new ones are made."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from corporeal.catalog.audit import now
from corporeal.catalog.database import CatalogError
from corporeal.catalog.permission import Actor
from corporeal.labelling.agreement import compared_pairs, summarise
from corporeal.labelling.queues import (
    LEAST_DOUBLE,
    PersonalWork,
    QueueFacts,
    QueueOffer,
    QueuePlan,
    QueueRequest,
    QueueSource,
    all_queues,
    builder_for,
    list_offers,
    plan_queue,
    queue_requests,
    record_request,
    take_next,
    work_by_person,
)
from corporeal.labelling.tasks import ListedTask, TaskState, list_tasks, listed_task
from corporeal.labelling.taxonomy import usable_taxonomies
from corporeal.studio.authentication import Judge
from corporeal.studio.context import Studio, StudioDep
from corporeal.studio.label_facts import (
    GateFacts,
    QualificationFacts,
    figure_words,
    gate_facts,
    qualified,
    writing,
)
from corporeal.studio.routes.events import Annotator
from corporeal.words import counted, hours

ROUTER = APIRouter(tags=["labels"])
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
QueueName = Annotated[str, Field(min_length=1, max_length=64)]
_MINE = 200
_UNDECIDED: tuple[TaskState, ...] = ("working", "returned", "submitted", "open")


class MyWork(BaseModel):
    """All that one person has to do and has done."""

    name: str
    offers: list[QueueOffer]
    tasks: list[ListedTask]
    done: int
    seconds: float
    qualifications: list[QualificationFacts]
    figures: GateFacts | None
    words: list[str]


class TaxonomyFacts(BaseModel):
    """A taxonomy to choose."""

    reference: str
    description: str | None
    labels: int
    tasks: list[str]


class QueuePreview(BaseModel):
    """What a queue would hold."""

    episodes: int
    labelled: int
    queued: int
    doubles: int
    blind: int
    tasks: int
    hours: float | None
    words: str


class NewQueue(BaseModel):
    """What a lead asks for."""

    name: QueueName
    query: Annotated[str, Field(max_length=2000)] = ""
    taxonomy: Annotated[str, Field(max_length=120)]
    double_share: Annotated[float, Field(ge=LEAST_DOUBLE, le=1)] = LEAST_DOUBLE
    blind_share: Share = 0.1
    skip_labelled: bool = True
    needs_qualification: bool = False
    kind: Literal["annotate", "qualify"] = "annotate"


@ROUTER.get("/labels/mine")
def my_work(studio: StudioDep, actor: Annotator) -> MyWork:
    """What the visitor has to do, what came back to them, and how they agree with others."""
    with studio.workspace.database.read() as connection:
        work = work_by_person(connection, name=actor.name).get(actor.name, PersonalWork())
        pairs = [each for each in compared_pairs(connection) if actor.name in each.people]
        figures = gate_facts(summarise([each.seen_by(actor.name) for each in pairs]))
        return MyWork(
            name=actor.name,
            offers=list_offers(connection, by=actor),
            tasks=list_tasks(
                connection, by=actor, assigned_to=actor.name, states=_UNDECIDED, limit=_MINE
            ),
            done=work.done,
            seconds=work.seconds,
            qualifications=qualified(connection, actor.name),
            figures=figures if pairs else None,
            words=figure_words(figures) if pairs else [],
        )


@ROUTER.get("/labels/queues")
def list_queues(studio: StudioDep, actor: Judge) -> list[QueueFacts]:
    """Every queue, the newest first; the making of one that was interrupted goes on."""
    database = studio.workspace.database
    builder, source = builder_for(database), _source(studio, actor)
    if not studio.settings.read_only:
        with database.read() as connection:
            requests = queue_requests(connection)
        for request in requests.values():
            builder.resume(request, source)
    with database.read() as connection:
        return all_queues(connection, builder)


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
            for each in usable_taxonomies(connection)
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
    request = QueueRequest(
        "", query.strip(), taxonomy, double_share, blind_share, False, skip_labelled,
        "qualify" if kind == "qualify" else "annotate", actor.name,
    )  # fmt: skip
    with studio.workspace.database.read() as connection:
        return _preview(plan_queue(connection, request), request)


@ROUTER.post("/labels/queues", status_code=201)
def make_queue(studio: StudioDep, actor: Judge, asked: NewQueue) -> QueueFacts:
    """Make a queue: tasks come in the background, with a proposal each."""
    given = asked.model_dump() | {"query": asked.query.strip()}
    request = QueueRequest(**given, by=actor.name, at=now())
    with writing(studio) as connection:
        plan = plan_queue(connection, request)
        if not plan.episodes:
            raise CatalogError(_preview(plan, request).words)
        record_request(connection, request, by=actor)
    builder = builder_for(studio.workspace.database)
    builder.start(request, plan.episodes, _source(studio, actor))
    with studio.workspace.database.read() as connection:
        queues = all_queues(connection, builder)
    return next(each for each in queues if each.name == request.name)


@ROUTER.post("/labels/queues/{queue}/take")
def take(queue: str, studio: StudioDep, actor: Annotator) -> ListedTask | None:
    """Take the next task; null when nothing is left for the visitor."""
    with writing(studio) as connection:
        avoid: list[str] = []
        # A lead decides on pairs elsewhere.
        while (task := take_next(connection, queue, by=actor, avoid=avoid)) is not None:
            if task.kind != "adjudicate":
                return listed_task(connection, task.id, by=actor)
            avoid.append(task.id)
        return None


def _source(studio: Studio, actor: Actor) -> QueueSource:
    return QueueSource(studio.workspace.database, studio.shelf.episode, actor)


def _preview(plan: QueuePlan, request: QueueRequest) -> QueuePreview:
    return QueuePreview(
        episodes=len(plan.episodes),
        labelled=plan.labelled,
        queued=plan.busy,
        doubles=plan.doubles,
        blind=plan.blind,
        tasks=plan.tasks,
        hours=plan.hours,
        words=_words(plan, request),
    )


def _words(plan: QueuePlan, request: QueueRequest) -> str:
    count = len(plan.episodes)
    if request.kind == "qualify":
        if not count:
            return "No episode here has accepted labels under this taxonomy; a test needs some."
        return f"{counted(count, 'episode')} with accepted labels become the test."
    out = []
    if plan.labelled and request.skip_labelled:
        out.append(f"{plan.labelled:,} are labelled")
    if plan.busy:
        out.append(f"{plan.busy:,} are in work")
    left = f" ({', '.join(out)} already)" if out else ""
    if not count:
        return f"No episode is left to label: {plan.found:,} found{left}."
    spent = f" About {hours(plan.hours)} of work." if plan.hours else ""
    makes = "makes" if count == 1 else "make"
    twice = "is" if plan.doubles == 1 else "are"
    return (
        f"{counted(count, 'episode')}{left} {makes} {counted(plan.tasks, 'task')}: "
        f"{plan.doubles:,} {twice} labelled twice, {plan.blind:,} begin without a proposal."
        f"{spent}"
    )
