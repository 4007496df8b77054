"""Differential inverse kinematics on mink, one frame after the other; runs where mink is.

python bench/retarget/peers/frame_by_frame.py request.npz answer.npz
"""

from __future__ import annotations

import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

MOST_STEPS = 10
SMALL_CHANGE = 1e-3
DAMPING = 0.5


def follow(request: dict[str, Any]) -> dict[str, Any]:
    """Positions (T, nq) of MuJoCo for targets (T, F, 4, 4), and the CPU seconds they took."""
    mink, mujoco = import_module("mink"), import_module("mujoco")
    model = mujoco.MjModel.from_xml_string(str(request["mjcf"]))
    configuration = mink.Configuration(model, q=request["start"])
    names, kinds = (
        [str(name) for name in request["names"]],
        [str(kind) for kind in request["kinds"]],
    )
    stages = [
        [
            mink.FrameTask(
                frame_name=name, frame_type=kind, position_cost=float(position),
                orientation_cost=float(rotation), lm_damping=1.0,
            )
            for name, kind, (position, rotation) in zip(names, kinds, costs, strict=True)
        ]
        for costs in request["costs"]
    ]  # fmt: skip
    limits = [mink.ConfigurationLimit(model)]
    step_s = float(model.opt.timestep)
    out = np.empty((len(request["targets"]), model.nq))
    begun = time.process_time()
    for frame, poses in enumerate(request["targets"]):
        for tasks in stages:
            for task, pose in zip(tasks, poses, strict=True):
                task.set_target(mink.SE3.from_matrix(pose))
            _settle(mink, configuration, tasks, step_s, limits)
        out[frame] = configuration.q
    return {"qpos": out, "cpu_s": time.process_time() - begun}


def _settle(mink: Any, configuration: Any, tasks: list[Any], step_s: float, limits: Any) -> None:
    """Steps until the error falls by less than a thousandth."""
    before = _error(configuration, tasks)
    for _ in range(MOST_STEPS + 1):
        velocity = mink.solve_ik(
            configuration, tasks, step_s, "daqp", damping=DAMPING, limits=limits
        )
        configuration.integrate_inplace(velocity, step_s)
        after = _error(configuration, tasks)
        if before - after <= SMALL_CHANGE:
            return
        before = after


def _error(configuration: Any, tasks: list[Any]) -> float:
    return float(np.linalg.norm([task.compute_error(configuration) for task in tasks]))


if __name__ == "__main__":
    with np.load(Path(sys.argv[1])) as asked:
        answer = follow(dict(asked))
    np.savez(Path(sys.argv[2]), **answer)
