"""Plants faults in clean episodes and counts how many the checks find and name.

python -m bench.detection --seeds 2 --kinds episode,table --json out/bench_detection.json
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import date
from pathlib import Path

from rich.console import Console

from bench.detection import report
from bench.detection.fault import Fault, NotApplicable
from bench.detection.faults import every_fault
from bench.detection.harness import Control, Outcome, Trial, run_all
from bench.detection.page import page
from bench.detection.peers import Contest, contest, versions
from bench.detection.sources import FOLDERS, KINDS, Plan, dataset_folder, open_set

# Kinds that faults are planted in: without pictures, and with.
PLAIN = ("episode", "walk", "failed", "table", "g1", "gr1")
FILMED = ("filmed", "filmed_table", "g1_filmed", "gr1_filmed")
CONTROLS = (*PLAIN, *FILMED, "motion", "robomimic", "bridge")
# Trials of one fault and strength in one kind of data; pictures take longer.
TRIALS, FILMED_TRIALS = 2, 1


def main() -> int:
    """0, whatever was found: a benchmark is no test."""
    asked = _arguments()
    begin = time.monotonic()
    plan = Plan(asked.first, asked.seeds)
    log = Console(stderr=True)
    there = _made(plan, asked.kinds, log)
    chosen = [fault for name, fault in every_fault().items() if name in asked.faults]
    trials = [trial for fault in chosen for trial in _trials(fault, there, asked)]
    controls = _controls(there) if asked.controls else []
    log.print(f"{len(trials)} trials of {len(chosen)} faults, {len(controls)} controls")
    outcomes: list[Outcome] = []
    silent: list[Control] = []
    for some, quiet in run_all(plan, trials, controls, jobs=asked.jobs):
        outcomes += some
        silent += quiet
        log.print(f"{len(outcomes)}/{len(trials)}, {time.monotonic() - begin:.0f} s")
        if asked.weaknesses:
            asked.weaknesses.write_text(_weaknesses(outcomes, silent))
    contests: list[Contest] = []
    clean: dict[str, list[str]] = {}
    if asked.peers == "all":
        names = [fault.name for fault in chosen if not fault.data or "table" in fault.data]
        contests, clean = contest(plan, names, jobs=asked.jobs)
    _show(outcomes, silent, contests, asked, time.monotonic() - begin)
    if asked.page:
        facts = _facts(asked, contests, silent)
        text = page(report.rows(outcomes), report.quiet(silent), contests, clean, facts=facts)
        asked.page.write_text(text)
    return 0


def _facts(
    asked: argparse.Namespace, contests: list[Contest], silent: list[Control]
) -> dict[str, str]:
    alarms = [each for each in silent if each.kind == "filmed_table" and each.alarms]
    facts = {"date": date.today().isoformat(), "first": str(asked.first)}
    return facts | {"ours_clean": str(len(alarms))} | (versions() if contests else {})


def _weaknesses(outcomes: list[Outcome], silent: list[Control]) -> str:
    listed = report.rows(outcomes)
    return report.weaknesses(listed, report.quiet(silent), report.skipped(outcomes))


def _made(plan: Plan, kinds: tuple[str, ...], log: Console) -> dict[str, int]:
    """How many clean episodes there are of each kind; they are made first where they are not."""
    found = {}
    for kind in kinds:
        if kind in FOLDERS:
            dataset_folder(kind, plan)
            found[kind] = 0
            continue
        try:
            found[kind] = len(open_set(kind, plan).recordings)
        except NotApplicable as reason:
            log.print(f"without {kind}: {reason}")
    log.print(", ".join(f"{kind} {count}" for kind, count in found.items()))
    return found


def _trials(fault: Fault, there: dict[str, int], asked: argparse.Namespace) -> list[Trial]:
    strengths = {"all": fault.strengths, "counted": fault.counted, "least": fault.counted[:1]}[
        asked.strengths
    ]
    if fault.scope == "folder":
        return [
            Trial(fault.name, kind, 0, strength, number)
            for kind in FOLDERS if kind in there
            for number in range(asked.seeds)
            for strength in strengths
        ]  # fmt: skip
    wanted = FILMED if fault.pictures else PLAIN
    found = []
    for kind in wanted:
        if kind not in there or not there[kind]:
            continue
        count = asked.filmed_trials if fault.pictures else asked.trials
        for number in range(count):
            place = number * max(1, there[kind] // count) % there[kind]
            for strength in strengths:
                found.append(Trial(fault.name, kind, place, strength, number))
    return found


def _controls(there: dict[str, int]) -> list[tuple[str, int | None, bool]]:
    found: list[tuple[str, int | None, bool]] = []
    for kind, count in there.items():
        if kind in FOLDERS:
            continue
        pictures = kind not in PLAIN
        found += [(kind, place, pictures) for place in range(count)]
        found.append((kind, None, pictures))
    return found


def _show(
    outcomes: list[Outcome],
    silent: list[Control],
    contests: list[Contest],
    asked: argparse.Namespace,
    took_s: float,
) -> None:
    listed, quiet = report.rows(outcomes), report.quiet(silent)
    console = Console(width=None if sys.stdout.isatty() else 170)
    console.print(report.table(listed, all_strengths=asked.strengths == "all"))
    console.print(report.quiet_table(quiet))
    whole = report.total(listed)
    console.print(
        f"{whole.faults} faults, {whole.tried} bad episodes at tolerance or worse: found "
        f"{whole.recall:.1%}, named {whole.named:.1%}; {took_s:.0f} s"
    )
    asked.json.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "date": date.today().isoformat(),
        "first_seed": asked.first,
        "seeds": asked.seeds,
        "took_s": round(took_s),
        "total": asdict(whole),
        "rows": [row.to_json() for row in listed],
        "peers": [asdict(each) for each in contests],
        "clean": [asdict(each) | {"per_hundred": each.per_hundred} for each in quiet],
    }
    asked.json.write_text(json.dumps(document, indent=1) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.detection", description=__doc__)
    parser.add_argument("--seeds", type=int, default=2, help="simulated episodes of each task")
    parser.add_argument("--first", type=int, default=500, help="the first seed")
    parser.add_argument("--kinds", type=_one_of((*KINDS, *FOLDERS)), default=(*CONTROLS, *FOLDERS))
    parser.add_argument(
        "--faults", type=_one_of(tuple(every_fault())), default=tuple(every_fault())
    )
    parser.add_argument("--peers", choices=("none", "all"), default="none")
    parser.add_argument("--trials", type=int, default=TRIALS, help="of each fault and strength")
    parser.add_argument("--filmed-trials", type=int, default=FILMED_TRIALS)
    parser.add_argument("--strengths", choices=("all", "counted", "least"), default="least",
                        help="all, those that must be found, or the least of them")  # fmt: skip
    parser.add_argument("--no-controls", dest="controls", action="store_false")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--weaknesses", type=Path, help="write what is missed as Markdown")
    parser.add_argument("--page", type=Path, help="write the results as a page of documentation")
    parser.add_argument("--json", type=Path, default=Path("out/bench_detection.json"))
    return parser.parse_args()


def _one_of(names: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    def parse(text: str) -> tuple[str, ...]:
        unknown = [name for name in text.split(",") if name not in names]
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(names)}")
        return tuple(text.split(","))

    return parse


if __name__ == "__main__":
    sys.exit(main())
