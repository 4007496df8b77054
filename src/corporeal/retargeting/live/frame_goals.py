"""One live pose brought to the size of a robot: what places are to reach, where feet stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from corporeal.geometry import Array
from corporeal.retargeting.goal.goals import (
    HAND_SHARE,
    SPARE_RAD,
    Body,
    Scales,
    ankle_to_sole,
    hand_goals,
    scales_of,
)
from corporeal.retargeting.goal.robot_map import RobotMap
from corporeal.retargeting.live.live_person import LiveSize, PointFilter
from corporeal.retargeting.motion import POINTS, SIDES

# A foot that is slower and lower than the first stands; above the second it has left.
_SLOW_M_S = (0.25, 0.45)
_LOW_M = (0.035, 0.06)
# How quickly a foot that lands comes down to its place, and one that has left to the person's.
_LANDING_S, _RELEASE_S = 0.035, 0.12
_ROTATION_S = 0.03


@dataclass(frozen=True, eq=False)
class FootGoal:
    """Where a sole should be: its position (3,), its rotation (3, 3), and whether it stands."""

    position: Array
    rotation: Array
    stands: bool


class Stance:
    """One foot: while it stands its sole stays flat on the ground in one place."""

    def __init__(self) -> None:
        self._kept: FootGoal | None = None
        self._offset = np.zeros(3)
        self._above = np.zeros(3)
        self._rotation: Array | None = None

    def follow(
        self, wanted: Array, rotation: Array, *, speed_m_s: float, height_m: float, dt_s: float
    ) -> FootGoal:
        """The sole's goal, from where the person has it, and how quick and high that foot is."""
        state = 0 if self._kept is None else 1
        if speed_m_s < _SLOW_M_S[state] and height_m < _LOW_M[state]:
            if self._kept is None:
                place = wanted + self._offset
                self._kept = FootGoal(np.array([place[0], place[1], 0.0]), level(rotation), True)
                self._above = np.array([0.0, 0.0, max(place[2], 0.0)])
            self._above = self._above * np.exp(-dt_s / _LANDING_S)
            down = FootGoal(self._kept.position + self._above, self._kept.rotation, True)
            return self._eased(down, dt_s)
        if self._kept is not None:
            self._offset = self._kept.position + self._above - wanted
            self._kept = None
        self._offset = self._offset * np.exp(-dt_s / _RELEASE_S)
        place = wanted + self._offset
        raised = np.array([place[0], place[1], max(place[2], 0.0)])
        return self._eased(FootGoal(raised, rotation, False), dt_s)

    def _eased(self, goal: FootGoal, dt_s: float) -> FootGoal:
        """The goal with a rotation that changes smoothly when the foot begins or ends to stand."""
        last = goal.rotation if self._rotation is None else self._rotation
        mixed = last + (1 - np.exp(-dt_s / _ROTATION_S)) * (goal.rotation - last)
        ahead = mixed[:, 0] / np.linalg.norm(mixed[:, 0])
        up = np.cross(ahead, mixed[:, 1])
        up = up / np.linalg.norm(up)
        self._rotation = np.column_stack([ahead, np.cross(up, ahead), up])
        return FootGoal(goal.position, self._rotation, goal.stands)


def level(rotation: Array) -> Array:
    """The same heading with an upright z axis."""
    heading = np.arctan2(rotation[1, 0], rotation[0, 0])
    cosine, sine = np.cos(heading), np.sin(heading)
    return np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])


_INDEX = {name: index for index, name in enumerate(POINTS)}


@dataclass(frozen=True, eq=False)
class FrameGoals:
    """Goals in the world: positions (3,) and rotations (3, 3) by name, and how far to trust them.

    Positions: hips (between them), knees, shoulders, elbows, hands, feet (the soles). Rotations:
    pelvis, chest, feet, and hands where they are known.
    """

    positions: Mapping[str, Array]
    rotations: Mapping[str, Array]
    trust: Mapping[str, float]
    stands: Mapping[str, bool]


class GoalMaker:
    """Makes goals frame by frame; remembers only which foot stands where."""

    def __init__(self, robot: RobotMap) -> None:
        self._robot = robot
        self._stances = {side: Stance() for side in SIDES}
        soles = robot.soles
        self._corners = {
            side: (soles.corners[foot] - soles.centre[foot]) @ soles.rotations[foot]
            for foot, side in enumerate(SIDES)
        }
        self._sole_from_ankle = {side: ankle_to_sole(robot, side) for side in SIDES}

    def make(
        self, points: PointFilter, rotations: Mapping[str, Array], size: LiveSize, dt_s: float
    ) -> FrameGoals:
        """Goals from cleaned points and the rotations that came with them."""
        at = {name: points.positions[index] for name, index in _INDEX.items()}
        scales = scales_of(size.body, self._robot)
        pelvis, chest = _trunk_rotations(at, rotations)
        hips = self._scaled((at["left_hip"] + at["right_hip"]) / 2, size, scales)
        places: dict[str, Array] = {"hips": hips}
        wanted_rotations = {"pelvis": pelvis, "chest": chest}
        stands: dict[str, bool] = {}
        for side in SIDES:
            wanted, rotation = self._sole(side, at, rotations, size, scales, pelvis)
            speed = float(points.speed[_INDEX[f"{side}_ankle"]])
            foot = self._stances[side].follow(
                wanted, rotation, speed_m_s=speed, height_m=_lifted(side, at, size), dt_s=dt_s
            )
            lowest = float((foot.rotation @ self._corners[side].T)[2].min())
            height = max(float(foot.position[2]), -lowest)
            places[f"{side}_foot"] = np.array([foot.position[0], foot.position[1], height])
            wanted_rotations[f"{side}_foot"] = foot.rotation
            stands[side] = foot.stands
            places |= self._limbs(side, at, hips, pelvis, chest, size.body, scales)
            if f"{side}_hand" in rotations:
                wanted_rotations[f"{side}_hand"] = rotations[f"{side}_hand"]
        return FrameGoals(places, wanted_rotations, _trust(points.confidence), stands)

    def _scaled(self, point: Array, size: LiveSize, scales: Scales) -> Array:
        """A point of the legs: the ankle of a flat foot comes to lie at the robot's."""
        rise = scales.leg * (point[2] - size.floor_m - size.ankle_m) + self._robot.lengths["sole"]
        return np.array([scales.leg * point[0], scales.leg * point[1], rise])

    def _sole(
        self,
        side: str,
        at: Mapping[str, Array],
        rotations: Mapping[str, Array],
        size: LiveSize,
        scales: Scales,
        pelvis: Array,
    ) -> tuple[Array, Array]:
        """Where the person has the sole, and how it is turned."""
        ankle = self._scaled(at[f"{side}_ankle"], size, scales)
        # Hips of other width: the feet stand under the robot's own.
        wider = self._robot.lengths["hip_width"] - scales.leg * size.body.lengths["hip_width"]
        aside = pelvis[:, 1] * np.array([1.0, 1.0, 0.0])
        ankle = ankle + (0.5 if side == "left" else -0.5) * wider * aside
        rotation = rotations.get(f"{side}_foot", _foot_rotation(side, at, size, pelvis))
        rotation = _within_reach(rotation, at[f"{side}_knee"] - at[f"{side}_ankle"], self._robot)
        return ankle + rotation @ self._sole_from_ankle[side], rotation

    def _limbs(
        self,
        side: str,
        at: Mapping[str, Array],
        hips: Array,
        pelvis: Array,
        chest: Array,
        body: Body,
        scales: Scales,
    ) -> dict[str, Array]:
        """Knees, shoulders, elbows and hands: the person's directions at the robot's lengths."""
        lengths, sign = self._robot.lengths, 0.5 if side == "left" else -0.5
        hip = hips + sign * lengths["hip_width"] * pelvis[:, 1]
        up = at["left_shoulder"] + at["right_shoulder"] - at["left_hip"] - at["right_hip"]
        between = hips + lengths["trunk"] * _unit(up)
        shoulder = between + sign * lengths["shoulder_width"] * chest[:, 1]
        own, wrist, elbow = (at[f"{side}_{part}"] for part in ("shoulder", "wrist", "elbow"))
        hand = at[f"{side}_hand"]
        if not np.isfinite(hand[0]):
            hand = wrist + HAND_SHARE * (wrist - elbow)
        thigh = _unit(at[f"{side}_knee"] - at[f"{side}_hip"])
        middle = (at["left_hip"] + at["right_hip"]) / 2
        placed = hand_goals(
            side,
            (hand - middle)[None],
            (shoulder + scales.arm * (hand - own))[None],
            hips[None],
            pelvis[None],
            self._robot,
            body,
        )
        return {
            f"{side}_knee": hip + lengths["thigh"] * thigh,
            f"{side}_shoulder": shoulder,
            f"{side}_elbow": shoulder + lengths["upper_arm"] * _unit(elbow - own),
            f"{side}_hand": placed[0],
        }


def _trunk_rotations(
    at: Mapping[str, Array], rotations: Mapping[str, Array]
) -> tuple[Array, Array]:
    """Rotations of pelvis and chest, from the lines between the points where not known."""
    up = at["neck"] - (at["left_hip"] + at["right_hip"]) / 2
    chest = _axes(at["left_shoulder"] - at["right_shoulder"], up)
    lower = at["spine"] - (at["left_hip"] + at["right_hip"]) / 2
    tilted = _unit(lower) + _unit(up) if np.isfinite(lower[0]) else up
    pelvis = _axes(at["left_hip"] - at["right_hip"], tilted)
    return rotations.get("pelvis", pelvis), rotations.get("chest", chest)


def _foot_rotation(side: str, at: Mapping[str, Array], size: LiveSize, pelvis: Array) -> Array:
    heel, toe, ankle = (at[f"{side}_{part}"] for part in ("heel", "toe", "ankle"))
    if not np.isfinite(toe[0]):
        return _pitched(pelvis[:, 0], 0.0)
    along = toe - (heel if np.isfinite(heel[0]) else ankle)
    down = float(np.arctan2(-along[2], np.hypot(along[0], along[1]))) - size.drop_rad
    return _pitched(along, down)


def _within_reach(rotation: Array, shank: Array, robot: RobotMap) -> Array:
    """A foot as steep against the shank as the robot's ankle can be."""
    lift, drop = robot.ankle_range
    dropped = -float(np.arcsin(np.clip(rotation[:, 0] @ _unit(shank), -1.0, 1.0)))
    excess = dropped - float(np.clip(dropped, lift + SPARE_RAD, drop - SPARE_RAD))
    cosine, sine = np.cos(excess), np.sin(excess)
    ahead = cosine * rotation[:, 0] + sine * rotation[:, 2]
    return np.column_stack([ahead, rotation[:, 1], np.cross(ahead, rotation[:, 1])])


def _lifted(side: str, at: Mapping[str, Array], size: LiveSize) -> float:
    """How high a foot is above where it stands: its ankle or its toe, whichever is higher."""
    ankle = at[f"{side}_ankle"][2] - size.floor_m - size.ankle_m
    toe = at[f"{side}_toe"][2] - size.floor_m
    return float(max(ankle, toe)) if np.isfinite(toe) else float(ankle)


def _pitched(along: Array, down_rad: float) -> Array:
    """A foot that points along a heading and `down_rad` towards the ground."""
    heading = np.arctan2(along[1], along[0])
    c, s, cp, sp = np.cos(heading), np.sin(heading), np.cos(down_rad), np.sin(down_rad)
    return np.array([[c * cp, -s, c * sp], [s * cp, c, s * sp], [-sp, 0.0, cp]])


def _axes(left: Array, up: Array) -> Array:
    """A rotation with y exactly to the left and z as nearly up as that allows."""
    y = _unit(left)
    x = _unit(np.cross(y, up))
    return np.column_stack([x, y, np.cross(x, y)])


def _unit(step: Array) -> Array:
    length = float(np.linalg.norm(step))
    return step / length if length > 1e-6 else np.array([0.0, 0.0, -1.0])


def _trust(confidence: Array) -> dict[str, float]:
    """How far each goal is trusted: as far as the least of the points that it comes from."""

    def least(*names: str) -> float:
        return float(min(confidence[_INDEX[name]] for name in names))

    trust = {"hips": least("left_hip", "right_hip")}
    for side in SIDES:
        arm = (f"{side}_shoulder", f"{side}_elbow")
        trust[f"{side}_foot"] = least(f"{side}_ankle")
        trust[f"{side}_knee"] = least(f"{side}_hip", f"{side}_knee")
        trust[f"{side}_shoulder"] = least(f"{side}_shoulder", "neck")
        trust[f"{side}_elbow"] = least(*arm)
        trust[f"{side}_hand"] = least(*arm, f"{side}_wrist")
    return trust
