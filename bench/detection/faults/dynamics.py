"""Faults of torques, forces and the body's own geometry."""

from __future__ import annotations

import numpy as np

from bench.detection.editing import (
    STATE,
    column_of,
    extent,
    label_of,
    names_of,
    put,
    rate_of,
    span,
    values_of,
)
from bench.detection.fault import Fault, NotApplicable, Truth, fault
from corporeal.embodiment import Embodiment
from corporeal.embodiment.collision import CollisionModel
from corporeal.embodiment.joints import standing_positions
from corporeal.embodiment.kinematics import Kinematics
from corporeal.episode.recording import Recording

Rng = np.random.Generator
Injected = tuple[Recording, Truth]


@fault({"torque_mismatch", "torque_beyond_limit"}, strengths=(0.3, 0.5, 9.0), tolerance=0.5,
       unit="share too much")  # fmt: skip
def torque_scaled(recording: Recording, rng: Rng, strength: float) -> Injected:
    """Every torque is too large: a wrong gear ratio, or a unit."""
    del rng
    label = label_of(recording, "joint_torque")
    values = values_of(recording, label) * (1 + strength)
    return put(recording, label, values), Truth((label,))


@fault({"torque_mismatch", "joint_sign_flipped"})
def torque_sign(recording: Recording, rng: Rng, strength: float) -> Injected:
    """Every torque has the wrong sign."""
    del rng, strength
    label = label_of(recording, "joint_torque")
    return put(recording, label, -values_of(recording, label)), Truth((label,))


@fault({"torque_mismatch", "joint_sign_flipped", "joints_swapped"})
def one_torque_sign(recording: Recording, rng: Rng, strength: float) -> Injected:
    """The torque of one joint that carries weight has the wrong sign."""
    del strength
    label = label_of(recording, "joint_torque")
    values = values_of(recording, label)
    loaded = np.flatnonzero(np.median(np.abs(values), axis=0) > 3.0)
    if not len(loaded):
        raise NotApplicable("no joint is loaded")
    values[:, int(rng.choice(loaded))] *= -1
    return put(recording, label, values), Truth((label,))


def _wrench(recording: Recording, rng: Rng) -> str:
    labels = sorted(
        label for label, signal in recording.signals.items() if signal.spec.name.endswith("_wrench")
    )
    if not labels:
        raise NotApplicable("no force sensor")
    return str(rng.choice(labels))


@fault({"force_spikes"}, strengths=(100, 300, 1000), tolerance=300, unit="N")
def force_spike(recording: Recording, rng: Rng, strength: float) -> Injected:
    """One sample of a force sensor is far off."""
    label = _wrench(recording, rng)
    values = values_of(recording, label)
    place = int(rng.integers(20, len(values) - 20))
    values[place, int(rng.integers(3))] += strength * rng.choice([-1, 1])
    return put(recording, label, values), Truth((label,), ((place, place + 1),))


@fault({"force_sensor_saturated", "force_spikes", "signal_frozen", "torque_beyond_limit"},
       strengths=(0.5, 0.8), unit="of what it reached")  # fmt: skip
def saturation(recording: Recording, rng: Rng, strength: float) -> Injected:
    """A force sensor is cut off: whatever is larger reads as the same number."""
    label = _wrench(recording, rng)
    values = values_of(recording, label)
    if extent(values)[2] < 15:
        raise NotApplicable("nothing was pressed or carried")
    middle = np.median(values[:, 2])
    away = np.abs(values[:, 2] - middle)
    top = np.percentile(away, 100 * (1 - 0.3 * strength))
    values[:, 2] = middle + np.clip(values[:, 2] - middle, -top, top)
    return put(recording, label, values), Truth((label,))


@fault(
    {"torque_beyond_limit", "torque_mismatch"},
    strengths=(1.1, 1.3, 1.6),
    tolerance=1.3,
    unit="of its limit",
)
def torque_beyond_limit(recording: Recording, rng: Rng, strength: float) -> Injected:
    """A motor's torque is more than the motor can give, for a tenth of a second."""
    label = label_of(recording, "joint_torque")
    values = values_of(recording, label)
    robot = recording.embodiment
    if robot is None:
        raise NotApplicable("robot not known")
    efforts = {joint.name: joint.effort for joint in robot.actuated if joint.effort}
    name = str(rng.choice([each for each in names_of(recording, label) if each in efforts]))
    count = round(0.1 * rate_of(recording.signals[label].time_ns))
    where = span(rng, len(values), max(3, count))
    noise = 1 + rng.uniform(0, 0.03, len(values[where]))
    values[where, column_of(recording, label, name) or 0] = strength * efforts[name] * noise
    return put(recording, label, values), Truth((label,), ((where.start, where.stop),))


@fault({"force_sensor_biased", "torque_mismatch", "foot_load_mismatch"}, strengths=(5, 20, 60),
       tolerance=20, unit="N")  # fmt: skip
def wrench_bias(recording: Recording, rng: Rng, strength: float) -> Injected:
    """A wrist's force sensor was not zeroed."""
    labels = [each for each in recording.signals if each.endswith("_wrist_wrench")]
    if not labels:
        raise NotApplicable("no wrist force")
    label = str(rng.choice(labels))
    values = values_of(recording, label)
    direction = rng.normal(size=3)
    values[:, :3] += strength * direction / np.linalg.norm(direction)
    return put(recording, label, values), Truth((label,))


@fault({"foot_sensors_swapped", "force_late", "foot_load_mismatch"}, data={"episode", "walk"})
def ankles_exchanged(recording: Recording, rng: Rng, strength: float) -> Injected:
    """The force sensors of the left and the right ankle are exchanged."""
    del rng, strength
    left, right = "observations/left_ankle_wrench", "observations/right_ankle_wrench"
    if left not in recording.signals or right not in recording.signals:
        raise NotApplicable("no ankle force")
    one, two = values_of(recording, left), values_of(recording, right)
    count = min(len(one), len(two))
    # Standing on both feet alike, nothing tells them apart.
    share = one[:count, 2] - two[:count, 2]
    if np.ptp(np.convolve(share, np.ones(40) / 40, "valid")) < 60:
        raise NotApplicable("the weight stays where it is")
    one[:count], two[:count] = two[:count], one[:count].copy()
    return put(put(recording, left, one), right, two), Truth((left, right))


@fault({"self_collision"}, strengths=(0.01, 0.03), tolerance=0.03, unit="m")
def self_collision(recording: Recording, rng: Rng, strength: float) -> Injected:
    """For half a second an arm is inside the body."""
    label = label_of(recording, *STATE)
    robot = recording.embodiment
    if robot is None or robot.name != "g1":
        raise NotApplicable("no pose known to collide")
    values, names = values_of(recording, label), names_of(recording, label)
    side = str(rng.choice(["left", "right"]))
    deep = _colliding(recording, names, values, side, strength)
    rate = rate_of(recording.signals[label].time_ns)
    where = span(rng, len(values), round(1.5 * rate))
    ease = np.clip(np.minimum(np.arange(len(values[where])), np.arange(len(values[where]))[::-1])
                   / (0.5 * rate), 0, 1)  # fmt: skip
    ease = ease * ease * (3 - 2 * ease)
    for name, angle in deep.items():
        column = names.index(name)
        values[where, column] = (1 - ease) * values[where, column] + ease * angle
    inside = np.flatnonzero(ease > 0.98) + where.start
    return put(recording, label, values), Truth((label,), ((int(inside[0]), int(inside[-1]) + 1),))


def _colliding(
    recording: Recording, names: tuple[str, ...], values: np.ndarray, side: str, depth_m: float
) -> dict[str, float]:
    """A pose of one arm that goes about so deep into the body, found by trying."""
    robot = recording.embodiment
    if robot is None:
        raise NotApplicable("robot not known")
    joints = robot.joint_names
    sign = 1.0 if side == "left" else -1.0
    arm = {
        f"{side}_shoulder_pitch_joint": (-0.8, 0.4, 1.0),
        f"{side}_shoulder_roll_joint": (-1.0, 0.3, sign),
        f"{side}_shoulder_yaw_joint": (-1.2, 1.2, sign),
        f"{side}_elbow_joint": (-0.5, 1.2, 1.0),
    }
    if any(name not in names for name in arm):
        raise NotApplicable("no arm")
    q = np.tile(standing_positions(robot), (400, 1))
    for number, name in enumerate(joints):
        if name in names:
            q[:, number] = values[0, names.index(name)]
    dice = np.random.default_rng(3)
    for name, (low, high, factor) in arm.items():
        q[:, joints.index(name)] = factor * dice.uniform(low, high, len(q))
    depth = -CollisionModel(robot).distances(q).minimum_m
    good = np.flatnonzero((depth > depth_m) & (depth < depth_m + 0.02))
    if not len(good):
        raise NotApplicable("no colliding pose found")
    return {name: float(q[good[0], joints.index(name)]) for name in arm}


@fault({"hand_too_fast", "joint_too_fast", "joint_jumps", "frames_dropped", "signal_spikes"},
       strengths=(4.0, 7.0, 12.0), tolerance=7.0, unit="m/s")  # fmt: skip
def hand_too_fast(recording: Recording, rng: Rng, strength: float) -> Injected:
    """A hand sweeps away and back faster than any arm can."""
    label = label_of(recording, *STATE)
    robot = recording.embodiment
    if robot is None:
        raise NotApplicable("robot not known")
    values, names = values_of(recording, label), names_of(recording, label)
    rate = rate_of(recording.signals[label].time_ns)
    side = str(rng.choice(["left", "right"]))
    arm = [joint for joint in robot.actuated if joint.name in names and _swings(joint.name, side)]
    if len(arm) < 2:
        raise NotApplicable("no arm of that name")
    count = max(3, round(0.1 * rate))
    where = span(rng, len(values), 2 * count)
    sweep = 0.5 - 0.5 * np.cos(np.linspace(0, 2 * np.pi, 2 * count))
    way = np.zeros(values.shape[1])
    for joint in arm:
        middle = ((joint.lower or 0.0) + (joint.upper or 0.0)) / 2
        column = names.index(joint.name)
        way[column] = 1.0 if values[where.start, column] < middle else -1.0
    fastest = _hand_speed(robot, names, values[where] + 0.1 * sweep[:, None] * way, rate)
    far = 0.1 * strength / max(fastest, 1e-6)
    if far > 2.5:
        raise NotApplicable("the arm cannot reach that far")
    values[where] += far * sweep[:, None] * way
    return put(recording, label, values), Truth((label,), ((where.start, where.stop),))


def _swings(name: str, side: str) -> bool:
    return side in name and ("shoulder_pitch" in name or "elbow" in name)


def _hand_speed(
    robot: Embodiment, names: tuple[str, ...], values: np.ndarray, rate_hz: float
) -> float:
    """The fastest of the hands, in m/s."""
    q = np.tile(standing_positions(robot), (len(values), 1))
    for number, name in enumerate(robot.joint_names):
        if name in names:
            q[:, number] = values[:, names.index(name)]
    hands = Kinematics(robot).end_effectors(q).positions
    return float(np.linalg.norm(np.diff(hands, axis=0), axis=2).max() * rate_hz)


FAULTS: tuple[Fault, ...] = (
    torque_scaled, torque_sign, one_torque_sign, force_spike, saturation, torque_beyond_limit,
    wrench_bias, ankles_exchanged, self_collision, hand_too_fast,
)  # fmt: skip
