"""What several label pages are told: figures and measurements of people, as plain values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import HTTPException
from pydantic import BaseModel
from sqlalchemy import Connection

from corporeal.catalog.permission import Actor
from corporeal.labelling.agreement import AgreementSummary
from corporeal.labelling.queues import Qualification, qualifications
from corporeal.labelling.tasks import (
    LabelTask,
    StaleEditError,
    TaskStateError,
    UnknownTaskError,
    find_task,
)
from corporeal.labelling.taxonomy import kept_taxonomy
from corporeal.studio.context import Studio

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


def seen_task(connection: Connection, task_id: str, actor: Actor) -> LabelTask:
    """The task, for somebody who may see what is said in it; a 404 where there is none."""
    try:
        return find_task(connection, task_id, seen_by=actor)
    except UnknownTaskError as error:
        raise HTTPException(404, str(error)) from None


def gate_facts(summary: AgreementSummary) -> GateFacts:
    """The gates of a summary; what is not a number is null."""
    return GateFacts.model_validate(summary.to_json())


def qualified(connection: Connection, name: str) -> list[QualificationFacts]:
    """The last measurement of somebody for every taxonomy."""
    newest = {each.taxonomy: each for each in reversed(qualifications(connection, account=name))}
    return [
        _qualified_facts(each, kept_taxonomy(connection, digest).reference)
        for digest, each in newest.items()
    ]


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


def _qualified_facts(made: Qualification, reference: str) -> QualificationFacts:
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


def _gate_words(failed: str) -> str:
    if failed.startswith("kappa of "):
        return failed.removeprefix("kappa of ").replace("_", " ")
    return _SAID.get(failed, failed)
