"""What the label pages are told: queues, tasks, people and figures, as plain values."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from corporeal.labelling.comparison.comparison import AgreementSummary
from corporeal.labelling.tasks.qualification import Qualification
from corporeal.labelling.tasks.task import TaskKind, TaskState
from corporeal.studio.labelling.making import Progress
from corporeal.studio.labelling.order import LEAST_DOUBLE
from corporeal.studio.lanes import LaneFacts

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
QueueName = Annotated[str, Field(min_length=1, max_length=64)]
_LONGEST_REASON = 2000
_SAID = {
    "edit score": "the order of labels",
    "boundaries": "the frames of boundaries",
    "kappa": "the choice of labels",
}


class ListedTask(BaseModel):
    """A task in a list; what an annotator must not know is null."""

    id: str
    episode: str
    episode_task: str | None
    instruction: str | None
    kind: TaskKind
    queue: str
    taxonomy: str
    state: TaskState
    assigned_to: str | None
    pair: str | None
    is_double: bool | None
    has_proposal: bool | None
    seconds: float
    edits: int
    changed_at: str
    why: str | None
    comments: int


class QueueOffer(BaseModel):
    """A queue as somebody sees it who could take a task of it."""

    queue: str
    kind: TaskKind
    taxonomy: str
    open: int
    mine: int
    may_take: bool
    why_not: str | None


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


class QueueBuild(BaseModel):
    """How far the making of a queue is."""

    wanted: int
    made: int
    proposed: int
    is_running: bool
    error: str | None


class QueueFacts(BaseModel):
    """A queue as a lead sees it."""

    name: str
    kind: TaskKind
    taxonomy: str
    taxonomy_hash: str
    counts: dict[str, int]
    total: int
    episodes: int
    pairs: int
    without_proposal: int
    seconds: float
    people: list[str]
    needs_qualification: bool
    query: str | None
    created_by: str
    created_at: str
    making: QueueBuild | None


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


class TaskReturn(BaseModel):
    """Why a task is given back."""

    why: str = Field(min_length=1, max_length=_LONGEST_REASON)


class TaskAssignment(BaseModel):
    """Whom a task is given to; null: whoever comes next."""

    to: str | None = Field(max_length=64)


class TaskPreview(BaseModel):
    """What was submitted, to be looked at."""

    task: ListedTask
    lanes: list[LaneFacts]
    outcome: str | None
    failure_mode: str | None
    instructions: list[str]
    complaints: list[str]
    reference: str


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


class OpenComment(BaseModel):
    """A comment that nobody has answered yet."""

    number: int
    episode: str
    task: str | None
    time_ns: int | None
    who: str
    at: str
    text: str


def gate_facts(summary: AgreementSummary) -> GateFacts:
    """The gates of a summary; what is not a number is null."""
    return GateFacts.model_validate(summary.to_json())


def qualified_facts(made: Qualification, reference: str) -> QualificationFacts:
    """A measurement with what it means, kindly."""
    failed = [str(each) for each in made.figures.get("failed", [])]
    if made.passed:
        words = "You apply the rules as we do."
    else:
        said = ", ".join(dict.fromkeys(_gate_words(each) for each in failed))
        words = f"Nearly everybody needs a second go. Look again at {said or 'the rules'}."
    return QualificationFacts(
        account=made.account, taxonomy=reference, passed=made.passed, at=made.at, words=words
    )


def figure_words(gates: GateFacts) -> list[str]:
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


def making_facts(progress: Progress | None) -> QueueBuild | None:
    """Progress as plain values."""
    if progress is None or not progress.wanted:
        return None
    return QueueBuild(wanted=progress.wanted, made=progress.made, proposed=progress.proposed,
                       is_running=progress.is_running, error=progress.error)  # fmt: skip


def _gate_words(failed: str) -> str:
    if failed.startswith("kappa of "):
        return failed.removeprefix("kappa of ").replace("_", " ")
    return _SAID.get(failed, failed)
