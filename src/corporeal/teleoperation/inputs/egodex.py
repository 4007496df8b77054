"""EgoDex: hands and camera of a Vision Pro in HDF5, a matrix for every joint of every frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import h5py
import numpy as np

from corporeal.errors import EpisodeError
from corporeal.files import refuse_pointer
from corporeal.geometry import Array, quaternion_from_matrix
from corporeal.hdf5_file import members, open_hdf5
from corporeal.teleoperation.hands.hand_layout import joint_named
from corporeal.teleoperation.hands.hand_rows import (
    HandRows,
    hand_rows,
    operator_inputs,
    require_hand,
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

RATE_HZ = 30.0
# Nearly three hours.
_MAX_FRAMES = 1 << 18
# y up, z backwards, to x ahead and z up.
_ROOM = np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
# Columns ahead, left and up of a head, in a camera's axes: z ahead and y down, or z back and y up.
_OPTICAL = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
_GRAPHICS = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]])
# Hands are before their camera in so many frames.
_MOSTLY = 0.8


def accepts(path: Path) -> bool:
    """Whether a file has transforms of a camera and of hands."""
    if path.suffix not in (".hdf5", ".h5"):
        return False
    refuse_pointer(path)
    try:
        with open_hdf5(path) as file:
            names = _datasets(file, "transforms")
            return "camera" in names and any(f"{side}Hand" in names for side in SIDES)
    except EpisodeError:
        return False


def read(path: Path) -> Iterator[OperatorInput]:
    """The frames, 30 a second; raises InputError for what is no such file."""
    try:
        with open_hdf5(path) as file:
            transforms = _datasets(file, "transforms")
            camera = _matrices(transforms, "camera", None)
            sure = _datasets(file, "confidences")
            hands = {
                side: rows for side in SIDES if (rows := _hand(transforms, sure, side, len(camera)))
            }
        head = _head(camera, hands)
        for side, rows in hands.items():
            require_hand(rows, side)
    except (EpisodeError, ValueError, ArithmeticError, LookupError, TypeError) as error:
        raise InputError(
            f"hands {path}, got {error}; expected transforms of the camera and of joints as EgoDex "
            "has them. Download it again."
        ) from None
    times = np.round(np.arange(len(camera)) * SECOND_NS / RATE_HZ).astype(np.int64)
    yield from operator_inputs(times, head, hands)


def _datasets(file: h5py.File, group: str) -> dict[str, h5py.Dataset]:
    """What lies in a group of this very file: no link of it leads to other files."""
    inside = members(file).get(group)
    return {
        name: item
        for name, item in (members(inside) if isinstance(inside, h5py.Group) else {}).items()
        if isinstance(item, h5py.Dataset) and item.external is None and not item.is_virtual
    }


def _matrices(found: Mapping[str, h5py.Dataset], name: str, count: int | None) -> Array:
    """Rigid transforms (T, 4, 4) of a joint; NaN where it is none."""
    data = found[name]
    if data.shape[1:] != (4, 4) or data.dtype.kind != "f":
        raise ValueError(f"no matrices of 4 x 4 for {name}")
    if len(data) > _MAX_FRAMES or (count is not None and len(data) != count):
        raise ValueError(f"{len(data)} frames of {name}")
    rows = np.array(data, np.float64)
    turn = rows[:, :3, :3]
    with np.errstate(invalid="ignore"):
        away = np.abs(turn @ turn.swapaxes(1, 2) - np.eye(3)).max(axis=(1, 2))
        rows[~((away < 1e-2) & (np.linalg.det(np.nan_to_num(turn)) > 0))] = np.nan
    return rows


def _hand(
    transforms: Mapping[str, h5py.Dataset],
    confidences: Mapping[str, h5py.Dataset],
    side: Side,
    count: int,
) -> HandRows | None:
    """The joints of one hand in the room; None where the file has none."""
    if f"{side}Hand" not in transforms:
        return None
    joints = np.full((count, len(HAND_JOINTS), 3), np.nan)
    confidence = np.ones(joints.shape[:2])
    for name in transforms:
        known = joint_named(name)
        if known is None or known[0] != side:
            continue
        joints[:, known[1]] = _matrices(transforms, name, count)[:, :3, 3] @ _ROOM.T
        if name in confidences:
            sure = confidences[name]
            if sure.shape != (count,) or sure.dtype.kind not in "fiu":
                raise ValueError(f"confidences of {name} of shape {sure.shape} for {count} frames")
            confidence[:, known[1]] = np.nan_to_num(np.array(sure, np.float64))
    # Who is not sure of the wrist has no hand.
    joints[~(confidence[:, WRIST] > 0)] = np.nan
    return hand_rows(joints, confidence=confidence)


def _head(camera: Array, hands: dict[Side, HandRows]) -> Array:
    """Poses (T, 7) of the head, which looks where the camera does.

    The file does not say whether z of its camera is ahead or behind: that is where the hands are.
    """
    places = camera[:, :3, 3] @ _ROOM.T
    turns = _ROOM @ camera[:, :3, :3]
    ahead = [
        np.einsum("ti,ti->t", rows.joints[:, WRIST] - places, turns[:, :, 2])
        for rows in hands.values()
    ]
    known = np.concatenate(ahead) if ahead else np.zeros(0)
    known = known[np.isfinite(known)]
    share = float((known > 0).mean()) if len(known) else 1.0
    if 1 - _MOSTLY < share < _MOSTLY:
        raise ValueError(
            f"hands before the camera in {share:.0%} of the frames and behind it in the others, "
            "so that nobody knows where it looks"
        )
    axes = _OPTICAL if share >= _MOSTLY else _GRAPHICS
    return np.concatenate([places, quaternion_from_matrix(turns @ axes)], axis=1)


INPUT = InputSource(read, accepts)
