"""Do mode labels agree with what the operator was doing? Shares of rows of simulated episodes.

What the robot was told is known: base commands, arm targets, closed hands. The table has the share
of rows at 30 Hz whose label is the same, with the pose of the base and without it.

Run: python -m bench.modes --policy WALKING.onnx      # tasks on foot need a walking policy
     python -m bench.modes --seeds 1                  # a look
"""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bench.simulated import recording
from corporeal.episode.recording import Recording
from corporeal.exchange.mode import modes

TASKS = ("stand", "reach", "pick_place", "handover", "bimanual_lift")
ON_FOOT = ("walk", "walk_carry")
# The limits were set on seeds below 100.
FIRST_SEED = 7000
_STEP_NS = 33_333_333
_PAUSE_NS = 1_000_000_000


def told(made: Recording, grid: NDArray[np.int64]) -> NDArray[np.int64]:
    """What the operator told the simulated robot to do at each time, as a mode."""
    walks = _held(made, "actions/base_velocity", grid).any(axis=1)
    target = made.signals["actions/joint_position_target"]
    arms = [place for place, name in enumerate(target.spec.components or ())
            if re.search("shoulder|elbow|wrist", name)]  # fmt: skip
    values = np.asarray(target[:], np.float64)[:, arms]
    speed = np.linalg.norm(np.gradient(values, target.time_ns / 1e9, axis=0), axis=1)
    row = np.clip(np.searchsorted(target.time_ns, grid, side="right") - 1, 0, None)
    events = {event["name"]: event["time_s"] * 1e9 for event in made.metadata["events"]}
    works = (speed[row] > 0.1) & (grid >= events["start"]) & (grid <= events["end"])
    if made.metadata["task"] in ("walk", "stand"):  # There the policy moves the arms.
        works[:] = False
    for side in ("left", "right"):
        opening = _held(made, f"actions/{side}_gripper_target", grid)[:, 0]
        works |= opening < opening[0] - 0.02
    for before, after in pairwise(np.flatnonzero(works)):
        if grid[after] - grid[before] <= _PAUSE_NS:
            works[before:after] = True
    return np.asarray(walks + 2 * works, np.int64)


def agreement(made: Recording) -> float:
    """The share of rows that have the mode that the operator was in."""
    stamps = made.signals["observations/joint_position"].time_ns
    grid = np.arange(stamps[0], stamps[-1], _STEP_NS)
    return float(np.mean(modes(made, grid) == told(made, grid)))


def without_pose(made: Recording) -> Recording:
    """The same demonstration on a robot whose place in the world nobody knows."""
    signals = {label: each for label, each in made.signals.items()
               if each.spec.name != "base_pose"}  # fmt: skip
    return replace(made, signals=signals)


def _held(made: Recording, path: str, grid: NDArray[np.int64]) -> NDArray[Any]:
    each = made.signals[path]
    row = np.clip(np.searchsorted(each.time_ns, grid, side="right") - 1, 0, None)
    return np.asarray(each[:])[row]


def main() -> None:
    """Print the table and write JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.modes", description=__doc__)
    parser.add_argument("--seeds", type=int, default=4, help="demonstrations of each task")
    parser.add_argument("--policy", type=Path, help="a walking policy (ONNX) for tasks on foot")
    parser.add_argument("--out", type=Path, default=Path("out/bench_modes.json"))
    asked = parser.parse_args()
    rows: dict[str, list[tuple[float, float]]] = {}
    for task in (*TASKS, *(ON_FOOT if asked.policy else ())):
        for seed in range(FIRST_SEED, FIRST_SEED + asked.seeds):
            policy = asked.policy if task in ON_FOOT else None
            made = recording(task, seed=seed, policy=policy)
            rows.setdefault(task, []).append((agreement(made), agreement(without_pose(made))))
    shown = Table(title="rows whose mode is the operator's")
    for head in ("task", "episodes", "with base pose", "without"):
        shown.add_column(head, justify="left" if head == "task" else "right")
    for task, shares in [*rows.items(), ("all", [each for own in rows.values() for each in own])]:
        means = np.mean(shares, axis=0)
        shown.add_row(task, str(len(shares)), f"{means[0]:.1%}", f"{means[1]:.1%}")
    Console().print(shown)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    report = {"bench": "modes", "date": datetime.now(UTC).isoformat(), "shares": rows}
    asked.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
