"""The policy document: which checks run, with which limits, and what a finding of each means."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from corporeal.episode.facts import CollectionMode
from corporeal.errors import UnknownNameError
from corporeal.quality.check import Severity, find_check, present_name
from corporeal.quality.subject import Trait
from corporeal.schema import Document, Part
from corporeal.schema.document import Library

Limit = bool | int | float | str | None | tuple[bool | int | float | str, ...]


class CheckRule(Part):
    """One check under a policy; what is left out stays as it is elsewhere."""

    severity: Severity | None = None
    enabled: bool | None = None
    limits: dict[str, Limit] = Field(default={}, description="keywords of the check")


class Need(Part):
    """Checks without which nobody can trust an episode, where its source has what they look at."""

    checks: tuple[str, ...] = Field(min_length=1, description="checks that must have run")
    has: tuple[Trait, ...] = Field(default=(), description="the source has all of these")
    modes: tuple[CollectionMode, ...] = Field(default=(), description="it was made in one of these")
    tasks: tuple[str, ...] = Field(default=(), description="it is one of these tasks")
    robots: tuple[str, ...] = Field(default=(), description="it is one of these robots")

    def applies(
        self, *, has: Collection[Trait], mode: str | None, task: str | None, robot: str | None
    ) -> bool:
        """Whether an episode of such a source needs the checks."""
        return set(self.has) <= set(has) and all(
            not wanted or value in wanted
            for wanted, value in ((self.modes, mode), (self.tasks, task), (self.robots, robot))
        )


class Policy(Document):
    """The numbers a team stands by. Tasks and robots override `checks`, robots the tasks.

    `needs` name the checks that must have run; an episode without them is quarantined. A policy
    that states none has those of the default one, and an empty list needs nothing.

    A check may stand under a former name, and stays under it, so that the hash stays.
    """

    kind: ClassVar[str] = "policy"

    checks: dict[str, CheckRule] = Field(default={}, description="by name of the check")
    tasks: dict[str, dict[str, CheckRule]] = Field(default={}, description="task: rules of its own")
    robots: dict[str, dict[str, CheckRule]] = Field(
        default={}, description="robot: rules of its own"
    )
    needs: tuple[Need, ...] | None = Field(
        default=None, description="checks that an episode needs; the default policy's if left out"
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
        for name in (name for need in self.needs or () for name in need.checks):
            try:
                _check_need(name)
            except UnknownNameError as error:
                raise ValueError(f"needs: {str(error).rstrip('.')}") from None
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

    def needed(
        self, *, has: Collection[Trait], mode: str | None, task: str | None, robot: str | None
    ) -> dict[str, Need]:
        """The checks that such an episode needs, with what asks for each."""
        needs = default_policy().needs if self.needs is None else self.needs
        return {
            present_name(name): need
            for need in needs or ()
            if need.applies(has=has, mode=mode, task=task, robot=robot)
            for name in need.checks
        }


def _check_need(name: str) -> None:
    present, check = find_check(name)
    if check.scope != "episode":
        raise ValueError(f"needs: {present} looks at a {check.scope}; expected checks of episodes")


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
