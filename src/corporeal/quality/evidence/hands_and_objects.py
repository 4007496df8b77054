"""What became of the robot and of the object, told from the signals alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Spans
from corporeal.quality.subject import Subject, once_per_subject
from corporeal.schema import roles
from corporeal.signal.runs import runs
from corporeal.signal.track import Array, Track

# A pelvis below this share of its standing height is down.
FALLEN = 0.5
# Downward acceleration that no hand gives an object: it is falling.
FALLING_M_S2 = 6.5
FALLING_S = 0.05
# What falls 2 cm gets as fast as this; an object that a hand lowers quickly does not.
FALLEN_M_S = -0.6
# An object that moved less than this was not handled.
HANDLED_M = 0.02
_STEP_S = 0.05


@dataclass(frozen=True, eq=False)
class ObjectCourse:
    """The object over time: its height above where it rested, and where it fell freely."""

    label: str
    seconds: Array
    position: Array
    falls: Spans

    @property
    def lift_m(self) -> Array:
        """Height (T,) above the first."""
        return np.asarray(self.position[:, 2] - self.position[0, 2])

    @property
    def moved_m(self) -> float:
        """The farthest it was from where it was at first."""
        return float(np.linalg.norm(self.position - self.position[0], axis=1).max())


def object_course(subject: Subject) -> ObjectCourse:
    """The object that the task is about; NotAssessed where it was not tracked."""
    track = subject.track(roles.OBJECT_POSE)
    if len(track) < 10 or track.values.shape[1] < 3 or track.period_s <= 0:
        raise NotAssessed(f"{track.label} has {len(track)} samples")
    position = track.values[:, :3]
    if not np.isfinite(position).all():
        raise NotAssessed(f"{track.label} has values that are not numbers")
    return ObjectCourse(track.label, track.seconds, position, _falls(track))


def _falls(track: Track) -> Spans:
    """Samples at which the object accelerates downwards nearly as freely as a stone."""
    step = max(1, round(_STEP_S / track.period_s))
    height, seconds = track.values[:, 2], track.seconds
    if len(height) <= 2 * step + 1:
        return ()
    speed = (height[step:] - height[:-step]) / np.maximum(seconds[step:] - seconds[:-step], 1e-9)
    gained = speed[step:] - speed[:-step]
    acceleration = gained / np.maximum(seconds[step:-step] - seconds[: -2 * step], 1e-9)
    falling = (acceleration < -FALLING_M_S2) & (speed[step:] < -0.25)
    least = max(2, round(FALLING_S / track.period_s / 2))
    return tuple(
        (first + step, stop + step)
        for first, stop in runs(falling, gap=step - 1)
        if stop - first >= least and speed[first : stop + 5 * step].min() < FALLEN_M_S
    )


def lowest_base(subject: Subject) -> tuple[str, float, Spans]:
    """The base pose's label, its lowest height as a share of standing, and where it is down."""
    standing = subject.robot.standing
    if standing is None:
        raise NotAssessed(f"the standing height of {subject.robot.name} is not known")
    track = subject.track(roles.BASE_POSE)
    if not len(track) or "z" not in track.names:
        raise NotAssessed(f"{track.label} has no height")
    height = track.values[:, track.names.index("z")] / standing.height
    down = np.nan_to_num(height, nan=1.0) < FALLEN
    return track.label, float(np.nanmin(height, initial=np.inf)), runs(down)


def gripper_travel(subject: Subject) -> dict[str, float]:
    """How far each gripper went, by label, without its rarest values."""
    found = {}
    for label, track in subject.ending_in(roles.GRIPPER).items():
        if len(track) and np.isfinite(track.values).all():
            low, high = np.quantile(track.values, (0.01, 0.99))
            found[label] = float(high - low)
    return found


@once_per_subject
def hand_speeds(subject: Subject) -> dict[str, Array]:
    """Speed in m/s of every end effector on the state's clock, smoothed over 50 ms."""
    effectors = subject.robot.end_effectors
    if not effectors:
        raise NotAssessed(f"{subject.robot.name} names no end effectors")
    frames = {frame.name: frame.link for frame in subject.robot.frames}
    posture = subject.posture
    step = max(1, round(0.05 / max(1e-6, subject.tracks[posture.label].period_s)))
    seconds = subject.tracks[posture.label].seconds
    if len(seconds) <= step:
        raise NotAssessed(f"{posture.label} has {len(seconds)} samples")
    poses = subject.link_poses
    speeds = {}
    for name, place in effectors.items():
        where = poses.position(frames.get(place, place))
        apart = np.linalg.norm(where[step:] - where[:-step], axis=1)
        speeds[name] = apart / np.maximum(seconds[step:] - seconds[:-step], 1e-9)
    return speeds
