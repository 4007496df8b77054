"""Factors and their levels, what leaves some out or asks for more, and what has been collected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from corporeal.schema import Part
from corporeal.schema.document import Name

Count = Annotated[int, Field(ge=0, le=1_000_000)]
Levels = str | tuple[str, ...]
OPERATOR = "operator"
"""The factor whose level is who demonstrates: nobody chooses it for the person who is there."""


class ObjectPlace(Part):
    """Where the object lies at a level of a factor: anywhere in a disc, turned at most so far."""

    xyz: tuple[float, float, float] = Field(description="the middle, as object_pose has it")
    radius_m: float = Field(default=0.02, ge=0)
    yaw_rad: float = Field(default=0.0, description="about the vertical")
    yaw_range_rad: float = Field(default=0.3, ge=0, description="to either side")


class Factor(Part):
    """Something that is varied on purpose, and the values that it takes.

    `shares` is the plan: the part of the episodes at each level; even when left out.
    """

    name: Name = Field(description="object, pose, lighting, surface, operator, approach ...")
    levels: tuple[str, ...] = Field(min_length=1)
    shares: tuple[float, ...] | None = None
    field: str | None = Field(
        default=None, description="where the metadata says it, such as variation.hand"
    )
    # What came later is None where it is not said, so that hashes of older documents stay.
    at_least: dict[str, Count] | None = Field(
        default=None, description="level: episodes that it must have"
    )
    at_most: dict[str, Count] | None = Field(
        default=None, description="level: episodes that it may have"
    )
    change_min: Annotated[float, Field(gt=0, le=1440)] | None = Field(
        default=None, description="minutes that a change of level takes; none worth counting"
    )
    places: dict[str, ObjectPlace] | None = Field(
        default=None, description="level: where the object lies"
    )

    @model_validator(mode="after")
    def _plan_fits_levels(self) -> Self:
        if len(set(self.levels)) < len(self.levels):
            raise ValueError(f"factor {self.name!r} lists a level twice; expected each once")
        for what in ("at_least", "at_most", "places"):
            for level in getattr(self, what) or {}:
                if level not in self.levels:
                    raise ValueError(
                        f"{what} of {self.name!r} names the level {level!r}; expected one of: "
                        f"{', '.join(self.levels)}"
                    )
        if self.shares is None:
            return self
        if len(self.shares) != len(self.levels):
            raise ValueError(
                f"factor {self.name!r} has {len(self.shares)} shares for {len(self.levels)} "
                "levels; expected one for each"
            )
        if min(self.shares) < 0 or abs(sum(self.shares) - 1) > 1e-6:
            raise ValueError(f"shares of {self.name!r}, got {self.shares}; expected a sum of 1")
        return self

    def planned(self, level: str) -> float:
        """The part of the episodes that should be at this level."""
        if self.shares is None:
            return 1 / len(self.levels)
        return self.shares[self.levels.index(level)]

    def level_of(self, metadata: Mapping[str, Any]) -> str | None:
        """The level that an episode's metadata states, or None."""
        here: Any = metadata
        for step in (self.field or self.name).split("."):
            here = here.get(step) if isinstance(here, Mapping) else None
        if here is None and self.field is None:
            inner = metadata.get("variation")
            here = inner.get(self.name) if isinstance(inner, Mapping) else None
        return None if here is None else str(here)


class ContinuousFactor(Part):
    """Numbers that are varied on purpose, such as where the object lies: spread as far as can be.

    The values of an episode stand in its metadata under the factor's name, axis by axis. Axes
    called x_m, y_m (and yaw_rad) with `places_object` say where the object is to lie.
    """

    name: Name
    axes: dict[Name, tuple[float, float]] = Field(
        min_length=1, description="axis: lowest and highest, its unit at the end of its name"
    )
    places_object: bool = False

    @model_validator(mode="after")
    def _axes_are_ranges(self) -> Self:
        for axis, (low, high) in self.axes.items():
            if not low < high:
                raise ValueError(
                    f"axis {axis} of {self.name!r}, got {low} to {high}; expected lowest < highest"
                )
        if self.places_object and not {"x_m", "y_m"} <= self.axes.keys():
            raise ValueError(
                f"{self.name!r} places the object; expected the axes x_m and y_m, got "
                f"{', '.join(self.axes)}"
            )
        return self

    def values_of(self, metadata: Mapping[str, Any]) -> tuple[float, ...] | None:
        """The numbers of an episode in the order of the axes, or None where one is not stated."""
        stated = metadata.get(self.name)
        values = [stated.get(axis) if isinstance(stated, Mapping) else None for axis in self.axes]
        numbers = [float(each) for each in values if isinstance(each, int | float)]
        return tuple(numbers) if len(numbers) == len(values) else None


class RequiredCombination(Part):
    """Levels that must be collected together, and how often at least."""

    levels: dict[Name, Levels] = Field(min_length=1)
    episodes: Annotated[int, Field(ge=1, le=1_000_000)] = 1


class DesignRules(Part):
    """How the plan of a campaign is made of the factors.

    A combination names a level, or several, of two factors or more.
    """

    episodes: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        default=None, description="accepted episodes that a campaign is to have"
    )
    repeats: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="how often every pair of levels is to occur; once"
    )
    forbidden: tuple[dict[Name, Levels], ...] | None = Field(
        default=None, description="levels that never occur together"
    )
    required: tuple[RequiredCombination, ...] | None = None
    per_shift: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="episodes of one station in one shift; 40"
    )


def check_rules(
    factors: Sequence[Factor], continuous: Sequence[ContinuousFactor], rules: DesignRules | None
) -> None:
    """Raise ValueError, in one sentence, for a rule that names what no factor has."""
    known = {factor.name: factor.levels for factor in factors}
    for spread in continuous:
        if spread.name in known:
            raise ValueError(f"factor {spread.name!r} has levels and axes; expected one of them")
    placing = [factor.name for factor in factors if factor.places]
    placing += [spread.name for spread in continuous if spread.places_object]
    if len(placing) > 1:
        raise ValueError(f"{' and '.join(placing)} both place the object; expected one factor")
    if rules is None:
        return
    named = [("forbidden", each) for each in rules.forbidden or ()]
    named += [("required", each.levels) for each in rules.required or ()]
    for what, combination in named:
        if what == "forbidden" and len(combination) < 2:
            raise ValueError(
                f"forbidden, got {dict(combination)}; expected two factors or more. Leave a level "
                "that must not occur out of its factor."
            )
        for name, levels in combination.items():
            if name not in known:
                raise ValueError(
                    f"{what} names the factor {name!r}; expected one of: {', '.join(known)}"
                )
            for level in as_levels(levels):
                if level not in known[name]:
                    raise ValueError(
                        f"{what} names {name} {level!r}; expected one of: {', '.join(known[name])}"
                    )


def as_levels(levels: Levels) -> tuple[str, ...]:
    """One level, or several, as a tuple."""
    return (levels,) if isinstance(levels, str) else levels


@dataclass(frozen=True)
class Cell:
    """One level of one factor: how many episodes it has and how many it should have."""

    factor: str
    level: str
    count: int
    planned: float


def coverage(factors: Sequence[Factor], episodes: Iterable[Mapping[str, Any]]) -> tuple[Cell, ...]:
    """The coverage table: every level of every factor, from the metadata of the episodes."""
    facts = list(episodes)
    cells = []
    for factor in factors:
        counts = Counter(factor.level_of(each) for each in facts)
        for level in factor.levels:
            planned = factor.planned(level) * len(facts)
            cells.append(Cell(factor.name, level, counts[level], planned))
    return tuple(cells)
