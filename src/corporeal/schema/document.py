"""A document: written by a person, versioned, validated, hashed, embedded in what it governs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from corporeal.errors import DocumentError, Problem
from corporeal.schema.complaint import problems_of
from corporeal.schema.markup import Markup, parse_markup, read_markup

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
Version = Annotated[str, StringConstraints(pattern=r"^\d+\.\d+\.\d+$", max_length=32)]


class Part(BaseModel):
    """A piece of a document: frozen, and with no field that the model does not know."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, str_strip_whitespace=True
    )


class Document(Part):
    """The head that every document has; a subclass adds its body and its `kind`.

    A field added in a later version of Corporeal must be optional with the default None, which
    the canonical text leaves out: so the hash of an existing document never changes.
    """

    kind: ClassVar[str]

    document: str = Field(description="the kind of the document")
    name: Name = Field(description="lower case, digits and _, such as teleop_humanoid")
    version: Version = Field(description="three numbers in quotes or plain, such as 1.0.0")
    description: str | None = None

    @model_validator(mode="after")
    def _is_of_this_kind(self) -> Self:
        if self.document != self.kind:
            raise ValueError(f"got a {self.document!r} document; expected 'document: {self.kind}'")
        return self

    def canonical(self) -> str:
        """The one text that stands for this content: JSON, keys sorted, unset fields left out."""
        values = self.model_dump(mode="json", exclude_none=True)
        return json.dumps(values, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    @property
    def hash(self) -> str:
        """`sha256:<hex>` of the canonical text."""
        return "sha256:" + hashlib.sha256(self.canonical().encode()).hexdigest()

    @property
    def reference(self) -> str:
        """`name@version`, how people speak of it."""
        return f"{self.name}@{self.version}"

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read and validate a YAML, TOML or JSON file."""
        return cls.from_markup(read_markup(Path(path)))

    @classmethod
    def parse(cls, text: str, *, source: str = "text", suffix: str = ".yaml") -> Self:
        """Validate text, by default YAML."""
        return cls.from_markup(parse_markup(text, source=source, suffix=suffix))

    @classmethod
    def from_markup(cls, markup: Markup) -> Self:
        """Validate values that were read; raises DocumentError with the line of every problem."""
        if not isinstance(markup.values, dict):
            message = f"not a document; expected fields, starting with 'document: {cls.kind}'."
            raise DocumentError(markup.source, [Problem(1, "", message)])
        claimed = kind_of(markup)
        if claimed is not None and claimed != cls.kind:
            # Said first and alone: judged by the wrong model, every other field is wrong too.
            message = f"got {claimed!r}; expected {cls.kind!r}. Open a {cls.kind} document here."
            problem = Problem(markup.line(("document",)), "document", message)
            raise DocumentError(markup.source, [problem])
        try:
            return cls.model_validate(markup.values)
        except ValidationError as error:
            raise DocumentError(markup.source, problems_of(error, cls, markup)) from None


def kind_of(markup: Markup) -> str | None:
    """The kind that a document claims to be, before it is validated."""
    values: Any = markup.values
    return str(values["document"]) if isinstance(values, dict) and "document" in values else None


_MISSING = object()


@dataclass(frozen=True)
class Change:
    """One field that differs; `path` is written as in error messages."""

    what: Literal["added", "removed", "changed", "moved"]
    path: str
    before: Any
    after: Any

    def __str__(self) -> str:
        if self.what == "added":
            return f"+ {self.path}: {_shown(self.after)}"
        if self.what == "removed":
            return f"- {self.path}: {_shown(self.before)}"
        verb = "moved from" if self.what == "moved" else "was"
        link = "to" if self.what == "moved" else "now"
        return f"~ {self.path}: {verb} {_shown(self.before)}, {link} {_shown(self.after)}"


def changes(before: Document, after: Document) -> tuple[Change, ...]:
    """Every difference; entries of a list that have a name are matched by it."""
    old, new = (item.model_dump(mode="json", exclude_none=True) for item in (before, after))
    return tuple(_compare("", old, new))


def _compare(path: str, old: Any, new: Any) -> Iterator[Change]:
    if old is _MISSING:
        yield Change("added", path, None, new)
    elif new is _MISSING:
        yield Change("removed", path, old, None)
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            inner = f"{path}.{key}" if path else key
            yield from _compare(inner, old.get(key, _MISSING), new.get(key, _MISSING))
    elif _named(old) and _named(new):
        yield from _compare_named(path, old, new)
    elif old != new:
        yield Change("changed", path, old, new)


def _compare_named(path: str, old: list[Any], new: list[Any]) -> Iterator[Change]:
    before = {_key(item): item for item in old}
    after = {_key(item): item for item in new}
    for key in dict.fromkeys([*before, *after]):
        inner = f"{path}[{key}]"
        yield from _compare(inner, before.get(key, _MISSING), after.get(key, _MISSING))
    kept_before = [key for key in before if key in after]
    kept_after = [key for key in after if key in before]
    for place, (was, now) in enumerate(zip(kept_before, kept_after, strict=True)):
        if was != now and kept_before.index(now) > place:
            yield Change("moved", f"{path}[{now}]", kept_before.index(now), place)


def _named(value: Any) -> bool:
    if not isinstance(value, list) or not value:
        return False
    if not all(isinstance(item, dict) and "name" in item for item in value):
        return False
    return len({_key(item) for item in value}) == len(value)


def _key(item: dict[str, Any]) -> str:
    return f"{item['group']}/{item['name']}" if "group" in item else str(item["name"])


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return "[" + ", ".join(_shown(inner) for inner in value) + "]"
    return str(value)
