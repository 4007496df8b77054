"""The certification document: what an operator must have shown before their data counts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self, get_args

from pydantic import Field, model_validator

from corporeal.protocol.protocol import NotNegative, Positive
from corporeal.schema import Document, Part
from corporeal.schema.document import Library, Name

TrainingPhase = Literal["practice", "protocol", "calibration"]
PHASES: tuple[TrainingPhase, ...] = get_args(TrainingPhase)
"""The phases of training, in their order."""

Share = Annotated[float, Field(ge=0, lt=1)]
PartOf = Annotated[float, Field(gt=0, le=1)]


class PracticePhase(Part):
    """The first phase: tries until most of the latest succeed."""

    success_above: Share = Field(default=0.9, description="share of the latest, and more than that")
    latest: int = Field(default=30, ge=1, description="episodes that the share is counted over")
    hours: NotNegative = Field(default=2.0, description="recorded at least")
    proven: bool = Field(
        default=False,
        description="the lower bound must be above, not the share alone: 29 of 29 for 0.9",
    )


class ProtocolPhase(Part):
    """The second phase: work under the protocol, of which people look at every episode."""

    reviewed: int = Field(default=50, ge=1, description="the first so many, each seen by a person")
    accepted: PartOf = Field(default=0.8, description="share of them that people accepted")


class CalibrationPhase(Part):
    """The third phase: a series declared beforehand, scored against the references of the task.

    A limit that is empty, as all are where nothing is said, is not asked for; one of them must be.
    """

    episodes: int = Field(default=20, ge=2, description="the first so many after it was begun")
    grasps: PartOf | None = Field(default=None, description="share with a good grasp")
    grasp_score: PartOf = Field(default=0.5, description="score of the part grasp_success, or more")
    adherence: PartOf | None = Field(
        default=None, description="share of judged rules that are kept"
    )
    slower: Positive | None = Field(
        default=None, description="median duration over that of the references, at most"
    )
    wider: Positive | None = Field(
        default=None, description="spread of durations over that of the references, at most"
    )
    diversity: Positive | None = Field(
        default=None, description="spread of directions of approach over the references', at least"
    )

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        limits = (self.grasps, self.adherence, self.slower, self.wider, self.diversity)
        if all(each is None for each in limits):
            raise ValueError(
                "calibration asks for nothing; expected one of grasps, adherence, slower, wider, "
                "diversity at least, as in the certification standard"
            )
        return self


class Certification(Document):
    """What it takes to collect data of some tasks, how long that holds, and what renews it."""

    kind: ClassVar[str] = "certification"

    tasks: tuple[Name, ...] = Field(default=(), description="for these; none means any")
    after: tuple[Name, ...] = Field(
        default=(),
        description="tasks to be certified for before, such as a standing one",
    )
    practice: PracticePhase = PracticePhase()
    protocol: ProtocolPhase = ProtocolPhase()
    calibration: CalibrationPhase
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = Field(
        default=0.95, description="of the bounds that are stated, one-sided"
    )
    valid_days: Positive = Field(default=180.0, description="from the day it is given")
    retraining: TrainingPhase = Field(
        default="calibration", description="the phase to do again once it has expired"
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        for what, names in (("task", self.tasks), ("earlier task", self.after)):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"{what} {twice[0]!r} is listed twice; expected once")
        both = sorted({*self.tasks} & {*self.after})
        if both:
            raise ValueError(f"task {both[0]!r} is asked for before itself; expected another one")
        return self

    def is_for(self, task: str) -> bool:
        """Whether a certificate of this document may be given for a task."""
        return not self.tasks or task in self.tasks


READY = Library(Certification, "corporeal.catalog.people", "certifications")


def certification_names() -> tuple[str, ...]:
    """Names of the ready ones."""
    return READY.names


def open_certification(name_or_path: str | Path) -> Certification:
    """A ready certification by name, or a certification document by the path of its file."""
    return READY.open(name_or_path)
