"""The person measured and brought to the size of a robot: directions of limbs stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from corporeal.geometry import Array, normalise
from corporeal.retargeting.goal.footholds import ANKLE_M, NEAR_M, Ground, ground_of
from corporeal.retargeting.goal.robot_map import RobotMap
from corporeal.retargeting.motion import SIDES, HumanMotion, MotionError
from corporeal.retargeting.result import ENDS, LIMBS, Goals, Limb

# Knuckles beyond the wrist where a clip does not say: the usual share of the forearm.
HAND_SHARE = 0.35
# From the centre of a hip to the middle of a hand that touches the thigh: the share of the leg.
_THIGH_AND_HAND = 0.128
_SEGMENTS = {
    "thigh": ("hip", "knee"),
    "shank": ("knee", "ankle"),
    "upper_arm": ("shoulder", "elbow"),
    "lower_arm": ("elbow", "wrist"),
}
_LEAST_M, _MOST_M = 0.05, 1.0


@dataclass(frozen=True)
class Body:
    """Lengths of one person in m: thigh, shank, upper_arm, forearm (to the knuckles), trunk ...

    The names are those of `RobotMap.lengths`, so that one divided by the other is a scale.
    """

    lengths: Mapping[str, float]

    @property
    def leg(self) -> float:
        """Thigh and shank, m."""
        return self.lengths["thigh"] + self.lengths["shank"]

    @property
    def hand_room(self) -> float:
        """How far aside of the middle a hand hangs that touches the thigh, m."""
        return self.lengths["hip_width"] / 2 + _THIGH_AND_HAND * self.leg

    @property
    def arm(self) -> float:
        """Upper arm and forearm with the hand, m."""
        return self.lengths["upper_arm"] + self.lengths["forearm"]


def body_of(motion: HumanMotion) -> Body:
    """The person in a clip; raises MotionError where a limb is too short or long for one."""
    lengths = {}
    for name, (near, far) in _SEGMENTS.items():
        pairs = [(f"{side}_{near}", f"{side}_{far}") for side in SIDES]
        lengths[name] = float(np.mean([_length(motion, a, b) for a, b in pairs]))
    lower = lengths.pop("lower_arm")
    if all(motion.has(f"{side}_hand") for side in SIDES):
        hand = np.mean([_length(motion, f"{s}_wrist", f"{s}_hand") for s in SIDES])
        lengths["forearm"] = lower + float(hand)
    else:
        lengths["forearm"] = lower * (1 + HAND_SHARE)
    for name, part in (("hip_width", "hip"), ("shoulder_width", "shoulder")):
        lengths[name] = _length(motion, f"left_{part}", f"right_{part}")
    trunk = np.linalg.norm(middle(motion, "shoulder") - middle(motion, "hip"), axis=1)
    lengths["trunk"] = float(np.nanmedian(trunk))
    for name, length in lengths.items():
        if not _LEAST_M < length < _MOST_M:
            raise MotionError(
                f"{motion.origin.path}: the {name.replace('_', ' ')} is {length:.3g} m long; "
                f"expected {_LEAST_M} to {_MOST_M} m. Check --unit and --skeleton."
            )
    return Body(lengths)


def middle(motion: HumanMotion, part: str) -> Array:
    """The point (T, 3) between left and right."""
    return np.asarray((motion.point(f"left_{part}") + motion.point(f"right_{part}")) / 2)


def knuckles(motion: HumanMotion, side: str) -> Array:
    """The middle of the knuckles (T, 3), estimated beyond the wrist where it is not known."""
    wrist, elbow = motion.point(f"{side}_wrist"), motion.point(f"{side}_elbow")
    beyond: Array = wrist + HAND_SHARE * (wrist - elbow)
    if not motion.has(f"{side}_hand"):
        return beyond
    return np.where(motion.seen(f"{side}_hand")[:, None] > 0, motion.point(f"{side}_hand"), beyond)


def _length(motion: HumanMotion, first: str, second: str) -> float:
    """The median distance of two points over the frames in which both were seen."""
    seen = (motion.seen(first) > 0) & (motion.seen(second) > 0)
    if not seen.any():
        raise MotionError(
            f"{motion.origin.path}: {first} and {second} are never seen together. "
            "Map them with --skeleton."
        )
    apart = motion.point(first)[seen] - motion.point(second)[seen]
    return float(np.median(np.linalg.norm(apart, axis=1)))


# Legs are meant to end a little short of straight: a straight knee cannot follow smoothly.
LEG_REACH = 0.985
# A shank is upright whose direction has more than this of the vertical.
UPRIGHT = 0.5
# What an ankle keeps in reserve, rad.
SPARE_RAD = 0.03
UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Scales:
    """Robot over human lengths."""

    leg: float
    arm: float
    trunk: float

    def to_json(self) -> dict[str, float]:
        """By name, rounded to what means something."""
        return {name: round(value, 4) for name, value in vars(self).items()}


def scales_of(body: Body, robot: RobotMap) -> Scales:
    """How much smaller the robot is than the person, limb by limb."""
    size = robot.lengths
    return Scales(
        leg=LEG_REACH * (size["thigh"] + size["shank"]) / body.leg,
        arm=(size["upper_arm"] + size["forearm"]) / body.arm,
        trunk=size["trunk"] / body.lengths["trunk"],
    )


def on_the_floor(motion: HumanMotion, ground: Ground) -> HumanMotion:
    """The person moved so that the clip begins at x = y = 0 and stands at z = 0."""
    start = motion.point("pelvis")[0]
    # An ankle stands above its sole by what the toe is below it, or a usual 8 cm without toes.
    lower = (
        ground.toe if all(motion.has(f"{side}_toe") for side in SIDES) else ground.ankle - ANKLE_M
    )
    shift = np.array([start[0], start[1], lower])
    contacts = ground.touches.astype(np.float64)
    return replace(motion, positions=motion.positions - shift, contacts=contacts)


def goals_of(motion: HumanMotion, robot: RobotMap, body: Body | None = None) -> Goals:
    """What the robot is to follow, for a clip that was cleaned and put on the floor."""
    ground = ground_of(motion)
    body = body or body_of(motion)
    scales = scales_of(body, robot)
    size = robot.lengths
    pelvis_rotation, chest_rotation = trunk_rotations(motion)
    hips = middle(motion, "hip")
    positions: dict[str, Array] = {}
    # Heights are counted from where an ankle stands: soles of people and robots differ.
    lift = size["sole"] - scales.leg * ground.ankle
    positions["pelvis"] = hips * scales.leg + lift * UP
    aside = flat(pelvis_rotation[:, :, 1])
    spare = (size["hip_width"] - scales.leg * np.linalg.norm(_across(motion, "hip"), axis=1)) / 2
    rotations = {"pelvis": pelvis_rotation, "chest": chest_rotation}
    neck = positions["pelvis"] + size["trunk"] * normalise(middle(motion, "shoulder") - hips)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        hip = positions["pelvis"] + sign * size["hip_width"] / 2 * pelvis_rotation[:, :, 1]
        thigh = normalise(motion.point(f"{side}_knee") - motion.point(f"{side}_hip"))
        positions[f"{side}_knee"] = hip + size["thigh"] * thigh
        ankle = motion.point(f"{side}_ankle") * scales.leg + lift * UP
        ankle = ankle + sign * spare[:, None] * aside
        rotations[f"{side}_foot"] = foot_rotation(
            motion, side, ground, pelvis_rotation, robot.ankle_range
        )
        positions[f"{side}_foot"] = ankle + rotations[f"{side}_foot"] @ ankle_to_sole(robot, side)
        shoulder = neck + sign * size["shoulder_width"] / 2 * chest_rotation[:, :, 1]
        positions[f"{side}_shoulder"] = shoulder
        own = motion.point(f"{side}_shoulder")
        upper = normalise(motion.point(f"{side}_elbow") - own)
        positions[f"{side}_elbow"] = shoulder + size["upper_arm"] * upper
        reach = knuckles(motion, side)
        hand = shoulder + scales.arm * (reach - own)
        positions[f"{side}_hand"] = hand_goals(
            side, reach - hips, hand, positions["pelvis"], pelvis_rotation, robot, body
        )
    for name in ("head", "left_hand", "right_hand"):
        if name in motion.rotations:
            rotations[name] = motion.rotations[name]
    return Goals(
        positions,
        rotations,
        ground.touches,
        confidence_of(motion),
        scales.to_json(),
        limbs_of(motion, robot),
    )


def limbs_of(motion: HumanMotion, robot: RobotMap) -> dict[str, Limb]:
    """The robot's limbs, and where the person's point; a forearm points to the knuckles."""
    places = {**robot.places}
    for side in SIDES:
        places[f"{side}_hand"] = robot.robot.end_effectors[f"{side}_hand"]
    limbs = {}
    for name, (near, far) in LIMBS.items():
        side, is_hand = far.split("_")[0], far.endswith("_hand")
        end = knuckles(motion, side) if is_hand else motion.point(far)
        seen = motion.seen(f"{side}_wrist" if is_hand else far)
        limbs[name] = Limb(
            places[near],
            places[far],
            normalise(end - motion.point(near)),
            np.minimum(motion.seen(near), seen),
        )
    return limbs


def confidence_of(motion: HumanMotion) -> Array:
    """How well the ENDS are known, (T, 4)."""
    return np.stack([motion.seen(_witness(end)) for end in ENDS], axis=1)


def trunk_rotations(motion: HumanMotion) -> tuple[Array, Array]:
    """Rotations (T, 3, 3) of pelvis and chest: the source's, or as their points say."""
    up = middle(motion, "shoulder") - middle(motion, "hip")
    pelvis = motion.rotations.get("pelvis")
    chest = motion.rotations.get("chest")
    if pelvis is None:
        low = motion.point("spine") - middle(motion, "hip") if motion.has("spine") else up
        pelvis = frame_of(_across(motion, "hip"), 0.5 * normalise(low) + 0.5 * normalise(up))
    if chest is None:
        chest = frame_of(_across(motion, "shoulder"), up)
    return pelvis, chest


def frame_of(left: Array, up: Array) -> Array:
    """Rotations (T, 3, 3) with y along `left`, and z as near to `up` as that allows."""
    y = normalise(left)
    z = normalise(up - np.einsum("ti,ti->t", up, y)[:, None] * y)
    return np.asarray(np.stack([np.cross(y, z), y, z], axis=2))


def flat(vectors: Array) -> Array:
    """Unit vectors without their height."""
    return normalise(vectors * [1.0, 1.0, 0.0])


def foot_rotation(
    motion: HumanMotion,
    side: str,
    ground: Ground,
    pelvis: Array,
    reach: tuple[float, float],
) -> Array:
    """Rotations (T, 3, 3) of a foot: where it points, and how steep against when it stands flat.

    It is as steep against the shank as an ankle of this `reach` can be, see `ankle_range`.
    """
    foot = SIDES.index(side)
    x = flat(pelvis[:, :, 0])
    pitch = np.zeros(len(motion))
    shank = normalise(motion.point(f"{side}_knee") - motion.point(f"{side}_ankle"))
    if motion.has(f"{side}_toe"):
        rear = f"{side}_heel" if motion.has(f"{side}_heel") else f"{side}_ankle"
        ahead = motion.point(f"{side}_toe") - motion.point(rear)
        x = _heading(ahead, pelvis[:, :, 0], shank)
        slope = np.arctan2(ahead[:, 2], np.einsum("ti,ti->t", ahead, x))
        stands = ground.touches[:, foot].all(axis=1)
        if not stands.any():
            # Whoever never stands still has the feet flat where they are low under upright shanks.
            heights = [motion.point(f"{side}_{part}")[:, 2] for part in ("ankle", "toe")]
            stands = (heights[0] < ground.ankle + NEAR_M) & (heights[1] < ground.toe + NEAR_M)
            stands &= shank[:, 2] > UPRIGHT
        usual = np.median(slope[stands]) if stands.any() else np.quantile(slope, 0.9)
        pitch = slope - usual
    elif motion.rotations.get(f"{side}_foot") is not None:
        return motion.rotations[f"{side}_foot"]
    y = np.cross(UP, x)
    tip = np.cos(pitch)[:, None] * x + np.sin(pitch)[:, None] * UP
    dropped = -np.arcsin(np.clip(np.einsum("ti,ti->t", tip, shank), -1.0, 1.0))
    pitch = pitch + dropped - np.clip(dropped, reach[0] + SPARE_RAD, reach[1] - SPARE_RAD)
    tip = np.cos(pitch)[:, None] * x + np.sin(pitch)[:, None] * UP
    return np.asarray(np.stack([tip, y, np.cross(tip, y)], axis=2))


def _heading(ahead: Array, forward: Array, shank: Array) -> Array:
    """Where a foot points over the ground, (T, 3): a steep one as the pelvis does.

    The shadow of a foot that hangs down is short, and turns about with every centimetre of noise.
    That of a foot whose heel is up behind its owner points backwards, and the foot has not turned:
    its sides are where the shank has them.
    """
    length = np.maximum(np.linalg.norm(ahead, axis=1), 1e-9)
    level, front = np.linalg.norm(ahead[:, :2], axis=1) / length, flat(forward)
    shadow = flat(ahead)
    sides = np.cross(shank, ahead / length[:, None])
    upright = np.einsum("ti,ti->t", sides, np.cross(UP, shadow))
    upright += 0.2 * np.einsum("ti,ti->t", shadow, front)
    shadow = np.where(upright[:, None] < 0, -shadow, shadow)
    steep = np.maximum(_falling(level, 0.3, 0.6), 1e-6)[:, None]
    return flat((1 - steep) * shadow + steep * front)


def hand_goals(
    side: str,
    own: Array,
    hand: Array,
    hips: Array,
    pelvis: Array,
    robot: RobotMap,
    body: Body,
) -> Array:
    """Hands (T, 3) with room for the robot's hips; `own` (T, 3) is the person's from the hips."""
    sign = 1.0 if side == "left" else -1.0
    beyond = sign * np.einsum("ti,ti->t", own, pelvis[:, :, 1])
    scale = scales_of(body, robot).arm
    room = robot.hand_room + scale * np.maximum(beyond - body.hand_room, 0.0)
    beside = 1 - _falling(beyond / body.hand_room, 0.6, 0.95)
    return beside_hips(hand, hips, pelvis, sign * room, beside, robot.lengths["trunk"])


def beside_hips(
    hand: Array, hips: Array, pelvis: Array, room: Array, beside: Array, trunk: float
) -> Array:
    """Hands (T, 3) that hang beside the hips, as far aside as the robot's own hips demand.

    Robots have wide hips under narrow shoulders. `room` (T,) is the least distance from the
    middle, to the left if positive, and `beside` (T,) how much the person's hand is at the side
    at all; it counts fully beside the hips and not at all far ahead or above the waist.
    """
    ahead, aside, above = np.einsum("ti,tij->jt", hand - hips, pelvis)
    near = _falling(np.abs(ahead), 0.7 * trunk, 1.2 * trunk) * _falling(above, 0.2 * trunk, trunk)
    missing = np.maximum(np.abs(room) - np.sign(room) * aside, 0.0)
    outwards = np.sign(room) * beside * near * missing
    return np.asarray(hand + outwards[:, None] * pelvis[:, :, 1])


def _falling(values: Array, full: float, none: float) -> Array:
    """1 up to `full`, 0 from `none` on, and smooth between."""
    share = np.clip((none - values) / (none - full), 0.0, 1.0)
    return np.asarray(share * share * (3 - 2 * share))


def _across(motion: HumanMotion, part: str) -> Array:
    return np.asarray(motion.point(f"left_{part}") - motion.point(f"right_{part}"))


def ankle_to_sole(robot: RobotMap, side: str) -> Array:
    """From the ankle to the sole of a robot in the axes of the sole."""
    poses = robot.kinematics.place_poses(
        {"ankle": robot.places[f"{side}_ankle"], "sole": robot.robot.feet[side]},
        np.zeros((1, len(robot.robot.joint_names))),
    )
    apart: Array = poses.position("sole")[0] - poses.position("ankle")[0]
    foot = SIDES.index(side)
    link = robot.kinematics.names[int(robot.soles.link[foot])]
    axes = robot.kinematics.link_poses(np.zeros((1, len(robot.robot.joint_names)))).rotation(link)
    return np.asarray((axes[0] @ robot.soles.rotations[foot]).T @ apart)


def _witness(end: str) -> str:
    """The point of the person that tells how well an end is known."""
    side, part = end.split("_")
    return f"{side}_{'wrist' if part == 'hand' else 'ankle'}"
