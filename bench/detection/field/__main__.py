"""Makes the mistakes of collection teams in files of every format, and counts what is named.

An interrupted run goes on where it was, as long as the checks and the readers are the same.

python -m bench.detection.field --half tuning --misses out/misses.md
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from dataclasses import asdict
from datetime import date
from pathlib import Path

from rich.console import Console

from bench.detection.field.count import count_all, list_misses, summarise
from bench.detection.field.mistakes import every_mistake
from bench.detection.field.run import SITES_EACH, draw_trials, run_clean, run_trials
from bench.detection.field.sites import SITES
from bench.detection.ledger import fingerprint, results_path
from bench.detection.sources import PROJECT
from bench.detection.split import HALVES, half_of_seed


def main() -> int:
    """0, whatever was found: a benchmark is no test."""
    asked = _arguments()
    os.nice(10)
    console = Console(stderr=True)
    drawn = range(asked.first, asked.first + 2 * asked.seeds)
    seeds = [seed for seed in drawn if half_of_seed(seed) == asked.half]
    sites = asked.sites or list(SITES)
    trials = [
        trial
        for trial in draw_trials(seeds, sites_each=asked.sites_each)
        if trial.site in sites and trial.mistake in (asked.mistakes or every_mistake())
    ]
    deadline = time.monotonic() + 60 * asked.minutes
    path = results_path()
    clean = run_clean(
        path, sites, half=asked.half, jobs=asked.jobs, deadline=deadline, tell=console.print
    )
    outcomes = run_trials(trials, path, jobs=asked.jobs, deadline=deadline, tell=console.print)
    console.print(f"{len(outcomes)} of {len(trials)} trials were run")
    console.print(summarise(outcomes), soft_wrap=True)
    document = {
        "date": date.today().isoformat(),
        "commit": _commit(),
        "code": fingerprint(),
        "half": asked.half,
        "drawn": len(trials),
        "total": asdict(count_all(outcomes)),
        "outcomes": [asdict(each) for each in outcomes],
        "clean": clean,
    }
    asked.json.parent.mkdir(parents=True, exist_ok=True)
    asked.json.write_text(json.dumps(document, indent=1) + "\n")
    if asked.misses:
        asked.misses.write_text(list_misses(outcomes, clean))
    return 0


def _commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    ran = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    return ran.stdout.strip()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.detection.field", description=__doc__)
    parser.add_argument("--half", choices=HALVES, required=True)
    parser.add_argument("--seeds", type=int, default=1, help="how often every mistake is made")
    parser.add_argument(
        "--first", type=int, default=0, help="the first seed: another one draws other mistakes"
    )
    parser.add_argument("--sites-each", type=int, default=SITES_EACH, help="for every seed")
    parser.add_argument("--sites", type=_names, help="only these, with commas")
    parser.add_argument("--mistakes", type=_names, help="only these, with commas")
    parser.add_argument("--minutes", type=float, default=600.0, help="stop after so long")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--misses", type=Path, help="write what is missed as Markdown")
    parser.add_argument("--json", type=Path, default=Path("out/bench_detection_field.json"))
    return parser.parse_args()


def _names(text: str) -> list[str]:
    known = {*SITES, *every_mistake()}
    unknown = [name for name in text.split(",") if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(sorted(known))}")
    return text.split(",")


if __name__ == "__main__":
    raise SystemExit(main())
