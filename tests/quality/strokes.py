"""Motions made of clean strokes, at any rate and length, for the tests of scores and detectors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment, open_robot
from corporeal.episode.recording import ArraySignal, Recording, Signal
from corporeal.schema import Stream

Array = NDArray[np.float64]

STROKE_S, PAUSE_S, STILL_S = 1.6, 0.6, 1.0
STROKES = 4


def spec(
    name: str, columns: tuple[str, ...], *, unit: str = "rad", group: str = "observations"
) -> Stream:
    """A stream of numbers."""
    return Stream.model_validate(
        {"name": name, "group": group, "shape": [len(columns)], "components": list(columns),
         "unit": unit, "dtype": "float64"}
    )  # fmt: skip


def way(
    time_s: Array,
    *,
    pace: float = 1.0,
    rounds: int = 1,
    pause_s: float = PAUSE_S,
    overshoot: float = 0.0,
    shake: float = 0.0,
    still_s: float = STILL_S,
) -> Array:
    """How far along its range a joint is (T,): out and back by minimum-jerk strokes, with stops."""
    when = (time_s - still_s) * pace
    length = STROKE_S + pause_s
    value = np.zeros(len(time_s))
    for number in range(STROKES * rounds):
        share = np.clip((when - number * length) / STROKE_S, 0, 1)
        step = share**3 * (10 - 15 * share + 6 * share**2)
        # Out past the goal and back, in the last third of the stroke.
        bump = overshoot * np.sin(np.pi * np.clip((share - 0.55) / 0.45, 0, 1)) ** 2
        value += (1.0 if number % 2 == 0 else -1.0) * (step + bump)
    return value + shake * np.sin(2 * np.pi * 6.5 * time_s)


def strokes(
    *,
    rate_hz: float = 100.0,
    robot: Embodiment | None = None,
    task: str = "strokes",
    index: int = 0,
    unit: str = "rad",
    reach: float = 0.8,
    still_s: float = STILL_S,
    extra: dict[str, Signal] | None = None,
    **motion: Any,
) -> Recording:
    """A recording of two joints going out and back; with a robot, an arm of it."""
    pace = float(motion.get("pace", 1.0))
    rounds = int(motion.get("rounds", 1))
    pause = float(motion.get("pause_s", PAUSE_S))
    seconds = STROKES * rounds * (STROKE_S + pause) / pace + 2 * still_s
    time_s = np.arange(round(seconds * rate_hz)) / rate_hz
    share = way(time_s, still_s=still_s, **motion)
    moved = ("right_shoulder_pitch_joint", "right_elbow_joint")
    names = robot.joint_names if robot is not None else ("a", "b", "c")
    values = np.zeros((len(time_s), len(names)))
    for number, name in enumerate(moved if robot is not None else names[:2]):
        values[:, names.index(name)] = reach * (1.0 + 0.3 * number) * share
    stamps = np.round(time_s * 1e9).astype(np.int64)
    role = "joint_position" if robot is not None else "state"
    signals: dict[str, Signal] = {
        "state": ArraySignal(spec(role, names, unit=unit), stamps, values)
    }
    name = f"{task}-{index}"
    return Recording(
        name, Path(name), index, signals | (extra or {}), embodiment=robot, metadata={"task": task}
    )


def episode(
    seed: int, *, knock_s: float | None = None, slip_s: float | None = None, task: str = "strokes"
) -> Recording:
    """An arm that goes out, holds something from 2.5 s to 7 s, and comes back."""
    dice = np.random.default_rng(seed)
    plain = strokes(robot=open_robot("g1"), reach=0.8 + dice.uniform(-0.03, 0.03), task=task)
    stamps = plain.signals["state"].time_ns
    time_s = stamps / 1e9
    close = 2.5 + dice.uniform(-0.1, 0.1)
    told = np.where((time_s > close) & (time_s < 7), 0.02, 0.09)
    held = (time_s > close + 0.1) & (time_s < (slip_s or 7.0))
    opening = np.where(held, np.maximum(told, 0.05), told) + dice.normal(0, 2e-4, len(told))
    pressure = np.where(held, 100.0, 0.0)[:, None] + dice.normal(2.0, 0.1, (len(told), 4))
    force = dice.normal(0, 0.2, (len(told), 6))
    force[:, 2] += 5.0 + 3.0 * held
    if knock_s is not None:
        force[:, 0] += 60.0 * np.exp(-(((time_s - knock_s) / 0.05) ** 2))
    wrench = spec("right_wrist_wrench", ("fx", "fy", "fz", "tx", "ty", "tz"), unit="N")
    asked = spec("right_gripper_target", ("opening",), unit="m", group="actions")
    signals = {
        "gripper": ArraySignal(
            spec("right_gripper", ("opening",), unit="m"), stamps, opening[:, None]
        ),
        "told": ArraySignal(asked, stamps, told[:, None]),
        "skin": ArraySignal(spec("right_tactile", tuple("abcd")), stamps, pressure),
        "wrench": ArraySignal(wrench, stamps, force),
    }
    return replace(plain, signals={**plain.signals, **signals}, index=seed)
