"""Operators: is a drift of a tenth found, how often is one seen that is not there, what is proven.

O-a: simulated sessions of two hours, 60 episodes, with a planted drift of 10 %, by how much
durations scatter and how many sessions there are; the same without a drift gives the false alarms.
O-b: what a series of calibration proves. O-f is a walk over every route: tests/studio.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.operations.operators import (
    WorkEpisode,
    estimate_drift,
    needed_to_prove,
    share_bound,
)

DRIFT, COUNT, HOURS = 0.10, 60, 2.0
_SCATTERS = ((0.06, 1), (0.10, 1), (0.10, 3), (0.20, 12))
_ERRORS = ((0.10, 20),)
_PROOFS = ((20, 20), (19, 20), (18, 20), (28, 30), (30, 30), (45, 50))


def simulate(
    draw: np.random.Generator, sessions: int, scatter: float, drift: float, *, rest: bool = False,
    in_order: bool = False,
) -> tuple[list[WorkEpisode], dict[str, float]]:  # fmt: skip
    """Sessions of four people, three tasks in any order, or each task in a third of the session."""
    work: list[WorkEpisode] = []
    values: dict[str, float] = {}
    people = draw.normal(0, 0.15, 4)
    for session in range(sessions):
        level = math.log(20) + people[session % 4] + draw.normal(0, 0.05)
        for number in range(COUNT):
            at_h = HOURS * number / COUNT
            since = at_h % 1.0 if rest else at_h
            kind = number * 3 // COUNT if in_order else int(draw.integers(3))
            name = f"{session}-{number}"
            work.append(WorkEpisode(name, f"op{session % 4}", session, f"task {kind}",
                                    session % 2 == 1, since, at_h, None, None))  # fmt: skip
            values[name] = (level + 0.25 * kind + math.log1p(drift) * since / HOURS
                            + draw.normal(0, scatter))  # fmt: skip
    return work, values


def simulate_errors(
    draw: np.random.Generator, sessions: int, share: float, drift: float
) -> tuple[list[WorkEpisode], dict[str, float]]:
    """Sessions in which errors grow by `drift` of themselves over the session."""
    work: list[WorkEpisode] = []
    values: dict[str, float] = {}
    for session in range(sessions):
        for number in range(COUNT):
            at_h = HOURS * number / COUNT
            name = f"{session}-{number}"
            work.append(WorkEpisode(name, f"op{session % 4}", session, "task", session % 2 == 1,
                                    at_h, at_h, None, None))  # fmt: skip
            chance = share * (1 + drift * (at_h / HOURS - 0.5))
            values[name] = float(draw.random() < chance)
    return work, values


def _seen(runs: int, seed: int, sessions: int, scatter: float, drift: float, **how: bool) -> float:
    draw, runs = np.random.default_rng(seed), _runs(runs, sessions)
    seen = sum(
        estimate_drift(*simulate(draw, sessions, scatter, drift, **how), "duration").is_seen
        for _ in range(runs)
    )
    return seen / runs


def _runs(runs: int, sessions: int) -> int:
    """Single sessions are quick: all runs; several take a fifth of them."""
    return runs if sessions == 1 else runs // 5


def measure(runs: int) -> dict[str, Any]:
    """Everything that is printed."""
    rows = [
        {
            "scatter": scatter, "sessions": sessions, "runs": _runs(runs, sessions),
            "power": _seen(runs, 1, sessions, scatter, DRIFT),
            "false": _seen(runs, 2, sessions, scatter, 0.0),
            "false_in_order": _seen(runs, 3, sessions, scatter, 0.0, in_order=True),
        }
        for scatter, sessions in _SCATTERS
    ]  # fmt: skip
    draw = np.random.default_rng(4)
    inside = 0
    planted = math.expm1(-math.log1p(DRIFT) / HOURS * 0.75)
    for _ in range(runs // 5):
        found = estimate_drift(*simulate(draw, 8, 0.1, DRIFT, rest=True), "duration").break_effect
        inside += found is not None and found.lower <= planted <= found.upper
    errors = []
    for share, sessions in _ERRORS:
        for drift in (DRIFT, 1.0, 0.0):
            hits = sum(
                estimate_drift(*simulate_errors(draw, sessions, share, drift), "errors").is_seen
                for _ in range(runs // 10)
            )
            errors.append({"share": share, "sessions": sessions, "drift": drift,
                           "seen": hits / (runs // 10)})  # fmt: skip
    proofs = [{"good": good, "of": of, "proves": share_bound(good, of)}
              for good, of in _PROOFS]  # fmt: skip
    return {"runs": runs, "drift": rows, "break_coverage": inside / (runs // 5), "errors": errors,
            "proofs": proofs, "needed_for_0.9": needed_to_prove(0.9)}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="simulated runs of each row")
    parser.add_argument("--out", type=Path, default=Path("out/bench_operators.json"))
    asked = parser.parse_args()
    result = measure(asked.runs)
    print("| scatter | sessions | runs | power | false alarms | false alarms, tasks in order |")
    print("|---|---|---|---|---|---|")
    for row in result["drift"]:
        print(f"| {row['scatter']:.0%} | {row['sessions']} | {row['runs']} | {row['power']:.3f} | "
              f"{row['false']:.3f} | {row['false_in_order']:.3f} |")  # fmt: skip
    print(
        f"\nintervals of the effect of a break that hold the truth: {result['break_coverage']:.3f}"
    )
    for row in result["errors"]:
        print(f"errors of {row['share']:.0%}, {row['sessions']} sessions, drift of "
              f"{row['drift']:.0%}: seen in {row['seen']:.3f}")  # fmt: skip
    for row in result["proofs"]:
        print(f"{row['good']} of {row['of']} prove {row['proves']:.1%}")
    print(f"tries without a failure that prove more than 90 %: {result['needed_for_0.9']}")
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
