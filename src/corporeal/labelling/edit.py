"""Changes of an annotation: small, whole, and each with one that undoes it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, ValidationError

from corporeal.labelling.annotation import (
    Annotation,
    AnnotationError,
    Correction,
    Identity,
    Instruction,
    Segment,
)
from corporeal.schema import Part
from corporeal.schema.document import Name

MOST = 5000
"""Things that one annotation holds."""
_LISTS: dict[str, type[Part]] = {
    "segments": Segment,
    "instructions": Instruction,
    "corrections": Correction,
}
_Field = Literal["outcome", "failure_mode", "variant", "flags", "reference"]


class Put(Part):
    """Add a segment, an instruction or a correction, or replace the one of the same id."""

    put: Segment | Instruction | Correction


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


def apply(annotation: Annotation, edit: Edit) -> Annotation:
    """The annotation after an edit; raises AnnotationError when that cannot be."""
    for step in edit.steps:
        annotation = _stepped(annotation, step)
    return annotation


def inverse(annotation: Annotation, edit: Edit, *, edit_id: str) -> Edit:
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
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise AnnotationError(f"{where}: {first['msg']}.") from None
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
    if len(held) > MOST:
        raise AnnotationError(f"{name}, got more than {MOST}; expected fewer. Check the program.")
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
