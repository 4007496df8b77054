"""The skeleton document: which joints of somebody's skeleton stand for which points of a body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from corporeal.retargeting.motion import POINTS, SEGMENTS
from corporeal.schema import Document, Part
from corporeal.schema.document import Library


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Joints = Annotated[
    tuple[Annotated[str, Field(max_length=200)], ...],
    BeforeValidator(_listed),
    Field(min_length=1, max_length=8),
]


class LostBone(Part):
    """A bone that a converter left out: joints without an offset that should have one."""

    joints: Joints
    like: str = Field(description="the joint whose offset is taken, times `times`")
    times: float = Field(default=1.0, gt=0, le=10)


class SkeletonMap(Document):
    """Which joints are which points; a point between joints names them all.

    `end of X` is the end of the chain after joint X. Names may leave out a prefix that ends in a
    colon, and their case, where that leaves one joint only. Points that the document does not
    name are found by anatomy where they can be.
    """

    kind: ClassVar[str] = "skeleton"

    points: Mapping[str, Joints] = Field(description="a point of the body to one or more joints")
    segments: Mapping[str, str] = Field(
        default={}, description="pelvis, chest, head, left_foot, ... to the joint that turns it"
    )
    lost_bones: tuple[LostBone, ...] = ()
    unit: Literal["m", "cm", "mm", "in", "cmu"] | None = Field(
        default=None, description="where it is always the same; found from the body otherwise"
    )
    up: Literal["x", "y", "z", "-x", "-y", "-z"] | None = None

    @model_validator(mode="after")
    def _speaks_of_a_body(self) -> Self:
        for what, names, known in (
            ("point", self.points, POINTS),
            ("segment", self.segments, SEGMENTS),
        ):
            unknown = [name for name in names if name not in known]
            if unknown:
                raise ValueError(
                    f"unknown {what} {unknown[0]!r}; expected one of {', '.join(known)}"
                )
        return self

    @property
    def joints(self) -> frozenset[str]:
        """Every name that the document speaks of."""
        named = {joint for joints in self.points.values() for joint in joints}
        lost = {joint for bone in self.lost_bones for joint in (*bone.joints, bone.like)}
        return frozenset(named | lost | set(self.segments.values()))

    def found_in(self, names: Sequence[str]) -> dict[str, int] | None:
        """The index of every joint the document names, or None if one of them is not there."""
        places = _places(names)
        indices = {joint: _place(places, joint) for joint in self.joints}
        known = {joint: index for joint, index in indices.items() if index is not None}
        return known if len(known) == len(indices) else None

    def absent_from(self, names: Sequence[str]) -> tuple[str, ...]:
        """The joints that the document names and the skeleton has not."""
        places = _places(names)
        return tuple(sorted(joint for joint in self.joints if _place(places, joint) is None))


def _places(names: Sequence[str]) -> dict[str, int | None]:
    """Indices by exact name, then by name without prefix and case where only one joint has it."""
    loose: dict[str, int | None] = {}
    for index, name in enumerate(names):
        key = _bare(name)
        loose[key] = None if key in loose else index
    return {**loose, **{f"={name}": index for index, name in enumerate(names)}}


def _place(places: Mapping[str, int | None], joint: str) -> int | None:
    """The index of a joint among `_places`, exact names first."""
    exact = places.get(f"={joint}")
    return exact if exact is not None else places.get(_bare(joint))


def _bare(name: str) -> str:
    """A name without its prefix, in lower case: `end of mixamorig:Head` is `end of head`."""
    end = "end of " if name.lower().startswith("end of ") else ""
    return end + name[len(end) :].rpartition(":")[2].strip().lower()


SKELETONS = Library(SkeletonMap, "corporeal.retargeting", "skeletons")


def known_skeleton(names: Sequence[str]) -> SkeletonMap | None:
    """The ready document that names most of these joints, and none that is not there."""
    fitting = [document for document in SKELETONS.all().values() if document.found_in(names)]
    return max(fitting, key=lambda document: len(document.joints), default=None)
