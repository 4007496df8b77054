"""Stations that differ, and stations that do not: what is told of planted offsets and steps.

python -m bench.stations [--runs 300] [--out out/bench_stations.json]
"""

from __future__ import annotations

import argparse
import json
import time
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from corporeal.operations.monitoring import OffsetReport, StationRow, estimate_offsets

OPERATOR, SESSION, NOISE = 0.15, 0.06, 0.25
"""Spread of logarithms of durations: between people, between their days, between episodes."""


def a_floor(
    seed: int, *, stations: int, people: int, days: int, offset: float = 0.0, step: float = 0.0
) -> tuple[list[StationRow], dict[str, float]]:
    """Durations where everybody changes places; `s0` is off, or is so from the middle on."""
    chance = np.random.default_rng(seed)
    skill = chance.normal(0, OPERATOR, people)
    rows, values = [], {}
    for number in range(days):
        places = chance.permutation(people)
        for station in range(min(stations, people)):
            person = int(places[station])
            today = chance.normal(0, SESSION)
            own = offset if station == 0 else 0.0
            if station == 0 and number >= days // 2:
                own += step
            for episode in range(12):
                row = StationRow(f"{number}-{station}-{episode}", f"s{station}", f"p{person}",
                                 f"variant {episode % 3}",
                                 date(2026, 11, 2) + timedelta(days=number))  # fmt: skip
                rows.append(row)
                values[row.id] = (2.5 + 0.2 * (episode % 3) + skill[person] + today + own
                                  + chance.normal(0, NOISE))  # fmt: skip
    return rows, values


def measure(runs: int, **floor: float) -> dict[str, float]:
    """Shares and errors over many floors alike."""
    named = wrong = stepped = wrong_step = 0
    errors = []
    began = time.process_time()
    for seed in range(runs):
        rows, values = a_floor(seed, **floor)  # type: ignore[arg-type]
        report: OffsetReport = estimate_offsets(rows, values, "duration")
        by_name = {each.station: each for each in report.stations}
        planted = floor.get("offset", 0.0)
        if planted:
            true = np.expm1(planted)
            errors.append(abs(by_name["s0"].offset - true) / true)
        named += by_name["s0"].is_off
        wrong += any(each.is_off for name, each in by_name.items() if name != "s0")
        stepped += by_name["s0"].since is not None
        wrong_step += any(each.since is not None for name, each in by_name.items() if name != "s0")
    return {
        "named": named / runs, "others_named": wrong / runs, "stepped": stepped / runs,
        "others_stepped": wrong_step / runs,
        "median_error": float(np.median(errors)) if errors else float("nan"),
        "cpu_ms": round(1000 * (time.process_time() - began) / runs, 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--out", type=Path, default=Path("out/bench_stations.json"))
    given = parser.parse_args()
    small = {"stations": 3, "people": 3, "days": 10}
    large = {"stations": 12, "people": 20, "days": 10}
    rows = {
        "3 stations, none differs": measure(given.runs, **small),
        "3 stations, one 20 % slower": measure(given.runs, **small, offset=float(np.log(1.2))),
        "12 stations, none differs": measure(given.runs // 3, **large),
        "12 stations, one 20 % slower": measure(given.runs // 3, **large,
                                                offset=float(np.log(1.2))),
        "12 stations of 20 days, one 30 % slower from the 11th on": measure(
            given.runs // 3, **{**large, "days": 20}, step=float(np.log(1.3))),
    }  # fmt: skip
    for name, row in rows.items():
        print(f"{name}:", "  ".join(f"{key} {value:.3g}" for key, value in row.items()))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
