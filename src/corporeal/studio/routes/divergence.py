"""Where two episodes first differ by more than noise explains, with the numbers that say so."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel

from corporeal.studio.authentication import Visitor, visitor
from corporeal.studio.context import StudioDep
from corporeal.studio.divergence import MotionContrast, find_divergence
from corporeal.studio.routes.comparison import (
    Alignment,
    Name,
    NoAlignmentError,
    alignment_of,
    course_of,
    require_both,
)
from corporeal.words import counted

ROUTER = APIRouter(tags=["comparison"])


class FirstDifference(BaseModel):
    """The moment in both, or null where there is none; `sentence` says all of it for people."""

    time_a_ns: int | None
    time_b_ns: int | None
    joint: str | None
    difference: float | None
    limit: float | None
    noise: float | None
    sentence: str


@ROUTER.get("/comparison/first-difference")
def first_difference(
    a: Name,
    b: Name,
    studio: StudioDep,
    who: Annotated[Visitor, Depends(visitor)],
    align: Alignment = "time",
) -> FirstDifference:
    """The first moment at which a measured joint of B leaves that of A, aligned as asked."""
    require_both(who, a, b)
    try:
        way = alignment_of(studio, a, b, align)
        found = find_divergence(course_of(studio, a), course_of(studio, b), way.at)
    except NoAlignmentError as error:
        return _unknown(f"That cannot be told: {error}.")
    if found is None:
        return _unknown("That cannot be told: the two have no joint and no time in common.")
    if found.first is None:
        return _unknown(_alike(found))
    first = found.first
    return FirstDifference(
        time_a_ns=first.time_a_ns, time_b_ns=first.time_b_ns, joint=first.joint,
        difference=first.difference, limit=first.limit, noise=first.noise,
        sentence=f"They first differ at {first.time_a_ns / 1e9:.3f} s of A: {_plain(first.joint)} "
        f"by {_angle(first.difference)} (noise {_angle(first.noise)}, allowed there "
        f"{_angle(first.limit)}). {_begin(found)}",
    )  # fmt: skip


def _unknown(sentence: str) -> FirstDifference:
    return FirstDifference(
        time_a_ns=None, time_b_ns=None, joint=None, difference=None, limit=None, noise=None,
        sentence=sentence,
    )  # fmt: skip


def _alike(found: MotionContrast) -> str:
    return (
        f"In {found.seconds:.1f} s and {counted(found.joints, 'joint')} they never differ by more "
        f"than noise and motion between samples allow (at most {_angle(found.largest_limit)}). "
        + _begin(found)
    )


def _begin(found: MotionContrast) -> str:
    return (
        f"At the start they are up to {_angle(found.start)} apart ({_plain(found.start_joint)}); "
        "that is taken off."
    )


def _plain(joint: str) -> str:
    return joint.removesuffix("_joint").replace("_", " ")


def _angle(value: float) -> str:
    return f"{value:.3g} rad"
