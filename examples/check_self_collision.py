"""Find where a motion of the G1 in a CSV file (36 columns: pose, joints) touches itself."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from corporeal import open_robot
from corporeal.embodiment.collision import CollisionModel


def main(path: Path) -> None:
    """Print the pairs of links that touch, and in how many frames."""
    robot = open_robot("g1")
    q = np.loadtxt(path, delimiter=",")[:, 7:]
    touches = CollisionModel(robot).collisions(q, tolerance_m=0.005)
    print(f"{len(set(touches.frames.tolist()))} of {len(q)} frames touch by more than 5 mm")
    pairs, counts = np.unique([" and ".join(pair) for pair in touches.links], return_counts=True)
    for pair, count in sorted(zip(pairs, counts, strict=True), key=lambda item: -item[1]):
        print(f"{count:6d}  {pair}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
