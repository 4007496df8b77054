"""A check in words: what it looks at, why that matters, what to do."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter

from corporeal.quality.check import Explanation, Severity, explain, find_check
from corporeal.studio.authentication import Anyone

ROUTER = APIRouter(tags=["check"])


@dataclass(frozen=True)
class CheckFacts(Explanation):
    """One check, from its own words; `unit` is that of its values and limits."""

    topic: str
    severity: Severity
    unit: str


@ROUTER.get("/checks/{name}")
def check_facts(name: str, _: Anyone) -> CheckFacts:
    """What a check looks at, why it matters and what to do about a finding."""
    present, check = find_check(name)
    words = vars(explain(present))
    return CheckFacts(**words, topic=check.topic, severity=check.severity, unit=check.unit)
