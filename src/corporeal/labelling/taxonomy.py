"""Which labels exist, and the events at which each begins and ends; taxonomies that are kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

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

LaneKind = Literal["phase", "contact", "object", "locomotion", "quality", "discrepancy"]
Level = Literal["primitive", "composition", "long_horizon"]
LEVELS: tuple[Level, ...] = ("primitive", "composition", "long_horizon")
HANDS = ("left", "right", "both")


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
    """One label of a lane; `parent` groups labels, `parts` makes it of labels one level below."""

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
    optional: tuple[Name, ...] = Field(default=(), description="what may be said of it besides")
    parts: tuple[Name, ...] = Field(
        default=(), description="labels of the level below that it is made of, in their order"
    )
    was: tuple[Name, ...] = Field(default=(), description="its names in earlier versions")
    key: str | None = Field(default=None, max_length=1, description="the key that sets it")

    @property
    def asked(self) -> tuple[str, ...]:
        """All attributes, those that must be said first."""
        return (*self.attributes, *self.optional)


class LabelLane(Part):
    """Labels that exclude each other in time; in a lane that `tiles`, they leave no gap.

    Only contacts may meet, unless of one label: a hand that holds something can strike something.
    """

    name: Name
    kind: LaneKind
    title: str
    tiles: bool = False
    level: Level | None = Field(
        default=None, description="its place in the hierarchy of segments, where it has one"
    )
    labels: tuple[LabelDefinition, ...]

    def label(self, name: str) -> LabelDefinition | None:
        """The label of this name, if there is one."""
        return next((label for label in self.labels if label.name == name), None)

    def exclude(self, one: str, other: str) -> bool:
        """Whether two labels cannot both hold at one time."""
        return self.kind != "contact" or one == other

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


class AttributeDefinition(Part):
    """Something that is said of a segment: one of `choices`, or a number in `unit`.

    Two numbers that differ by no more than `tolerance` are the same answer.
    """

    name: Name
    definition: str
    choices: tuple[AttributeChoice, ...] = ()
    unit: str | None = Field(default=None, max_length=16, description="set: it is a number")
    least: float | None = None
    most: float | None = None
    tolerance: float | None = Field(default=None, ge=0)

    @property
    def is_number(self) -> bool:
        """Whether a number is expected."""
        return self.unit is not None

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        if self.unit is not None and self.choices:
            raise ValueError(f"attribute {self.name!r} has a unit and choices; expected one")
        return self


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
    may_lack: tuple[Name, ...] = Field(
        default=(), description="labels of the order that a robot's signals may not show"
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
    attributes: tuple[AttributeDefinition, ...] = Field(
        default=(), description="what else is said of segments, such as pressure or surface"
    )
    flags: tuple[AttributeChoice, ...] = Field(
        default=(), description="remarks on the quality of a whole episode"
    )
    objects: tuple[ObjectIdentity, ...] = ()
    frames: tuple[Name, ...] = Field(
        default=(), description="frames in which poses of objects are given; empty: any"
    )
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
            for name in (*need.order, *need.may_lack):
                if not any(name == label.name for _, label in self.labels()):
                    raise ValueError(f"task {need.task!r} orders {name!r}, which is no label")
        return self

    @model_validator(mode="after")
    def _parts_exist(self) -> Self:
        for lane, label in self.labels():
            below = self.lane_below(lane)
            known = {each.name for each in below.labels} if below is not None else set()
            for name in label.parts:
                if name not in known:
                    raise ValueError(
                        f"label {label.name!r} has the part {name!r}, which is no label of the "
                        "level below its own"
                    )
        return self

    def canonical(self) -> str:
        """The one text of this content, which is that of older versions where nothing is new."""
        values = self.model_dump(mode="json", exclude_none=True)
        _drop_empty(values, ("attributes", "flags", "frames"))
        for lane in values["lanes"]:
            for label in lane["labels"]:
                _drop_empty(label, ("optional", "parts", "was"))
        for need in values["requirements"]:
            _drop_empty(need, ("may_lack",))
        return json.dumps(values, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    def lane_below(self, lane: LabelLane) -> LabelLane | None:
        """The lane of whose segments those of this one are made; None at the lowest level."""
        if lane.level is None or lane.level == LEVELS[0]:
            return None
        level = LEVELS[LEVELS.index(lane.level) - 1]
        return next((each for each in self.lanes if each.level == level), None)

    def attribute(self, name: str) -> AttributeDefinition | None:
        """What an attribute of this name may be, if that is written here."""
        return next((each for each in self.attributes if each.name == name), None)

    def choices(self, name: str) -> tuple[AttributeChoice, ...]:
        """What may be said for an attribute, the outcome or the failure mode; empty: anything."""
        lists = {
            "grasp_type": self.grasp_types, "discrepancy": self.discrepancies,
            "failure_mode": self.failure_modes, "outcome": OUTCOMES,
            "object": tuple(AttributeChoice(name=each.name, definition=each.description)
                            for each in self.objects),
            "hand": tuple(AttributeChoice(name=each, definition=f"The {each} hand.")
                          for each in HANDS),
        }  # fmt: skip
        written = self.attribute(name)
        return lists.get(name, written.choices if written is not None else ())

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


def _drop_empty(values: dict[str, Any], names: tuple[str, ...]) -> None:
    """Lists that came with a later version of Corporeal leave no trace where they are empty."""
    for name in names:
        if not values[name]:
            del values[name]


OUTCOMES = tuple(
    AttributeChoice(name=name, definition=definition)
    for name, definition in (
        ("success", "The task was done."),
        ("borderline", "The task was done, but not as it should be; the mode says what was off."),
        ("failure", "The task was not done; the mode says why."),
    )
)


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
