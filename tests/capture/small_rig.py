"""A small rig made on the spot: two signals, a tiny camera, words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from corporeal.capture.driver import Loss, Mark, Sample
from corporeal.schema import Part

SECOND_NS = 1_000_000_000
BEGIN_NS = 1_700_000_000 * SECOND_NS
ARM, SLOW, CAMERA, WORDS = (
    "observations/arm", "observations/slow", "observations/camera", "observations/words"
)  # fmt: skip
STREAMS: list[dict[str, Any]] = [
    {"name": "arm", "group": "observations", "shape": [3], "rate_hz": 100, "unit": "rad"},
    {"name": "slow", "group": "observations", "shape": [2], "rate_hz": 5},
    {"name": "camera", "group": "observations", "kind": "video", "shape": [16, 32, 3],
     "rate_hz": 20},
    {"name": "words", "group": "observations", "kind": "text"},
]  # fmt: skip

Items = Iterator[Sample | Mark | Loss]


class Options(Part):
    """A driver of a test needs none."""


def samples(seconds: float, *, begin_s: float = 0.0) -> list[Sample]:
    """What the small rig delivers in good order; the arm holds its sample's number."""
    made: list[Sample] = []
    for path, rate_hz in ((ARM, 100), (SLOW, 5), (CAMERA, 20)):
        for number in range(round(begin_s * rate_hz), round((begin_s + seconds) * rate_hz)):
            stamp = BEGIN_NS + round(number / rate_hz * SECOND_NS)
            made.append(Sample(path, stamp, stamp + 1_000_000, value_of(path, number)))
    return sorted(made, key=lambda sample: sample.arrival_ns)


def value_of(path: str, number: int) -> Any:
    """The sample that `samples` gives this number."""
    if path == CAMERA:
        return np.full((16, 32, 3), 40 + 5 * (number % 40), np.uint8)
    return np.full(3 if path == ARM else 2, number, np.float32)


def mark(what: Literal["start", "end"], at_s: float, **facts: Any) -> Mark:
    """A mark `at_s` after the beginning."""
    return Mark(what, BEGIN_NS + round(at_s * SECOND_NS), facts)


def in_order(*items: Sample | Mark) -> list[Sample | Mark]:
    """By arrival; a mark before the sample of the same moment."""
    return sorted(items, key=lambda item: (item.arrival_ns, isinstance(item, Sample)))
