"""Made-up people whose every point is known exactly."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from corporeal.geometry import Array, matrix_from_rpy
from corporeal.retargeting.motion import POINTS, HumanMotion, Origin

# Lengths in metres of somebody 1.75 m tall; others are scaled.
STATURE_M = 1.75
HIP_HALF, SHOULDER_HALF = 0.09, 0.19
THIGH, SHANK = 0.43, 0.43
UPPER_ARM, FOREARM, HAND = 0.325, 0.255, 0.09
# The foot in its own frame, from the toe: x to the front, z up out of the instep.
ANKLE_FROM_TOE = np.array([-0.19, 0.0, 0.07])
HEEL_FROM_TOE = np.array([-0.25, 0.0, 0.0])
TRUNK = {"spine": (0.0, 0.14), "chest": (0.0, 0.32), "neck": (0.0, 0.53), "head": (0.02, 0.70)}
STRIDE_S = 1.1
# Fractions of the stride at which the heel lifts and the toe leaves the ground.
HEEL_OFF, TOE_OFF = 0.40, 0.62


def walking_person(
    frames: int = 300,
    rate_hz: float = 120.0,
    *,
    speed_m_s: float = 0.9,
    stature_m: float = STATURE_M,
    name: str = "walk",
) -> HumanMotion:
    """Somebody who walks along +x on z = 0 with every point, turn and contact known.

    Bones have constant lengths, a foot stands still on its toe from touch-down to lift-off. The
    speed is that of somebody 1.75 m tall, and scaled with the rest.
    """
    time = np.arange(frames) / rate_hz
    gait = 2 * np.pi * time / STRIDE_S
    stride_m = speed_m_s * STRIDE_S
    pelvis = np.stack(
        [stride_m * time / STRIDE_S, 0.02 * np.sin(gait), 0.865 - 0.015 * np.cos(2 * gait)], axis=1
    )
    points: dict[str, Array] = {"pelvis": pelvis}
    pelvis_rotation = _rotation(yaw=np.radians(4) * np.cos(gait))
    chest_rotation = _rotation(
        yaw=-np.radians(5) * np.cos(gait), pitch=np.full(frames, np.radians(3))
    )
    rotations = {
        "pelvis": pelvis_rotation,
        "chest": chest_rotation,
        "head": _rotation(yaw=np.zeros(frames)),
    }
    for part, (x, z) in TRUNK.items():
        points[part] = pelvis + chest_rotation @ np.array([x, 0.0, z])
    contacts = np.zeros((frames, 2, 2))
    for index, (side, sign) in enumerate((("left", 1.0), ("right", -1.0))):
        phase = time / STRIDE_S + 0.5 * index
        toe, foot_rotation, down = _foot(phase, stride_m, 0.5 * index, sign)
        ankle = toe + foot_rotation @ ANKLE_FROM_TOE
        hip = pelvis + pelvis_rotation @ np.array([0.0, sign * HIP_HALF, 0.0])
        points |= {
            f"{side}_hip": hip,
            f"{side}_knee": _knee(hip, ankle),
            f"{side}_ankle": ankle,
            f"{side}_heel": toe + foot_rotation @ HEEL_FROM_TOE,
            f"{side}_toe": toe,
        }
        points |= _arm(points["neck"], chest_rotation, side, sign, gait + np.pi * index, rotations)
        rotations[f"{side}_foot"] = foot_rotation
        contacts[:, index] = down
    return HumanMotion(
        name=name,
        rate_hz=rate_hz,
        positions=np.stack([points[point] for point in POINTS], axis=1) * (stature_m / STATURE_M),
        confidence=np.ones((frames, len(POINTS))),
        origin=Origin(Path(f"{name}.made_up"), "made_up", "all points"),
        rotations=rotations,
        contacts=contacts,
    )


def _foot(phase: Array, stride_m: float, lag: float, sign: float) -> tuple[Array, Array, Array]:
    """Toe positions, foot rotations and contacts of [heel, toe] at the phases of a gait."""
    steps, part = np.floor(phase), phase % 1.0
    swing = _ease((part - TOE_OFF) / (1 - TOE_OFF))
    # In the middle of a stance the ankle is under the hip.
    ahead = stride_m * (0.5 * TOE_OFF - lag) - ANKLE_FROM_TOE[0] - 0.04
    toe = np.stack(
        [
            stride_m * (steps + swing) + ahead,
            np.full_like(phase, sign * HIP_HALF),
            0.05 * np.sin(np.pi * np.clip((part - TOE_OFF) / (1 - TOE_OFF), 0, 1)) ** 2,
        ],
        axis=1,
    )
    lifted = _ease((part - HEEL_OFF) / (TOE_OFF - HEEL_OFF))
    lowered = _ease((part - TOE_OFF) / (0.95 - TOE_OFF))
    rotation = _rotation(pitch=np.radians(38) * lifted * (1 - lowered))
    down = np.stack([part < HEEL_OFF, part < TOE_OFF], axis=1).astype(np.float64)
    return toe, rotation, down


def _knee(hip: Array, ankle: Array) -> Array:
    """Where the knee is, bent straight ahead, between a hip and an ankle."""
    reach = ankle - hip
    distance = np.linalg.norm(reach, axis=1, keepdims=True)
    assert distance.max() < THIGH + SHANK, "this walk is too fast for these legs"
    along = (THIGH**2 - SHANK**2 + distance**2) / (2 * distance)
    line = reach / distance
    ahead = np.array([1.0, 0.0, 0.0]) - line * line[:, :1]
    ahead /= np.linalg.norm(ahead, axis=1, keepdims=True)
    return np.asarray(hip + line * along + ahead * np.sqrt(THIGH**2 - along**2))


def _arm(
    neck: Array, chest: Array, side: str, sign: float, gait: Array, rotations: dict[str, Array]
) -> dict[str, Array]:
    """An arm that swings against its leg; the palm faces the thigh."""
    shoulder = neck + chest @ np.array([0.0, sign * SHOULDER_HALF, -0.05])
    swing = np.radians(25) * np.cos(gait)
    upper = chest @ _rotation(pitch=swing, roll=np.full_like(gait, sign * np.radians(8)))
    lower = upper @ _rotation(pitch=-np.radians(25) - 0.2 * swing)
    down = np.array([0.0, 0.0, -1.0])
    elbow = shoulder + upper @ (UPPER_ARM * down)
    wrist = elbow + lower @ (FOREARM * down)
    # Fingers along -z of the forearm, the back of the hand away from the body.
    axes = np.array([[0.0, 0.0, -1.0], [-sign, 0.0, 0.0], [0.0, sign, 0.0]])
    rotations[f"{side}_hand"] = lower @ np.stack(
        [axes[0], np.cross(axes[2], axes[0]), axes[2]], axis=1
    )
    return {
        f"{side}_shoulder": shoulder,
        f"{side}_elbow": elbow,
        f"{side}_wrist": wrist,
        f"{side}_hand": wrist + lower @ (HAND * down),
    }


def _rotation(
    *, yaw: Array | None = None, pitch: Array | None = None, roll: Array | None = None
) -> Array:
    """Rotations about z, y and x; pitch lifts a heel, swings an arm back, bows a trunk."""
    given = next(each for each in (yaw, pitch, roll) if each is not None)
    angles = [np.zeros_like(given) if each is None else each for each in (roll, pitch, yaw)]
    return matrix_from_rpy(np.stack(angles, axis=-1))


def _ease(fraction: Array) -> Array:
    """From 0 to 1 with neither speed nor acceleration at either end."""
    t = np.clip(fraction, 0.0, 1.0)
    return np.asarray(t**3 * (10 - 15 * t + 6 * t**2))
