"""Queues of labelling: what there is to do, for whom, how new ones are made; how people agree."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from corporeal.catalog.accounts import accounts
from corporeal.catalog.audit import now
from corporeal.catalog.database import CatalogError
from corporeal.catalog.people import require_query
from corporeal.catalog.permission import Actor, may
from corporeal.labelling.agreement import AgreementSummary, agreement_of, compared_pairs, summarise
from corporeal.labelling.queues import (
    LEAST_DOUBLE,
    PersonalWork,
    Qualification,
    QueueFacts,
    QueueOffer,
    QueuePlan,
    QueueRequest,
    QueueSource,
    all_queues,
    builder_for,
    list_offers,
    plan_queue,
    qualifications,
    queue_requests,
    record_request,
    take_next,
    work_by_person,
)
from corporeal.labelling.tasks import ListedTask, TaskState, list_tasks, listed_task
from corporeal.labelling.taxonomy import kept_taxonomy, usable_taxonomies
from corporeal.operations.scope import read_scope
from corporeal.studio.authentication import Judge
from corporeal.studio.context import Studio, StudioDep
from corporeal.studio.routes.events import Annotator
from corporeal.words import counted, hours

ROUTER = APIRouter(tags=["labels"])
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
QueueName = Annotated[str, Field(min_length=1, max_length=64)]
_MINE = 200
_UNDECIDED: tuple[TaskState, ...] = ("working", "returned", "submitted", "open")
_SAID = {
    "edit score": "the order of labels",
    "boundaries": "the frames of boundaries",
    "kappa": "the choice of labels",
}


class GateFacts(BaseModel):
    """The three gates of agreement; what cannot be told is null."""

    episodes: int
    edit_score: float | None
    kappa: dict[str, float | None]
    boundaries: int
    mean_difference_frames: float | None
    bias_frames: float | None
    hit_rate: float | None
    hit_rate_bounds: tuple[float | None, float | None]
    failed: list[str]


class QualificationFacts(BaseModel):
    """One measurement against gold labels."""

    account: str
    taxonomy: str
    passed: bool
    at: str
    words: str


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
        figures = _gate_facts(summarise([each.seen_by(actor.name) for each in pairs]))
        return MyWork(
            name=actor.name,
            offers=list_offers(connection, by=actor),
            tasks=list_tasks(
                connection, by=actor, assigned_to=actor.name, states=_UNDECIDED, limit=_MINE
            ),
            done=work.done,
            seconds=work.seconds,
            qualifications=_qualified(connection, actor.name),
            figures=figures if pairs else None,
            words=_figure_words(figures) if pairs else [],
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
    with studio.workspace.database.write() as connection:
        require_query(connection, actor, request.query)
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
    with studio.workspace.database.write() as connection:
        avoid: list[str] = []
        # A lead decides on pairs elsewhere.
        while (task := take_next(connection, queue, by=actor, avoid=avoid)) is not None:
            if task.kind != "adjudicate":
                return listed_task(connection, task.id, by=actor)
            avoid.append(task.id)
        return None


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
        gates = _gate_facts(summarise([each.agreement for each in pairs]))
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
                qualifications=_qualified(connection, name),
                figures=_gate_facts(summarise(mine)) if mine else None,
            ))  # fmt: skip
        return found


def _source(studio: Studio, actor: Actor) -> QueueSource:
    return QueueSource(studio.workspace.database, studio.shelf.episode, actor)


def _preview(plan: QueuePlan, request: QueueRequest) -> QueuePreview:
    return QueuePreview(
        **vars(plan) | {"episodes": len(plan.episodes)},
        queued=plan.busy,
        tasks=plan.tasks,
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


def _gate_facts(summary: AgreementSummary) -> GateFacts:
    """The gates of a summary; what is not a number is null."""
    return GateFacts.model_validate(summary.to_json())


def _qualified(connection: Connection, name: str) -> list[QualificationFacts]:
    """The last measurement of somebody for every taxonomy."""
    newest = {each.taxonomy: each for each in reversed(qualifications(connection, account=name))}
    return [
        _qualified_facts(each, kept_taxonomy(connection, digest).reference)
        for digest, each in newest.items()
    ]


def _figure_words(gates: GateFacts) -> list[str]:
    """What somebody's figures mean for their work, kindly, and what to do about it."""
    bias, near = gates.bias_frames, gates.mean_difference_frames
    if near is None or bias is None:
        return []
    said = [
        f"Your boundaries lie {near:.1f} frames from those of others on average; up to 3 is good."
    ]
    if abs(bias) >= 1:
        way, mend = ("late", "earlier") if bias > 0 else ("early", "later")
        said.append(
            f"They tend to be {abs(bias):.1f} frames {way}. Read the boundary rules once more: "
            f"often the rule holds a frame or two {mend}."
        )
    for name, value in gates.kappa.items():
        if value is not None and value < 0.8:
            said.append(f"On {name.replace('_', ' ')} you often say something else than others; "
                        "its definitions are worth another look.")  # fmt: skip
    return said


def _qualified_facts(made: Qualification, reference: str) -> QualificationFacts:
    """A measurement with what it means, kindly."""
    failed = [str(each) for each in made.figures.get("failed", [])]
    if made.passed:
        words = "You apply the rules as we do."
    else:
        said = ", ".join(dict.fromkeys(_gate_words(each) for each in failed))
        words = f"Nearly everybody needs a second go. Look again at {said or 'the rules'}."
    return QualificationFacts(**vars(made) | {"taxonomy": reference}, words=words)


def _gate_words(failed: str) -> str:
    if failed.startswith("kappa of "):
        return failed.removeprefix("kappa of ").replace("_", " ")
    return _SAID.get(failed, failed)
