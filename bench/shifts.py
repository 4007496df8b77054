"""Plans of shifts for a floor: time to the first plan that has all hours, and what it breaks.

python -m bench.shifts [--rosters 5] [--seconds 30] [--out out/bench_shifts.json]
"""

from __future__ import annotations

import argparse
import json
import random
import time
from datetime import date
from pathlib import Path

from corporeal.operations.shifts import (
    Fixture,
    Roster,
    ShiftPlan,
    find_breaches,
    measure_balance,
    plan_shifts,
)

TASKS = ("pick_place", "handover", "reach", "bimanual_lift")


def a_floor(seed: int) -> Roster:
    """12 stations of two tasks each, 30 people of whom some cannot always come, five days."""
    chance = random.Random(seed)
    days = [f"2026-11-{number}" for number in range(23, 28)]
    people = [
        {
            "name": f"p{number:02}",
            "certified": dict.fromkeys(chance.sample(TASKS, chance.choice((1, 2, 3)))),
            "days": chance.sample(days, chance.choice((3, 4, 5))),
            "begins": chance.choice((None, None, "12:00")),
        }
        for number in range(30)
    ]
    stations = [
        {
            "name": f"s{number:02}",
            "tasks": [TASKS[number % 4], TASKS[(number + 1) % 4]],
            "closed": [{"begins": "08:00", "ends": "08:30"},
                       {"begins": "12:00", "ends": "18:00", "day": chance.choice(days),
                        "why": "repair"}],
        }
        for number in range(12)
    ]  # fmt: skip
    wanted = [{"task": task, "hours": chance.randint(50, 90)} for task in TASKS]
    return Roster.model_validate({
        "document": "roster", "name": "floor", "version": "1.0.0", "stations": stations,
        "first_day": date(2026, 11, 23), "people": people, "wanted": wanted,
    })  # fmt: skip


def measure(seed: int, seconds: float) -> dict[str, float | int]:
    """One floor planned, and planned anew when two people are ill on the third day."""
    roster = a_floor(seed)
    began = time.process_time(), time.perf_counter()
    plan = plan_shifts(roster, seconds=seconds, seed=seed)
    cpu_s, wall_s = time.process_time() - began[0], time.perf_counter() - began[1]
    third = roster.dates[2]
    working = sorted({duty.person for duty in plan.duties if duty.day == third})
    ill = frozenset((person, third) for person in working[:2])
    again = plan_shifts(roster, seconds=seconds, seed=seed, keep=Fixture(plan, third, 0, ill))
    balance = measure_balance(roster, plan)
    return {
        "seed": seed,
        "wanted_h": sum(wanted.slots for wanted in roster.wanted),
        "missing_h": sum(plan.missing.values()),
        "broken": len(list(find_breaches(roster, plan))),
        "cpu_s": round(cpu_s, 1),
        "wall_s": round(wall_s, 1),
        "task_and_half": round(balance.task_and_half, 2),
        "ill_h": sum((duty.person, duty.day) in ill for duty in plan.duties),
        "again_missing_h": sum(again.missing.values()),
        "again_broken": len(list(find_breaches(roster, again, shares=False))),
        "again_asked": _asked(plan, again, {person for person, _ in ill}),
    }


def _asked(plan: ShiftPlan, again: ShiftPlan, ill: set[str]) -> int:
    """People whose task or hours change."""

    def works(each: ShiftPlan) -> set[tuple[str, date, int, str]]:
        return {(duty.person, duty.day, duty.slot, duty.task) for duty in each.duties}

    return len({key[0] for key in works(plan) ^ works(again)} - ill)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rosters", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--out", type=Path, default=Path("out/bench_shifts.json"))
    given = parser.parse_args()
    rows = []
    for seed in range(given.rosters):
        rows.append(measure(seed, given.seconds))
        print("  ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps({"seconds": given.seconds, "rows": rows}, indent=1))
    print(f"target: feasible within 30 s or the conflict named: {given.out}")


if __name__ == "__main__":
    main()
