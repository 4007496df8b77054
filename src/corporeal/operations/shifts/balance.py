"""Whether a plan is a fair experiment: who worked on what must not follow the time of day."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from corporeal.operations.shifts.plan import ShiftPlan
from corporeal.operations.shifts.roster import Roster


@dataclass(frozen=True)
class PlanBalance:
    """Hours of people, and Cramer's V of what should not go together: 0 not at all, 1 wholly."""

    least_h: float
    most_h: float
    task_and_half: float
    person_and_half: float


def measure_balance(roster: Roster, plan: ShiftPlan) -> PlanBalance:
    """People with the fewest and most hours, and how far mornings are one task's or person's."""
    hours = [plan.hours(roster, person=person.name) for person in roster.people]
    halves = [duty.slot >= roster.middle for duty in plan.duties]
    return PlanBalance(
        min(hours), max(hours),
        _association([duty.task for duty in plan.duties], halves),
        _association([duty.person for duty in plan.duties], halves),
    )  # fmt: skip


def _association(names: list[str], halves: list[bool]) -> float:
    """Cramer's V; 0 where there is one of either only, since nothing can follow it."""
    rows, columns = sorted(set(names)), sorted(set(halves))
    if len(rows) < 2 or len(columns) < 2:
        return 0.0
    table = np.zeros((len(rows), len(columns)), dtype=np.int64)
    for name, half in zip(names, halves, strict=True):
        table[rows.index(name), columns.index(half)] += 1
    return float(scipy.stats.contingency.association(table, method="cramer"))
