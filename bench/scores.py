"""Does the score rank operators as their skill does? Rank correlations on simulated demonstrations.

Five styles of known skill perform the same scenes. The table has Spearman's correlation of every
part, and of the total, with skill: 1 is the same order (ties in skill keep it a little below). The
default weights were set on seeds 1000 to 1007; the seeds here are others.

Run: python -m bench.scores --out out/bench_scores.json      # about five minutes on one core
     python -m bench.scores --seeds 2 --tasks reach          # a look
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import spearmanr

from bench.simulated import recording
from corporeal.episode.recording import ArraySignal, Recording, Signal
from corporeal.quality import Subject
from corporeal.quality.scoring import (
    EpisodeScore,
    Measured,
    Weighting,
    measure,
    open_weighting,
    score_batch,
    scores,
)
from corporeal.simulation.variation import STYLES

TASKS = ("pick_place", "reach", "handover", "bimanual_lift", "stand")
FIRST_SEED = 5000
BARE_HZ = 30.0

Rows = dict[str, dict[str, float | None]]


def bare(episode: Recording) -> Recording:
    """The same episode as a table set has it: state and action at 30 Hz, the robot not known."""
    signals: dict[str, Signal] = {}
    for role, name in (("joint_position", "state"), ("joint_position_target", "action")):
        label = episode.named(role)
        assert label is not None
        signal = episode.signals[label]
        grid = np.arange(signal.time_ns[0], signal.time_ns[-1], 1e9 / BARE_HZ).astype(np.int64)
        nearest = np.clip(np.searchsorted(signal.time_ns, grid), 0, len(signal) - 1)
        spec = signal.spec.model_copy(update={"name": name, "rate_hz": BARE_HZ})
        signals[name] = ArraySignal(spec, grid, np.asarray(signal[:])[nearest])
    return replace(episode, signals=signals, embodiment=None, regridded=True)


def correlations(
    scored: Sequence[EpisodeScore], skills: Sequence[float], value: Callable[[EpisodeScore], float]
) -> dict[str, float | None]:
    """Spearman's correlation of a value with skill, by task; None where it does not vary."""
    found: dict[str, float | None] = {}
    for task in dict.fromkeys(one.task for one in scored):
        own = [
            (value(one), skill)
            for one, skill in zip(scored, skills, strict=True)
            if one.task == task and np.isfinite(value(one))
        ]
        values, truth = np.array(own).reshape(-1, 2).T
        varied = len(own) > 4 and np.ptp(values) > 0
        found[str(task)] = float(spearmanr(values, truth)[0]) if varied else None
    return found


def part(name: str) -> Callable[[EpisodeScore], float]:
    """What gives the part's score of an episode, NaN where it was not assessed."""
    return lambda one: next((each.score for each in one.parts if each.name == name), np.nan)


def total(one: EpisodeScore) -> float:
    """The total, NaN where there is none."""
    return np.nan if one.total is None else one.total


def table_rows(
    full: list[Measured], plain: list[Measured], skills: list[float], weighting: Weighting
) -> Rows:
    """Every row of the table."""
    scored = score_batch(full, weighting)
    rows = {name: correlations(scored, skills, part(name)) for name in scores()}
    rows["TOTAL"] = correlations(scored, skills, total)
    equal = weighting.model_copy(update={"weights": dict.fromkeys(scores(), 1.0)})
    rows["TOTAL, equal weights"] = correlations(score_batch(full, equal), skills, total)
    states = score_batch(plain, weighting)
    rows["TOTAL, state and action at 30 Hz, robot unknown"] = correlations(states, skills, total)
    for name in scores():
        weights = {**weighting.weights, name: 0.0}
        without = weighting.model_copy(update={"weights": weights})
        rows[f"TOTAL without {name}"] = correlations(score_batch(full, without), skills, total)
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    full, plain, skills, cost_s = [], [], [], 0.0
    for task in given.tasks.split(","):
        for seed in range(FIRST_SEED, FIRST_SEED + given.seeds):
            for style in STYLES:
                episode = recording(task, seed=seed, style=style)
                begin = time.process_time()
                full.append(measure(Subject(episode)))
                cost_s += time.process_time() - begin
                plain.append(measure(Subject(bare(episode))))
                skills.append(STYLES[style].skill)
    rows = table_rows(full, plain, skills, open_weighting())
    show(rows, given.tasks.split(","))
    print(f"measuring costs {1e3 * cost_s / len(full):.0f} CPU-ms per episode")
    if given.out is not None:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        facts = {"seeds": [FIRST_SEED, FIRST_SEED + given.seeds], "styles": list(STYLES)}
        report = facts | {"spearman": rows, "cpu_ms_per_episode": 1e3 * cost_s / len(full)}
        given.out.write_text(json.dumps(report, indent=1) + "\n")


def show(rows: Rows, tasks: Sequence[str]) -> None:
    table = Table(title="rank correlation with the operator's skill")
    table.add_column("part")
    for task in tasks:
        table.add_column(task, justify="right")
    for name, row in rows.items():
        cells = [row.get(task) for task in tasks]
        table.add_row(name, *("-" if cell is None else f"{cell:.2f}" for cell in cells))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
