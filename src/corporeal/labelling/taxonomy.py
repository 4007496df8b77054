"""Which labels exist, and the events at which each begins and ends; taxonomies that are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator
from sqlalchemy import Connection

from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import (
    DocumentRow,
    documents_of_kind,
    find_document,
    keep_document,
)
from corporeal.errors import UnknownNameError
from corporeal.schema import Document, Part
from corporeal.schema.document import Library, Name

LaneKind = Literal["phase", "contact", "object", "quality", "discrepancy"]


class BoundaryRule(Part):
    """Where a boundary lies: at an event that signals show, in words that a person can apply."""

    event: Name = Field(description="an event that a detector finds, such as contact_begins")
    otherwise: tuple[Name, ...] = Field(
        default=(), description="events to go by where the first cannot be seen"
    )
    text: str = Field(description="one sentence that decides the frame")

    @property
    def events(self) -> tuple[str, ...]:
        """The events that show this boundary, the surest first."""
        return (self.event, *self.otherwise)


class LabelDefinition(Part):
    """One label of a lane; `parent` makes a hierarchy, such as reach below manipulate."""

    name: Name
    definition: str
    parent: Name | None = None
    starts: BoundaryRule | None = None
    ends: BoundaryRule | None = None
    examples: tuple[str, ...] = ()
    not_this: tuple[str, ...] = Field(default=(), description="what is mistaken for it")
    attributes: tuple[Name, ...] = Field(
        default=(), description="what must be said of it: grasp_type, object, hand, ..."
    )
    key: str | None = Field(default=None, max_length=1, description="the key that sets it")


class LabelLane(Part):
    """Labels that exclude each other in time; in a lane that `tiles`, they leave no gap."""

    name: Name
    kind: LaneKind
    title: str
    tiles: bool = False
    labels: tuple[LabelDefinition, ...]

    def label(self, name: str) -> LabelDefinition | None:
        """The label of this name, if there is one."""
        return next((label for label in self.labels if label.name == name), None)

    @model_validator(mode="after")
    def _is_a_forest(self) -> Self:
        names = [label.name for label in self.labels]
        if not names:
            raise ValueError(f"lane {self.name!r} has no labels; expected one or more")
        if len(set(names)) < len(names):
            raise ValueError(f"lane {self.name!r} has a label twice; expected each once")
        parents = {label.name: label.parent for label in self.labels}
        for name, parent in parents.items():
            seen = {name}
            while parent is not None:
                if parent not in parents:
                    raise ValueError(f"label {name!r} has the parent {parent!r}, which is no label")
                if parent in seen:
                    raise ValueError(f"label {name!r} is its own ancestor; expected a tree")
                seen.add(parent)
                parent = parents[parent]
        return self


class AttributeChoice(Part):
    """A value that an attribute may have, such as a grasp type or a failure mode."""

    name: Name
    definition: str
    examples: tuple[str, ...] = ()


class ObjectIdentity(Part):
    """An object that is the same one in every episode."""

    name: Name
    description: str
    aliases: tuple[str, ...] = ()


class Requirement(Part):
    """What an episode of a task must have before it counts as annotated."""

    task: str = Field(description="as the episodes call it; * is any")
    phrases: tuple[str, ...] = Field(
        default=(),
        description="words by which an instruction asks for this task; * stands for any between",
    )
    lanes: tuple[Name, ...] = ()
    order: tuple[Name, ...] = Field(
        default=(), description="labels of the tiling lane as a success runs through them"
    )
    outcome: bool = True
    instructions: int = Field(default=1, ge=0, le=20)
    variants: tuple[Name, ...] = ()


class Taxonomy(Document):
    """Labels with definitions and boundary rules; a version that changes a rule touches labels."""

    kind: ClassVar[str] = "taxonomy"

    lanes: tuple[LabelLane, ...]
    grasp_types: tuple[AttributeChoice, ...] = ()
    failure_modes: tuple[AttributeChoice, ...] = ()
    discrepancies: tuple[AttributeChoice, ...] = Field(
        default=(), description="causes for which simulation and reality differ"
    )
    objects: tuple[ObjectIdentity, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    guidelines: str | None = Field(default=None, description="for annotators, in Markdown")
    tolerance_frames: int = Field(default=2, ge=0, le=30)

    @model_validator(mode="after")
    def _names_exist(self) -> Self:
        lanes = [lane.name for lane in self.lanes]
        if not lanes:
            raise ValueError("there are no lanes; expected one or more")
        if len(set(lanes)) < len(lanes):
            raise ValueError("a lane is there twice; expected each once")
        for need in self.requirements:
            for name in need.lanes:
                if name not in lanes:
                    raise ValueError(f"task {need.task!r} needs lane {name!r}, which is not there")
            for name in need.order:
                if not any(name == label.name for _, label in self.labels()):
                    raise ValueError(f"task {need.task!r} orders {name!r}, which is no label")
        return self

    def labels(self) -> Iterator[tuple[LabelLane, LabelDefinition]]:
        """Every label with its lane."""
        for lane in self.lanes:
            for label in lane.labels:
                yield lane, label

    def lane(self, name: str) -> LabelLane | None:
        """The lane of this name, if there is one."""
        return next((lane for lane in self.lanes if lane.name == name), None)

    def rule(self, lane: str, edge: str) -> BoundaryRule | None:
        """The boundary rule called label.starts or label.ends."""
        found, (name, _, side) = self.lane(lane), edge.partition(".")
        label = found.label(name) if found is not None else None
        if label is None:
            return None
        return label.starts if side == "starts" else label.ends

    def requirement(self, task: str | None) -> Requirement | None:
        """What an episode of a task needs: its own, else that of any task.

        A task that is an instruction in words is the one whose longest phrase is in it.
        """
        needs = {need.task: need for need in self.requirements}
        if task in needs:
            return needs[task]
        said = [
            (len(phrase), need)
            for need in self.requirements
            for phrase in need.phrases
            if _asks_for(task or "", phrase)
        ]
        return max(said, key=lambda pair: pair[0])[1] if said else needs.get("*")


def _asks_for(text: str, phrase: str) -> bool:
    """Whether the words of a phrase are in a text one after the other, with others where * is."""
    pattern = r"\b" + r"\b.+\b".join(
        r"\s+".join(map(re.escape, part.split())) for part in phrase.lower().split("*")
    ) + r"\b"  # fmt: skip
    return re.search(pattern, text[:_MOST_TEXT].lower().replace("_", " ")) is not None


_MOST_TEXT = 2000
READY = Library(Taxonomy, "corporeal.labelling", "taxonomies")


def taxonomy_names() -> tuple[str, ...]:
    """Names of the ready ones."""
    return READY.names


def open_taxonomy(name_or_path: str | Path) -> Taxonomy:
    """A ready taxonomy by name, or a taxonomy document by the path of its file."""
    return READY.open(name_or_path)


def keep_taxonomy(connection: Connection, taxonomy: Taxonomy) -> str:
    """Store a taxonomy unless it is there, inside a transaction; its hash."""
    keep_document(connection, DocumentRow(
        taxonomy.hash, Taxonomy.kind, taxonomy.name, taxonomy.version, taxonomy.canonical()
    ))  # fmt: skip
    return taxonomy.hash


def kept_taxonomy(connection: Connection, digest: str) -> Taxonomy:
    """The taxonomy with this hash; raises CatalogError when it was never used here."""
    document = find_document(connection, digest)
    if document is None or document.kind != Taxonomy.kind:
        raise CatalogError(
            f"taxonomy, got {digest[:80]!r}, which is not in the catalogue; expected one that "
            "tasks or labels refer to."
        )
    return _parsed(document.text)


def kept_taxonomies(connection: Connection) -> list[Taxonomy]:
    """Every taxonomy that was used, in the order of name and version."""
    kept = [_parsed(each.text) for each in documents_of_kind(connection, Taxonomy.kind)]
    return sorted(kept, key=lambda each: (each.name, _numbers(each.version), each.hash))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in version.split("."))


@lru_cache(maxsize=64)
def _parsed(text: str) -> Taxonomy:
    return Taxonomy.parse(text, source="catalogue", suffix=".json")


def usable_taxonomies(connection: Connection) -> list[Taxonomy]:
    """Every taxonomy that can be used, the newest version of each name first."""
    found = {each.reference: each for each in map(open_taxonomy, taxonomy_names())}
    # What the catalogue keeps counts: labels refer to exactly that text.
    found |= {each.reference: each for each in kept_taxonomies(connection)}
    newest = sorted(found.values(), key=lambda each: _numbers(each.version), reverse=True)
    return sorted(newest, key=lambda each: each.name)


def find_taxonomy(connection: Connection, reference: str) -> Taxonomy:
    """The taxonomy of name@version; raises UnknownNameError with the list of them."""
    known = {each.reference: each for each in usable_taxonomies(connection)}
    if reference not in known:
        raise UnknownNameError("taxonomy", reference[:120], list(known))
    return known[reference]
