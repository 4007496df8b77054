"""An episode of a person's hands, as the recorder keeps them: joints in the frame of the head."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corporeal.episode import Episode
from corporeal.errors import CorporealError
from corporeal.geometry import Array, matrix_from_quaternion
from corporeal.teleoperation.hands.hand_rows import HandRows, operator_inputs
from corporeal.teleoperation.operator_input import (
    HAND_JOINTS,
    SIDES,
    WRIST,
    InputError,
    InputSource,
    OperatorInput,
    Side,
)

_HEAD = "debug/head_pose"


def accepts(path: Path) -> bool:
    """Whether it is an episode with hands in it."""
    if path.suffix != ".h5" or not path.is_file():
        return False
    try:
        with Episode.open(path) as episode:
            return any(_path(side) in episode for side in SIDES)
    except CorporealError:
        return False


def read(path: Path) -> Iterator[OperatorInput]:
    """The samples at the instants at which a head was told; raises InputError without one."""
    with Episode.open(path) as episode:
        if _HEAD not in episode or len(episode[_HEAD]) < 2:
            raise InputError(
                f"episode {path}, got hands without {_HEAD}; expected where the head was, since "
                "they are in its frame. Record the head beside them."
            )
        times = np.asarray(episode[_HEAD].time_ns)
        head = np.asarray(episode[_HEAD][:], np.float64)
        hands: dict[Side, HandRows] = {}
        for side in SIDES:
            if _path(side) in episode:
                hands[side] = _rows(episode, side, times, head)
    yield from operator_inputs(times, head, hands)


def _path(side: Side) -> str:
    return f"observations/{side}_hand_joints"


def _rows(episode: Episode, side: Side, times: NDArray[np.int64], head: Array) -> HandRows:
    reader = episode[_path(side)]
    rows = np.searchsorted(times, reader.time_ns)
    rows = np.minimum(rows, len(times) - 1)
    kept = times[rows] == reader.time_ns
    joints = np.full((len(times), len(HAND_JOINTS), 3), np.nan)
    turn = matrix_from_quaternion(head[rows[kept], 3:])
    local = np.asarray(reader[:], np.float64)[kept]
    joints[rows[kept]] = np.einsum("tij,tkj->tki", turn, local) + head[rows[kept], None, :3]
    sure = None
    name = f"observations/{side}_hand_confidence"
    if name in episode and len(episode[name]) == len(reader):
        sure = np.zeros(joints.shape[:2])
        sure[rows[kept]] = np.asarray(episode[name][:], np.float64)[kept]
    return HandRows(joints, np.isfinite(joints[:, WRIST]).all(axis=1), sure)


INPUT = InputSource(read, accepts)
