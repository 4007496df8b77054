"""Takes as motions of a G1 without commands: CSV, pickle and npz as retargeters write them."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from bench.detection.field.take import BASE, STATE, VELOCITY, Channel, Take
from corporeal.units import SECOND_NS

_POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
_XYZW = (4, 5, 6, 3)


def resample(take: Take, rate_hz: float, *, velocities: bool = False) -> Take:
    """Base and joints of a take at one even rate."""
    clock = take.channel(STATE).time_ns
    count = int((clock[-1] - clock[0]) / SECOND_NS * rate_hz)
    own = np.rint(np.arange(count) * SECOND_NS / rate_hz).astype(np.int64)
    grid = clock[0] + own
    channels = {
        key: Channel(own, _between(take.channel(key), grid), take.channel(key).names)
        for key in (STATE, BASE, *((VELOCITY,) if velocities else ()))
    }
    pose = channels[BASE].values
    pose[:, 3:] /= np.linalg.norm(pose[:, 3:], axis=1, keepdims=True)
    return Take(take.name, channels, {}, dict(take.facts), take.origin)


def _between(channel: Channel, grid: np.ndarray) -> np.ndarray:
    known = channel.time_ns.astype(np.float64)
    columns = [np.interp(grid, known, column) for column in channel.values.T]
    return np.stack(columns, axis=1)


def read_csv(path: Path, *, rate_hz: float = 60.0) -> Take:
    """A published motion: root position, quaternion x y z w, 29 joints."""
    table = np.loadtxt(path, delimiter=",")
    own = np.rint(np.arange(len(table)) * SECOND_NS / rate_hz).astype(np.int64)
    pose = np.concatenate([table[:, :3], table[:, 6:7], table[:, 3:6]], axis=1)
    names = tuple(map(str, range(table.shape[1] - 7)))
    channels = {STATE: Channel(own, table[:, 7:], names), BASE: Channel(own, pose, _POSE)}
    return Take(path.stem, channels)


def write_csv(folder: Path, takes: Sequence[Take], unchanged: Mapping[int, Path]) -> list[Path]:
    """36 columns without a header."""
    del unchanged
    folder.mkdir(parents=True)
    for number, take in enumerate(takes):
        pose, joints = take.channel(BASE).values, take.channel(STATE).values
        table = np.concatenate([pose[:, :3], pose[:, _XYZW], joints], axis=1)
        np.savetxt(folder / f"take_{number:02d}.csv", table, delimiter=",", fmt="%.6f")
    return [folder]


def write_pickle(folder: Path, takes: Sequence[Take], unchanged: Mapping[int, Path]) -> list[Path]:
    """One pickle per motion in the layout of GMR."""
    del unchanged
    folder.mkdir(parents=True)
    for number, take in enumerate(takes):
        pose, joints = take.channel(BASE).values, take.channel(STATE)
        content = {
            "fps": float(round(joints.rate_hz)),
            "root_pos": pose[:, :3],
            "root_rot": pose[:, _XYZW],
            "dof_pos": joints.values,
            "local_body_pos": None,
            "link_body_list": None,
        }
        (folder / f"take_{number:02d}.pkl").write_bytes(pickle.dumps(content))
    return [folder]


def write_npz(folder: Path, takes: Sequence[Take], unchanged: Mapping[int, Path]) -> list[Path]:
    """One npz per motion in the layout of BeyondMimic: joints, velocities, the base as body 0."""
    del unchanged
    folder.mkdir(parents=True)
    for number, take in enumerate(takes):
        pose, joints = take.channel(BASE).values, take.channel(STATE)
        np.savez(
            folder / f"take_{number:02d}.npz",
            fps=np.array([round(joints.rate_hz)]),
            joint_pos=joints.values,
            joint_vel=take.channel(VELOCITY).values,
            body_pos_w=pose[:, None, :3],
            body_quat_w=pose[:, None, 3:],
            body_lin_vel_w=np.gradient(pose[:, None, :3], axis=0) * joints.rate_hz,
            body_ang_vel_w=np.zeros((len(pose), 1, 3)),
        )
    return [folder]
