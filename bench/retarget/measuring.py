"""The same figures for everyone's result, and how they add up over clips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.retarget.limbs import limbs_off
from bench.retarget.robot_motion import RobotMotion, contacts_of
from corporeal.embodiment.kinematics import Kinematics
from corporeal.retargeting.goal.soles import soles_of
from corporeal.retargeting.measure.grounding import Grounding, measure_grounding
from corporeal.retargeting.measure.metrics import Metrics, measure
from corporeal.retargeting.motion import HumanMotion
from corporeal.retargeting.result import Supports

FAR_M = 0.05
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Figures:
    """One result on one clip, or the sum of many; lengths in cm, jerk in rad/s3, angles in degrees.

    Errors, hover, jerk and angles are means over frames, drift a mean over stances; `*_max_cm` and
    `depth_cm` are the worst of all frames. Stances are the person's, cut where the person moves a
    standing foot by over 5 cm; `uncut_*` is the drift without those cuts, `sole_drift_cm` that with
    stances told from the height and speed of the robot's own soles. `overloaded_frames` ask a motor
    for over 5 % more than it has. None is what was not to be had.
    """

    frames: int
    seconds: float
    cpu_s: float | None
    hand_cm: float | None
    foot_cm: float | None
    far_frames: int | None
    stances: int
    drift_cm: float
    drift_max_cm: float
    uncut_drift_cm: float
    uncut_drift_max_cm: float
    sole_drift_cm: float
    hover_cm: float
    hover_max_cm: float
    depth_cm: float
    overlap_frames: int
    limits: int
    speeds: int
    overloaded_frames: int
    jumps: int
    jerk: float
    limb_deg: float | None
    converged: bool

    @property
    def frames_per_cpu_s(self) -> float | None:
        """How fast it was made on one core."""
        return self.frames / self.cpu_s if self.cpu_s else None

    @property
    def times_real_time(self) -> float | None:
        """Seconds of motion per CPU-second."""
        return self.seconds / self.cpu_s if self.cpu_s else None

    def to_json(self) -> dict[str, Any]:
        """Plain values, the speeds among them."""
        speeds = {
            "frames_per_cpu_s": self.frames_per_cpu_s,
            "times_real_time": self.times_real_time,
        }
        return {**asdict(self), **speeds}


def figures_of(
    motion: RobotMotion,
    contacts: Flags,
    human: HumanMotion | None = None,
    *,
    uncut: Flags | None = None,
    supports: Supports | None = None,
) -> Figures:
    """Figures of a motion whose heels and toes are meant to stand as `contacts` (T, 2, 2) says."""
    found = measure(
        motion.robot, motion.rate_hz, motion.q, motion.base, contacts=contacts, supports=supports
    )
    errors = motion.errors()
    known = errors.shape[1] == 4
    angles = [] if human is None else list(limbs_off(human, motion).values())
    whole = _grounding(motion, contacts if uncut is None else uncut)
    return Figures(
        frames=len(motion.q),
        seconds=len(motion.q) / motion.rate_hz,
        uncut_drift_cm=100 * whole.drift_mean_m,
        uncut_drift_max_cm=100 * whole.drift_max_m,
        sole_drift_cm=100 * _grounding(motion, contacts_of(motion)).drift_mean_m,
        cpu_s=motion.cpu_s,
        hand_cm=100 * float(np.nanmean(errors[:, :2])) if known else None,
        foot_cm=100 * float(np.nanmean(errors[:, 2:])) if known else None,
        far_frames=int((errors > FAR_M).any(axis=1).sum()) if known else None,
        limb_deg=float(np.mean(angles)) if angles else None,
        converged=motion.converged,
        **_of_metrics(found),
    )


def _grounding(motion: RobotMotion, contacts: Flags) -> Grounding:
    poses = Kinematics(motion.robot).transforms(motion.q, motion.base)
    return measure_grounding(motion.robot, soles_of(motion.robot), poses, contacts)


def _of_metrics(found: Metrics) -> dict[str, Any]:
    ground = found.grounding
    return {
        "stances": ground.stances,
        "drift_cm": 100 * ground.drift_mean_m,
        "drift_max_cm": 100 * ground.drift_max_m,
        "hover_cm": 100 * ground.hover_mean_m,
        "hover_max_cm": 100 * ground.hover_max_m,
        "depth_cm": 100 * max(ground.sole_depth_max_m, ground.body_depth_max_m),
        "overlap_frames": found.overlaps.frames,
        "limits": found.position.count,
        "speeds": found.speed.count,
        "overloaded_frames": 0 if found.effort is None else found.effort.frames,
        "jumps": found.smoothness.jumps,
        "jerk": found.smoothness.jerk_mean_rad_s3,
    }


def added(rows: Sequence[Figures]) -> Figures:
    """Many clips as one: means weighed by frames (drift by stances), counts summed, worst kept."""
    frames = np.array([row.frames for row in rows], np.float64)
    stances = np.array([row.stances for row in rows], np.float64)

    def mean(name: str, weights: NDArray[np.float64] = frames) -> float:
        values = np.array([getattr(row, name) for row in rows], np.float64)
        return float((values * weights).sum() / max(weights.sum(), 1.0))

    def mean_if_known(name: str) -> float | None:
        return None if any(getattr(row, name) is None for row in rows) else mean(name)

    def total(name: str) -> int:
        return int(sum(getattr(row, name) for row in rows))

    def worst(name: str) -> float:
        return float(max(getattr(row, name) for row in rows))

    times = [row.cpu_s for row in rows]
    return Figures(
        frames=int(frames.sum()),
        seconds=sum(row.seconds for row in rows),
        uncut_drift_cm=mean("uncut_drift_cm", stances),
        uncut_drift_max_cm=worst("uncut_drift_max_cm"),
        sole_drift_cm=mean("sole_drift_cm", stances),
        cpu_s=sum(time for time in times if time is not None) if None not in times else None,
        hand_cm=mean_if_known("hand_cm"),
        foot_cm=mean_if_known("foot_cm"),
        far_frames=None if any(row.far_frames is None for row in rows) else total("far_frames"),
        stances=int(stances.sum()),
        drift_cm=mean("drift_cm", stances),
        drift_max_cm=worst("drift_max_cm"),
        hover_cm=mean("hover_cm"),
        hover_max_cm=worst("hover_max_cm"),
        depth_cm=worst("depth_cm"),
        overlap_frames=total("overlap_frames"),
        limits=total("limits"),
        speeds=total("speeds"),
        overloaded_frames=total("overloaded_frames"),
        jumps=total("jumps"),
        jerk=mean("jerk"),
        limb_deg=mean_if_known("limb_deg"),
        converged=all(row.converged for row in rows),
    )
