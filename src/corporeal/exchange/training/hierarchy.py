"""The hierarchy document: which policies a robot's behaviour is divided into, and what each learns.

A sub-policy has the rows of its modes, moves some limbs and may be given a goal by the level above;
that level has every row, and its action is what it tells the others.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from corporeal.errors import UnknownNameError
from corporeal.schema import Document, Part
from corporeal.schema.document import Library, Name

Command = Literal["mode", "base_velocity", "end_effectors"]
Mode = Literal["stand", "locomotion", "manipulation", "loco_manipulation"]
Limbs = tuple[Literal["leg", "torso", "arm", "hand", "neck"], ...]


class SubPolicy(Part):
    """One policy: its rows, what it sees of the robot, what it is told, and what it decides.

    It either `moves` limbs, whose joints and hands are its action, or gives `commands`.
    """

    name: Name
    modes: tuple[Mode, ...] | None = Field(
        default=None, description="modes whose rows it has; none: every row"
    )
    sees: Limbs | None = Field(default=None, description="limbs of the state; none: all")
    goal: tuple[Command, ...] | None = Field(
        default=None, description="what the level above tells it: the end of its state"
    )
    moves: Limbs | None = Field(default=None, description="limbs of its action")
    entries: tuple[str, ...] | None = Field(
        default=None, description="entries of no known limb, by name, that it has as well"
    )
    commands: tuple[Command, ...] | None = Field(default=None, description="its action instead")

    @model_validator(mode="after")
    def _decides_one_thing(self) -> Self:
        if bool(self.moves) == bool(self.commands):
            got = "both moves and" if self.moves else "neither moves nor"
            raise ValueError(
                f"policy {self.name!r} has {got} commands; expected limbs that it moves, or "
                "commands that it gives"
            )
        if self.modes == () or self.sees == ():
            raise ValueError(f"policy {self.name!r} has an empty list; leave the field out for all")
        return self


class PolicyHierarchy(Document):
    """The policies that together are the behaviour of a robot; each gets a dataset of its own."""

    kind: ClassVar[str] = "hierarchy"

    policies: tuple[SubPolicy, ...] = Field(min_length=1, max_length=32)

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [policy.name for policy in self.policies]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two policies are called {twice[0]!r}; expected a name for each")
        return self

    def policy(self, name: str) -> SubPolicy:
        """The policy of this name."""
        by_name = {policy.name: policy for policy in self.policies}
        if name not in by_name:
            raise UnknownNameError("policy", name, by_name)
        return by_name[name]


HIERARCHIES = Library(PolicyHierarchy, "corporeal.exchange.training", "hierarchies")


def open_hierarchy(name_or_path: str | Path) -> PolicyHierarchy:
    """A ready hierarchy by name, or a document by the path of its file."""
    return HIERARCHIES.open(name_or_path)
