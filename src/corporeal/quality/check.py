"""What a check is: a function with limits as keywords, found by the name of its file."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Literal

from corporeal.quality.finding import Finding, Severity
from corporeal.registry import plugins

PACKAGE = "corporeal.quality.checks"

Topic = Literal[
    "time", "lag", "joints", "frames", "dynamics", "pictures", "sets", "protocol", "records"
]


@dataclass(frozen=True)
class Check:
    """One check. `find(subject, *, limits...)` yields findings, or raises NotAssessed.

    An `episode` check gets a Subject, a `batch` check a Batch. `pictures` says that video must be
    decoded for it. The severity is what a finding means unless the policy says otherwise.
    """

    find: Callable[..., Iterator[Finding]]
    topic: Topic
    severity: Severity
    unit: str = "1"
    scope: Literal["episode", "batch"] = "episode"
    pictures: bool = False

    @property
    def limits(self) -> dict[str, Any]:
        """The keyword-only arguments of `find` with their defaults: what a policy may set."""
        parameters = inspect.signature(self.find).parameters.values()
        return {each.name: each.default for each in parameters if each.kind is each.KEYWORD_ONLY}


@dataclass(frozen=True)
class Explanation:
    """A check in words, from its docstrings."""

    name: str
    title: str
    what: str
    why: str
    fix: str


@cache
def checks() -> dict[str, Check]:
    """Every check by name."""
    return plugins(PACKAGE, "CHECK", Check)


def explain(name: str) -> Explanation:
    """The check's title, what it finds, why that is bad and how to mend it."""
    module = import_module(f"{PACKAGE}.{name}")
    text = inspect.getdoc(checks()[name].find) or ""
    parts = re.split(r"^(Why|Fix):\s*", text, flags=re.MULTILINE)
    named = dict(zip(parts[1::2], parts[2::2], strict=True))
    flat = {key: " ".join(value.split()) for key, value in named.items()}
    return Explanation(
        name=name,
        title=inspect.getdoc(module) or "",
        what=" ".join(parts[0].split()),
        why=flat.get("Why", ""),
        fix=flat.get("Fix", ""),
    )
