"""Motions of a Unitree G1 as CSV without a header: root position, quaternion, joints."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.episode.recording import Dataset, Recording
from corporeal.errors import EpisodeError
from corporeal.exchange.format import Format, dataset_of, files_of
from corporeal.exchange.robot_motion import RobotMotion, read_motion

SUFFIX = ".csv"
RATE_HZ = 60.0
"""Taken where nobody states one; published motions have 30, 50, 60 or 120."""
MAX_BYTES = 1 << 29
_COLUMNS = (7 + 29, 7 + 23)
_LOOKED_AT = 1 << 16


def recognises(path: Path) -> bool:
    """Whether the file is such a table, or the folder holds one."""
    return any(map(_is_motion, files_of(path, SUFFIX)))


def read(path: Path, *, robot: Embodiment | None = None, rate_hz: float | None = None) -> Dataset:
    """The motions in order of their names; the rate is not in the files."""
    files = [path] if path.is_file() else list(filter(_is_motion, files_of(path, SUFFIX)))
    return dataset_of(path, "motion_csv", files, partial(_open, robot, rate_hz), noun="motion")


def _open(robot: Embodiment | None, rate_hz: float | None, path: Path, index: int) -> Recording:
    table = _table(path)
    motion = RobotMotion(
        name=path.stem,
        joints=table[:, 7:],
        position=table[:, :3],
        quaternion=table[:, 3:7],
        parts={"columns 1 to 7": "base", f"columns 8 to {table.shape[1]}": "joints"},
    )
    return read_motion(motion, path, index, robot=robot, stated_hz=rate_hz, assumed_hz=RATE_HZ)


def _table(path: Path) -> NDArray[np.float64]:
    if path.stat().st_size > MAX_BYTES:
        raise EpisodeError(f"{path}: larger than {MAX_BYTES >> 20} MiB; expected one motion.")
    try:
        table = np.loadtxt(path, delimiter=",", ndmin=2)
    except (ValueError, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise EpisodeError(f"{path}: not a table of numbers ({reason}). Replace it.") from None
    if table.shape[1] not in _COLUMNS:
        raise EpisodeError(f"{path}: got {table.shape[1]} columns; expected 36 or 30.")
    return np.asarray(table, np.float64)


def _is_motion(path: Path) -> bool:
    """Whether the first rows have the right number of columns and a quaternion in them."""
    try:
        with path.open(encoding="ascii") as file:
            lines = file.read(_LOOKED_AT).splitlines()[:20]
        rows = np.array([[float(each) for each in line.split(",")] for line in lines[:-1] or lines])
    except (OSError, ValueError):
        return False
    if rows.ndim != 2 or rows.shape[1] not in _COLUMNS:
        return False
    lengths = np.linalg.norm(rows[:, 3:7], axis=1)
    lengths = lengths[np.isfinite(lengths)]
    return bool(len(lengths)) and abs(float(np.median(lengths)) - 1.0) < 0.05


FORMAT = Format(
    read=read,
    recognises=recognises,
    takes_rate=True,
    title="headerless CSV of a G1's motion",
)
