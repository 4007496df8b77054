"""A document: written by a person, versioned, validated, hashed, embedded in what it governs."""

from __future__ import annotations

import difflib
import hashlib
import json
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo

from corporeal.errors import DocumentError, Problem, UnknownNameError
from corporeal.schema.markup import SUFFIXES, FieldPath, Markup, parse_markup, read_markup

_SHOWN = 60


def problems_of(error: ValidationError, model: type[BaseModel], markup: Markup) -> list[Problem]:
    """One problem per complaint, in the order of the file."""
    found: dict[str, Problem] = {}
    for detail in error.errors():
        problem = _problem(dict(detail), model, markup)
        first = found.setdefault(problem.path, problem)
        if first is not problem and "; expected " in first.message:
            # A field that may be one thing or another was neither: that is one problem.
            other = problem.message.partition("; expected ")[2]
            joined = f"{first.message.removesuffix('.')} or {other}" if other else first.message
            found[problem.path] = replace(first, message=joined)
    return sorted(found.values(), key=lambda problem: problem.line or 0)


def first_problem(error: ValidationError) -> str:
    """The first thing that pydantic finds wrong, and where, in one line."""
    detail = error.errors()[0]
    return f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}"


def _problem(detail: dict[str, Any], model: type[BaseModel], markup: Markup) -> Problem:
    path = _present(detail["loc"], markup.values, keep_last=detail["type"] == "missing")
    last = str(path[-1]) if path else ""
    owner, info = _field(model, path)
    meaning = f" ({info.description})" if info is not None and info.description else ""
    if detail["type"] == "missing":
        return Problem(markup.line(path), _dotted(path), f"missing{meaning}. Add '{last}: ...'.")
    if detail["type"] == "extra_forbidden":
        known = list(owner.model_fields) if owner is not None else []
        close = difflib.get_close_matches(last, known, n=1)
        fix = f"Did you mean {close[0]!r}?" if close else f"Known fields: {', '.join(known)}."
        return Problem(markup.line(path), _dotted(path), f"unknown field. {fix}")
    if detail["type"] == "value_error":
        # Written by our own validators, which already say what to do.
        sentence = str(detail["ctx"]["error"])
        end = "" if sentence.endswith(("?", ".")) else "."
        return Problem(markup.line(path), _dotted(path), f"{sentence}{end}")
    expected = detail["msg"].replace("Input should be", "expected").replace("Value error, ", "")
    shown = repr(detail["input"])
    shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "..."
    sentence = f"got {shown}; {expected[:1].lower()}{expected[1:]}{meaning}."
    return Problem(markup.line(path), _dotted(path), sentence)


def _present(loc: tuple[str | int, ...], values: Any, *, keep_last: bool) -> FieldPath:
    """The part of pydantic's location that is in the file: union tags are not."""
    path: list[str | int] = []
    here = values
    for position, step in enumerate(loc):
        final = position == len(loc) - 1
        in_dict = isinstance(here, dict) and step in here
        in_list = isinstance(here, list) and isinstance(step, int) and step < len(here)
        if in_dict or in_list:
            here = here[step]
        elif not (final and keep_last):
            continue
        path.append(step)
    return tuple(path)


def _dotted(path: FieldPath) -> str:
    steps = (
        f"[{step}]" if isinstance(step, int) else f".{step if step.isprintable() else repr(step)}"
        for step in path
    )
    return "".join(steps).removeprefix(".")


def _field(
    model: type[BaseModel], path: FieldPath
) -> tuple[type[BaseModel] | None, FieldInfo | None]:
    """The model that owns the last step of `path`, and that step's field where it has one."""
    owner: type[BaseModel] | None = model
    info: FieldInfo | None = None
    for position, step in enumerate(path):
        if isinstance(step, int) or owner is None:
            continue
        info = owner.model_fields.get(step)
        if position < len(path) - 1:
            owner = _inner_model(info.annotation) if info is not None else None
    return owner, info


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (tuple, list, dict, Union, types.UnionType):
        models = [_inner_model(inner) for inner in get_args(annotation)]
        return next((found for found in models if found is not None), None)
    return None


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
class DocumentChange:
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


def changes(before: Document, after: Document) -> tuple[DocumentChange, ...]:
    """Every difference; entries of a list that have a name are matched by it."""
    old, new = (item.model_dump(mode="json", exclude_none=True) for item in (before, after))
    return tuple(_compare("", old, new))


def _compare(path: str, old: Any, new: Any) -> Iterator[DocumentChange]:
    if old is _MISSING:
        yield DocumentChange("added", path, None, new)
    elif new is _MISSING:
        yield DocumentChange("removed", path, old, None)
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            inner = f"{path}.{key}" if path else key
            yield from _compare(inner, old.get(key, _MISSING), new.get(key, _MISSING))
    elif _named(old) and _named(new):
        yield from _compare_named(path, old, new)
    elif old != new:
        yield DocumentChange("changed", path, old, new)


def _compare_named(path: str, old: list[Any], new: list[Any]) -> Iterator[DocumentChange]:
    before = {_key(item): item for item in old}
    after = {_key(item): item for item in new}
    for key in dict.fromkeys([*before, *after]):
        inner = f"{path}[{key}]"
        yield from _compare(inner, before.get(key, _MISSING), after.get(key, _MISSING))
    kept_before = [key for key in before if key in after]
    kept_after = [key for key in after if key in before]
    for place, (was, now) in enumerate(zip(kept_before, kept_after, strict=True)):
        if was != now and kept_before.index(now) > place:
            yield DocumentChange("moved", f"{path}[{now}]", kept_before.index(now), place)


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


AnyDocument = TypeVar("AnyDocument", bound=Document)


class Library(Generic[AnyDocument]):
    """The ready documents of a kind: `folder` beside the code of `package`, one YAML file each."""

    def __init__(self, document: type[AnyDocument], package: str, folder: str) -> None:
        self._document = document
        self._folder = Path(str(files(package) / folder))
        self._ready: dict[str, AnyDocument] = {}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the ready ones: the stems of their files."""
        return tuple(sorted(path.stem for path in self._folder.glob("*.yaml")))

    def open(self, name_or_path: str | Path) -> AnyDocument:
        """A ready document by name, or one of the same kind by the path of its file."""
        if Path(name_or_path).suffix in SUFFIXES:
            return self._document.load(name_or_path)
        name = str(name_or_path)
        if name not in self.names:
            raise UnknownNameError(self._document.kind.replace("_", " "), name, self.names)
        if name not in self._ready:
            self._ready[name] = self._document.load(self._folder / f"{name}.yaml")
        return self._ready[name]

    def all(self) -> Mapping[str, AnyDocument]:
        """Every ready one by its name."""
        return {name: self.open(name) for name in self.names}
