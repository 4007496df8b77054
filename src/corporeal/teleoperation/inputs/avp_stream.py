"""Recordings of avp_stream (Tracking Streamer, EgoRecord): one line of JSON for every sample."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
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
    Side,
)
from corporeal.units import SECOND_NS

_MAX_BYTES = 1 << 30
# An hour of 50 samples a second; a line has some kilobytes.
_MOST_LINES, _LONGEST_LINE = 180_000, 1 << 18
_LATEST_S = 9e9
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
        samples = list(_samples(path))
        times = np.array([sample.time_s for sample in samples])
        if not np.isfinite(times).all() or (np.abs(times) > _LATEST_S).any():
            raise ValueError("a time that is no number")
        head = _head(np.stack([sample.head for sample in samples]))
        hands = {}
        for side in SIDES:
            rows = hand_rows(_joints([sample.hands.get(side) for sample in samples]))
            require_hand(rows, side)
            hands[side] = rows
    except (
        ValueError,
        ArithmeticError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise InputError(
            f"hands {path}, got what cannot be read ({error}); expected lines with timestamp, "
            "headMatrix, leftHand and rightHand as avp_stream writes them. Record it again."
        ) from None
    yield from operator_inputs(np.round(times * SECOND_NS).astype(np.int64), head, hands)


@dataclass(frozen=True, eq=False)
class _Sample:
    """One line: a time, the head (4, 4), and of each hand that was seen its joints (4, 4)."""

    time_s: float
    head: Array
    hands: dict[Side, dict[int, Array]]


def _samples(path: Path) -> Iterator[_Sample]:
    """Line by line: as JSON a recording takes many times its size."""
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE), "")):
            if number >= _MOST_LINES or len(line) >= _LONGEST_LINE:
                raise ValueError(f"{number + 1} lines, the last of {len(line)} characters")
            if not line.strip():
                continue
            frame = json.loads(line)
            hands = {side: _matrices(hand) for side in SIDES if (hand := frame.get(f"{side}Hand"))}
            yield _Sample(float(frame["timestamp"]), _matrix(frame.get("headMatrix")), hands)


def _matrices(hand: dict[str, Any]) -> dict[int, Array]:
    """The joints that are known by name, by their columns."""
    named = ((joint_named(name), values) for name, values in hand.items())
    return {known[1]: _matrix(values) for known, values in named if known is not None}


def _head(matrices: Array) -> Array:
    """Poses (T, 7) of the head, NaN where it was not known."""
    turn = _ROOM @ matrices[:, :3, :3] @ _ROOM.T
    poses = np.concatenate([matrices[:, :3, 3] @ _ROOM.T, quaternion_from_matrix(turn)], axis=1)
    # Before its first sample the device tells the same as nothing.
    poses[(matrices == _IDENTITY).all(axis=(1, 2))] = np.nan
    return poses


def _joints(hands: list[dict[int, Array] | None]) -> Array:
    """Joints (T, 26, 3) in the room from a wrist in it and joints relative to the wrist."""
    matrices = np.full((len(hands), len(HAND_JOINTS), 4, 4), np.nan)
    for row, hand in enumerate(hands):
        for column, matrix in (hand or {}).items():
            matrices[row, column] = matrix
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
