"""Hands of 21 points from a picture: results of MediaPipe as JSON, or a plain array of points."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

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
from corporeal.teleoperation.hands.mediapipe_results import (
    PICTURE,
    RATES,
    WORLD,
    hands_of,
    read_results,
)
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


def accepts(path: Path) -> bool:
    """Whether a file is an array of 21 points, or has results of MediaPipe."""
    if path.suffix not in (".npy", ".json", ".jsonl"):
        return False
    refuse_pointer(path)
    if path.suffix == ".npy":
        return npy_shape(path)[1:] in ((21, 3), (21, 4))
    with path.open("rb") as file:
        head = file.read(1 << 16)
    return any(f'"{name}"'.encode() in head for name in (*WORLD, *PICTURE))


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
    rate = next((about[name] for name in RATES if name in about), None)
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
    times, frames = read_results(path)
    joints = {side: np.full((len(frames), len(HAND_JOINTS), 3), np.nan) for side in SIDES}
    sure = {side: np.zeros((len(frames), len(HAND_JOINTS))) for side in SIDES}
    for row, frame in enumerate(frames):
        hands = hands_of(frame, WORLD)
        if hands is None and any(frame.get(name) for name in PICTURE):
            raise ValueError("points in the picture alone, without world landmarks in metres")
        for side, points, confidence in hands or ():
            joints[side][row] = _placed(points[None], "mediapipe")[0]
            sure[side][row] = confidence
    return times, {
        side: hand_rows(joints[side], confidence=sure[side], is_relative=True)
        for side in SIDES
        if np.isfinite(joints[side]).any()
    }


def _placed(points: Array, order: str) -> Array:
    """Joints (T, 26, 3) relative to the wrist from points (T, 21, 3) of an order."""
    joints = np.full((len(points), len(HAND_JOINTS), 3), np.nan)
    joints[:, columns_of(ORDERS_21[order])] = points
    return np.asarray(joints - joints[:, WRIST : WRIST + 1])


INPUT = InputSource(read, accepts)
