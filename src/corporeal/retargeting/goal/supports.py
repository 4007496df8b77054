"""What of a body rests on the ground besides the feet: knees, hands, elbows, pelvis and chest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.ndimage import binary_dilation, gaussian_filter1d

from corporeal.embodiment.collision import shapes_of
from corporeal.geometry import Array, normalise
from corporeal.retargeting.goal.footholds import points_stand
from corporeal.retargeting.goal.goals import Body, ankle_to_sole, knuckles, middle
from corporeal.retargeting.goal.robot_map import RobotMap
from corporeal.retargeting.motion import SIDES, HumanMotion
from corporeal.retargeting.result import SUPPORTS, Goals, Supports
from corporeal.signal.runs import Flags

# Below these heights, in m and of somebody whose legs are so long, a point that is still rests on
# the ground: joints lie inside the body, and so does the middle of hips and shoulders.
HEIGHTS_M = {"pelvis": 0.18, "chest": 0.20, "knee": 0.13, "elbow": 0.09, "hand": 0.07}
LEG_M = 0.86
# Hands and elbows carry whoever is down already, or bent over with the hips so low: a share of the
# leg, and the cosine of the trunk's tilt. Else they may reach for something on the floor.
LOW_SHARE, BENT = 0.75, 0.57
# A part leans on the ground this long before and after it rests there, s, as long as it is low.
BESIDE_S = 0.4
# A shank lies whose knee is less above the ankle than this share of its length.
LYING = 0.35
# A foot is where the knee puts it within about this time, s.
SOFTLY_S = 0.1
# Points of a link that touch the ground where a joint is are no farther from it, m.
NEAR_JOINT_M = 0.12
# A joint whose link has no shape is so far inside the robot, m.
THICK_M = 0.04
POINTS_EACH = 4


def supports_of(person: HumanMotion, robot: RobotMap, body: Body) -> Supports | None:
    """What the robot is to rest on besides its feet; None where the person never does.

    The person stands on z = 0.
    """
    touches = _touching(person, body)
    if not touches.any():
        return None
    bodies = [_points(robot, name) for name in SUPPORTS]
    links, points, radii = zip(*bodies, strict=True)
    return Supports(np.array(links, np.int64), np.array(points), np.array(radii), touches)


def lay_feet(
    goals: Goals, person: HumanMotion, robot: RobotMap, supports: Supports | None
) -> Goals:
    """The goals with feet that do not stand where their shank lies on the ground.

    Such a foot touches with its instep or its heel's back, and is where knee and shank put it: a
    place over the ground, as feet that stand have one, would lift the knee.
    """
    if supports is None:
        return goals
    stands, positions = goals.contacts.copy(), dict(goals.positions)
    for foot, side in enumerate(SIDES):
        shank = normalise(person.point(f"{side}_ankle") - person.point(f"{side}_knee"))
        lies = supports.touches[:, SUPPORTS.index(f"{side}_knee")] & (shank[:, 2] > -LYING)
        stands[lies, foot] = False
        ankle = positions[f"{side}_knee"] + robot.lengths["shank"] * shank
        at = ankle + goals.rotations[f"{side}_foot"] @ ankle_to_sole(robot, side)
        share = gaussian_filter1d(lies.astype(np.float64), SOFTLY_S * person.rate_hz)[:, None]
        positions[f"{side}_foot"] = share * at + (1 - share) * positions[f"{side}_foot"]
    return replace(goals, contacts=stands, positions=positions)


def _touching(person: HumanMotion, body: Body) -> Flags:
    """Which of SUPPORTS rest on the ground (T, 8)."""
    hips, shoulders = middle(person, "hip"), middle(person, "shoulder")
    places = {"pelvis": hips, "chest": shoulders}
    for side in SIDES:
        places[f"{side}_knee"] = person.point(f"{side}_knee")
        places[f"{side}_elbow"] = person.point(f"{side}_elbow")
        places[f"{side}_hand"] = knuckles(person, side)
    size, beside = body.leg / LEG_M, round(BESIDE_S * person.rate_hz)
    touches = {}
    for name, at in places.items():
        low = at[:, 2] < size * HEIGHTS_M[name.split("_")[-1]]
        rests = points_stand(at, low, person.rate_hz) if low.any() else low
        # Who comes down or gets up leans on what is low and not yet, or no longer, still.
        touches[name] = low & binary_dilation(rests, iterations=max(1, beside))
    down = np.any(
        [touches[name] for name in ("pelvis", "chest", "left_knee", "right_knee")], axis=0
    )
    bent = normalise(shoulders - hips)[:, 2] < BENT
    down |= bent & (hips[:, 2] < LOW_SHARE * body.leg)
    for name, flags in touches.items():
        if name.endswith(("hand", "elbow")):
            touches[name] = flags & down
    return np.stack([touches[name] for name in SUPPORTS], axis=1)


def _points(robot: RobotMap, name: str) -> tuple[int, Array, Array]:
    """The link of a part of the body, points (4, 3) in its axes and their distance (4,) inside."""
    places = {"pelvis": robot.robot.base, "chest": robot.chest, **robot.places}
    places |= {f"{side}_hand": robot.robot.end_effectors[f"{side}_hand"] for side in SIDES}
    link, place = robot.kinematics.place(places[name])
    shapes = shapes_of(robot.robot)
    own = shapes.link == link
    centres, spines = shapes.places[own][:, :, 3], shapes.spines[own]
    points = np.concatenate([centres - spines, centres + spines])
    radii = np.tile(shapes.radii[own], 2)
    if name.endswith(("knee", "elbow")) and len(points):
        away = np.linalg.norm(points - place[:, 3], axis=1)
        near = away < max(NEAR_JOINT_M, float(away.min()) + 1e-6)
        points, radii = points[near], radii[near]
    if not len(points):
        points, radii = place[None, :, 3], np.array([THICK_M])
    # The outermost ones, and as many as soles have corners.
    outer = np.argsort(-np.linalg.norm(points - points.mean(axis=0), axis=1), kind="stable")
    chosen = np.resize(outer[:POINTS_EACH], POINTS_EACH)
    return link, points[chosen], radii[chosen]
