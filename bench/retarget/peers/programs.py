"""Peers that are programs: each runs in its own environment on the motion that ours was given."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.partners import partner_python
from bench.retarget.peers.recipe import height_m, sole, targets
from bench.retarget.robot_motion import RobotMotion
from corporeal.embodiment import Embodiment
from corporeal.embodiment.engines import to_mjcf
from corporeal.embodiment.engines.mujoco_model import compile_mujoco
from corporeal.errors import CorporealError
from corporeal.geometry import Array, quaternion_from_matrix
from corporeal.retargeting.motion import HumanMotion

HERE = Path(__file__).resolve().parent
# Both work at this rate at home; at a higher one their small steps become a large jerk.
RATE_HZ = 30.0
# The joints that holosoma knows as "smplx", by the names of ours.
_SMPLX = (
    "pelvis", "left_hip", "right_hip", "spine", "left_knee", "right_knee", "spine", "left_ankle",
    "right_ankle", "chest", "left_toe", "right_toe", "neck", "left_shoulder", "right_shoulder",
    "head", "left_shoulder", "right_shoulder", "left_elbow", "right_elbow", "left_wrist",
    "right_wrist",
)  # fmt: skip


def frame_by_frame(human: HumanMotion, robot: Embodiment) -> RobotMotion:
    """Per-frame differential IK on mink, after the recipe that GMR published."""
    human = _thinned(human)
    aims = targets(human, robot)
    poses = np.tile(np.eye(4), (len(human), len(aims), 1, 1))
    for column, target in enumerate(aims.values()):
        poses[:, column, :3, :3], poses[:, column, :3, 3] = target.rotations, target.positions
    compiled = compile_mujoco(robot)
    start = np.array(compiled.model.qpos0)
    # As its authors start: over the person's place and as it stands, which a first frame forgives.
    start[:3] = aims["pelvis"].positions[0]
    start[3:7] = quaternion_from_matrix(aims["pelvis"].rotations[:1])[0]
    answer = _asked(
        "mink",
        "frame_by_frame.py",
        mjcf=to_mjcf(robot),
        start=start,
        names=[target.name for target in aims.values()],
        kinds=[target.kind for target in aims.values()],
        costs=np.array([[target.costs[stage] for target in aims.values()] for stage in (0, 1)]),
        targets=poses,
    )
    ends = ("left_wrist", "right_wrist", "left_foot", "right_foot")
    return RobotMotion(
        robot,
        human.rate_hz,
        answer["qpos"][:, compiled.positions],
        answer["qpos"][:, :7],
        float(answer["cpu_s"]),
        {aims[end].name: aims[end].positions for end in ends},
    )


def interaction_mesh(human: HumanMotion, robot: Embodiment) -> RobotMotion:
    """Holosoma's own program on the same person, at 30 Hz."""
    human = _thinned(human)
    joints = np.stack([_known(human, name) for name in _SMPLX], axis=1)
    # Its first guess looks from the person to the world's origin: so the origin is put in front.
    left = joints[0, 1, :2] - joints[0, 2, :2]
    forward = np.array([left[1], -left[0]]) / np.linalg.norm(left)
    joints[..., :2] -= joints[0, 0, :2] + forward
    answer = _asked(
        "holosoma", "interaction_mesh.py", global_joint_positions=joints, height=height_m(human)
    )
    qpos = answer["qpos"]
    return RobotMotion(robot, human.rate_hz, qpos[:, 7:36], qpos[:, :7], float(answer["cpu_s"]))


def _thinned(human: HumanMotion) -> HumanMotion:
    """Every so many frames of the motion, at about RATE_HZ."""
    every = max(1, round(human.rate_hz / RATE_HZ))
    return replace(
        human,
        rate_hz=human.rate_hz / every,
        positions=human.positions[::every],
        confidence=human.confidence[::every],
        rotations={name: rotation[::every] for name, rotation in human.rotations.items()},
        contacts=None,
    )


def _known(human: HumanMotion, name: str) -> Array:
    """A point (T, 3), between its neighbours where the clip does not have it."""
    if human.has(name):
        return human.point(name)
    if name.endswith("_toe"):
        return sole(human, name.removesuffix("_toe"))
    middle: Array = (human.point("pelvis") + human.point("neck")) / 2
    return middle if name != "head" else 2 * human.point("neck") - middle


def _asked(partner: str, script: str, **request: Any) -> dict[str, Any]:
    """What the script answers to a request, both as arrays in files."""
    with tempfile.TemporaryDirectory(prefix="bench-retarget-") as place:
        asked, answer = Path(place) / "request.npz", Path(place) / "answer.npz"
        np.savez(asked, **request)
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
        clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        done = subprocess.run(
            [str(partner_python(partner)), str(HERE / script), str(asked), str(answer)],
            env={**clean, **threads}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no word"])[-1]
            raise CorporealError(f"{script} failed with {done.returncode}: {last}")
        with np.load(answer) as found:
            return dict(found)
