"""Results of retargeting made on the spot, so that no test of them needs the solver."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from corporeal.embodiment import Embodiment, open_robot
from corporeal.embodiment.embodiment import model_of
from corporeal.embodiment.joints import standing_positions
from corporeal.embodiment.kinematics import Kinematics
from corporeal.geometry import Array, normalise
from corporeal.retargeting.goal.robot_map import robot_map
from corporeal.retargeting.goal.soles import sole_points, soles_of
from corporeal.retargeting.measure.metrics import end_errors
from corporeal.retargeting.motion import POINTS, SIDES, HumanMotion, Origin
from corporeal.retargeting.result import ENDS, FAR_M, LIMBS, Goals, Limb, Retargeted

RATE_HZ = 50.0


def standing(frames: int = 200, *, robot: Embodiment | None = None) -> tuple[Array, Array]:
    """Joints (T, J) and base (T, 7) of a robot that stands and waves both arms slowly."""
    model = robot or open_robot("g1")
    q = np.repeat(standing_positions(model)[None], frames, axis=0)
    phase = np.sin(2 * np.pi * 0.4 * np.arange(frames) / RATE_HZ)
    for number, name in enumerate(model.joint_names):
        if "shoulder_pitch" in name:
            q[:, number] += 0.3 * phase
        elif "elbow" in name:
            q[:, number] += 0.2 * phase
    base = np.zeros((frames, 7))
    base[:, 3] = 1.0
    kinematics, soles = model_of(model, Kinematics), model_of(model, soles_of)
    base[:, 2] = -sole_points(soles, kinematics.transforms(q, base))[0, :, :, 2].min()
    return q, base


def squatting(frames: int = 200) -> tuple[Array, Array]:
    """A G1 that waves and bends its knees, feet flat and where they are."""
    model = open_robot("g1")
    q, base = standing(frames, robot=model)
    bend = 0.25 * (1 - np.cos(2 * np.pi * 0.3 * np.arange(frames) / RATE_HZ)) / 2
    for number, name in enumerate(model.joint_names):
        gain = {"hip_pitch": -1.0, "knee": 2.0, "ankle_pitch": -1.0}
        q[:, number] += sum(g * bend for part, g in gain.items() if part in name)
    kinematics, soles = model_of(model, Kinematics), model_of(model, soles_of)
    feet = sole_points(soles, kinematics.transforms(q, base))
    base[:, :3] += feet[0, 0, 0] * [1, 1, 0] - feet[:, 0, 0]
    return q, base


def result_of(
    q: Array,
    base: Array,
    *,
    robot: Embodiment | None = None,
    rate_hz: float = RATE_HZ,
    contacts: Array | None = None,
    off_m: float = 0.0,
    turned_rad: float = 0.0,
    path: Path = Path("clips/wave.bvh"),
    converged: bool = True,
) -> Retargeted:
    """A result whose goals are `off_m` above where the robot's hands and feet are.

    The person's limbs point `turned_rad` away from the robot's.
    """
    model = robot or open_robot("g1")
    kinematics = model_of(model, Kinematics)
    poses = kinematics.transforms(q, base)
    places = {}
    for name in ENDS:
        side, _, part = name.partition("_")
        where = model.feet[side] if part == "foot" else model.end_effectors[name]
        places[name] = kinematics.place_poses({name: where}, q, base).position(name)
    frames = len(q)
    stands = np.ones((frames, 2, 2), bool) if contacts is None else np.asarray(contacts, bool)
    goals = Goals(
        {name: place + np.array([0, 0, off_m]) for name, place in places.items()},
        {},
        stands,
        np.ones((frames, 4)),
        {"legs": 0.8},
        {name: _limb(limb, turned_rad, kinematics, poses) for name, limb in _limbs(model).items()},
    )
    error = end_errors(model, poses, goals)
    human = _human(base, rate_hz, path)
    far = np.nanmax(error, axis=1) > FAR_M
    return Retargeted(model, rate_hz, q, base, human, goals, error, far, converged)


def _limbs(model: Embodiment) -> dict[str, tuple[str, str]]:
    """The places at which limbs of a robot begin and end."""
    places = {**robot_map(model).places}
    places |= {f"{side}_hand": model.end_effectors[f"{side}_hand"] for side in SIDES}
    return {name: (places[near], places[far]) for name, (near, far) in LIMBS.items()}


def _limb(places: tuple[str, str], turned_rad: float, kinematics: Kinematics, poses: Array) -> Limb:
    """A limb of a person who points away from the robot's, about an axis across it."""
    ends = []
    for place in places:
        link, placement = kinematics.place(place)
        at = np.einsum("ikt,k->ti", poses[link][:, :3], placement[:, 3])
        ends.append(at + poses[link][:, 3].T)
    along = normalise(ends[1] - ends[0])
    across = normalise(np.cross(along, [0.3, 0.8, 0.5]))
    turned = np.cos(turned_rad) * along + np.sin(turned_rad) * across
    return Limb(*places, turned, np.ones(len(along)))


def unsure(result: Retargeted, end: str) -> Retargeted:
    """The same result, but nobody knows where this end should be."""
    confidence = result.goals.confidence.copy()
    confidence[:, ENDS.index(end)] = 0.0
    return replace(result, goals=replace(result.goals, confidence=confidence))


def _human(base: Array, rate_hz: float, path: Path) -> HumanMotion:
    frames = len(base)
    heights = np.linspace(0.0, 1.7, len(POINTS))
    positions = np.repeat(base[:, None, :3], len(POINTS), axis=1)
    positions[:, :, 2] = heights
    confidence = np.ones((frames, len(POINTS)))
    positions[:, POINTS.index("left_toe")] = np.nan
    confidence[:, POINTS.index("left_toe")] = 0.0
    return HumanMotion("wave", rate_hz, positions, confidence, Origin(path, "bvh", "cmu"))
