"""A check in words: what it looks at, why that matters, what to do."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from corporeal.quality.check import Severity, explain, find_check
from corporeal.studio.authentication import Anyone

ROUTER = APIRouter(tags=["check"])


class CheckFacts(BaseModel):
    """One check, from its own words; `unit` is that of its values and limits."""

    name: str
    title: str
    good: str
    what: str
    why: str
    fix: str
    topic: str
    severity: Severity
    unit: str


@ROUTER.get("/checks/{name}")
def check_facts(name: str, _: Anyone) -> CheckFacts:
    """What a check looks at, why it matters and what to do about a finding."""
    present, check = find_check(name)
    told = explain(present)
    return CheckFacts(
        name=present,
        title=told.title,
        good=told.good,
        what=told.what,
        why=told.why,
        fix=told.fix,
        topic=check.topic,
        severity=check.severity,
        unit=check.unit,
    )
