"""Small recordings for the tests of quality."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.episode.recording import ArraySignal, Dataset, Recording
from corporeal.errors import EpisodeError
from corporeal.schema import Stream


def joints(
    robot: Embodiment | None = None,
    *,
    frames: int = 300,
    rate_hz: float = 50.0,
    seed: int = 0,
    metadata: Mapping[str, Any] | None = None,
) -> Recording:
    """A robot whose arms move smoothly and follow their targets 60 ms later, with sensor noise."""
    names = robot.joint_names if robot is not None else ("a", "b", "c", "d")
    dice = np.random.default_rng(seed)
    time_s = np.arange(frames) / rate_hz
    tones = dice.uniform(0.2, 0.8, (len(names), 3))
    phases = dice.uniform(0, 6.28, (len(names), 3))

    def motion(when: NDArray[np.float64]) -> NDArray[np.float64]:
        angle = 6.28 * when[:, None, None] * tones + phases
        return np.asarray(0.1 * np.sin(angle).sum(axis=2))

    state = motion(time_s - 0.06) + dice.normal(0, 2e-4, (frames, len(names)))
    target = motion(time_s)
    stamps = np.round(time_s * 1e9).astype(np.int64)
    made = {
        "observations/joint_position": ("joint_position", "observations", state),
        "actions/joint_position_target": ("joint_position_target", "actions", target),
    }
    signals = {}
    for label, (name, group, values) in made.items():
        spec = Stream.model_validate(
            {"name": name, "group": group, "shape": [len(names)], "components": list(names),
             "rate_hz": rate_hz, "unit": "rad", "dtype": "float64"}
        )  # fmt: skip
        signals[label] = ArraySignal(spec, stamps, values)
    said = {"task": "wave", "instruction": "wave to the person at the door", **(metadata or {})}
    return Recording(
        f"sample-{seed}", Path(f"sample_{seed}.h5"), 0, signals, embodiment=robot, metadata=said
    )


def with_values(recording: Recording, label: str, values: NDArray[Any]) -> Recording:
    """The same recording with other numbers in one array stream."""
    signal = recording.signals[label]
    assert isinstance(signal, ArraySignal)
    changed = {**recording.signals, label: replace(signal, values=values)}
    return replace(recording, signals=changed)


class SampleOpener:
    """Opens a small dataset in any process; episodes named in `nan` carry a NaN."""

    def __init__(
        self, count: int, *, nan: tuple[int, ...] = (), lost: tuple[int, ...] = ()
    ) -> None:
        self.count, self.nan, self.lost = count, nan, lost

    def __call__(self) -> Dataset:
        return Dataset(Path("samples"), "samples", tuple(range(self.count)), self.open)

    def open(self, number: int) -> Recording:
        if number in self.lost:
            raise EpisodeError(f"sample_{number}.h5: breaks off.")
        recording = replace(joints(seed=number), index=number)
        if number in self.nan:
            label = "observations/joint_position"
            values = np.array(recording.signals[label][:])
            values[20:23, 1] = np.nan
            recording = with_values(recording, label, values)
        return recording
