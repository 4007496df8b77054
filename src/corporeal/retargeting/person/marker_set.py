"""Marker sets: which label sits on which bone, as documents; the one that fits is found."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar, Self

from pydantic import Field, model_validator

from corporeal.errors import UnknownNameError
from corporeal.retargeting.motion import NEEDED, POINTS
from corporeal.retargeting.person.joint_centres import LANDMARKS, Sizes, reachable
from corporeal.schema import Document
from corporeal.schema.document import Library


class MarkerSet(Document):
    """How the labels of a laboratory become places on a body.

    `markers` is by place: one of LANDMARKS, or of POINTS where the file holds centres of joints;
    a place has the labels it may go by, best first. Case, spaces, dots and the subject before a
    colon do not count, so `Anna:L.ASIS` is `LASIS`.
    """

    kind: ClassVar[str] = "marker_set"

    markers: dict[str, tuple[str, ...]] = Field(description="labels by place on the body")
    sizes: Sizes = Field(default_factory=Sizes, description="what markers do not show")

    @model_validator(mode="after")
    def _places_are_known(self) -> Self:
        known = (*LANDMARKS, *POINTS)
        owner: dict[str, str] = {}
        for place, labels in self.markers.items():
            if place not in known:
                raise ValueError(str(UnknownNameError("place", place, known)))
            for label in map(plain, labels):
                if not label:
                    raise ValueError(f"{place}: got an empty label; expected one such as LASI")
                if owner.setdefault(label, place) != place:
                    raise ValueError(f"label {label} is of {owner[label]} and of {place}")
        return self

    def places(self, labels: Iterable[str]) -> dict[str, str]:
        """The label of each place that some of these labels mark."""
        given: dict[str, str] = {}
        for label in labels:
            given.setdefault(plain(label), label)
        marks = {
            place: next((given[name] for name in map(plain, names) if name in given), None)
            for place, names in self.markers.items()
        }
        return {place: label for place, label in marks.items() if label is not None}

    def missing(self, labels: Iterable[str]) -> tuple[str, ...]:
        """The points a body needs that these labels do not give."""
        there = reachable(self.places(labels))
        return tuple(point for point in NEEDED if point not in there)


def plain(label: str) -> str:
    """A label without its subject, in capitals, letters and digits only."""
    return re.sub(r"[^0-9A-Z]", "", label.rpartition(":")[2].upper())


def subject_of(label: str) -> str:
    """What stands before the last colon of a label, nothing where there is none."""
    return label.rpartition(":")[0].strip()


MARKER_SETS = Library(MarkerSet, "corporeal.retargeting", "marker_sets")
open_marker_set = MARKER_SETS.open


def best_marker_set(labels: Iterable[str]) -> MarkerSet:
    """The ready marker set that leaves the fewest needed points and the fewest labels unknown."""
    listed, ready = tuple(labels), MARKER_SETS.all()

    def order(name: str) -> tuple[int, int, bool]:
        marker_set = ready[name]
        return len(marker_set.missing(listed)), -len(marker_set.places(listed)), name == "generic"

    return ready[min(ready, key=order)]
