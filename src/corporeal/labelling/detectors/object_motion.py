"""An object that leaves its place and comes back to rest, where something tracks it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from corporeal.episode.recording import Recording
from corporeal.labelling.event import EventDetector, PhysicalEvent, at_ns, track
from corporeal.schema import roles
from corporeal.signal.runs import crossing_s, runs


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
    for first, stop in runs(up > height_m, least=max(2, round(least_s / pose.period_s))):
        for name, place in (("object_lifts", first), ("object_lands", stop)):
            if 0 < place < len(up):
                yield PhysicalEvent(
                    at_ns(crossing_s(pose.seconds, up, place, height_m)), name, "", pose.label,
                    1.0, at_ns(pose.period_s),
                )  # fmt: skip


DETECTOR = EventDetector(find, names=("object_lifts", "object_lands"))
