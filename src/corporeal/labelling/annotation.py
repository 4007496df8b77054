"""What is said of one episode: segments in lanes, instructions, outcome, corrections."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from corporeal.errors import CorporealError
from corporeal.schema import Part
from corporeal.schema.document import Name

Identity = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
Stamp = Annotated[int, Field(ge=-(2**53), le=2**53)]
Value = str | float | int | bool | None


class AnnotationError(CorporealError):
    """An annotation, or a change of one, that cannot be."""


class Segment(Part):
    """A while with a label, from `start_ns` to before `end_ns`; a moment has both the same.

    Times are nanoseconds since the episode's epoch, at stamps of the reference stream.
    `source` is who put it there first; `confidence` is a proposal's own.
    """

    id: Identity
    lane: Name
    label: Name
    start_ns: Stamp
    end_ns: Stamp
    attributes: dict[Name, Value] = Field(default={}, max_length=32)
    source: Literal["person", "proposal"] = "person"
    confirmed: bool = True
    confidence: float | None = Field(default=None, ge=0, le=1)


class Instruction(Part):
    """One wording of what was done."""

    id: Identity
    text: str = Field(min_length=1, max_length=2000)
    language: str = Field(default="en", max_length=16)
    source: Literal["person", "proposal", "recorded"] = "person"


class Correction(Part):
    """A policy's prediction put right: what it predicted, and what it should have."""

    id: Identity
    time_ns: Stamp
    kind: Literal["grasp", "action"]
    predicted: dict[str, Value | list[float]] = Field(max_length=64)
    corrected: dict[str, Value | list[float]] = Field(max_length=64)
    note: str = Field(default="", max_length=2000)


class Annotation(Part):
    """All that is said of one episode under one taxonomy."""

    reference: str = Field(default="", description="stream on whose stamps boundaries lie")
    segments: tuple[Segment, ...] = ()
    instructions: tuple[Instruction, ...] = ()
    corrections: tuple[Correction, ...] = ()
    outcome: Literal["success", "failure"] | None = None
    failure_mode: Name | None = None
    variant: Name | None = None
    flags: tuple[Name, ...] = ()

    def in_lane(self, lane: str) -> tuple[Segment, ...]:
        """The segments of one lane in order of time."""
        return tuple(
            sorted(
                (each for each in self.segments if each.lane == lane),
                key=lambda each: (each.start_ns, each.end_ns, each.id),
            )
        )
