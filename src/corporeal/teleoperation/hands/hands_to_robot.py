"""What a person's hands did as a robot's motion: the same filter, with the future known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.embodiment.kinematics import Kinematics
from corporeal.geometry import (
    Array,
    matrix_from_quaternion,
    quaternion_from_matrix,
    quaternion_product,
    rotation_vectors,
)
from corporeal.teleoperation.arm_model import ArmModel
from corporeal.teleoperation.clearance import Clearance, floor
from corporeal.teleoperation.clutch import heading_of
from corporeal.teleoperation.hand_objective import HandGoal, HandObjective
from corporeal.teleoperation.hands.hand_track import (
    NOT_SEEN,
    HandTrack,
    grid_of,
    track_hand,
    track_head,
)
from corporeal.teleoperation.operator_input import SIDES, OperatorInput, Side
from corporeal.teleoperation.safety_filter import SafetyFilter
from corporeal.units import SECOND_NS

RATE_HZ = 50.0
# A goal counts as reached within this, m.
REACHED_M = 0.02
# Steps of the filter for each of the motion; before its first the arms go to where it begins.
_SUBSTEPS, _APPROACH_S = 2, 4.0
# Where the robot may stand against the person: so far ahead and so much lower or higher, m.
_AHEAD_M, _ABOVE_M = np.linspace(-0.35, 0.35, 15), np.linspace(-0.35, 0.35, 15)
# A hand nearer to its shoulder than this share of its reach, or to the middle of the body than
# this, has no room, m.
_FOLDED_SHARE, _BODY_M = 0.35, 0.14
# Where objects have their true size, places of hands count for far more than their turns.
# Nothing has to be guessed here, so that little has to be smoothed.
_TURN_WEIGHT, _SMOOTHNESS = 6e-4, 2e-4
# The head of a robot that has none is so far above its base, as a share of its standing height.
_HEAD_SHARE = 0.6


@dataclass(frozen=True, eq=False)
class HandsMotion:
    """A robot that does with its hands what a person did; T frames at `rate_hz`.

    `joints` (T, J), `openings` and `tracks` of each side, `goals` (T, 3) of the robot's hands in
    its world, `error_m` (T, 2) left and right, NaN where there was no goal. `base` (7,) is where
    it stands and `room_from_world` (7,) takes its world back to the operator's room. `person` is
    what was seen of them in the robot's world, by stream: stamps and joints (n, 26, 3) or head.
    Its first frame is at `start_ns` of the device's clock, from which all its stamps count.
    """

    robot: Embodiment
    rate_hz: float
    joints: Array
    base: Array
    room_from_world: Array
    tracks: dict[Side, HandTrack]
    goals: dict[Side, Array]
    error_m: Array
    person: dict[str, tuple[NDArray[np.int64], Array]] = field(default_factory=dict)
    start_ns: int = 0

    @property
    def reached_share(self) -> float:
        """Of the frames in which a hand was seen, the share that the robot reaches."""
        known = np.isfinite(self.error_m)
        return float((self.error_m[known] <= REACHED_M).mean()) if known.any() else 0.0

    @property
    def seen_share(self) -> float:
        """Of all frames, the share in which a hand that was ever seen is seen."""
        ever = [track.seen > NOT_SEEN for track in self.tracks.values() if track.seen.any()]
        return float(np.mean(ever)) if ever else 0.0


def follow_hands(
    inputs: Sequence[OperatorInput],
    robot: Embodiment,
    *,
    rate_hz: float = RATE_HZ,
    told: Callable[[float], None] = lambda _: None,
) -> HandsMotion:
    """The motion of a robot whose hands are where the person's were, in true size.

    Raises InputError where no hand or no head was seen. `told` hears how much is done, 0 to 1.
    """
    times_s = grid_of(inputs, rate_hz)
    head = track_head(inputs, times_s)
    tracks: dict[Side, HandTrack] = {side: track_hand(inputs, side, times_s) for side in SIDES}
    arms = ArmModel(robot)
    tracks = {side: track for side, track in tracks.items() if side in arms.hands}
    turn, origin = _stand(arms, head, tracks)
    goals = {
        side: (track.grasp - origin) @ turn.T + arms.base[:3] for side, track in tracks.items()
    }
    rotations = {side: _hand_rotations(track, side, turn) for side, track in tracks.items()}
    limb = SafetyFilter(arms, Clearance(arms, [floor()]))
    joints, error = _solve(limb, goals, rotations, rate_hz, told)
    room = np.concatenate([origin - turn.T @ arms.base[:3], quaternion_from_matrix(turn.T)])
    person = _person(inputs, times_s, room)
    return HandsMotion(
        robot, rate_hz, joints, arms.base.copy(), room, tracks, goals, error, person,
        round(float(times_s[0]) * SECOND_NS),
    )  # fmt: skip


def human_hand_pose(motion: HandsMotion, side: Side) -> Array:
    """The person's wrist (T, 7) in the robot's world, NaN where it was not seen."""
    back = matrix_from_quaternion(motion.room_from_world[3:])
    pose = motion.tracks[side].pose
    out = np.empty_like(pose)
    out[:, :3] = (pose[:, :3] - motion.room_from_world[:3]) @ back
    conjugate = motion.room_from_world[3:] * np.array([1.0, -1.0, -1.0, -1.0])
    out[:, 3:] = quaternion_product(np.broadcast_to(conjugate, (len(pose), 4)), pose[:, 3:])
    return out


def _person(
    inputs: Sequence[OperatorInput], times_s: Array, room: Array
) -> dict[str, tuple[NDArray[np.int64], Array]]:
    """The head and the joints of both hands in the robot's world, where and when they were seen."""
    start_ns = round(float(times_s[0]) * SECOND_NS)
    kept = [
        given
        for given in inputs
        if 0 <= given.times.device_ns - start_ns <= round(np.ptp(times_s) * SECOND_NS)
    ]
    turn = matrix_from_quaternion(room[3:])
    out: dict[str, tuple[NDArray[np.int64], Array]] = {}
    heads = [(given.times.device_ns - start_ns, given.head) for given in kept
             if given.head is not None]  # fmt: skip
    if heads:
        poses = np.array([head for _, head in heads])
        rotations = turn.T @ matrix_from_quaternion(poses[:, 3:])
        rows = np.concatenate(
            [(poses[:, :3] - room[:3]) @ turn, quaternion_from_matrix(rotations)], axis=1
        )
        out["debug/head_pose"] = np.array([stamp for stamp, _ in heads]), rows
    for side in SIDES:
        seen = [
            (given.times.device_ns - start_ns, hand.joints[:, :3])
            for given in kept
            if (hand := given.hand(side)) is not None
            and hand.is_tracked
            and hand.joints is not None
        ]
        if seen:
            joints = (np.array([each for _, each in seen]) - room[:3]) @ turn
            out[f"debug/{side}_hand_joints"] = np.array([stamp for stamp, _ in seen]), joints
    return out


def _stand(arms: ArmModel, head: Array, tracks: dict[Side, HandTrack]) -> tuple[Array, Array]:
    """Turns the room into the robot's world (3, 3), and the point of the room where its base is.

    Ahead is where the head looks on the whole; the place is that from which most goals are in
    reach, as near as it can be to where the person's own base would be.
    """
    looks = matrix_from_quaternion(head[:, 3:])[:, :, 0].mean(axis=0)
    yaw = np.arctan2(looks[1], looks[0])
    turn = heading_of(np.array([0, 0, 0, np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)]))
    person = np.median(head[:, :3], axis=0) - turn.T @ _head_above_base(arms)
    shoulders, reach = _shoulders(arms)
    seen = {side: track.grasp[track.seen > NOT_SEEN] for side, track in tracks.items()}
    best, least = person, np.inf
    for ahead in _AHEAD_M:
        for above in _ABOVE_M:
            origin = person + turn.T @ np.array([ahead, 0.0, above])
            lost = [
                _is_out((points - origin) @ turn.T, shoulders[side], reach[side])
                for side, points in seen.items()
                if len(points)
            ]
            cost = float(np.concatenate(lost).mean()) + 0.1 * (abs(ahead) + abs(above))
            if cost < least:
                best, least = origin, cost
    return turn, best


def _is_out(points: Array, shoulder: Array, reach_m: float) -> Array:
    """Ones (n,) for places of a hand in the base's axes that an arm has no room for."""
    apart = np.linalg.norm(points - shoulder, axis=1)
    beside = np.linalg.norm(points[:, :2], axis=1)
    out = (apart > reach_m) | (apart < _FOLDED_SHARE * reach_m) | (beside < _BODY_M)
    return np.asarray(out, np.float64)


def _head_above_base(arms: ArmModel) -> Array:
    name = arms.robot.end_effectors.get("head")
    if name is None:
        height = arms.robot.standing.height if arms.robot.standing else 0.8
        return np.array([0.0, 0.0, _HEAD_SHARE * height])
    place = Kinematics(arms.robot).place_poses({"head": name}, arms.body[None])
    return np.asarray(place.positions[0, 0])


def _shoulders(arms: ArmModel) -> tuple[dict[Side, Array], dict[Side, float]]:
    """Where in the base's axes each arm begins, and how far its hand gets from there, m."""
    model = arms.model
    shoulders: dict[Side, Array] = {}
    reach: dict[Side, float] = {}
    for side, frame in arms.hands.items():
        hand = model.frames[frame]
        own = [
            int(number)
            for number in model.supports[hand.parentJoint]
            if model.joints[number].idx_v in set(arms.rates.tolist())
        ]
        first = arms.data.oMi[own[0]].translation
        shoulders[side] = arms.base_rotation.T @ (np.asarray(first) - arms.base[:3])
        ways = [np.linalg.norm(model.jointPlacements[number].translation) for number in own[1:]]
        reach[side] = 0.97 * float(sum(ways) + np.linalg.norm(hand.placement.translation))
    return shoulders, reach


def _hand_rotations(track: HandTrack, side: Side, turn: Array) -> Array:
    """Axes (T, 3, 3) of the robot's hand: x along the fingers, z where the thumb is."""
    person = turn @ matrix_from_quaternion(np.nan_to_num(track.pose[:, 3:], nan=0.5))
    ahead, left, back = (person[:, :, axis] for axis in range(3))
    thumb, outside = (-left, back) if side == "left" else (left, -back)
    return np.stack([ahead, outside, thumb], axis=2)


def _solve(
    limb: SafetyFilter,
    goals: dict[Side, Array],
    rotations: dict[Side, Array],
    rate_hz: float,
    told: Callable[[float], None],
) -> tuple[Array, Array]:
    """Joints (T, J) and the distance (T, 2) of both hands from their goals."""
    arms, count = limb.arms, len(next(iter(goals.values())))
    rest = limb.positions.copy()
    dt_s = 1.0 / rate_hz / _SUBSTEPS
    joints = np.tile(arms.body, (count, 1))
    error = np.full((count, 2), np.nan)
    first = {
        side: _goal(goals[side], rotations[side], _first_seen(goals[side]), 0) for side in goals
    }
    start = {side: goal for side, goal in first.items() if goal is not None}
    for _ in range(round(_APPROACH_S / dt_s)):
        limb.step(HandObjective(start, rest, _TURN_WEIGHT, _SMOOTHNESS), dt_s)
    last: dict[Side, HandGoal] = {}
    for row in range(count):
        now = {
            side: goal
            for side in goals
            if (goal := _goal(goals[side], rotations[side], row, rate_hz)) is not None
        }
        # Whose hand is away waits where it was seen last.
        waiting = {side: HandGoal(goal.position, goal.rotation) for side, goal in last.items()}
        last = {**waiting, **now}
        arms.place(limb.positions)
        joints[row, arms.columns] = limb.positions
        for number, side in enumerate(SIDES):
            if side in now:
                error[row, number] = np.linalg.norm(arms.hand(side)[0] - now[side].position)
        for step in range(_SUBSTEPS):
            ahead = {side: goal.moved_on(step * dt_s) for side, goal in last.items()}
            limb.step(HandObjective(ahead or start, rest, _TURN_WEIGHT, _SMOOTHNESS), dt_s)
        if row % 50 == 0:
            told(row / count)
    return joints, error


def _first_seen(goals: Array) -> int:
    seen = np.flatnonzero(np.isfinite(goals[:, 0]))
    return int(seen[0]) if len(seen) else 0


def _goal(goals: Array, rotations: Array, row: int, rate_hz: float) -> HandGoal | None:
    """The goal of one frame with the speed at which it goes on; None where none is known."""
    if not np.isfinite(goals[row]).all():
        return None
    velocity, turning = np.zeros(3), np.zeros(3)
    after = row + 1
    if rate_hz and after < len(goals) and np.isfinite(goals[after]).all():
        velocity = (goals[after] - goals[row]) * rate_hz
        turning = rotation_vectors((rotations[after] @ rotations[row].T)[None])[0] * rate_hz
    return HandGoal(goals[row], rotations[row], velocity, turning)
