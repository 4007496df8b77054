"""Two weeks of a simulated floor through the real platform: coverage, people, stations, breaks.

python -m bench.floor [--days 10] [--hours 28] [--episodes 280] [--seed 0] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter, defaultdict
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from corporeal.calibration.verification import LoggedCheck, LoggedShift, find_creeps
from corporeal.catalog.database import Database
from corporeal.catalog.episodes import find_episode
from corporeal.catalog.people import practice_of
from corporeal.catalog.query import parse
from corporeal.catalog.workspace import make_workspace
from corporeal.floor import (
    FloorRun,
    coverage_reached,
    make_roster,
    make_truth,
    open_floor,
    unplanned_rows,
)
from corporeal.floor.made_take import calibration_check
from corporeal.operations.campaign import find_campaign, read_progress
from corporeal.operations.monitoring import (
    measure_batch,
    read_offsets,
    read_stations,
    record_metrics,
    watch,
)
from corporeal.operations.operators import read_fatigue
from corporeal.operations.scope import Scope
from corporeal.operations.shifts import find_breaches
from corporeal.units import SECOND_NS

FIRST_DAY = date(2026, 11, 23)
LEAST = (1, 4, 8)
OWN_LIMITS = {"label_balance_error": 1.0, "largest_operator_share": 1.0}
"""A batch is what one station made in a day: neither is to be even within it."""


class Evenings:
    """What is looked at every evening, and on which day each name was first said."""

    def __init__(self, run: FloorRun) -> None:
        self.run, self.first = run, defaultdict[str, dict[str, int]](dict)

    def note(self, what: str, name: str, day: int) -> None:
        self.first[what].setdefault(name, day)

    def look(self, day: int) -> None:
        database, run = self.run.database, self.run
        batches = sorted({f"{run.roster.dates[day]}-{take.station}"
                          for take in run.takes if take.day == day})  # fmt: skip
        with database.write() as connection:
            for batch in batches:
                figures = measure_batch(connection, batch)
                record_metrics(connection, batch, figures, who="floor")
        for alarm in watch(database, who="floor", limits=OWN_LIMITS).alarms:
            self.note("alarms", f"{alarm.metric} {alarm.subject}", day)
        with database.read() as connection:
            for report in read_offsets(connection, Scope()):
                for offset in report.stations:
                    if offset.is_off or offset.since is not None:
                        self.note(f"offset {report.measure}", offset.station, day)
            for station in read_stations(connection):
                if any(creep.is_alarming for creep in station.creeps):
                    name = station.name.removeprefix("head_")
                    self.note("creep", name, day)
            self._people(connection, day)

    def _people(self, connection: Any, day: int) -> None:
        names = [person.name for person in self.run.truth.operators]
        for name in names:
            report = read_fatigue(connection, Scope((parse(f"operator = {name}"),)))
            for drift in report.drifts:
                # Everybody is looked at: the chance is shared out.
                if drift.chance is not None and drift.chance < 0.05 / len(names):
                    self.note(f"tired {drift.outcome}", name, day)
        for protocol in self.run.truth.protocols:
            progress = read_progress(connection, find_campaign(connection, protocol.task.name))
            for who, factor, _ in progress.context:
                self.note(f"context {who}", f"{protocol.task.name} {factor}", day)


def breaks_skipped(run: FloorRun) -> int:
    """Takes begun after 45 minutes without 15 of rest, or after four hours; from takes alone."""
    days: dict[tuple[str, date], list[tuple[float, float]]] = defaultdict(list)
    for take in run.takes:
        begin = take.recorded_ns / SECOND_NS
        days[take.operator, date.fromtimestamp(begin)].append((begin, begin + take.duration_s))
    wrong = 0
    for spans in days.values():
        spans.sort()
        begun, worked = spans[0][0], 0.0
        for (_, end), (first, _) in pairwise(spans):
            if first - end >= 15 * 60:
                worked, begun = worked + end - begun, first
            wrong += first - begun >= 45 * 60 or worked + first - begun >= 4 * 3600
    return wrong


def coverage(run: FloorRun, connection: Any) -> dict[str, Any]:
    """Accepted episodes until every pair is there so often, planned and without a plan."""
    rows: dict[str, Any] = {}
    for least in LEAST:
        planned: list[int] = []
        habit: list[float] = []
        chance: list[float] = []
        for protocol in run.truth.protocols:
            campaign = find_campaign(connection, protocol.task.name)
            good = [take.levels for take in run.takes
                    if take.task == protocol.task.name and take.verdict == "accepted"]  # fmt: skip
            space = campaign.space
            reached = coverage_reached(space, space.encode(good), least)
            if reached is None:
                continue
            planned.append(reached)
            for seed in range(10):
                for store, settings in ((habit, {"habit": 1.0, "stay": 0.5}), (chance, {})):
                    free = unplanned_rows(space, 10, 40 * reached, seed=seed, **settings)
                    store.append((coverage_reached(space, free, least) or len(free)) / reached)
        rows[f"{least}"] = {
            "campaigns": len(planned), "planned": planned,
            "habit_ratio": round(float(np.median(habit)), 2) if habit else None,
            "habit_ratio_10_to_90": np.round(np.quantile(habit, [0.1, 0.9]), 1).tolist()
            if habit else None,
            "chance_ratio": round(float(np.median(chance)), 2) if chance else None,
        }  # fmt: skip
    return rows


def report(run: FloorRun, evenings: Evenings, breaches: int, cpu_s: float) -> dict[str, Any]:
    truth = run.truth
    with run.database.read() as connection:
        covered = coverage(run, connection)
        practice = practice_of(connection, [take.id for take in run.takes])
        first = run.takes[0]
        assert find_episode(connection, first.id).operator == first.operator
        progress = {
            protocol.task.name: read_progress(connection, find_campaign(connection,
                                                                        protocol.task.name))
            for protocol in truth.protocols
        }  # fmt: skip
    truly: dict[str, Any] = {"tired": truth.tired, "biased": truth.biased,
             "adrift": [(station.name, station.drifts_from) for station in truth.adrift],
             "outage": [(station.name, station.outage) for station in truth.stations
                        if station.outage]}  # fmt: skip
    return {
        "truth": truly,
        "episodes": len(run.takes),
        "verdicts": dict(Counter(take.verdict for take in run.takes)),
        "practice": len(practice),
        "accepted": {name: told.accepted for name, told in progress.items()},
        "breaches": breaches,
        "breaks_skipped": breaks_skipped(run),
        "halted": dict(run.halted),
        "coverage": covered,
        "first_day": {what: dict(sorted(days.items())) for what, days in evenings.first.items()},
        "cpu_s": round(cpu_s, 1),
    }


def run_floor(root: Path, days: int, hours: float, episodes: int, seed: int) -> dict[str, Any]:
    """Everything, in a workspace of its own."""
    began = time.process_time()
    truth = make_truth(seed)
    roster = make_roster(truth, FIRST_DAY, days, hours=hours)
    with make_workspace(root) as workspace:
        database: Database = workspace.database
        run = open_floor(database, truth, roster, episodes=episodes, seconds=120.0)
        breaches = len(list(find_breaches(roster, run.plan)))
        missing = dict(run.plan.missing)
        print(f"planned: {len(run.plan.duties)} slots, {breaches} breaches, missing {missing}, "
              f"{time.process_time() - began:.0f} CPU s", flush=True)  # fmt: skip
        evenings = Evenings(run)
        for day in range(days):
            if run.replan(day, seconds=60.0):
                breaches += len(list(find_breaches(roster, run.plan, shares=False)))
            for _ in run.work(day):
                pass
            worked = time.process_time() - began
            evenings.look(day)
            print(f"day {day}: {len(run.takes)} takes, {worked:.0f} CPU s, with the evening "
                  f"{time.process_time() - began:.0f}", flush=True)  # fmt: skip
        figures = report(run, evenings, breaches, time.process_time() - began)
        return figures | {"missing_h": missing, "replanned": len(truth.ill)}


def look_at_checks(seeds: int, days: int) -> dict[str, Any]:
    """Morning checks alone, on many floors: when the drifting station is named, and who else."""
    delays: list[int] = []
    others = 0
    for seed in range(seeds):
        truth = make_truth(seed)
        logs: dict[str, list[LoggedCheck]] = defaultdict(list)
        named: dict[str, int] = {}
        for day in range(days):
            rng = np.random.default_rng([seed, day, 7])
            at = datetime.combine(FIRST_DAY + timedelta(days=day), datetime.min.time(), UTC)
            for station in truth.stations:
                check = calibration_check(station, day, at, rng)
                shifts = TypeAdapter(tuple[LoggedShift, ...]).validate_python(check.shifts)
                log = logs[station.name]
                log.append(LoggedCheck("check", check.at, check.calibration, "", True,
                                       shifts=shifts))  # fmt: skip
                if any(creep.is_alarming for creep in find_creeps(log, check.calibration)):
                    named.setdefault(station.name, day)
        for station in truth.stations:
            if station.drifts_from is None:
                others += station.name in named
            elif named.get(station.name, -1) >= station.drifts_from:
                delays.append(named[station.name] - station.drifts_from)
    return {"floors": seeds, "found": len(delays), "median_delay_days": float(np.median(delays)),
            "worst_delay_days": max(delays), "others_named_per_floor": others / seeds}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=10)
    parser.add_argument("--hours", type=float, default=28.0, help="wanted of each task")
    parser.add_argument("--episodes", type=int, default=280, help="of each campaign")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out/bench_floor.json"))
    parser.add_argument("--checks", type=int, help="look at morning checks alone, on many floors")
    given = parser.parse_args()
    if given.checks:
        print(json.dumps(look_at_checks(given.checks, given.days), indent=1))
        return
    with tempfile.TemporaryDirectory() as folder:
        figures = run_floor(Path(folder) / "floor", given.days, given.hours, given.episodes,
                            given.seed)  # fmt: skip
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(figures, indent=1))
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
