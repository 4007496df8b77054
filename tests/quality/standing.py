"""A G1 that stands and sways, with every sensor as physics would have it: for tests of frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import open_robot
from corporeal.embodiment.dynamics import inverse_dynamics
from corporeal.embodiment.engines import compile_pinocchio
from corporeal.embodiment.joints import standing_positions
from corporeal.embodiment.kinematics import Kinematics, Poses
from corporeal.episode.recording import ArraySignal, Recording
from corporeal.geometry import quaternion_from_matrix, rotation_vectors
from corporeal.quality import Subject
from corporeal.schema import Stream

Array = NDArray[np.float64]
G1 = open_robot("g1")
RATE_HZ = 100.0
GRAVITY = 9.81
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
IMU = ("ax", "ay", "az", "wx", "wy", "wz")
WRENCH = ("fx", "fy", "fz", "tx", "ty", "tz")


@cache
def standing(seconds: float = 8.0) -> Recording:
    """The recording. The left sole stays where it is; the body leans fore, aft and sideways."""
    time_s = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    dice = np.random.default_rng(1)
    q = _motion(time_s)
    kinematics = Kinematics(G1)
    base = _base(kinematics, q)
    poses = kinematics.link_poses(q, base)
    loads = _ground(kinematics, q, base, poses)
    torque = inverse_dynamics(
        compile_pinocchio(G1), q, 0 * q, 0 * q, base=base, wrenches=loads
    ).joints
    joints = G1.joint_names
    made: dict[str, tuple[str, str | None, tuple[str, ...], Array]] = {
        "observations/joint_position": ("joint_position", None, joints, q),
        "observations/joint_torque": ("joint_torque", None, joints, torque),
        "debug/base_pose": ("base_pose", "world", POSE, base),
    }
    for name, link in (("pelvis_imu", "pelvis"), ("head_imu", "torso_link")):
        felt = _imu(time_s, poses, link)
        made[f"observations/{name}"] = (name, link, IMU, felt + dice.normal(0, 1e-3, felt.shape))
    for side in ("left", "right"):
        for part, link in (("ankle", "ankle_roll_link"), ("wrist", "wrist_yaw_link")):
            name = f"{side}_{part}_wrench"
            wrench = _sensor(poses, f"{side}_{link}", loads.get(f"{side}_{link}"))
            wrench = wrench + dice.normal(0, 0.02, wrench.shape)
            made[f"observations/{name}"] = (name, f"{side}_{part}", WRENCH, wrench)
    stamps = np.round(time_s * 1e9).astype(np.int64)
    signals = {
        label: ArraySignal(_spec(label, name, frame, columns), stamps, values)
        for label, (name, frame, columns, values) in made.items()
    }
    return Recording("standing", Path("standing.h5"), 0, signals, embodiment=G1)


def altered(
    label: str, change: Callable[[Array], Any], recording: Recording | None = None
) -> Subject:
    """The standing robot with one stream changed; `change` gets a copy of its values."""
    recording = recording or standing()
    signal = recording.signals[label]
    values = np.array(signal[:])
    changed = change(values)
    spoilt = ArraySignal(signal.spec, signal.time_ns, values if changed is None else changed)
    return Subject(replace(recording, signals={**recording.signals, label: spoilt}))


def without(*labels: str) -> Subject:
    """The standing robot without some streams, by the end of their label."""
    kept = {k: s for k, s in standing().signals.items() if not k.endswith(labels)}
    return Subject(replace(standing(), signals=kept))


def column(joint: str) -> int:
    """Where a joint stands in the data."""
    return G1.joint_names.index(joint)


def _motion(time_s: Array) -> Array:
    q = np.tile(standing_positions(G1), (len(time_s), 1))
    lean = 0.04 * np.sin(2.4 * time_s)
    sway = 0.03 * np.sin(1.7 * time_s + 1)
    for side in ("left", "right"):
        q[:, column(f"{side}_hip_pitch_joint")] += lean / 3
        q[:, column(f"{side}_ankle_pitch_joint")] += lean
        q[:, column(f"{side}_hip_roll_joint")] -= sway
        q[:, column(f"{side}_ankle_roll_joint")] += sway
    q[:, column("waist_yaw_joint")] = 0.3 * np.sin(1.1 * time_s)
    for joint, size in (("left_shoulder_pitch_joint", 0.5), ("right_elbow_joint", 0.3)):
        q[:, column(joint)] += size * (np.cos(0.9 * time_s) - 1)
    return q


def _base(kinematics: Kinematics, q: Array) -> Array:
    """Poses (T, 7) of the base that keep the left sole level on the ground."""
    sole = kinematics.feet(q)
    turned = np.swapaxes(sole.rotation("left"), 1, 2)
    place = -np.einsum("tij,tj->ti", turned, sole.position("left"))
    return np.concatenate((place, quaternion_from_matrix(turned)), axis=1)


def _ground(kinematics: Kinematics, q: Array, base: Array, poses: Poses) -> dict[str, Array]:
    """Forces (T, 6) of the ground at the ankles that carry the robot where its mass is."""
    centre = kinematics.centre_of_mass(q, base)
    ankles = {side: poses.position(f"{side}_ankle_roll_link") for side in ("left", "right")}
    across = (ankles["left"] - ankles["right"])[:, :2]
    share = np.einsum("ti,ti->t", centre[:, :2] - ankles["right"][:, :2], across)
    share = share / np.einsum("ti,ti->t", across, across)
    found = {}
    for side, part in (("left", share), ("right", 1 - share)):
        force = np.zeros((len(q), 3))
        force[:, 2] = part * GRAVITY * G1.mass
        arm = centre - ankles[side]
        # Only fore and aft: sideways the two feet hold each other.
        arm[:, 1:] = 0
        found[f"{side}_ankle_roll_link"] = np.concatenate((force, np.cross(arm, force)), axis=1)
    return found


def _sensor(poses: Poses, link: str, ground: Array | None) -> Array:
    """What the link inwards exerts on this one, in its axes: its weight less what holds it."""
    inertia = next(one.inertia for one in G1.links if one.name == link)
    assert inertia is not None
    turns = poses.rotation(link)
    weight = np.zeros((len(turns), 3))
    weight[:, 2] = inertia.mass * GRAVITY
    moment = np.cross(turns @ np.array(inertia.com), weight)
    wrench = np.concatenate((weight, moment), axis=1) - (0 if ground is None else ground)
    parts = [np.einsum("tji,tj->ti", turns, wrench[:, part]) for part in (slice(3), slice(3, 6))]
    return np.concatenate(parts, axis=1)


def _imu(time_s: Array, poses: Poses, link: str) -> Array:
    place, turns = poses.position(link), poses.rotation(link)
    step = time_s[1] - time_s[0]
    pushed = np.gradient(np.gradient(place, step, axis=0), step, axis=0)
    pushed[:, 2] += GRAVITY
    turned = np.swapaxes(turns[:-1], 1, 2) @ turns[1:]
    rate = rotation_vectors(turned) / step
    rate = np.concatenate((rate, rate[-1:]))
    return np.concatenate((np.einsum("tji,tj->ti", turns, pushed), rate), axis=1)


def _spec(label: str, name: str, frame: str | None, columns: tuple[str, ...]) -> Stream:
    units = {"joint_position": "rad", "joint_torque": "N m"}
    unit: Any = units.get(name)
    if name.endswith("_imu"):
        unit = ["m/s2"] * 3 + ["rad/s"] * 3
    elif name.endswith("_wrench"):
        unit = ["N"] * 3 + ["N m"] * 3
    elif name == "base_pose":
        unit = ["m"] * 3 + ["1"] * 4
    return Stream.model_validate(
        {
            "name": name,
            "group": label.split("/")[0],
            "shape": [len(columns)],
            "components": list(columns),
            "unit": unit,
            "frame": frame,
            "dtype": "float64",
            "rate_hz": RATE_HZ,
        }
    )
