"""What a force sensor weighs, and the torques that gravity and the wrenches ask of the joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.calibration.force import compensate_wrench
from corporeal.embodiment.kinematics import Kinematics, Mount, mount_of
from corporeal.errors import CorporealError, NotAssessed
from corporeal.protocol import Calibration
from corporeal.protocol.calibration import ForceCalibration
from corporeal.quality.evidence.base_and_feet import loads_of, upward_of
from corporeal.quality.evidence.rigid_motion import (
    GRAVITY,
    beyond_kg,
    foot_links,
    has_chain,
    names_outward,
    outward,
    poses_in_base,
)
from corporeal.quality.subject import Subject, attempt, once_per_subject
from corporeal.schema import roles
from corporeal.signal.runs import Flags
from corporeal.signal.track import Array, Track

# A hand is free in some tenth of an episode, at least at its beginning.
FREE_SHARE = 0.1
# Fewer samples than this tell nothing.
FEW = 10
# A base that is tilted more than 37 degrees does not stand.
STANDS_UPRIGHT = 0.8
# What a sensor may be off by and still weigh a limb.
MAX_BIAS_N, MAX_WEIGHT_ERROR = 5.0, 0.15
FOOT_WORDS = ("ankle", "foot", "sole", "leg")
# Frames that the comparison is made on: torques are slow, and the rest only costs time.
MOST_FRAMES = 500
FEW_FRAMES = 30
# Faster joints, or a body tilted more than 30 degrees, are moved by more than their weight.
CALM_RAD_S, UPRIGHT = 3.0, 0.87


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

    Where the episode's calibration knows the tool, that and the bias are taken off. Else either
    side may count as pushing, and the hand's weight may be taken out already: the least is meant.
    """
    if sensor.mount is None or not has_chain(subject, sensor.mount.link):
        return None
    felt = compensated(subject, sensor)
    if felt is not None:
        whole = felt[np.isfinite(felt).all(axis=1)]
        return _least(whole) if len(whole) >= FEW else None
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


def compensated(subject: Subject, sensor: ForceSensor) -> Array | None:
    """What a calibrated sensor feels (T, 6) on the clock of the posture, beside tool and bias.

    None where the episode carries no calibration of it, or not every joint on the way to it.
    """
    known = _known_tool(subject, sensor.track.spec.name)
    if known is None or sensor.mount is None or not has_chain(subject, sensor.mount.link):
        return None
    flange = poses_in_base(subject).rotation(sensor.mount.link)
    up = np.einsum("tji,tj->ti", flange, upward_of(subject))
    values = sensor.track.at(subject.posture.time_ns)
    forces = values[:, sensor.forces[:3]]
    moments = sensor.moments[:3]
    torques = values[:, moments] if len(moments) == 3 else np.full(forces.shape, np.nan)
    force, torque = compensate_wrench(known, up, forces, torques)
    return np.concatenate([force, torque], axis=1) if len(moments) == 3 else force


def _known_tool(subject: Subject, name: str) -> ForceCalibration | None:
    text = subject.recording.documents.get("calibration")
    if text is None:
        return None
    try:
        calibration = Calibration.parse(text, source="calibration", suffix=".json")
    except CorporealError:
        return None
    return next((each for each in calibration.force_sensors or () if each.name == name), None)


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
    total = loads.upward.sum(axis=1)[upward_of(subject)[:, 2] > STANDS_UPRIGHT]
    total = total[np.isfinite(total)]
    if weight <= 0 or total.size < FEW:
        raise NotAssessed("the robot is not seen to stand")
    return float(np.median(total)) / weight, weight


def is_trusted(subject: Subject, sensor: ForceSensor) -> bool:
    """Whether a sensor is zeroed and in newtons, as far as hands and weight tell."""
    if sensor.on_foot:
        carried = attempt(foot_share, subject)
        return carried is not None and abs(carried[0] - 1) <= MAX_WEIGHT_ERROR
    rest = hand_rest(subject, sensor)
    return rest is not None and float(np.linalg.norm(rest)) <= MAX_BIAS_N


def _least(rest: Array) -> Array:
    """The mean of the samples in which least is felt."""
    size = np.linalg.norm(rest, axis=1)
    return np.asarray(np.mean(rest[size <= np.quantile(size, FREE_SHARE)], axis=0))


def weight_n(subject: Subject) -> float:
    """What the robot weighs; a usual humanoid where the robot is not known."""
    robot = subject.recording.embodiment
    return 9.81 * robot.mass if robot is not None and robot.mass > 0 else 400.0


@dataclass(frozen=True, eq=False)
class Cut:
    """A force sensor: what lies beyond its link is weighed by it, in axes of the base (N, 6)."""

    link: str
    track: Track
    wrench: Array


@dataclass(frozen=True, eq=False)
class StaticTorques:
    """Measured and expected torques (N, J) of the joints at some frames of the state's clock.

    `known` (J,) marks joints whose load is known: all that is outward of them is weighed, or
    hangs free. `bare` (J,) marks those among them with a hand beyond that no sensor weighs.
    `lever` (N, J) is what one newton of weight in that hand adds.
    """

    label: str
    frames: NDArray[np.int64]
    measured: Array
    expected: Array
    known: Flags
    bare: Flags
    lever: Array


@once_per_subject
def static_torques(subject: Subject) -> StaticTorques:
    """The comparison; raises NotAssessed without torques, masses or a vertical."""
    track, posture = subject.track(roles.JOINT_TORQUE), subject.posture
    kinematics, robot = subject.kinematics, subject.robot
    columns = subject.joint_columns(track)
    if not columns or len(track) < 2:
        raise NotAssessed(f"{track.label} has no torque of a joint of {robot.name}")
    if robot.mass <= 0:
        raise NotAssessed(f"the masses of {robot.name} are not known")
    frames = _calm_frames(subject)
    if len(frames) < FEW_FRAMES:
        raise NotAssessed("the robot is never calm: motion, not weight, makes the torques")
    poses = kinematics.transforms(posture.q[frames])
    up = upward_of(subject)[frames]
    cuts = sensor_cuts(subject, frames, poses)
    torque = track.at(posture.time_ns[frames])
    measured = np.full((len(frames), len(kinematics.columns)), np.nan)
    for number, name in enumerate(kinematics.columns):
        if name in columns:
            measured[:, number] = torque[:, columns[name]]
    known, bare = _loads_known(subject, [cut.link for cut in cuts])
    return StaticTorques(
        track.label,
        frames,
        measured,
        expected_torques(kinematics, poses, up, cuts),
        known & np.array([name in columns for name in kinematics.columns]),
        bare,
        _hand_lever(subject, poses, up),
    )


def sensor_cuts(
    subject: Subject,
    frames: NDArray[np.int64],
    poses: Array,
    *,
    instead: Mapping[str, Track] | None = None,
) -> list[Cut]:
    """The six-axis sensors that sit on links, as what the link inwards exerts, in the base's axes.

    `instead` {label: track} takes the readings of other sensors for some of them.

    A sensor that is not zeroed, or in another unit, weighs nothing and is left out. Sensors
    differ in which side they count as pushing: an ankle is pushed down by the robot, and a hand
    is held up.
    """
    posture = subject.posture
    feet = {link for link, _ in (attempt(foot_links, subject) or {}).values()}
    up = upward_of(subject)[frames]
    cuts = []
    for sensor in trusted_sensors(subject):
        track, mount = sensor.track, sensor.mount
        if mount is None or track.values.shape[1] != 6:
            continue
        turns = np.moveaxis(poses[subject.kinematics.names.index(mount.link)][:, :3], -1, 0)
        turns = turns @ mount.axes
        values = (instead or {}).get(track.label, track).at(posture.time_ns[frames])
        wrench = np.concatenate(
            [np.einsum("nij,nj->ni", turns, values[:, part]) for part in (slice(3), slice(3, 6))],
            axis=1,
        )
        held_up = float(np.nanmedian(np.einsum("ni,ni->n", wrench[:, :3], up))) > 0
        sign = 1.0 if held_up != (mount.link in feet) else -1.0
        cuts.append(Cut(mount.link, track, sign * wrench))
    return cuts


@once_per_subject
def trusted_sensors(subject: Subject) -> list[ForceSensor]:
    """The force sensors that are zeroed and in newtons."""
    sensors = attempt(force_sensors, subject) or ()
    return [sensor for sensor in sensors if is_trusted(subject, sensor)]


def expected_torques(kinematics: Kinematics, poses: Array, up: Array, cuts: list[Cut]) -> Array:
    """Torques (N, J) that hold links at `poses` (L, 3, 4, N), seen from the base, against gravity.

    `up` (N, 3) is the vertical. Beyond a cut nothing counts but what the sensor says.
    """
    masses, centres, _ = kinematics.inertias
    masses = masses.copy()
    for cut in cuts:
        masses[outward(kinematics, cut.link)] = 0.0
    force = GRAVITY * masses[:, None, None] * up.T
    moment = _cross(np.einsum("lk,likn->lin", centres, poses[:, :, :3]), force)
    for cut in cuts:
        force[kinematics.names.index(cut.link)] = cut.wrench[:, :3].T
        moment[kinematics.names.index(cut.link)] = cut.wrench[:, 3:].T
    return _carried(kinematics, poses, force, moment)


def _carried(kinematics: Kinematics, poses: Array, force: Array, moment: Array) -> Array:
    """Torques (N, J) that carry forces and moments (L, 3, N), added up on the way inwards."""
    efforts = np.zeros((len(kinematics.embodiment.joints), poses.shape[-1]))
    for step in reversed(kinematics.steps):
        axis = step.axis @ poses[step.child][:, :3]
        arm = poses[step.child][:, 3] - poses[step.parent][:, 3]
        load = force[step.child] if step.prismatic else moment[step.child]
        efforts[step.joint] = (axis * load).sum(0)
        force[step.parent] += force[step.child]
        moment[step.parent] += moment[step.child] + _cross(arm, force[step.child])
    return kinematics.joints.efforts(efforts, len(kinematics.columns))


def _calm_frames(subject: Subject) -> NDArray[np.int64]:
    """Frames in which the robot is upright and no joint is fast, at most MOST_FRAMES of them."""
    posture = subject.posture
    if len(posture) < 3:
        return np.zeros(0, np.int64)
    seconds = np.maximum(np.diff(posture.time_ns) / 1e9, 1e-9)
    speed = np.abs(np.diff(posture.q, axis=0)).max(axis=1) / seconds
    calm = np.append(speed, speed[-1]) < CALM_RAD_S
    calm &= upward_of(subject)[:, 2] > UPRIGHT
    frames = np.flatnonzero(calm)
    if len(frames) <= MOST_FRAMES:
        return frames
    return frames[np.linspace(0, len(frames) - 1, MOST_FRAMES).astype(np.int64)]


def _loads_known(subject: Subject, cut: list[str]) -> tuple[Flags, Flags]:
    """Joints (J,) whose load is known, and those with a hand beyond that no sensor weighs."""
    kinematics, robot = subject.kinematics, subject.robot
    weighed = {link for name in cut for link in names_outward(kinematics, name)}
    feet = {link for link, _ in _places(subject, robot.feet)} - weighed
    hands = {link for link, _ in _places(subject, robot.end_effectors)} - weighed
    joints = {joint.name: joint for joint in robot.joints}
    known, bare = [], []
    for name in kinematics.columns:
        beyond = set(names_outward(kinematics, joints[name].child))
        placed = all(has_chain(subject, link) for link in beyond)
        carries = robot.floating and bool(beyond & feet)
        # The hand's own sensor sits on its link: the joint that drives that link is inside it.
        inside = joints[name].child in weighed and joints[name].child not in cut
        known.append(placed and not carries and not inside)
        bare.append(bool(beyond & hands))
    return np.array(known), np.array(bare)


def _hand_lever(subject: Subject, poses: Array, up: Array) -> Array:
    """Torque (N, J) that one newton of weight in every hand adds."""
    kinematics = subject.kinematics
    force = np.zeros((len(kinematics.names), 3, poses.shape[-1]))
    moment = np.zeros_like(force)
    for link, place in _places(subject, subject.robot.end_effectors):
        number = kinematics.names.index(link)
        force[number] = up.T
        moment[number] = _cross(np.einsum("k,ikn->in", place, poses[number][:, :3]), force[number])
    return _carried(kinematics, poses, force, moment)


def _places(subject: Subject, named: dict[str, str]) -> list[tuple[str, Array]]:
    found = [subject.kinematics.place(place) for place in named.values()]
    return [(subject.kinematics.names[link], at[:, 3]) for link, at in found]


def _cross(a: Array, b: Array) -> Array:
    """Cross products of (..., 3, N) along the axis before the last."""
    x, y, z = ((1, 2), (2, 0), (0, 1))
    return np.stack(
        [a[..., i, :] * b[..., j, :] - a[..., j, :] * b[..., i, :] for i, j in (x, y, z)], axis=-2
    )
