"""Small clips as files: keypoints by name in JSON, which every test can spoil in its own way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tests.retargeting.people import walking_person

from corporeal.geometry import Array
from corporeal.retargeting.motion import POINTS

RATE_HZ = 30.0


def walk(frames: int = 24) -> Array:
    """Points (T, P, 3) of somebody who walks along x."""
    return walking_person(frames, RATE_HZ).positions.copy()


def spot(name: str) -> int:
    """Where a point is among POINTS."""
    return POINTS.index(name)


def write_clip(path: Path, points: Array, names: Sequence[str] = POINTS) -> Path:
    """A JSON file of keypoints; NaN becomes null, as trackers write what they did not see."""
    values = points.astype(object)
    values[~np.isfinite(points)] = None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"names": list(names), "fps": RATE_HZ, "frames": values.tolist()}))
    return path
