"""Write ten seconds of a waving G1 and look at the file with plain h5py."""

from __future__ import annotations

import sys
from pathlib import Path

import h5py
import numpy as np

from corporeal import EpisodeWriter, open_robot, open_schema


def main(folder: Path) -> None:
    """Write `wave.h5` into the folder."""
    robot = open_robot("g1")
    elbow = robot.joint_names.index("left_elbow_joint")
    path = folder / "wave.h5"
    with EpisodeWriter(
        path,
        schema=open_schema("teleop_humanoid"),
        embodiment=robot,
        metadata={"task": "wave", "operator": "op07", "station": "s1"},
    ) as writer:
        time_ns = np.arange(1000) * 10_000_000
        position = np.zeros((1000, len(robot.joint_names)))
        position[:, elbow] = 0.8 + 0.4 * np.sin(2 * np.pi * 0.5 * time_ns / 1e9)
        writer.extend("observations/joint_position", time_ns, position)
        writer.extend("actions/joint_position_target", time_ns[::2], position[::2])
        writer.append("observations/instruction", 0, "wave with the left hand")
    with h5py.File(path) as file:
        file.visit(print)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
