"""What changed between two versions of a document, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from corporeal.schema.document import Document

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
