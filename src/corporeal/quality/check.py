"""What a check is: a function with limits as keywords; its file is named after what it finds."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Literal

from corporeal.errors import UnknownNameError
from corporeal.quality.finding import Finding, Severity
from corporeal.registry import plugin_names, plugins

PACKAGE = "corporeal.quality.checks"

Topic = Literal[
    "time", "lag", "joints", "frames", "dynamics", "pictures", "sets", "protocol", "records"
]


@dataclass(frozen=True)
class Check:
    """One check. `find(subject, *, limits...)` yields findings, or raises NotAssessed.

    An `episode` check gets a Subject, a `batch` check a Batch. `pictures` says that video must be
    decoded for it. The severity is what a finding means unless the policy says otherwise.
    `formerly` are names that it had before: documents, queries and files may still carry them.
    """

    find: Callable[..., Iterator[Finding]]
    topic: Topic
    severity: Severity
    unit: str = "1"
    scope: Literal["episode", "batch"] = "episode"
    pictures: bool = False
    formerly: tuple[str, ...] = ()

    @property
    def limits(self) -> dict[str, Any]:
        """The keyword-only arguments of `find` with their defaults: what a policy may set."""
        parameters = inspect.signature(self.find).parameters.values()
        return {each.name: each.default for each in parameters if each.kind is each.KEYWORD_ONLY}


@dataclass(frozen=True)
class Explanation:
    """A check in words, from its name and docstrings; `good` is what a good episode has."""

    name: str
    title: str
    good: str
    what: str
    why: str
    fix: str


@cache
def checks() -> dict[str, Check]:
    """Every check by name."""
    return plugins(PACKAGE, "CHECK", Check)


def present_name(name: str) -> str:
    """What the check of this name, present or former, is called now; other names stay."""
    if name in plugin_names(PACKAGE):
        return name
    return _present_names().get(name, name)


@cache
def _present_names() -> dict[str, str]:
    return {former: name for name, check in checks().items() for former in check.formerly}


def find_check(name: str) -> tuple[str, Check]:
    """The check of this name, present or former, with its present name."""
    present = present_name(name)
    if present not in checks():
        raise UnknownNameError("check", name[:80], checks())
    return present, checks()[present]


def title_of(name: str) -> str:
    """The name as people read it: `Robot fell` of `robot_fell`."""
    words = name.replace("_", " ").replace("imu", "IMU")
    return words[:1].upper() + words[1:]


def explain(name: str) -> Explanation:
    """The check in words: what a good episode has, what is found, why it is bad, how to mend it."""
    module = import_module(f"{PACKAGE}.{name}")
    text = inspect.getdoc(checks()[name].find) or ""
    parts = re.split(r"^(Why|Fix):\s*", text, flags=re.MULTILINE)
    named = dict(zip(parts[1::2], parts[2::2], strict=True))
    flat = {key: _sentence(value) for key, value in named.items()}
    return Explanation(
        name=name,
        title=title_of(name),
        good=inspect.getdoc(module) or "",
        what=" ".join(parts[0].split()),
        why=flat.get("Why", ""),
        fix=flat.get("Fix", ""),
    )


def _sentence(text: str) -> str:
    flat = " ".join(text.split())
    return flat[:1].upper() + flat[1:]
