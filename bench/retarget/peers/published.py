"""Peers that are results: motions of a G1 that others published, as their files hold them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.retarget.clips import DATA
from bench.retarget.peers.joblib_arrays import read_arrays
from bench.retarget.robot_motion import RobotMotion
from corporeal.embodiment import Embodiment

# ASAP's robot is the G1 with 29 joints, its wrists held still.
_ASAP_STILL = ("wrist",)
# The files do not state a rate: 60 Hz is in the dance's name, the generated ones are at 30.
_SHEETS = (
    ("dance 102 (Unitree)", "g1_csv_xyzw/dance_102/G1_Take_102.bvh_60hz.csv", 60.0, (6, 3, 4, 5)),
    ("dance (kimodo)", "g1_csv_wxyz/output_dance.csv", 30.0, (3, 4, 5, 6)),
    ("walk (kimodo)", "g1_csv_wxyz/output_walk.csv", 30.0, (3, 4, 5, 6)),
)


def asap(path: Path, robot: Embodiment) -> RobotMotion:
    """What ASAP's authors made of a clip."""
    (motion,) = read_arrays(path).values()
    moved = [name for name in robot.joint_names if not any(word in name for word in _ASAP_STILL)]
    q = np.zeros((len(motion["dof"]), len(robot.joint_names)))
    q[:, [robot.joint_names.index(name) for name in moved]] = motion["dof"]
    rotation = np.asarray(motion["root_rot"], np.float64)[:, [3, 0, 1, 2]]
    base = np.hstack([np.asarray(motion["root_trans_offset"], np.float64), rotation])
    return RobotMotion(robot, float(motion["fps"]), q, base)


def sheets(robot: Embodiment, data: Path = DATA) -> Iterator[tuple[str, RobotMotion]]:
    """Motions of a G1 in tables without a person beside them."""
    for name, file, rate_hz, order in _SHEETS:
        path = data / "retarget" / file
        if path.is_file():
            rows = np.loadtxt(path, delimiter=",")
            base = np.hstack([rows[:, :3], rows[:, list(order)]])
            yield name, RobotMotion(robot, rate_hz, rows[:, 7:], base)
