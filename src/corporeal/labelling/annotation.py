"""What is said of one episode, and the edits that change it, each with one that undoes it."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

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


Outcome = Literal["success", "borderline", "failure"]
_UNIT = 1e-3


class ObjectPose(Part):
    """Where an object is at a moment: metres in a named frame, and a quaternion w x y z if known.

    The object keeps its name in every episode; `source` is who put the pose there first.
    """

    id: Identity
    object: Name
    time_ns: Stamp
    frame: Name = "world"
    position: tuple[float, float, float]
    orientation: tuple[float, float, float, float] | None = None
    source: Literal["person", "proposal"] = "person"
    confirmed: bool = True
    confidence: float | None = Field(default=None, ge=0, le=1)

    @model_validator(mode="after")
    def _is_a_pose(self) -> Self:
        if not all(map(math.isfinite, self.position)):
            raise ValueError(f"position, got {list(self.position)}; expected three metres")
        turned = self.orientation
        if turned is not None and not abs(math.hypot(*turned) - 1.0) < _UNIT:
            raise ValueError(f"orientation, got {list(turned)}; expected w x y z of length 1")
        return self


class Annotation(Part):
    """All that is said of one episode under one taxonomy."""

    reference: str = Field(default="", description="stream on whose stamps boundaries lie")
    segments: tuple[Segment, ...] = ()
    instructions: tuple[Instruction, ...] = ()
    corrections: tuple[Correction, ...] = ()
    poses: tuple[ObjectPose, ...] = ()
    outcome: Outcome | None = None
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

    def as_confirmed(self) -> Annotation:
        """The same with every segment and pose confirmed."""
        seen = tuple(each.model_copy(update={"confirmed": True}) for each in self.segments)
        poses = tuple(each.model_copy(update={"confirmed": True}) for each in self.poses)
        return self.model_copy(update={"segments": seen, "poses": poses})


MOST_PARTS = 5000
"""Things that one annotation holds."""
_LISTS: dict[str, type[Part]] = {
    "segments": Segment,
    "instructions": Instruction,
    "corrections": Correction,
    "poses": ObjectPose,
}
_Field = Literal["outcome", "failure_mode", "variant", "flags", "reference"]


class Put(Part):
    """Add a segment, an instruction, a correction or a pose, or replace the one of the same id."""

    put: Segment | Instruction | Correction | ObjectPose


class Drop(Part):
    """Take away what has this id; what is gone already stays gone."""

    drop: Identity


class Set(Part):
    """Set fields of the annotation itself."""

    set: dict[_Field, Any] = Field(min_length=1)


Step = Put | Drop | Set


class Edit(Part):
    """One thing that a person did, all of it or nothing; its `id` is made by whoever did it."""

    id: Identity
    action: Name = Field(description="accept, nudge, relabel, split, drag, type, undo, ...")
    steps: tuple[Step, ...] = Field(min_length=1, max_length=2000)


def first_complaint(error: ValidationError) -> str:
    """The first thing that a model does not take, in one sentence."""
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}."


def apply_edit(annotation: Annotation, edit: Edit) -> Annotation:
    """The annotation after an edit; raises AnnotationError when that cannot be."""
    for step in edit.steps:
        annotation = _stepped(annotation, step)
    return annotation


def invert_edit(annotation: Annotation, edit: Edit, *, edit_id: str) -> Edit:
    """The edit that leads from what `edit` makes of an annotation back to the annotation."""
    back: list[Step] = []
    for step in edit.steps:
        back.append(_undone(annotation, step))
        annotation = _stepped(annotation, step)
    return Edit(id=edit_id, action="undo", steps=tuple(reversed(back)))


def _stepped(annotation: Annotation, step: Step) -> Annotation:
    if isinstance(step, Set):
        try:
            return Annotation.model_validate({**dict(annotation), **step.set})
        except ValidationError as error:
            raise AnnotationError(first_complaint(error)) from None
    name = _list_of(annotation, step)
    if name is None:
        return annotation
    held = {each.id: each for each in getattr(annotation, name)}
    if isinstance(step, Drop):
        del held[step.drop]
    else:
        if isinstance(step.put, Segment) and step.put.end_ns < step.put.start_ns:
            raise AnnotationError(
                f"segment {step.put.id}, got an end before its start; expected it after."
            )
        held[step.put.id] = step.put
    if len(held) > MOST_PARTS:
        raise AnnotationError(
            f"{name}, got more than {MOST_PARTS}; expected fewer. Check the program."
        )
    # In the order of their ids, so that what was undone equals what was.
    kept = tuple(held[each] for each in sorted(held))
    return annotation.model_copy(update={name: kept})


def _undone(annotation: Annotation, step: Step) -> Step:
    if isinstance(step, Set):
        before = dict(annotation)
        return Set(set={name: before[name] for name in step.set})
    identity = step.drop if isinstance(step, Drop) else step.put.id
    for name in _LISTS:
        for held in getattr(annotation, name):
            if held.id == identity:
                return Put(put=held)
    return Drop(drop=identity)


def _list_of(annotation: Annotation, step: Put | Drop) -> str | None:
    """The list that a step changes; None when it drops what is not there."""
    identity = step.drop if isinstance(step, Drop) else step.put.id
    there = [
        name for name in _LISTS if any(each.id == identity for each in getattr(annotation, name))
    ]
    if isinstance(step, Drop):
        return there[0] if there else None
    wanted = next(name for name, kind in _LISTS.items() if type(step.put) is kind)
    if there and there[0] != wanted:
        raise AnnotationError(f"id {identity}, got one of another kind; expected a new id.")
    return wanted
