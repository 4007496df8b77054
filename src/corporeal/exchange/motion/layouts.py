"""Motions of robots as pickles and npz files, in the layouts that published tools write.

| written by | base | joints | rest |
|---|---|---|---|
| ASAP, PBHC | root_trans_offset, root_rot | dof | pose_aa, smpl_joints, fps; one or many |
| GMR, TWIST | root_pos, root_rot | dof_pos | local_body_pos, link_body_list, fps |
| BeyondMimic | body_pos_w, body_quat_w of body 0 | joint_pos, joint_vel | fps; no names |
| Isaac Lab's AMP | body_positions, body_rotations | dof_positions, dof_names | body_names, fps |
| LocoMuJoCo 1 | qpos of a free joint | the rest of qpos, joint_names | frequency, split_points |
| LocoMuJoCo 0 | q_pelvis_tx ... q_pelvis_rotation | q_ and dq_ arrays by joint | no rate |

Quaternions are x y z w in ASAP's and PBHC's; GMR's scripts write both orders, so that the motion
has to tell; the rest are w x y z.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import EpisodeError
from corporeal.exchange.motion.robot_motion import Array, RobotMotion
from corporeal.exchange.restricted_pickle import MAX_BYTES, read_pickle
from corporeal.geometry import matrix_from_vector, quaternion_from_matrix

Content = Mapping[str, Any]

_FREE, _BALL = 0, 1
_PELVIS = ("q_pelvis_tx", "q_pelvis_tz", "q_pelvis_ty")
# Turned one after the other; the axes are those of the pelvis in all of LocoMuJoCo's robots.
_PELVIS_TURNS = {
    "q_pelvis_tilt": (0.0, -1.0, 0.0),
    "q_pelvis_list": (1.0, 0.0, 0.0),
    "q_pelvis_rotation": (0.0, 0.0, 1.0),
}


def load_content(path: Path) -> Content:
    """The arrays of an .npz or a pickle by name; nothing that the file names is executed."""
    if path.suffix == ".npz":
        return _load_npz(path)
    content = read_pickle(path)
    if not isinstance(content, dict):
        raise EpisodeError(f"{path}: no dictionary in it; expected the arrays of a motion by name.")
    return {str(name): value for name, value in content.items()}


def _load_npz(path: Path) -> Content:
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MAX_BYTES:
                raise EpisodeError(f"{path}: more than {MAX_BYTES >> 20} MiB; expected one motion.")
        with np.load(path, allow_pickle=False) as arrays:
            return {name: _plain(arrays, name) for name in arrays.files}
    except (OSError, ValueError, zipfile.BadZipFile, EOFError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise EpisodeError(f"{path}: not an archive of arrays ({reason}). Replace it.") from None


def _plain(arrays: Any, name: str) -> Any:
    """An array; None for one of objects, which would have to be executed to be read."""
    try:
        return arrays[name]
    except ValueError:
        return None


def split_motions(content: Content, name: str) -> list[RobotMotion]:
    """The motions of a file: one, or one of each entry; empty if it is in none of the layouts."""
    for keys, read in _LAYOUTS.items():
        if keys <= content.keys():
            return list(read(content, name))
    if any(key.startswith("q_") for key in content) and any(k.startswith("dq_") for k in content):
        return [_read_locomujoco_0(content, name)]
    motions: list[RobotMotion] = []
    for key, value in content.items():
        if isinstance(value, Mapping):
            motions += split_motions(value, key if len(content) > 1 else name)
    return motions


def _read_asap(content: Content, name: str) -> Iterator[RobotMotion]:
    joints = _numbers(content, "dof", name, 2)
    angles = content.get("pose_aa")
    axes = None
    if isinstance(angles, np.ndarray) and angles.ndim == 3 and angles.shape[1] > joints.shape[1]:
        turned = angles[:, 1 : 1 + joints.shape[1]].astype(np.float64)
        size = (joints**2).sum(axis=0)
        axes = np.einsum("tjk,tj->jk", turned, joints) / np.maximum(size, 1e-9)[:, None]
    yield RobotMotion(
        name=name,
        joints=joints,
        position=_numbers(content, "root_trans_offset", name, 2),
        quaternion=_numbers(content, "root_rot", name, 2),
        order="xyzw",
        rate_hz=_rate(content, "fps"),
        axes=axes,
        others=_others(content, len(joints), "dof", "root_trans_offset", "root_rot"),
    )


def _read_gmr(content: Content, name: str) -> Iterator[RobotMotion]:
    joints = _numbers(content, "dof_pos", name, 2)
    yield RobotMotion(
        name=name,
        joints=joints,
        position=_numbers(content, "root_pos", name, 2),
        quaternion=_numbers(content, "root_rot", name, 2),
        rate_hz=_rate(content, "fps"),
        names=_texts(content, "dof_names", joints.shape[1]),
        velocities=_velocities(content, "dof_vel", joints),
        others=_others(content, len(joints), "dof_pos", "dof_vel", "root_pos", "root_rot"),
    )


def _read_beyond_mimic(content: Content, name: str) -> Iterator[RobotMotion]:
    joints = _numbers(content, "joint_pos", name, 2)
    bodies = _numbers(content, "body_pos_w", name, 3)
    yield RobotMotion(
        name=name,
        joints=joints,
        position=bodies[:, 0],
        quaternion=_numbers(content, "body_quat_w", name, 3)[:, 0],
        order="wxyz",
        rate_hz=_rate(content, "fps"),
        names=_texts(content, "joint_names", joints.shape[1]),
        velocities=_velocities(content, "joint_vel", joints),
        bodies=bodies,
        is_from_simulator=True,
        others=_others(content, len(joints), "joint_pos", "joint_vel"),
    )


def _read_isaac_amp(content: Content, name: str) -> Iterator[RobotMotion]:
    joints = _numbers(content, "dof_positions", name, 2)
    yield RobotMotion(
        name=name,
        joints=joints,
        position=_numbers(content, "body_positions", name, 3)[:, 0],
        quaternion=_numbers(content, "body_rotations", name, 3)[:, 0],
        order="wxyz",
        rate_hz=_rate(content, "fps"),
        names=_texts(content, "dof_names", joints.shape[1]),
        velocities=_velocities(content, "dof_velocities", joints),
        others=_others(content, len(joints), "dof_positions", "dof_velocities"),
    )


def _read_locomujoco(content: Content, name: str) -> Iterator[RobotMotion]:
    positions = _numbers(content, "qpos", name, 2)
    names = _texts(content, "joint_names", len(np.atleast_1d(content["jnt_type"]))) or ()
    free, columns, place = None, {}, 0
    for label, kind in zip(names, np.atleast_1d(content["jnt_type"]).tolist(), strict=True):
        if kind == _FREE and free is None:
            free = place
        elif kind not in (_FREE, _BALL):
            columns[label] = place
        place += {_FREE: 7, _BALL: 4}.get(kind, 1)
    if place != positions.shape[1]:
        raise EpisodeError(
            f"{name}: qpos has {positions.shape[1]} columns, but its joints have {place}. "
            "Replace the file."
        )
    ends = [int(end) for end in np.atleast_1d(content.get("split_points", ()))]
    spans = list(pairwise(ends)) or [(0, len(positions))]
    for number, (start, end) in enumerate(spans):
        rows = positions[start:end]
        yield RobotMotion(
            name=name if len(spans) == 1 else f"{name}_{number}",
            joints=rows[:, list(columns.values())],
            position=None if free is None else rows[:, free : free + 3],
            quaternion=None if free is None else rows[:, free + 3 : free + 7],
            order="wxyz",
            rate_hz=_rate(content, "frequency"),
            names=tuple(columns),
        )


def _read_locomujoco_0(content: Content, name: str) -> RobotMotion:
    base = (*_PELVIS, *_PELVIS_TURNS)
    labels = [key for key in content if key.startswith("q_") and key not in base]
    frames = len(np.atleast_1d(content[labels[0]])) if labels else 0
    columns = {key: _numbers(content, key, name, 1) for key in labels}
    if not frames or any(len(values) != frames for values in columns.values()):
        raise EpisodeError(f"{name}: joints of different lengths. Replace the file.")
    speeds = [content.get(f"d{key}") for key in labels]
    has_base = all(key in content for key in base)
    rotation = np.broadcast_to(np.eye(3), (frames, 3, 3))
    for key, axis in _PELVIS_TURNS.items() if has_base else ():
        angles = _numbers(content, key, name, 1)
        rotation = rotation @ matrix_from_vector(angles[:, None] * np.array(axis))
    given = [speed for speed in speeds if isinstance(speed, np.ndarray) and len(speed) == frames]
    return RobotMotion(
        name=name,
        joints=np.stack(list(columns.values()), axis=1),
        position=np.stack([_numbers(content, key, name, 1) for key in _PELVIS], axis=1)
        if has_base
        else None,
        quaternion=quaternion_from_matrix(rotation) if has_base else None,
        order="wxyz",
        names=tuple(key.removeprefix("q_") for key in labels),
        velocities=np.stack(given, axis=1).astype(np.float64)
        if len(given) == len(labels)
        else None,
        notes={"base_height": "counted from where the pelvis of the simulated robot starts"}
        if has_base
        else {},
    )


_LAYOUTS: Mapping[frozenset[str], Callable[[Content, str], Iterator[RobotMotion]]] = {
    frozenset({"root_trans_offset", "root_rot", "dof"}): _read_asap,
    frozenset({"root_pos", "root_rot", "dof_pos"}): _read_gmr,
    frozenset({"joint_pos", "body_pos_w", "body_quat_w"}): _read_beyond_mimic,
    frozenset({"dof_positions", "body_positions", "body_rotations"}): _read_isaac_amp,
    frozenset({"qpos", "joint_names", "jnt_type"}): _read_locomujoco,
}


def _numbers(content: Content, key: str, name: str, axes: int) -> Array:
    values = content[key]
    if not isinstance(values, np.ndarray | list):
        raise EpisodeError(f"{name}: {key} is no array. Replace the file.")
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise EpisodeError(f"{name}: {key} holds no numbers. Replace the file.") from None
    if array.ndim != axes:
        raise EpisodeError(
            f"{name}: {key} has {array.ndim} axes; expected {axes}, the frames first."
        )
    return array


def _rate(content: Content, key: str) -> float | None:
    try:
        rate = float(np.asarray(content.get(key)).reshape(-1)[0])
    except (TypeError, ValueError, IndexError):
        return None
    return rate if 1e-3 <= rate <= 1e5 else None


def _texts(content: Content, key: str, count: int) -> tuple[str, ...] | None:
    values = content.get(key)
    if values is None or isinstance(values, str | bytes):
        return None
    texts = tuple(str(value) for value in np.asarray(values).reshape(-1).tolist())
    return texts if len(texts) == count and len(set(texts)) == count else None


def _velocities(content: Content, key: str, joints: Array) -> Array | None:
    values = content.get(key)
    if not isinstance(values, np.ndarray) or values.shape != joints.shape:
        return None
    return values.astype(np.float64)


def _others(content: Content, frames: int, *taken: str) -> dict[str, NDArray[Any]]:
    """Arrays of numbers with an entry for every frame that are not joints or base."""
    return {
        key: values
        for key, values in content.items()
        if isinstance(values, np.ndarray)
        and key not in taken
        and values.ndim
        and len(values) == frames > 1
        and values.dtype.kind in "fiub"
    }
