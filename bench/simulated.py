"""Simulated demonstrations as recordings in memory: what the detection benchmarks are fed with."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.embodiment import Embodiment, open_robot
from corporeal.episode.recording import ArraySignal, Recording, Signal
from corporeal.schema import Stream, open_schema
from corporeal.simulation.demonstration import simulate
from corporeal.simulation.rig import SENSORS
from corporeal.simulation.sensing import sense

# Slow to sense, and no score looks at it.
_LEFT_OUT = ("observations/lidar",)


def recording(
    task: str,
    *,
    seed: int,
    style: str | None = None,
    fault: str | None = None,
    policy: Path | None = None,
) -> Recording:
    """One demonstration, sensed with noise, without pictures; stamps as the host would know them.

    `metadata` has the outcome, the events and the variation with the skill of the style, as the
    simulated driver gives them.
    """
    run = simulate(task, seed=seed, style=style, fault=fault, policy=policy)
    sensors = {name: each for name, each in SENSORS.items() if each.path not in _LEFT_OUT}
    stamps: dict[str, list[int]] = {}
    values: dict[str, list[Any]] = {}
    for sample in sense(run, seed=seed, pictures=False, sensors=sensors):
        stamps.setdefault(sample.path, []).append(sample.true_ns)
        values.setdefault(sample.path, []).append(sample.value)
    signals: dict[str, Signal] = {}
    for path, spec in _streams().items():
        if path in stamps and spec.kind == "array":
            signals[path] = ArraySignal(spec, np.array(stamps[path]), np.stack(values[path]))
    metadata = {
        "task": task,
        "instruction": run.instruction,
        "outcome": asdict(run.outcome),
        "events": [asdict(event) for event in run.events],
        "variation": run.variation,
    }
    name = "-".join(map(str, (task, seed, style or "any", fault or "none")))
    return Recording(name, Path(name), seed, signals, embodiment=_robot(), metadata=metadata)


@cache
def _robot() -> Embodiment:
    return open_robot("g1")


@cache
def _streams() -> dict[str, Stream]:
    schema = _robot().resolve(open_schema("simulated_humanoid"))
    return {stream.path: stream for stream in schema.streams}
