"""An object that leaves its place and comes back to rest, where something tracks it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from corporeal.episode.recording import Recording
from corporeal.labelling.event import EventDetector, PhysicalEvent, run_events, track
from corporeal.schema import roles
from corporeal.signal.runs import runs


def find(
    recording: Recording, *, height_m: float = 0.02, least_s: float = 0.3
) -> Iterator[PhysicalEvent]:
    """The moments at which the object is lifted by `height_m`, and is put down again.

    Why: lifting is what the object does; the hand may rise without it.
    """
    pose = track(recording, roles.OBJECT_POSE)
    if pose is None or pose.values.shape[1] < 3:
        return
    height = pose.smooth(0.02).values[:, 2]
    ground = float(np.median(height[: max(3, round(0.5 / pose.period_s))]))
    up = height - ground
    for run in runs(up > height_m, least=max(2, round(least_s / pose.period_s))):
        yield from run_events(
            ("object_lifts", "object_lands"), pose, up, height_m, run, confidence=1.0,
            uncertainty_s=pose.period_s,
        )  # fmt: skip


DETECTOR = EventDetector(find, names=("object_lifts", "object_lands"))
