"""The body that walks, stops or falls: from the pose of its base, else from feet and pelvis."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from corporeal.episode.recording import Recording
from corporeal.labelling.detectors import foot_contact
from corporeal.labelling.event import EventDetector, PhysicalEvent, at_ns, run_events, track
from corporeal.schema import roles
from corporeal.signal.runs import crossing_s, runs
from corporeal.signal.track import Track
from corporeal.units import SECOND_NS


def find(
    recording: Recording,
    *,
    speed_m_s: float = 0.08,
    fallen_share: float = 0.65,
    fallen_deg: float = 60.0,
    least_s: float = 0.3,
    step_s: float = 1.5,
) -> Iterator[PhysicalEvent]:
    """Walking begins and ends, and the moment at which the base is too low to stand.

    Why: locomotion and manipulation are different phases, and a fall ends both.
    """
    pose = track(recording, roles.BASE_POSE)
    if pose is not None and pose.values.shape[1] >= 3:
        yield from _walks(pose, speed_m_s, least_s)
        yield from _sinks(pose, fallen_share, least_s)
        return
    yield from _steps(recording, step_s)
    pelvis = track(recording, "pelvis_imu", "base_imu", "imu")
    if pelvis is not None and pelvis.values.shape[1] >= 3:
        yield from _tips(pelvis, fallen_deg, least_s)


def _walks(pose: Track, speed_m_s: float, least_s: float) -> Iterator[PhysicalEvent]:
    least = max(2, round(least_s / pose.period_s))
    speed = pose.select((0, 1)).speed(0.05)
    for run in runs(speed > speed_m_s, least=2 * least, gap=2 * least):
        yield from run_events(
            ("base_moves", "base_stops"), pose, speed, speed_m_s, run, confidence=0.85,
            uncertainty_s=3 * pose.period_s,
        )  # fmt: skip


def _sinks(pose: Track, share: float, least_s: float) -> Iterator[PhysicalEvent]:
    height = pose.values[:, 2]
    low = share * float(np.median(height[: max(3, round(0.5 / pose.period_s))]))
    for first, _ in runs(height < low, least=max(2, round(least_s / pose.period_s)))[:1]:
        if first:
            yield PhysicalEvent(
                at_ns(crossing_s(pose.seconds, height, first, low)), "base_falls", "", pose.label,
                1.0, at_ns(pose.period_s),
            )  # fmt: skip


def _tips(pelvis: Track, degrees: float, least_s: float) -> Iterator[PhysicalEvent]:
    """Gravity that comes from the side: the height is not known, so the moment is a guess."""
    pull = pelvis.smooth(0.05).values[:, :3]
    upright = np.median(pull[: max(3, round(0.5 / pelvis.period_s))], axis=0)
    size = np.linalg.norm(pull, axis=1) * float(np.linalg.norm(upright))
    tilt = np.degrees(np.arccos(np.clip(pull @ upright / np.maximum(size, 1e-9), -1.0, 1.0)))
    for first, _ in runs(tilt > degrees, least=max(2, round(least_s / pelvis.period_s)))[:1]:
        if first:
            yield PhysicalEvent(
                at_ns(crossing_s(pelvis.seconds, tilt, first, degrees)), "base_falls", "",
                pelvis.label, 0.7, SECOND_NS // 10,
            )  # fmt: skip


def _steps(recording: Recording, step_s: float) -> Iterator[PhysicalEvent]:
    """From the first foot that leaves the ground to the last that comes down, step upon step."""
    feet = sorted(foot_contact.find(recording), key=lambda event: event.time_ns)
    walk: list[PhysicalEvent] = []
    for event in [*feet, None]:
        if event is not None and walk and event.time_ns - walk[-1].time_ns <= step_s * SECOND_NS:
            walk.append(event)
            continue
        if sum(each.name == "foot_leaves" for each in walk) > 1:
            for name, edge in (("base_moves", walk[0]), ("base_stops", walk[-1])):
                yield PhysicalEvent(edge.time_ns, name, "", edge.stream, 0.6, SECOND_NS // 10)
        walk = [] if event is None else [event]


DETECTOR = EventDetector(find, names=("base_moves", "base_stops", "base_falls"))
