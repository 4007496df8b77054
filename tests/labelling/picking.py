"""Made-up recordings of an arm that picks something up, and events as detectors find them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from corporeal.episode.recording import ArraySignal, Recording, Signal
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.proposal import PhysicalEvent
from corporeal.labelling.taxonomy import open_taxonomy
from corporeal.schema import Stream

READY = open_taxonomy("manipulation")
SECOND = 10**9
PICK = (("motion_begins", 1.0), ("contact_begins", 3.0), ("object_lifts", 4.0),
        ("contact_ends", 7.0), ("motion_ends", 9.0))  # fmt: skip


def events(*said: tuple[str, float], side: str = "right") -> tuple[PhysicalEvent, ...]:
    return tuple(PhysicalEvent(round(when * SECOND), name, side) for name, when in said)


def signal(name: str, values: np.ndarray, rate_hz: float = 100.0) -> ArraySignal:
    stamps = np.round(np.arange(len(values)) / rate_hz * SECOND).astype(np.int64)
    spec = Stream(name=name, group="debug", shape=tuple(map(int, values.shape[1:])))
    return ArraySignal(spec, stamps, values)


def head_camera(count: int = 300) -> ArraySignal:
    spec = Stream(name="head", group="observations", kind="video", shape=(2, 2, 3), rate_hz=30)
    stamps = np.round(np.arange(count) / 30 * SECOND).astype(np.int64)
    return ArraySignal(spec, stamps, np.zeros((count, 2, 2, 3), np.uint8))


def recorded(*signals: ArraySignal, camera: bool = True) -> Recording:
    own = (*signals, head_camera()) if camera else signals
    found: dict[str, Signal] = {each.spec.path: each for each in own}
    return Recording("episode", Path("episode"), 0, found)


def picking(*, pace: float = 1.0) -> Recording:
    """A made-up arm of two joints that moves, takes, lifts, lets go and comes back."""
    time_s = np.arange(0.0, 10.0, 0.01) * pace

    def moved(begin: float, stop: float) -> np.ndarray:
        part = np.clip((time_s - begin) / (stop - begin), 0.0, 1.0)
        return np.asarray(part**3 * (10 - 15 * part + 6 * part**2))

    arm = np.stack([moved(1.0, 2.8) - moved(7.2, 9.0), moved(3.5, 5.0)], axis=1)
    noise = np.random.default_rng(1).normal(0.0, 1e-4, len(time_s))
    pad = np.clip((time_s - 3.0) * 8, 0, 1) * (time_s < 7.0) + noise
    rise = np.zeros((len(time_s), 7))
    rise[:, 2] = 0.2 * moved(3.5, 5.0) * (1 - moved(5.5, 6.8))
    grip = 0.09 - 0.05 * np.clip((time_s - 2.8) * 4, 0, 1) * (time_s < 7.0)
    return recorded(
        signal("joint_position", arm), signal("right_tactile", np.tile(pad[:, None], 3)),
        signal("object_pose", rise), signal("right_gripper", grip[:, None]),
    )  # fmt: skip


def phase_labels(annotation: Annotation | None) -> list[str]:
    assert annotation is not None
    return [segment.label for segment in annotation.in_lane("phase")]
