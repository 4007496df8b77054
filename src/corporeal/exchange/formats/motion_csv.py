"""Motions of a Unitree G1 as CSV without a header: root position, quaternion, joints."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment, open_robot
from corporeal.embodiment.kinematics import Kinematics
from corporeal.episode.recording import ArraySignal, Dataset, Recording
from corporeal.errors import EpisodeError
from corporeal.exchange.format import Format, dataset_of_files
from corporeal.schema import Stream, roles
from corporeal.signal.grid import even_stamps

Array = NDArray[np.float64]

MAX_FRAMES = 4096
# What a lean, a turned back and doubt itself weigh, in metres that the standing foot slides.
_LEAN_M = 0.01
_TURNED_M = 0.001
_DOUBT_M = 0.001


def quaternion_order(
    position: Array, quaternion: Array, joints: Array, robot: Embodiment
) -> tuple[str, float]:
    """`wxyz` or `xyzw`, and how sure that is, from 0.5 to 1.

    In the right order the robot is upright and the lower foot stays where it is. Where nothing
    moves, a robot that faces forward (a large w) is likelier than one that turns its back.
    """
    good = np.isfinite(np.concatenate((position, quaternion, joints), axis=1)).all(axis=1)
    good &= np.linalg.norm(quaternion, axis=1) > 0.5
    rows = np.flatnonzero(good)[:MAX_FRAMES]
    if not len(rows):
        return "wxyz", 0.5
    kinematics = Kinematics(robot)
    costs = {}
    for order in ("wxyz", "xyzw"):
        wxyz = quaternion[rows][:, [order.index(part) for part in "wxyz"]]
        costs[order] = _cost(kinematics, position[rows], wxyz, joints[rows])
    best = min(costs, key=lambda order: costs[order])
    other = max(costs.values())
    return best, other / (other + costs[best])


def _cost(kinematics: Kinematics, position: Array, wxyz: Array, joints: Array) -> float:
    wxyz = wxyz / np.linalg.norm(wxyz, axis=1, keepdims=True)
    upright = 1.0 - 2.0 * (wxyz[:, 1] ** 2 + wxyz[:, 2] ** 2)
    cost = _DOUBT_M + _LEAN_M * float(1.0 - upright.mean())
    cost += _TURNED_M * float(1.0 - np.abs(wxyz[:, 0]).mean())
    feet = kinematics.feet(joints, np.concatenate((position, wxyz), axis=1)).positions
    if len(feet) > 1 and feet.shape[1]:
        frame = np.arange(len(feet) - 1)
        lower = feet[:-1, :, 2].argmin(axis=1)
        moved = feet[frame + 1, lower] - feet[frame, lower]
        cost += float(np.median(np.linalg.norm(moved, axis=1)))
    return cost


RATE_HZ = 60.0
MAX_BYTES = 1 << 29
_ROBOTS = {7 + 29: "g1", 7 + 23: "g1_23dof"}
_LOOKED_AT = 1 << 16


def recognises(path: Path) -> bool:
    """Whether the file is such a table, or the folder holds one."""
    return any(map(_is_motion, _files(path) if path.is_dir() else [path]))


def read(path: Path, *, robot: Embodiment | None = None, rate_hz: float = RATE_HZ) -> Dataset:
    """The motions in order of their names; the rate is not in the files."""
    files = [each for each in _files(path) if _is_motion(each)] if path.is_dir() else [path]
    return dataset_of_files(
        path, "motion_csv", files, partial(_open, robot, rate_hz), noun="motion"
    )


def _open(robot: Embodiment | None, rate_hz: float, path: Path, index: int) -> Recording:
    table = _table(path)
    model = robot or open_robot(_ROBOTS[table.shape[1]])
    names = model.joint_names
    if len(names) != table.shape[1] - 7:
        raise EpisodeError(
            f"{path}: has {table.shape[1] - 7} joints, but {model.name} has {len(names)}. "
            "Name the right robot."
        )
    order, confidence = quaternion_order(table[:, :3], table[:, 3:7], table[:, 7:], model)
    w, x, y, z = (3 + order.index(part) for part in "wxyz")
    stamps = even_stamps(len(table), rate_hz)
    base = Stream(
        name=roles.BASE_POSE,
        group="debug",
        dtype="float64",
        shape=(7,),
        rate_hz=rate_hz,
        unit=roles.POSE_UNITS,
        frame="world",
        components=roles.POSE,
    )
    joints = Stream(
        name=roles.JOINT_POSITION,
        group="observations",
        dtype="float64",
        shape=(len(names),),
        rate_hz=rate_hz,
        unit="rad",
        components=names,
    )
    return Recording(
        id=path.stem,
        source=path,
        index=index,
        signals={
            roles.BASE_POSE: ArraySignal(base, stamps, table[:, [0, 1, 2, w, x, y, z]]),
            roles.JOINT_POSITION: ArraySignal(joints, stamps, table[:, 7:]),
        },
        embodiment=model,
        metadata={
            "fps": rate_hz,
            "quaternion_order": order,
            "quaternion_order_confidence": round(confidence, 3),
        },
        regridded=True,
    )


def _table(path: Path) -> NDArray[np.float64]:
    if path.stat().st_size > MAX_BYTES:
        raise EpisodeError(f"{path}: larger than {MAX_BYTES >> 20} MiB; expected one motion.")
    try:
        table = np.loadtxt(path, delimiter=",", ndmin=2)
    except (ValueError, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise EpisodeError(f"{path}: not a table of numbers ({reason}). Replace it.") from None
    if table.shape[1] not in _ROBOTS:
        raise EpisodeError(f"{path}: got {table.shape[1]} columns; expected 36 or 30.")
    return np.asarray(table, np.float64)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix == ".csv")


def _is_motion(path: Path) -> bool:
    """Whether the first rows have the right number of columns and a quaternion in them."""
    if path.suffix != ".csv" or not path.is_file():
        return False
    try:
        with path.open(encoding="ascii") as file:
            lines = file.read(_LOOKED_AT).splitlines()[:20]
        rows = np.array([[float(each) for each in line.split(",")] for line in lines[:-1] or lines])
    except (OSError, ValueError):
        return False
    if rows.ndim != 2 or rows.shape[1] not in _ROBOTS:
        return False
    lengths = np.linalg.norm(rows[:, 3:7], axis=1)
    lengths = lengths[np.isfinite(lengths)]
    return bool(len(lengths)) and abs(float(np.median(lengths)) - 1.0) < 0.05


FORMAT = Format(
    read=read,
    recognises=recognises,
    title="headerless CSV of a G1's motion",
)
