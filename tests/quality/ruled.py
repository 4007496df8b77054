"""Demonstrations under a protocol, for the tests of its rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.quality.demonstrations import RATE_HZ, demonstration, told

from corporeal.episode.recording import Recording
from corporeal.protocol import Protocol, open_protocol
from corporeal.quality import Subject
from corporeal.quality.batch import Batch
from corporeal.quality.check import Finding, checks

MARKS = [
    {"what": "start", "time_ns": 1_200_000_000},
    {"what": "end", "time_ns": 7_200_000_000},
]
ROLL = {"pre_s": 1.2, "post_s": 2.1, "short": []}


def marked(recording: Recording | None = None, **metadata: Any) -> Recording:
    """A demonstration with the marks and rolls that a recorder writes."""
    good = demonstration() if recording is None else recording
    return told(good, **{"marks": MARKS, "roll": ROLL, **metadata})


def judge(name: str, recording: Recording, **rules: Any) -> Iterator[Finding]:
    """What a check says under the pick-and-place protocol, some of its rules changed."""
    protocol = open_protocol("pick_place").model_copy(update=rules)
    return checks()[name].find(Subject(recording, protocol))


def judge_batch(name: str, batch: Batch, protocol: Protocol | None = None) -> Iterator[Finding]:
    """What a check says of a batch under the pick-and-place protocol."""
    return checks()[name].find(
        Batch(batch.episodes, protocol=protocol or open_protocol("pick_place"))
    )


def ramp(count: int, *, first: int, per_s: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Zero up to `first`, then growing at this rate."""
    return np.maximum(0.0, np.arange(count) - first) / RATE_HZ * per_s
