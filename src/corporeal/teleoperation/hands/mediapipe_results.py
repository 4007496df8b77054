"""Results of MediaPipe's hand tracking, whichever of its interfaces wrote them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from corporeal.files import refuse_pointer
from corporeal.geometry import Array
from corporeal.teleoperation.operator_input import SIDES, Side

WORLD: Final = ("hand_world_landmarks", "handWorldLandmarks", "worldLandmarks", "world_landmarks",
                "multi_hand_world_landmarks")  # fmt: skip
"""Points in metres about the middle of the hand."""
PICTURE: Final = ("hand_landmarks", "handLandmarks", "landmarks", "multi_hand_landmarks")
"""Points as shares of the picture's width and height."""
_MAX_BYTES = 128 << 20
_SIDES = ("handedness", "handednesses", "multi_handedness")
_NAME = ("category_name", "categoryName", "label")
_TIMES = {"timestamp_ms": 1e-3, "timestampMs": 1e-3, "time_ms": 1e-3, "timestamp_s": 1.0,
          "time_s": 1.0}  # fmt: skip
RATES: Final = ("fps", "rate_hz")


def read_results(path: Path) -> tuple[Array, list[dict[str, Any]]]:
    """Times in s (T,) and results; raises ValueError and its like for what are none."""
    refuse_pointer(path)
    if path.stat().st_size > _MAX_BYTES:
        raise ValueError("more than 128 MiB")
    text = path.read_text(encoding="utf-8")
    rate = None
    if path.suffix == ".jsonl":
        document: Any = [json.loads(line) for line in text.splitlines() if line.strip()]
    else:
        document = json.loads(text)
    if isinstance(document, dict):
        rate = next((document[name] for name in RATES if name in document), None)
        document = document["frames"]
    for name, scale in _TIMES.items():
        if document and name in document[0]:
            return np.array([float(frame[name]) * scale for frame in document]), document
    if not isinstance(rate, int | float) or not 0 < rate < 1e4:
        raise ValueError('frames without times and no "fps"')
    return np.arange(len(document)) / rate, document


def hands_of(
    frame: dict[str, Any], names: tuple[str, ...]
) -> Iterator[tuple[Side, Array, float]] | None:
    """Side, points (21, 3) and score of each hand of a result; None where it has no such points."""
    landmarks = next((frame[name] for name in names if name in frame), None)
    return None if landmarks is None else _named(frame, landmarks)


def _named(frame: dict[str, Any], landmarks: list[Any]) -> Iterator[tuple[Side, Array, float]]:
    named: list[Any] = next((frame[name] for name in _SIDES if name in frame), [])
    if len(named) < len(landmarks):
        raise ValueError(f"{len(landmarks)} hands of which {len(named)} say which one they are")
    for points, who in zip(landmarks, named, strict=False):
        best = who[0] if isinstance(who, list) else who
        best = best.get("classification", [best])[0]
        name = str(next((best[key] for key in _NAME if key in best), "")).lower()
        if name not in SIDES:
            raise ValueError(f"a hand that is called {name!r}")
        listed = points["landmark"] if isinstance(points, dict) else points
        rows = np.array([[float(point[axis]) for axis in "xyz"] for point in listed])
        if rows.shape != (21, 3):
            raise ValueError(f"a hand of {len(rows)} points")
        yield ("left" if name == "left" else "right"), rows, float(best.get("score", 1.0))
