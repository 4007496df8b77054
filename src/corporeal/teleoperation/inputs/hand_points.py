"""Hands of 21 points from a picture: results of MediaPipe as JSON, or a plain array of points."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.array_file import ArrayFileError, npy_shape, read_npy
from corporeal.files import refuse_pointer
from corporeal.geometry import Array
from corporeal.teleoperation.hands.hand_layout import (
    ORDERS_21,
    columns_of,
    order_of,
    side_of,
)
from corporeal.teleoperation.hands.hand_rows import HandRows, hand_rows, operator_inputs
from corporeal.teleoperation.operator_input import (
    HAND_JOINTS,
    SIDES,
    WRIST,
    InputError,
    InputSource,
    OperatorInput,
    Side,
)
from corporeal.units import SECOND_NS

_MAX_BYTES = 128 << 20
# The names of one thing in MediaPipe's interfaces for Python, the web and its older solutions.
_WORLD = ("hand_world_landmarks", "handWorldLandmarks", "worldLandmarks", "world_landmarks",
          "multi_hand_world_landmarks")  # fmt: skip
_PICTURE = ("hand_landmarks", "handLandmarks", "landmarks", "multi_hand_landmarks")
_SIDES = ("handedness", "handednesses", "multi_handedness")
_NAME = ("category_name", "categoryName", "label")
_TIMES = {"timestamp_ms": 1e-3, "timestampMs": 1e-3, "time_ms": 1e-3, "timestamp_s": 1.0,
          "time_s": 1.0}  # fmt: skip
_RATES = ("fps", "rate_hz")


def accepts(path: Path) -> bool:
    """Whether a file is an array of 21 points, or has results of MediaPipe."""
    if path.suffix not in (".npy", ".json", ".jsonl"):
        return False
    refuse_pointer(path)
    if path.suffix == ".npy":
        return npy_shape(path)[1:] in ((21, 3), (21, 4))
    with path.open("rb") as file:
        head = file.read(1 << 16)
    return any(f'"{name}"'.encode() in head for name in (*_WORLD, *_PICTURE))


def read(path: Path) -> Iterator[OperatorInput]:
    """The frames, each hand relative to its wrist: where that is in the room no picture tells."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ValueError("more than 128 MiB")
        times, hands = _array(path) if path.suffix == ".npy" else _results(path)
    except (
        ArrayFileError,
        OSError,
        ValueError,
        ArithmeticError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise InputError(
            f"hands {path}, got {error}; expected 21 points of each hand in metres with their "
            "times. Export them again."
        ) from None
    yield from operator_inputs(np.round(times * SECOND_NS).astype(np.int64), None, hands)


def _array(path: Path) -> tuple[Array, dict[Side, HandRows]]:
    """An array without names: the order and the side are told by the points, or refused."""
    points = np.asarray(read_npy(path), np.float64)[..., :3]
    beside = path.with_suffix(".json")
    about = json.loads(_head_of(beside)) if beside.is_file() else {}
    rate = next((about[name] for name in _RATES if name in about), None)
    if not isinstance(rate, int | float) or not 0 < rate < 1e4:
        raise ValueError(f'no rate beside it ({beside.name} with "fps")')
    seen = np.isfinite(points).all(axis=(1, 2)) & (np.ptp(points, axis=1) > 0).any(axis=1)
    if not seen.any():
        raise ValueError("no frame with a hand")
    order = order_of(points[seen])
    joints = _placed(points, order)
    side = side_of(joints[seen])
    stated = about.get("side", side)
    if side is None and stated is None:
        raise ValueError('fingers that do not bend, so that nobody knows which hand it is ("side")')
    if side is not None and stated != side:
        raise ValueError(f"a hand that is called {stated} and bends its fingers as the {side} one")
    chosen: Side = "left" if stated == "left" else "right"
    return np.arange(len(points)) / rate, {chosen: hand_rows(joints, is_relative=True)}


def _head_of(path: Path) -> bytes:
    refuse_pointer(path)
    with path.open("rb") as file:
        return file.read(1 << 16)


def _results(path: Path) -> tuple[Array, dict[Side, HandRows]]:
    """Results of MediaPipe, one for each picture."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        document: Any = [json.loads(line) for line in text.splitlines() if line.strip()]
    else:
        document = json.loads(text)
    rate = None
    if isinstance(document, dict):
        rate = next((document[name] for name in _RATES if name in document), None)
        document = document["frames"]
    times = _times(document, rate)
    joints = {side: np.full((len(document), len(HAND_JOINTS), 3), np.nan) for side in SIDES}
    sure = {side: np.zeros((len(document), len(HAND_JOINTS))) for side in SIDES}
    for row, frame in enumerate(document):
        for side, points, confidence in _hands(frame):
            joints[side][row] = _placed(points[None], "mediapipe")[0]
            sure[side][row] = confidence
    return times, {
        side: hand_rows(joints[side], confidence=sure[side], is_relative=True)
        for side in SIDES
        if np.isfinite(joints[side]).any()
    }


def _times(frames: list[dict[str, Any]], rate: Any) -> NDArray[np.float64]:
    for name, scale in _TIMES.items():
        if frames and name in frames[0]:
            return np.array([float(frame[name]) * scale for frame in frames])
    if not isinstance(rate, int | float) or not 0 < rate < 1e4:
        raise ValueError('frames without times and no "fps"')
    return np.arange(len(frames)) / rate


def _hands(frame: dict[str, Any]) -> Iterator[tuple[Side, Array, float]]:
    """Side, points (21, 3) and score of each hand of a result."""
    landmarks = next((frame[name] for name in _WORLD if name in frame), None)
    if landmarks is None:
        if any(frame.get(name) for name in _PICTURE):
            raise ValueError("points in the picture alone, without world landmarks in metres")
        return
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


def _placed(points: Array, order: str) -> Array:
    """Joints (T, 26, 3) relative to the wrist from points (T, 21, 3) of an order."""
    joints = np.full((len(points), len(HAND_JOINTS), 3), np.nan)
    joints[:, columns_of(ORDERS_21[order])] = points
    return np.asarray(joints - joints[:, WRIST : WRIST + 1])


INPUT = InputSource(read, accepts)
