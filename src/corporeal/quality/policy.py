"""The policy document: which checks run, with which limits, and what a finding of each means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from corporeal.errors import UnknownNameError
from corporeal.quality.check import Severity, find_check, present_name
from corporeal.schema import Document, Part
from corporeal.schema.document import Library

Limit = bool | int | float | str | None | tuple[bool | int | float | str, ...]


class CheckRule(Part):
    """One check under a policy; what is left out stays as it is elsewhere."""

    severity: Severity | None = None
    enabled: bool | None = None
    limits: dict[str, Limit] = Field(default={}, description="keywords of the check")


class Policy(Document):
    """The numbers a team stands by. Tasks and robots override `checks`, robots the tasks.

    A check may stand under a former name, and stays under it, so that the hash stays.
    """

    kind: ClassVar[str] = "policy"

    checks: dict[str, CheckRule] = Field(default={}, description="by name of the check")
    tasks: dict[str, dict[str, CheckRule]] = Field(default={}, description="task: rules of its own")
    robots: dict[str, dict[str, CheckRule]] = Field(
        default={}, description="robot: rules of its own"
    )

    @model_validator(mode="after")
    def _names_what_exists(self) -> Self:
        for place, rules in self._parts():
            _refuse_two_names(place, rules)
            for name, rule in rules.items():
                try:
                    _check_rule(name, rule)
                except UnknownNameError as error:
                    raise ValueError(f"{place}: {str(error).rstrip('.')}") from None
        return self

    def _parts(self) -> Iterator[tuple[str, Mapping[str, CheckRule]]]:
        yield "checks", self.checks
        for task, rules in self.tasks.items():
            yield f"task {task}", rules
        for robot, rules in self.robots.items():
            yield f"robot {robot}", rules

    def rules(self, *, task: str | None = None, robot: str | None = None) -> dict[str, CheckRule]:
        """How to run every check that the policy speaks of, on this task and robot."""
        merged: dict[str, CheckRule] = {}
        layers = (self.checks, self.tasks.get(task or "", {}), self.robots.get(robot or "", {}))
        for layer in layers:
            for name, rule in layer.items():
                present = present_name(name)
                merged[present] = _laid_over(merged.get(present, CheckRule(enabled=True)), rule)
        return merged


def _refuse_two_names(place: str, rules: Mapping[str, CheckRule]) -> None:
    for name in rules:
        present = present_name(name)
        if present != name and present in rules:
            raise ValueError(
                f"{place}: got {name} and {present}, one check by two names; "
                f"expected {present} alone"
            )


def _check_rule(name: str, rule: CheckRule) -> None:
    known = find_check(name)[1].limits
    for limit, value in rule.limits.items():
        if limit not in known:
            raise UnknownNameError(f"limit of {name}", limit, known)
        if not _fits(value, known[limit]):
            raise ValueError(
                f"limit {limit} of {name}, got {value!r}; expected something like {known[limit]!r}"
            )


def _fits(value: Limit, default: Any) -> bool:
    if default is None or value is None:
        return True
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(default, bool) and isinstance(value, bool)
    if isinstance(default, int | float):
        return isinstance(value, int | float)
    return isinstance(value, type(default))


def _laid_over(below: CheckRule, rule: CheckRule) -> CheckRule:
    return CheckRule(
        severity=rule.severity or below.severity,
        limits=below.limits | rule.limits,
        enabled=below.enabled if rule.enabled is None else rule.enabled,
    )


READY = Library(Policy, "corporeal.quality", "policies")


def default_policy() -> Policy:
    """The policy that holds when none is named."""
    return READY.open("default")


def open_policy(name_or_path: Path | str | None) -> Policy:
    """A ready policy by name, or the policy in a file; the default one when there is neither."""
    return default_policy() if name_or_path is None else READY.open(name_or_path)
