"""Faults of frames and units of the body: IMU, orientation, base, feet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bench.detection.editing import STATE, label_of, put, rate_of, span, values_of
from bench.detection.fault import Fault, NotApplicable, Truth, fault
from corporeal.episode.recording import Recording
from corporeal.units import SECOND_NS

Rng = np.random.Generator
Injected = tuple[Recording, Truth]
GRAVITY = 9.80665


def _imu(recording: Recording, rng: Rng) -> str:
    labels = sorted(
        label for label, signal in recording.signals.items() if signal.spec.name.endswith("_imu")
    )
    if not labels:
        raise NotApplicable("no IMU")
    return str(rng.choice(labels))


@fault({"imu_gravity_wrong"})
def imu_in_g(recording: Recording, rng: Rng, strength: float) -> Injected:
    """Accelerations are in g, not in m/s2."""
    del strength
    label = _imu(recording, rng)
    values = values_of(recording, label)
    values[:, :3] /= GRAVITY
    return put(recording, label, values), Truth((label,))


@fault({"imu_gravity_wrong", "imu_rotation_wrong", "imu_late"})
def imu_axes(recording: Recording, rng: Rng, strength: float) -> Injected:
    """The IMU's axes are turned: what is called z is not up."""
    del strength
    label = _imu(recording, rng)
    values = values_of(recording, label)
    order = [[1, 2, 0], [2, 0, 1], [0, 2, 1]][int(rng.integers(3))]
    values[:, :3], values[:, 3:] = values[:, order], values[:, [3 + axis for axis in order]]
    return put(recording, label, values), Truth((label,))


@fault({"imu_gravity_wrong", "imu_rotation_wrong", "imu_late"})
def imu_upside_down(recording: Recording, rng: Rng, strength: float) -> Injected:
    """Gravity has the wrong sign: the IMU reads -g at rest."""
    del strength
    label = _imu(recording, rng)
    values = values_of(recording, label)
    values[:, :3] *= -1
    return put(recording, label, values), Truth((label,))


@fault({"imu_rotation_wrong", "imu_gravity_wrong", "imu_late"}, data={"episode", "walk"})
def gyro_in_degrees(recording: Recording, rng: Rng, strength: float) -> Injected:
    """Turning rates are in degrees per second."""
    del strength, rng
    label = label_of(recording, "pelvis_imu")
    values = values_of(recording, label)
    values[:, 3:] = np.rad2deg(values[:, 3:])
    return put(recording, label, values), Truth((label,))


def _turn(recording: Recording) -> tuple[str, list[int]]:
    label = label_of(recording, "base_pose")
    columns = recording.signals[label].spec.quaternion_columns
    if columns is None:
        raise NotApplicable("no quaternion")
    return label, list(columns)


@fault({"quaternion_order_wrong", "robot_fell", "imu_gravity_wrong"})
def quaternion_order(recording: Recording, rng: Rng, strength: float) -> Injected:
    """Quaternions are in x y z w order where w x y z is said."""
    del rng, strength
    label, turn = _turn(recording)
    values = values_of(recording, label)
    w, x, y, z = (values[:, column].copy() for column in turn)
    values[:, turn] = np.stack([x, y, z, w], axis=1)
    return put(recording, label, values), Truth((label,))


@fault({"quaternion_not_unit"}, strengths=(0.005, 0.02, 0.1), tolerance=0.02, unit="of 1")
def quaternion_norm(recording: Recording, rng: Rng, strength: float) -> Injected:
    """Quaternions are not of length one."""
    del rng
    label, turn = _turn(recording)
    values = values_of(recording, label)
    values[:, turn] *= 1 + strength
    return put(recording, label, values), Truth((label,))


@fault({"quaternion_jumps"}, strengths=(1, 5), unit="places")
def quaternion_sign(recording: Recording, rng: Rng, strength: float) -> Injected:
    """A quaternion changes its sign from one sample to the next."""
    label, turn = _turn(recording)
    values = values_of(recording, label)
    places = np.sort(rng.choice(np.arange(20, len(values) - 20), int(strength), replace=False))
    for place in places:
        values[place:, turn] *= -1
    spots = tuple((int(place) - 1, int(place) + 1) for place in places)
    return put(recording, label, values), Truth((label,), spots)


@fault({"base_height_wrong", "base_drifts", "base_jumps"})
def base_in_centimetres(recording: Recording, rng: Rng, strength: float) -> Injected:
    """The base's position is in centimetres."""
    del rng, strength
    label = label_of(recording, "base_pose")
    values = values_of(recording, label)
    values[:, :3] *= 100
    return put(recording, label, values), Truth((label,))


@fault({"base_jumps", "base_drifts", "foot_slides"}, strengths=(0.03, 0.1, 0.5),
       tolerance=0.1, unit="m")  # fmt: skip
def base_teleport(recording: Recording, rng: Rng, strength: float) -> Injected:
    """From one sample on the robot stands elsewhere: tracking was lost and found."""
    label = label_of(recording, "base_pose")
    values = values_of(recording, label)
    place = int(rng.integers(len(values) // 5, 4 * len(values) // 5))
    angle = rng.uniform(0, 2 * np.pi)
    values[place:, :2] += strength * np.array([np.cos(angle), np.sin(angle)])
    return put(recording, label, values), Truth((label,), ((place - 1, place + 1),))


@fault(
    {"base_height_wrong", "robot_fell", "foot_below_ground", "task_failed"},
    strengths=(0.6, 0.9),
    unit="of the way down",
)
def fall_called_success(recording: Recording, rng: Rng, strength: float) -> Injected:
    """The robot falls in the last two seconds and the episode is called a success."""
    del rng
    label = label_of(recording, "base_pose")
    turn = _turn(recording)[1]
    values = values_of(recording, label)
    stamps = np.asarray(recording.signals[label].time_ns)
    since = np.clip((stamps - stamps[-1]) / SECOND_NS + 2.0, 0.0, 1.0)
    fallen = since**2 * strength
    lie = fallen * np.pi / 2
    height = values[0, 2]
    values[:, 0] += np.sin(lie) * height
    values[:, 2] -= fallen * height
    tilt = np.stack([np.cos(lie / 2), np.zeros_like(lie), np.sin(lie / 2), np.zeros_like(lie)], 1)
    values[:, turn] = _product(tilt, values[:, turn])
    over = int(np.flatnonzero(values[:, 2] < 0.5 * height)[0])
    claimed = {"success": True, "failure": None}
    recording = replace(recording, metadata={**recording.metadata, "outcome": claimed})
    # A robot that fell does not tell its base pose alone: the IMU sees gravity turn too.
    for name in ("pelvis_imu", "head_imu"):
        recording = _tip_imu(recording, name, lie, stamps)
    return put(recording, label, values), Truth((label,), ((over, len(values)),))


def _tip_imu(recording: Recording, name: str, lie: np.ndarray, stamps: np.ndarray) -> Recording:
    label = recording.named(name)
    if label is None:
        return recording
    values = values_of(recording, label)
    angle = np.interp(np.asarray(recording.signals[label].time_ns), stamps, lie)
    x, z = values[:, 0].copy(), values[:, 2].copy()
    values[:, 0] = np.cos(angle) * x - np.sin(angle) * z
    values[:, 2] = np.sin(angle) * x + np.cos(angle) * z
    return put(recording, label, values)


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Quaternions multiplied, w x y z."""
    aw, ax, ay, az = a.T
    bw, bx, by, bz = b.T
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=1,
    )


@fault({"foot_slides", "base_drifts"}, strengths=(0.05, 0.15, 0.3), tolerance=0.15,
       unit="m/s")  # fmt: skip
def foot_slide(recording: Recording, rng: Rng, strength: float) -> Injected:
    """The base glides for a second and a half while the feet stand."""
    label = label_of(recording, "base_pose")
    values = values_of(recording, label)
    rate = rate_of(recording.signals[label].time_ns)
    where = span(rng, len(values), round(1.5 * rate))
    step = np.zeros(len(values))
    step[where] = strength / rate
    angle = rng.uniform(0, 2 * np.pi)
    values[:, 0] += np.cumsum(step) * np.cos(angle)
    values[:, 1] += np.cumsum(step) * np.sin(angle)
    # Joints and base disagree: either may be named.
    streams = (label, label_of(recording, *STATE))
    return put(recording, label, values), Truth(streams, ((where.start, where.stop),))


@fault({"foot_below_ground", "foot_load_mismatch", "base_height_wrong"},
       strengths=(0.02, 0.05, 0.1), tolerance=0.05, unit="m")  # fmt: skip
def foot_penetration(recording: Recording, rng: Rng, strength: float) -> Injected:
    """The feet are below the floor throughout."""
    del rng
    label = label_of(recording, "base_pose")
    values = values_of(recording, label)
    values[:, 2] -= strength
    state = label_of(recording, *STATE)
    return put(recording, label, values), Truth((label, state))


@fault({"foot_load_mismatch", "foot_below_ground", "base_height_wrong"},
       strengths=(0.05, 0.15), tolerance=0.15, unit="m")  # fmt: skip
def hovering(recording: Recording, rng: Rng, strength: float) -> Injected:
    """The robot stands above the floor throughout."""
    del rng
    label = label_of(recording, "base_pose")
    values = values_of(recording, label)
    values[:, 2] += strength
    return put(recording, label, values), Truth((label, label_of(recording, *STATE)))


FAULTS: tuple[Fault, ...] = (
    imu_in_g, imu_axes, imu_upside_down, gyro_in_degrees, quaternion_order, quaternion_norm,
    quaternion_sign, base_in_centimetres, base_teleport, fall_called_success, foot_slide,
    foot_penetration, hovering,
)  # fmt: skip
