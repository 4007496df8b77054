"""Runs the checks on one recording: findings, what could not be assessed, the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from corporeal.errors import CorporealError, NotAssessed
from corporeal.quality.check import Check, checks
from corporeal.quality.finding import Finding, Severity, Verdict, verdict
from corporeal.quality.subject import Subject


@dataclass(frozen=True)
class Setting:
    """How a policy runs one check: its limits, and what a finding of it means."""

    severity: Severity | None = None
    limits: Mapping[str, Any] | None = None
    enabled: bool = True


@dataclass(frozen=True)
class Assessment:
    """What the checks say of one episode. `not_assessed` gives the reason by check."""

    findings: tuple[Finding, ...]
    not_assessed: Mapping[str, str]

    @property
    def verdict(self) -> Verdict:
        """What follows from the findings."""
        return verdict(self.findings)


def assess(
    subject: Any,
    *,
    scope: str = "episode",
    settings: Mapping[str, Setting] | None = None,
    pictures: bool = True,
    only: tuple[str, ...] | None = None,
) -> Assessment:
    """Run every check of this scope; `only` names those to run. A batch goes the same way."""
    findings: list[Finding] = []
    reasons: dict[str, str] = {}
    for name, check in checks().items():
        setting = (settings or {}).get(name, Setting())
        if check.scope != scope or not setting.enabled or (only is not None and name not in only):
            continue
        if check.pictures and not pictures:
            reasons[name] = "pictures were not looked at"
            continue
        try:
            findings.extend(_run(name, check, setting, subject))
        except NotAssessed as reason:
            reasons[name] = str(reason)
    return Assessment(tuple(findings), reasons)


def _severity(finding: Finding, check: Check, setting: Setting) -> Severity:
    """The policy's, where it says other than the check; else the finding's own, if it has one."""
    if setting.severity is not None and setting.severity != check.severity:
        return setting.severity
    return finding.severity or check.severity


def _run(name: str, check: Check, setting: Setting, subject: Subject) -> list[Finding]:
    found = []
    limits = dict(setting.limits or {})
    try:
        for finding in check.find(subject, **limits):
            severity = _severity(finding, check, setting)
            found.append(replace(finding, check=finding.check or name, severity=severity))
    except NotAssessed:
        if not found:
            raise
    except CorporealError as error:
        raise NotAssessed(str(error)) from error
    return found
