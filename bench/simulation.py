"""How often the simulated demonstrators succeed, how faults end, and what it all costs.

Run: python -m bench.simulation --seeds 40 --out out/bench_simulation.json
     python -m bench.simulation --policy walking.onnx    # with the walking tasks
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from corporeal.simulation.demonstration import simulate
from corporeal.simulation.run import SimulatedRun
from corporeal.simulation.sensing import sense
from corporeal.simulation.task import tasks
from corporeal.simulation.variation import WIDE

FIRST_SEED, FIRST_FAULT_SEED, FAULT_SEEDS = 300, 400, 8


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--policy", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=None)
    arguments = parser.parse_args()
    names = [n for n, task in tasks().items() if arguments.policy or not task.needs_policy]
    report = {
        "date": date.today().isoformat(),
        "tasks": {name: _success(name, arguments) for name in names},
        "wide": _outcomes("pick_place", range(20), randomise=WIDE),
        "faults": {name: _faults(name, arguments.policy) for name in names},
        "sensing": _sensing(),
    }
    _show(report)
    if arguments.out is not None:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(report, indent=1))


def _success(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    seeds = range(FIRST_SEED, FIRST_SEED + arguments.seeds)
    begin, simulated_s, outcomes = time.process_time(), 0.0, Counter[str]()
    for seed in seeds:
        run = simulate(name, seed=seed, policy=arguments.policy)
        simulated_s += float(run.time_s[-1] - run.time_s[0])
        outcomes[_ending(run)] += 1
    cpu_s = time.process_time() - begin
    return {"outcomes": dict(outcomes), "cpu_s_per_s": cpu_s / simulated_s}


def _outcomes(name: str, seeds: range, **options: Any) -> dict[str, int]:
    return dict(Counter(_ending(simulate(name, seed=seed, **options)) for seed in seeds))


def _faults(name: str, policy: Path | None) -> dict[str, dict[str, int]]:
    seeds = range(FIRST_FAULT_SEED, FIRST_FAULT_SEED + FAULT_SEEDS)
    return {
        fault: _outcomes(name, seeds, fault=fault, policy=policy) for fault in tasks()[name].faults
    }


def _sensing() -> dict[str, float]:
    """CPU seconds for the sensors of one `reach`, without and with pictures of 640 x 480."""
    run = simulate("reach", seed=FIRST_SEED)
    length_s = float(run.time_s[-1] - run.time_s[0])
    begin = time.process_time()
    samples = sum(1 for _ in sense(run, seed=0, pictures=False))
    signals_s = time.process_time() - begin
    begin = time.process_time()
    pictures = sum(1 for sample in sense(run, seed=0) if getattr(sample.value, "ndim", 0) >= 2
                   and sample.value.shape[0] == 480)  # fmt: skip
    total_s = time.process_time() - begin
    return {
        "length_s": length_s,
        "samples": samples,
        "signals_cpu_s": signals_s,
        "pictures": pictures,
        "pictures_per_cpu_s": pictures / max(total_s - signals_s, 1e-9),
    }


def _ending(run: SimulatedRun) -> str:
    return "success" if run.outcome.success else str(run.outcome.failure)


def _show(report: dict[str, Any]) -> None:
    console = Console()
    table = Table(title="demonstrations without a fault")
    for title in ("task", "outcomes", "CPU-s per simulated s"):
        table.add_column(title)
    for name, row in report["tasks"].items():
        table.add_row(name, _words(row["outcomes"]), f"{row['cpu_s_per_s']:.2f}")
    table.add_row("pick_place, wide randomisation", _words(report["wide"]), "")
    console.print(table)
    table = Table(title=f"faults, {FAULT_SEEDS} seeds each")
    for title in ("task", "fault", "judged as"):
        table.add_column(title)
    for name, faults in report["faults"].items():
        for fault, outcomes in faults.items():
            table.add_row(name, fault, _words(outcomes))
    console.print(table)
    sensing = report["sensing"]
    console.print(
        f"sensing {sensing['length_s']:.1f} s: {sensing['samples']} samples in "
        f"{sensing['signals_cpu_s']:.2f} CPU-s, {sensing['pictures']} pictures of 640 x 480 at "
        f"{sensing['pictures_per_cpu_s']:.0f} per CPU-s"
    )


def _words(outcomes: dict[str, int]) -> str:
    ordered = sorted(outcomes.items(), key=lambda item: -item[1])
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in ordered)


if __name__ == "__main__":
    main()
