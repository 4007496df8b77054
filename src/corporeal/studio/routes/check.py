"""A check in words: what it looks at, why that matters, what to do."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from corporeal.errors import UnknownNameError
from corporeal.quality.check import checks, explain
from corporeal.quality.finding import Severity
from corporeal.studio.visitor import Anyone

ROUTER = APIRouter(tags=["check"])


class CheckFacts(BaseModel):
    """One check, from its own words; `unit` is that of its values and limits."""

    name: str
    title: str
    what: str
    why: str
    fix: str
    topic: str
    severity: Severity
    unit: str


@ROUTER.get("/checks/{name}")
def check_facts(name: str, _: Anyone) -> CheckFacts:
    """What a check looks at, why it matters and what to do about a finding."""
    known = checks()
    if name not in known:
        raise UnknownNameError("check", name[:80], known)
    told, check = explain(name), known[name]
    return CheckFacts(
        name=name,
        title=told.title,
        what=told.what,
        why=told.why,
        fix=told.fix,
        topic=check.topic,
        severity=check.severity,
        unit=check.unit,
    )
