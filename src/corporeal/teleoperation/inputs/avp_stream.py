"""Recordings of avp_stream (Tracking Streamer, EgoRecord): one line of JSON for every sample."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.files import refuse_pointer
from corporeal.geometry import Array, quaternion_from_matrix
from corporeal.teleoperation.hands.hand_layout import joint_named
from corporeal.teleoperation.hands.hand_rows import hand_rows, operator_inputs, require_hand
from corporeal.teleoperation.operator_input import (
    HAND_JOINTS,
    SIDES,
    WRIST,
    InputError,
    InputSource,
    OperatorInput,
)
from corporeal.units import SECOND_NS

_MAX_BYTES = 1 << 30
_MOST_LINES = 500_000
# y up, z backwards, to x ahead and z up; the same of a pose that looks along its own -z.
_ROOM = np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
# Hands and head that stay at the origin were not there yet.
_IDENTITY = np.eye(4)


def accepts(path: Path) -> bool:
    """Whether its first line is a sample of a head and hands."""
    if path.suffix not in (".jsonl", ".json"):
        return False
    refuse_pointer(path)
    with path.open("rb") as file:
        return b'"headMatrix"' in file.read(1 << 16)


def read(path: Path) -> Iterator[OperatorInput]:
    """The samples; raises InputError for a file that holds none."""
    if path.stat().st_size > _MAX_BYTES:
        raise InputError(f"hands {path}, got more than 1 GiB; expected a shorter one. Cut it.")
    try:
        with path.open(encoding="utf-8") as file:
            frames = [json.loads(line) for line in file if line.strip()]
        if len(frames) > _MOST_LINES:
            raise ValueError(f"{len(frames)} lines")
        times = np.array([float(frame["timestamp"]) for frame in frames])
        if not np.isfinite(times).all():
            raise ValueError("a time that is no number")
        head = _head(frames)
        hands = {}
        for side in SIDES:
            rows = hand_rows(_joints([frame.get(f"{side}Hand") for frame in frames]))
            require_hand(rows, side)
            hands[side] = rows
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"hands {path}, got what cannot be read ({error}); expected lines with timestamp, "
            "headMatrix, leftHand and rightHand as avp_stream writes them. Record it again."
        ) from None
    yield from operator_inputs(np.round(times * SECOND_NS).astype(np.int64), head, hands)


def _head(frames: list[Any]) -> Array:
    """Poses (T, 7) of the head, NaN where it was not known."""
    matrices = np.stack([_matrix(frame.get("headMatrix")) for frame in frames])
    turn = _ROOM @ matrices[:, :3, :3] @ _ROOM.T
    poses = np.concatenate([matrices[:, :3, 3] @ _ROOM.T, quaternion_from_matrix(turn)], axis=1)
    # Before its first sample the device tells the same as nothing.
    poses[(matrices == _IDENTITY).all(axis=(1, 2))] = np.nan
    return poses


def _joints(hands: list[Any]) -> Array:
    """Joints (T, 26, 3) in the room from a wrist in it and joints relative to the wrist."""
    columns: dict[str, int] = {}
    for hand in hands:
        for name in hand or {}:
            known = joint_named(name)
            if name not in columns and known is not None:
                columns[name] = known[1]
    matrices = np.full((len(hands), len(HAND_JOINTS), 4, 4), np.nan)
    for row, hand in enumerate(hands):
        for name, column in columns.items() if hand else ():
            matrices[row, column] = _matrix(hand.get(name))
    wrists = matrices[:, WRIST]
    wrists[(wrists == _IDENTITY).all(axis=(1, 2))] = np.nan
    joints = np.einsum("tij,tkj->tki", wrists[:, :3, :3], matrices[..., :3, 3])
    joints += wrists[:, None, :3, 3]
    joints[:, WRIST] = wrists[:, :3, 3]
    return np.asarray(joints @ _ROOM.T)


def _matrix(values: Any) -> Array:
    """A matrix (4, 4) from its columns one after the other; NaN where there is none."""
    if values is None:
        return np.full((4, 4), np.nan)
    numbers = np.array(values, np.float64)
    if numbers.shape != (16,) or not np.isfinite(numbers).all():
        raise ValueError(f"{np.size(numbers)} values where 16 numbers are due")
    return numbers.reshape(4, 4).T


INPUT = InputSource(read, accepts)
