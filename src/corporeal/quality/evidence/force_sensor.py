"""What a force sensor can be asked: which part of the robot it is on, and what that part weighs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.evidence.base_order import upward_of
from corporeal.quality.evidence.footing import loads_of
from corporeal.quality.evidence.mounting import Mount, beyond_kg, has_chain, mount_of, poses_in_base
from corporeal.quality.evidence.rigid_motion import GRAVITY
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.track import Array, Track

# A hand is free in some tenth of an episode, at least at its beginning.
FREE_SHARE = 0.1
# Fewer samples than this tell nothing.
FEW = 10
# A base that is tilted more than 37 degrees does not stand.
UPRIGHT = 0.8
# What a sensor may be off by and still weigh a limb.
MAX_BIAS_N, MAX_WEIGHT_ERROR = 5.0, 0.15
FOOT_WORDS = ("ankle", "foot", "sole", "leg")


@dataclass(frozen=True, eq=False)
class ForceSensor:
    """One wrench stream, where it sits, and whether feet stand on it."""

    track: Track
    mount: Mount | None
    on_foot: bool

    @property
    def forces(self) -> list[int]:
        """Columns that hold forces."""
        return [k for k, unit in enumerate(self.track.units) if unit == "N"] or [0, 1, 2]

    @property
    def moments(self) -> list[int]:
        """Columns that hold moments."""
        forces = set(self.forces)
        return [k for k in range(self.track.values.shape[1]) if k not in forces]


def force_sensors(subject: Subject) -> list[ForceSensor]:
    """Every wrench stream with samples; raises NotAssessed when there is none."""
    found = []
    for track in subject.ending_in(roles.WRENCH).values():
        if len(track) < 3 or track.values.shape[1] < 3:
            continue
        on_foot = any(word in track.spec.name for word in FOOT_WORDS)
        mount = None
        if subject.recording.embodiment is not None:
            mount = mount_of(subject.robot, track.spec)
        found.append(ForceSensor(track, mount, on_foot))
    if not found:
        raise NotAssessed("no force sensor")
    return found


def hand_rest(subject: Subject, sensor: ForceSensor) -> Array | None:
    """What a wrist feels (3,) when it feels least, beyond the weight of the hand; None if unknown.

    Either side may count as pushing, and the hand's weight may be taken out already: the least
    of these is meant.
    """
    if sensor.mount is None or not has_chain(subject, sensor.mount.link):
        return None
    posture = subject.posture
    turns = poses_in_base(subject).rotation(sensor.mount.link) @ sensor.mount.axes
    up = np.einsum("tji,tj->ti", turns, upward_of(subject))
    force = sensor.track.at(posture.time_ns)[:, sensor.forces[:3]]
    good = np.isfinite(force).all(axis=1) & np.isfinite(up).all(axis=1)
    if np.count_nonzero(good) < FEW:
        return None
    weight = GRAVITY * beyond_kg(subject, sensor.mount.link)
    rests = [_least(force[good] - share * weight * up[good]) for share in (1.0, -1.0, 0.0)]
    return min(rests, key=lambda rest: float(np.linalg.norm(rest)))


def foot_share(subject: Subject) -> tuple[float, float]:
    """What the ankles carry of the weight above them while the robot is upright, and that weight.

    Raises NotAssessed unless every foot has a sensor.
    """
    loads, robot = loads_of(subject), subject.robot
    if len(loads.tracks) < len(robot.feet):
        raise NotAssessed("not every foot has a force sensor")
    mounts = [mount_of(robot, track.spec) for track in loads.tracks.values()]
    beyond = sum(beyond_kg(subject, mount.link) for mount in mounts if mount is not None)
    weight = GRAVITY * (robot.mass - beyond)
    total = loads.upward.sum(axis=1)[upward_of(subject)[:, 2] > UPRIGHT]
    total = total[np.isfinite(total)]
    if weight <= 0 or total.size < FEW:
        raise NotAssessed("the robot is not seen to stand")
    return float(np.median(total)) / weight, weight


def is_trusted(subject: Subject, sensor: ForceSensor) -> bool:
    """Whether a sensor is zeroed and in newtons, as far as hands and weight tell."""
    if sensor.on_foot:
        try:
            share, _ = foot_share(subject)
        except NotAssessed:
            return False
        return abs(share - 1) <= MAX_WEIGHT_ERROR
    rest = hand_rest(subject, sensor)
    return rest is not None and float(np.linalg.norm(rest)) <= MAX_BIAS_N


def _least(rest: Array) -> Array:
    """The mean of the samples in which least is felt."""
    size = np.linalg.norm(rest, axis=1)
    mean: Array = np.mean(rest[size <= np.quantile(size, FREE_SHARE)], axis=0)
    return mean


def weight_n(subject: Subject) -> float:
    """What the robot weighs; a usual humanoid where the robot is not known."""
    robot = subject.recording.embodiment
    return 9.81 * robot.mass if robot is not None and robot.mass > 0 else 400.0
