"""Small demonstrations with arms, a gripper, an object and a base, for tests of sets and rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import open_robot
from corporeal.episode.recording import ArraySignal, Recording
from corporeal.quality import Subject
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.synopsis import synopsis
from corporeal.schema import Stream

Array = NDArray[np.float64]

STATE = "observations/joint_position"
ACTION = "actions/joint_position_target"
GRIPPER = "observations/left_gripper"
OBJECT = "debug/object_pose"
BASE = "debug/base_pose"
ARMS = tuple(
    f"{side}_{joint}_joint"
    for side in ("left", "right")
    for joint in ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow")
)
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
RATE_HZ = 50.0


def demonstration(
    seed: int = 0,
    *,
    index: int | None = None,
    task: str = "pick_place",
    before_s: float = 1.2,
    motion_s: float = 6.0,
    after_s: float = 2.2,
    reach_rad: float = 0.8,
    metadata: Mapping[str, Any] | None = None,
) -> Recording:
    """The left arm goes out, the gripper closes, the object is lifted, moved and put down."""
    dice = np.random.default_rng(seed)
    count = round((before_s + motion_s + after_s) * RATE_HZ)
    time_s = np.arange(count) / RATE_HZ
    phase = np.clip((time_s - before_s) / motion_s, 0, 1)
    reach = np.where(np.arange(len(ARMS)) < 4, reach_rad, 0.02) * dice.uniform(0.7, 1.3, len(ARMS))
    wiggle = dice.uniform(0.5, 1.5, (3, len(ARMS)))
    course = sum(
        np.sin(np.pi * (number + 1) * _smooth(phase))[:, None] * wiggle[number] / (number + 1)
        for number in range(3)
    )
    target = reach * np.asarray(course)
    late = np.roll(target, 2, axis=0)
    state = late + dice.normal(0, 3e-4, late.shape)
    held = (phase > 0.3) & (phase < 0.8)
    lift = 0.18 * _smooth(np.clip(np.minimum(phase - 0.35, 0.75 - phase) / 0.15, 0, 1))
    pose = np.zeros((count, 7))
    pose[:, 0] = 0.35 + 0.10 * _smooth(np.clip((phase - 0.45) / 0.2, 0, 1))
    pose[:, 2], pose[:, 3] = 0.75 + lift, 1.0
    base = np.zeros((count, 7))
    base[:, 2], base[:, 3] = 0.76, 1.0
    opening = np.where(held, 0.03, 0.08)[:, None]
    stamps = np.round(time_s * 1e9).astype(np.int64)
    signals = {
        STATE: signal("joint_position", "observations", ARMS, "rad", stamps, state),
        ACTION: signal("joint_position_target", "actions", ARMS, "rad", stamps, target),
        GRIPPER: signal("left_gripper", "observations", ("opening",), "m", stamps, opening),
        OBJECT: signal("object_pose", "debug", POSE, "m", stamps, pose),
        BASE: signal("base_pose", "debug", POSE, "m", stamps, base),
    }
    said = {
        "task": task,
        "instruction": "put the red cup on the shelf",
        "outcome": {"success": True, "failure": None},
        **(metadata or {}),
    }
    number = seed if index is None else index
    return Recording(
        f"demo-{seed}",
        Path(f"demo_{seed}.h5"),
        number,
        signals,
        embodiment=open_robot("g1"),
        metadata=said,
    )


def signal(
    name: str,
    group: str,
    columns: tuple[str, ...],
    unit: str,
    stamps: NDArray[np.int64],
    values: Array,
) -> ArraySignal:
    """An array stream at RATE_HZ."""
    spec = Stream.model_validate(
        {"name": name, "group": group, "shape": [len(columns)], "components": list(columns),
         "rate_hz": RATE_HZ, "unit": unit, "dtype": "float64"}
    )  # fmt: skip
    return ArraySignal(spec, stamps, values)


def edited(recording: Recording, label: str, values: Array) -> Recording:
    """The same recording with other numbers in one stream."""
    was = recording.signals[label]
    assert isinstance(was, ArraySignal)
    changed = replace(was, values=values)
    return replace(recording, signals={**recording.signals, label: changed})


def told(recording: Recording, **metadata: Any) -> Recording:
    """The same recording with other metadata."""
    return replace(recording, metadata={**recording.metadata, **metadata})


def without(recording: Recording, *labels: str) -> Recording:
    """The same recording with streams taken away."""
    kept = {label: each for label, each in recording.signals.items() if label not in labels}
    return replace(recording, signals=kept)


def rows(recording: Recording, chosen: NDArray[np.int64]) -> Recording:
    """The same recording with only these rows of every stream, in this order, evenly stamped."""
    signals = {}
    for label, each in recording.signals.items():
        stamps = np.round(np.arange(len(chosen)) / RATE_HZ * 1e9).astype(np.int64)
        signals[label] = ArraySignal(each.spec, stamps, np.asarray(each[:])[chosen])
    return replace(recording, signals=signals)


def with_pause(recording: Recording, at: int, seconds: float) -> Recording:
    """The same recording with row `at` held for so long."""
    count = len(recording.signals[STATE])
    pause = np.full(round(seconds * RATE_HZ), at)
    return rows(recording, np.concatenate((np.arange(at), pause, np.arange(at, count))))


def batch_of(*recordings: Recording, **facts: Any) -> Batch:
    """The recordings as a batch."""
    return Batch(tuple(brief(each) for each in recordings), **facts)


def brief(recording: Recording) -> Synopsis:
    """The synopsis of a recording."""
    return synopsis(Subject(recording), pictures=False)


def _smooth(share: Array) -> Array:
    return share**3 * (10 - 15 * share + 6 * share**2)
