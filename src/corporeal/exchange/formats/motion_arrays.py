"""Motions of a robot as pickle or npz: ASAP, PBHC, GMR, BeyondMimic, Isaac Lab, LocoMuJoCo.

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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.array_file import names_in_npz, read_npz
from corporeal.embodiment import Embodiment
from corporeal.episode.recording import Dataset, Recording
from corporeal.errors import EpisodeError
from corporeal.exchange.format import Format, dataset_of, files_of
from corporeal.exchange.motion_content import (
    Content,
    numbers_of,
    rate_in,
    rest_of,
    texts_of,
    velocities_of,
)
from corporeal.exchange.restricted_pickle import MAX_BYTES, read_pickle
from corporeal.exchange.robot_motion import (
    Array,
    QuaternionOrder,
    RobotMotion,
    read_motion,
)
from corporeal.geometry import matrix_from_vector, quaternion_from_matrix

RATE_HZ = 30.0
"""Taken where neither the file nor its velocities tell; most retargeted motions have it."""
_SUFFIXES = (".pkl", ".pickle", ".joblib", ".npz")
_KEYS = (b"root_trans_offset", b"root_rot", b"dof_pos", b"dof")
_LOOKED_AT = 1 << 16

_FREE, _BALL = 0, 1
_PELVIS = ("q_pelvis_tx", "q_pelvis_tz", "q_pelvis_ty")
# Turned one after the other; the axes are those of the pelvis in all of LocoMuJoCo's robots.
_PELVIS_TURNS = {
    "q_pelvis_tilt": (0.0, -1.0, 0.0),
    "q_pelvis_list": (1.0, 0.0, 0.0),
    "q_pelvis_rotation": (0.0, 0.0, 1.0),
}


@dataclass(frozen=True)
class ArrayLayout:
    """The names of arrays in the files of one tool; base and links are bodies if it has those."""

    joints: str
    position: str
    rotation: str
    velocities: str = ""
    names: str = ""
    order: QuaternionOrder | None = "wxyz"
    has_bodies: bool = False
    is_from_simulator: bool = False


_LAYOUTS = (
    ArrayLayout("dof", "root_trans_offset", "root_rot", order="xyzw"),
    ArrayLayout("dof_pos", "root_pos", "root_rot", "dof_vel", "dof_names", order=None),
    ArrayLayout("joint_pos", "body_pos_w", "body_quat_w", "joint_vel", "joint_names",
                has_bodies=True, is_from_simulator=True),
    ArrayLayout("dof_positions", "body_positions", "body_rotations", "dof_velocities",
                "dof_names", has_bodies=True),
)  # fmt: skip
# What an archive has that holds a motion.
_MEMBERS = (
    *({layout.joints, layout.position} for layout in _LAYOUTS),
    {"qpos", "jnt_type"},
    {"q_pelvis_tx", "dq_pelvis_tx"},
)


def recognises(path: Path) -> bool:
    """Whether the file holds such a motion, or the folder such files."""
    return any(map(_is_motion, files_of(path, *_SUFFIXES)))


def read(path: Path, *, robot: Embodiment | None = None, rate_hz: float | None = None) -> Dataset:
    """The motions in order of their files; `rate_hz` takes the place of the one in them."""
    files = [file for file in files_of(path, *_SUFFIXES) if path.is_file() or _is_motion(file)]
    motions = [(file, number) for file in files for number in range(len(_motions(file)))]
    opener = partial(_open, robot, rate_hz)
    return dataset_of(path, "motion_arrays", motions, opener, noun="motion")


def _open(
    robot: Embodiment | None, rate_hz: float | None, part: tuple[Path, int], index: int
) -> Recording:
    file, number = part
    motion = _motions(file)[number]
    return read_motion(motion, file, index, robot=robot, stated_hz=rate_hz, assumed_hz=RATE_HZ)


def _motions(file: Path) -> list[RobotMotion]:
    motions = split_motions(load_content(file), file.stem)
    if not motions:
        raise EpisodeError(
            f"{file}: no motion of a robot in it; expected root_pos, root_rot and dof_pos or "
            "another layout that `corporeal convert --help` names."
        )
    return motions


def _is_motion(path: Path) -> bool:
    try:
        if path.suffix == ".npz":
            return any(wanted <= set(names_in_npz(path)) for wanted in _MEMBERS)
        with path.open("rb") as file:
            head = file.read(_LOOKED_AT)
    except OSError:
        return False
    if head[:1] == b"\x80":
        return sum(key in head for key in _KEYS) > 1 or b"root_" in head
    # Compressed: the names show only when it is read.
    return head[:2] in (b"\x1f\x8b", b"BZ", b"\xfd7", b"x\x9c", b"x^", b"x\x01")


def load_content(path: Path) -> Content:
    """The arrays of an .npz or a pickle by name; nothing that the file names is executed."""
    if path.suffix == ".npz":
        return read_npz(path, most_bytes=MAX_BYTES, skip_objects=True)
    content = read_pickle(path)
    if not isinstance(content, dict):
        raise EpisodeError(f"{path}: no dictionary in it; expected the arrays of a motion by name.")
    return {str(name): value for name, value in content.items()}


def split_motions(content: Content, name: str) -> list[RobotMotion]:
    """The motions of a file: one, or one of each entry; empty if it is in none of the layouts."""
    for layout in _LAYOUTS:
        if {layout.joints, layout.position, layout.rotation} <= content.keys():
            return [_read_layout(content, name, layout)]
    if {"qpos", "joint_names", "jnt_type"} <= content.keys():
        return list(_read_locomujoco(content, name))
    if any(key.startswith("q_") for key in content) and any(k.startswith("dq_") for k in content):
        return [_read_locomujoco_0(content, name)]
    motions: list[RobotMotion] = []
    for key, value in content.items():
        if isinstance(value, Mapping):
            motions += split_motions(value, key if len(content) > 1 else name)
    return motions


def _read_layout(content: Content, name: str, layout: ArrayLayout) -> RobotMotion:
    joints = numbers_of(content, layout.joints, name, 2)
    axes = 3 if layout.has_bodies else 2
    position, rotation = (
        numbers_of(content, key, name, axes) for key in (layout.position, layout.rotation)
    )
    taken = [layout.joints, layout.velocities]
    taken += [] if layout.has_bodies else [layout.position, layout.rotation]
    return RobotMotion(
        name=name,
        joints=joints,
        position=position[:, 0] if layout.has_bodies else position,
        quaternion=rotation[:, 0] if layout.has_bodies else rotation,
        order=layout.order,
        rate_hz=rate_in(content, "fps"),
        names=texts_of(content, layout.names, joints.shape[1]),
        velocities=velocities_of(content, layout.velocities, joints),
        axes=_turning_axes(content.get("pose_aa"), joints),
        bodies=position if layout.is_from_simulator else None,
        is_from_simulator=layout.is_from_simulator,
        **rest_of(
            content,
            len(joints),
            taken,
            {
                layout.joints: "joints",
                layout.velocities: "velocities",
                layout.position: "base",
                layout.rotation: "base",
                layout.names: "names",
                "fps": "rate",
            },
        ),
    )


def _turning_axes(angles: Any, joints: Array) -> Array | None:
    """What each joint turns about (J, 3), from the rotations of all of them after the base's."""
    count = joints.shape[1]
    if not isinstance(angles, np.ndarray) or angles.ndim != 3 or angles.shape[1] <= count:
        return None
    turned = angles[:, 1 : 1 + count].astype(np.float64)
    size = np.maximum((joints**2).sum(axis=0), 1e-9)
    axes: Array = np.einsum("tjk,tj->jk", turned, joints) / size[:, None]
    return axes


def _read_locomujoco(content: Content, name: str) -> Iterator[RobotMotion]:
    positions = numbers_of(content, "qpos", name, 2)
    names = texts_of(content, "joint_names", len(np.atleast_1d(content["jnt_type"]))) or ()
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
            rate_hz=rate_in(content, "frequency"),
            names=tuple(columns),
            **rest_of(
                content,
                len(positions),
                ("qpos",),
                {
                    "qpos": "joints",
                    "joint_names": "names",
                    "jnt_type": "names",
                    "split_points": "names",
                    "frequency": "rate",
                },
                slice(start, end),
            ),
        )


def _read_locomujoco_0(content: Content, name: str) -> RobotMotion:
    base = (*_PELVIS, *_PELVIS_TURNS)
    labels = [key for key in content if key.startswith("q_") and key not in base]
    frames = len(np.atleast_1d(content[labels[0]])) if labels else 0
    columns = {key: numbers_of(content, key, name, 1) for key in labels}
    if not frames or any(len(values) != frames for values in columns.values()):
        raise EpisodeError(f"{name}: joints of different lengths. Replace the file.")
    speeds = [content.get(f"d{key}") for key in labels]
    has_base = all(key in content for key in base)
    rotation = np.broadcast_to(np.eye(3), (frames, 3, 3))
    for key, axis in _PELVIS_TURNS.items() if has_base else ():
        angles = numbers_of(content, key, name, 1)
        rotation = rotation @ matrix_from_vector(angles[:, None] * np.array(axis))
    given = [speed for speed in speeds if isinstance(speed, np.ndarray) and len(speed) == frames]
    return RobotMotion(
        name=name,
        joints=np.stack(list(columns.values()), axis=1),
        position=np.stack([numbers_of(content, key, name, 1) for key in _PELVIS], axis=1)
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
        **rest_of(
            content,
            frames,
            (*labels, *base, *(f"d{key}" for key in labels)),
            {
                **dict.fromkeys(labels, "joints"),
                **dict.fromkeys((f"d{key}" for key in labels), "velocities"),
                **dict.fromkeys(base, "base"),
            },
        ),
    )


FORMAT = Format(
    read=read,
    recognises=recognises,
    takes_rate=True,
    title="motion of a robot as pickle or npz",
)
