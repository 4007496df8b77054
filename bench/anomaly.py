"""Precision and recall of both anomaly detectors on failures planted in simulated demonstrations.

Learns from successes, looks at others and at failures of other seeds. A failure is found when a
flagged segment overlaps its time: from one second before the event (the closing of the gripper for
a missed grasp) to three seconds after. A flagged segment that touches no time from the event to the
end of a failed episode is a false alarm.

Run: python -m bench.anomaly --out out/bench_anomaly.json     # about six minutes on one core
     python -m bench.anomaly --train 16 --faults 2 --clean 6  # a look
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.partners import PROJECT, partner_python
from bench.simulated import recording
from corporeal.episode.recording import Recording
from corporeal.quality.anomaly.envelope import UnusualSegment, learn
from corporeal.quality.anomaly.network import train
from corporeal.simulation.task import tasks

TASKS = ("pick_place", "handover")
TRAIN_SEED, FAULT_SEED, CLEAN_SEED = 20_000, 30_000, 40_000
BEFORE_NS, AFTER_NS = 1_000_000_000, 3_000_000_000

Look = Callable[[Recording], list[UnusualSegment]]


@dataclass
class Tally:
    """What a detector found in the episodes of one task."""

    found: dict[str, list[bool]] = field(default_factory=dict)
    true: int = 0
    false: int = 0
    clean: int = 0
    alarmed: int = 0

    def add(self, episode: Recording, flagged: list[UnusualSegment]) -> None:
        at = failed_ns(episode)
        if at is None:
            self.clean += 1
            self.alarmed += bool(flagged)
            self.false += len(flagged)
            return
        late = [each for each in flagged if each.end_ns > at - BEFORE_NS]
        near = [each for each in late if each.start_ns < at + AFTER_NS]
        self.true += len(late)
        self.false += len(flagged) - len(late)
        failure = str(episode.metadata["outcome"]["failure"])
        self.found.setdefault(failure, []).append(bool(near))

    @property
    def figures(self) -> dict[str, object]:
        every = [one for each in self.found.values() for one in each]
        return {
            "failures": len(every),
            "recall": float(np.mean(every)),
            "precision": self.true / max(1, self.true + self.false),
            "clean episodes": self.clean,
            "clean episodes with an alarm": self.alarmed,
            "recall by failure": {name: float(np.mean(each)) for name, each in self.found.items()},
        }


def failed_ns(episode: Recording) -> int | None:
    """When the episode went wrong; None for a success."""
    outcome, events = episode.metadata["outcome"], episode.metadata["events"]
    if outcome["success"]:
        return None
    name = {"collision": "contact", "slip": "release"}.get(outcome["failure"], outcome["failure"])
    times = [event["time_s"] for event in events if event["name"] == name]
    # The event `fall` is the pelvis on its way through half its height: it began a second before.
    early = 1.0 if outcome["failure"] == "fall" else 0.0
    if times:
        return int((min(times) - early) * 1e9)
    label = episode.named(f"{episode.metadata['variation']['hand']}_gripper_target")
    assert label is not None
    target = episode.signals[label]
    order = np.asarray(target[:])[:, 0]
    closed = np.flatnonzero(order < order.max() - 0.5 * np.ptp(order))
    return int(target.time_ns[closed[0] if len(closed) else 0])


def successes(task: str, count: int, first: int) -> list[Recording]:
    """So many successful demonstrations without a planted fault."""
    found: list[Recording] = []
    seed = first
    while len(found) < count:
        episode = recording(task, seed=seed)
        if episode.metadata["outcome"]["success"]:
            found.append(episode)
        seed += 1
    return found


def failures(task: str, count: int) -> list[Recording]:
    """`count` demonstrations of every fault; those that succeed all the same are left out."""
    made = [
        recording(task, seed=FAULT_SEED + number, fault=fault)
        for fault in tasks()[task].faults
        for number in range(count)
    ]
    return [episode for episode in made if not episode.metadata["outcome"]["success"]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", type=int, default=30, help="good episodes of each task")
    parser.add_argument("--faults", type=int, default=5, help="episodes of each fault")
    parser.add_argument("--clean", type=int, default=20, help="other good episodes of each task")
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    if find_spec("torch") is None:
        here = [str(partner_python("train")), "-m", "bench.anomaly", *sys.argv[1:]]
        # The batches are small: threads would only wait for each other.
        alone = {**os.environ, "OMP_NUM_THREADS": "1"}
        sys.exit(subprocess.run(here, cwd=PROJECT, env=alone, check=False).returncode)
    report = measure(given.train, given.faults, given.clean)
    show(report)
    if given.out is not None:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(report, indent=1) + "\n")


def measure(train_count: int, faults: int, clean: int) -> dict[str, dict[str, object]]:
    """Figures by detector and task."""
    taught = {task: successes(task, train_count, TRAIN_SEED) for task in TASKS}
    asked = {task: successes(task, clean, CLEAN_SEED) + failures(task, faults) for task in TASKS}
    begin = time.process_time()
    network = train([episode for task in TASKS for episode in taught[task]])
    trained_s = time.process_time() - begin
    report: dict[str, dict[str, object]] = {}
    for task in TASKS:
        few = learn(taught[task][:10])
        many = learn(taught[task])
        looks: Sequence[tuple[str, Look]] = (
            ("envelope, 10 episodes", few.segments),
            (f"envelope, {train_count} episodes", many.segments),
            ("network, both tasks", network.segments),
        )
        for name, look in looks:
            tally = Tally()
            begin = time.process_time()
            for episode in asked[task]:
                tally.add(episode, look(episode))
            cost = (time.process_time() - begin) / len(asked[task])
            report[f"{task}: {name}"] = tally.figures | {"cpu_s_per_episode": cost}
    report["training"] = {"cpu_s": trained_s, "episodes": train_count * len(TASKS)}
    return report


def show(report: dict[str, dict[str, object]]) -> None:
    table = Table(title="planted failures (target: precision and recall above 85 %)")
    titles = ("detector", "failures", "recall", "precision", "clean episodes alarmed", "CPU-ms")
    for title in titles:
        table.add_column(title)
    for name, row in report.items():
        if name == "training":
            continue
        alarmed = f"{row['clean episodes with an alarm']} of {row['clean episodes']}"
        cost = f"{1e3 * float(str(row['cpu_s_per_episode'])):.0f}"
        share = [f"{float(str(row[key])):.0%}" for key in ("recall", "precision")]
        table.add_row(name, str(row["failures"]), *share, alarmed, cost)
    console = Console(width=120)
    console.print(table)
    console.print(f"training: {float(str(report['training']['cpu_s'])):.0f} CPU-s")


if __name__ == "__main__":
    main()
