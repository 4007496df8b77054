"""Where feet stand: the stances of a person in a clip, and one place on the ground for each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_erosion, gaussian_filter1d

from corporeal.geometry import Array
from corporeal.retargeting.goal.soles import Soles
from corporeal.retargeting.motion import SIDES, HumanMotion
from corporeal.retargeting.result import Goals
from corporeal.signal.runs import Flags, runs

# Slower than the first a point comes to stand, faster than the second it has left, m/s.
STAND_M_S, LEAVE_M_S = 0.3, 0.5
# How far above its usual height a point may stand, m: cameras and carpets are not flat.
NEAR_M = 0.055
# An ankle stands so high, and joints are at least so far inside the body, m. A body that is lower
# than feet on the floor would be, by more than the last, lies on a lower floor.
ANKLE_M = 0.08
INSIDE_M = {"knee": 0.05, "hip": 0.07}
SUNK_M = 0.05
# A heel lies behind the ankle by this share of the way to the toes.
HEEL_SHARE = 0.35
# Speeds are taken over this time; nothing shorter than the last two stands or floats.
SMOOTH_S, SHORTEST_S, GAP_S = 0.02, 0.07, 0.05


@dataclass(frozen=True, eq=False)
class Ground:
    """What the feet of a clip say about the ground.

    `touches` (T, 2, 2) is [left, right] x [heel, toe]; `ankle` and `toe` are the heights above
    the world's zero at which an ankle and a toe stand. `rise` is how far apart the heights are at
    which ankles come to rest: that of a stair, or of knees and hands on the floor.
    """

    touches: Flags
    ankle: float
    toe: float
    rise: float = 0.0


def ground_of(motion: HumanMotion) -> Ground:
    """Contacts of heels and toes over a clip; the source's own where it states them."""
    ankles = np.stack([motion.point(f"{side}_ankle") for side in SIDES], axis=1)
    known = all(motion.has(f"{side}_toe") for side in SIDES)
    toes = np.stack([motion.point(f"{side}_toe") for side in SIDES], axis=1) if known else ankles
    ankle_height, ankle_stands = _standing(ankles, motion.rate_hz)
    toe_height, toe_stands = _standing(toes, motion.rate_hz)
    rise = _rise(ankles, motion.rate_hz)
    floor = _floor_under_body(motion)
    held_up = floor < toe_height - (0.0 if known else ANKLE_M) - SUNK_M
    if held_up:
        # Feet that are held up, or lie on their insteps, do not say where the floor is.
        ankle_height = min(ankle_height, floor + ANKLE_M)
        toe_height = floor if known else ankle_height
        ankle_stands = ankle_stands & (ankles[..., 2] < ankle_height + NEAR_M)
        toe_stands = toe_stands & (toes[..., 2] < toe_height + NEAR_M)
    if motion.contacts is not None:
        return Ground(np.asarray(motion.contacts, bool), ankle_height, toe_height, rise)
    heel_stands = ankle_stands
    if known:
        heels = _heels(motion, ankles, toes, ankle_stands & toe_stands, ankle_height - toe_height)
        heel_stands = _standing(heels, motion.rate_hz)[1]
        if held_up:
            heel_stands = heel_stands & (heels[..., 2] < toe_height + NEAR_M)
    return Ground(np.stack([heel_stands, toe_stands], axis=2), ankle_height, toe_height, rise)


def _floor_under_body(motion: HumanMotion) -> float:
    """The height of a floor that bears knees and hips where they are lowest."""
    lowest = [
        float(np.quantile(motion.point(f"{side}_{part}")[:, 2], 0.05)) - inside
        for part, inside in INSIDE_M.items()
        for side in SIDES
    ]
    return min(lowest)


def _heels(
    motion: HumanMotion, ankles: Array, toes: Array, flat: Flags, ankle_above: float
) -> Array:
    """Heels (T, 2, 3): as captured, or behind and below the ankle as the foot lies.

    A heel that lands stands while the ankle above it still moves on.
    """
    if all(motion.has(f"{side}_heel") for side in SIDES):
        return np.stack([motion.point(f"{side}_heel") for side in SIDES], axis=1)
    along = toes - ankles
    level = np.linalg.norm(along[..., :2], axis=2)
    slope = np.arctan2(along[..., 2], level)
    ahead = along * [1.0, 1.0, 0.0] / np.maximum(level, 0.02)[..., None]
    for foot in range(2):
        stands = flat[:, foot]
        usual = np.median(slope[stands, foot]) if stands.any() else np.quantile(slope[:, foot], 0.9)
        slope[:, foot] -= usual
    up = np.array([0.0, 0.0, 1.0])
    cosine, sine = np.cos(slope)[..., None], np.sin(slope)[..., None]
    back, below = HEEL_SHARE * np.median(level), max(ankle_above, 0.0)
    return np.asarray(
        ankles - back * (cosine * ahead + sine * up) - below * (cosine * up - sine * ahead)
    )


def _standing(points: Array, rate_hz: float) -> tuple[float, Flags]:
    """The height at which two points (T, 2, 3) stand, and when each does (T, 2)."""
    speeds = _speeds(points, rate_hz)
    height = _standing_height(points[..., 2], speeds)
    stands = [
        _stands(speeds[:, foot], points[:, foot, 2] - height < NEAR_M, rate_hz) for foot in range(2)
    ]
    return height, np.stack(stands, axis=1)


def _rise(ankles: Array, rate_hz: float) -> float:
    """From the lowest to the highest place where ankles (T, 2, 3) are at rest, m."""
    resting = ankles[..., 2][_speeds(ankles, rate_hz) < STAND_M_S]
    return float(np.subtract(*np.quantile(resting, [0.95, 0.05]))) if resting.size else 0.0


def _speeds(points: Array, rate_hz: float) -> Array:
    """Speeds (T, n) of points (T, n, 3), m/s."""
    if len(points) < 3:
        return np.zeros(points.shape[:2])
    smooth = gaussian_filter1d(points, SMOOTH_S * rate_hz, axis=0, mode="nearest")
    return np.asarray(np.linalg.norm(np.gradient(smooth, 1 / rate_hz, axis=0), axis=2))


def _standing_height(heights: Array, speeds: Array) -> float:
    """The height at which the points stand: usual among the slow and low."""
    slow = heights[speeds < STAND_M_S]
    if slow.size < 3:
        return float(np.nanmin(heights))
    low = np.quantile(slow, 0.05)
    return float(np.median(slow[slow < low + NEAR_M]))


def points_stand(at: Array, low: Flags, rate_hz: float) -> Flags:
    """Where (T,) a point (T, 3) rests on the ground, given where it is low enough for it."""
    return _stands(_speeds(at[:, None], rate_hz)[:, 0], low, rate_hz)


def _stands(speed: Array, low: Flags, rate_hz: float) -> Flags:
    """Where one point stands: from slow on until it is fast or high."""
    may = low & (speed < LEAVE_M_S)
    out = np.zeros(len(speed), bool)
    for first, stop in runs(may):
        inside = speed[first:stop] < STAND_M_S
        if inside.any():
            # A toe that peels off stands to the end; one that lands stands from when it is slow.
            begin = first + int(np.argmax(inside))
            end = stop - int(np.argmax(inside[::-1]))
            out[begin:end] = True
    for first, stop in runs(~out):
        if first > 0 and stop < len(out) and (stop - first) / rate_hz < GAP_S:
            out[first:stop] = low[first:stop].all()
    for first, stop in runs(out):
        if (stop - first) / rate_hz < SHORTEST_S and stop - first < len(out):
            out[first:stop] = False
    return out


# Velocities are taken over this time; less drift than this is left alone, m.
DRIFT_SMOOTH_S, LEAST_M = 0.1, 0.03


def remove_floor_drift(motion: HumanMotion, ground: Ground) -> HumanMotion:
    """The person without what both standing feet do together, which no standing feet can.

    Bodies that were estimated from video wander over the floor by decimetres. What only one foot
    does is left to the person: feet do slide.
    """
    if len(motion) < 3:
        return motion
    paces = [_pace(motion, side, ground.touches[:, foot]) for foot, side in enumerate(SIDES)]
    between = paces[0] + paces[1]
    length = np.linalg.norm(between, axis=1, keepdims=True)
    along = between / np.maximum(length, 1e-9)
    least = np.min([np.einsum("ti,ti->t", pace, along) for pace in paces], axis=0)
    # Velocities near the ends of a stance hold some of the swing before or after it.
    inner = max(1, round(2 * DRIFT_SMOOTH_S * motion.rate_hz))
    stands = [
        binary_erosion(touches.any(axis=1), iterations=inner, border_value=1)
        for touches in ground.touches.swapaxes(0, 1)
    ]
    shared = np.where(stands[0] & stands[1] & (least > 0), least, 0.0)
    way = np.cumsum(shared[:, None] * along, axis=0) / motion.rate_hz
    most = float(np.linalg.norm(way, axis=1).max())
    if most < LEAST_M:
        return motion
    moved = motion.positions.copy()
    moved[:, :, :2] -= way[:, None]
    note = f"both standing feet drift together by up to {100 * most:.0f} cm: taken back"
    return replace(motion, positions=moved).noting(note)


def _pace(motion: HumanMotion, side: str, touches: Flags) -> Array:
    """Velocity (T, 2) over the floor of what a foot stands on, m/s: its toes, or else its heel."""
    paces = []
    for part in ("ankle", "toe" if motion.has(f"{side}_toe") else "ankle"):
        at = motion.point(f"{side}_{part}")[:, :2]
        smooth = gaussian_filter1d(at, DRIFT_SMOOTH_S * motion.rate_hz, axis=0, mode="nearest")
        paces.append(np.gradient(smooth, 1 / motion.rate_hz, axis=0))
    # A foot that rolls over its toes moves its ankle, and still stands where it did.
    return np.asarray(np.where(touches[:, 1:], paces[1], paces[0]))


# A person who moves a standing foot farther than this has put it down anew, m and rad.
MOVED_M, TURNED_RAD = 0.05, 0.35
# The time that a foot takes from one such place to the next, and heights are evened over, s.
SHUFFLE_S, EVEN_S = 0.2, 0.15
# It is lifted on the way, m: a person may slide a foot, a robot had better step.
LIFTED_M = 0.025


@dataclass(frozen=True, eq=False)
class Footholds:
    """Soles over T frames and two feet, brought to rest on the ground where they stand.

    `centre` (T, 2, 3) and `rotation` (T, 2, 3, 3) are to be followed in the air; `heel` and `toe`
    (T, 2, 3) are held where `stands` (T, 2, 2).
    """

    centre: Array
    rotation: Array
    heel: Array
    toe: Array
    stands: NDArray[np.bool_]


def footholds_of(goals: Goals, soles: Soles, rate_hz: float) -> Footholds:
    """The places where the feet stand, from where the person's do."""
    feet = [_foothold(goals, soles, foot, rate_hz) for foot in range(2)]
    return Footholds(*(np.stack(parts, axis=1) for parts in zip(*feet, strict=True)))


def _foothold(
    goals: Goals, soles: Soles, foot: int, rate_hz: float
) -> tuple[Array, Array, Array, Array, NDArray[np.bool_]]:
    """Centre, rotation, heel, toe and stands of one foot, as `Footholds` has them of both."""
    side, touches = SIDES[foot], goals.contacts[:, foot]
    at, axes = goals.positions[f"{side}_foot"], goals.rotations[f"{side}_foot"]
    frames, edges = len(at), _edges(soles, foot)
    yaw = np.unwrap(np.arctan2(axes[:, 1, 0], axes[:, 0, 0]))
    raw = [at + axes @ edge for edge in edges]
    heel, toe = np.zeros((frames, 3)), np.zeros((frames, 3))
    moved, turned, lift = np.zeros((frames, 2)), np.zeros(frames), np.zeros(frames)
    held, known = np.zeros(frames, bool), np.zeros(frames, bool)
    for first, stop in _stances(touches, at, yaw, rate_hz):
        place, heading = _place(first, stop, touches, at, yaw, raw, edges)
        span = slice(first, stop)
        held[span] = True
        # A foot that rolls over its toes moves its middle: that is no error of the place.
        flat = touches[span, 0] & touches[span, 1]
        known[span] = flat if flat.any() else True
        moved[span] = place - at[span, :2]
        turned[span] = heading - yaw[span]
        lift[span] = -np.minimum(raw[0][span, 2], raw[1][span, 2])
        ahead = np.array([np.cos(heading), np.sin(heading)])
        heel[span, :2] = place + ahead * edges[0][0]
        toe[span, :2] = place + ahead * edges[1][0]
    for value in (*moved.T, turned, lift):
        _between(value, known)
    stepping = (touches[:, 0] | touches[:, 1]) & ~held
    centre = at + np.column_stack([moved, lift + _bumps(stepping)])
    return centre, _about_up(turned) @ axes, heel, toe, touches & held[:, None]


def _bumps(stepping: NDArray[np.bool_]) -> Array:
    """How high (T,) a foot is lifted on its way from one place to the next."""
    height = np.zeros(len(stepping))
    for first, stop in runs(stepping):
        share = (np.arange(stop - first) + 1) / (stop - first + 1)
        height[first:stop] = LIFTED_M * np.sin(np.pi * share)
    return height


def level_floor(goals: Goals, soles: Soles, rate_hz: float) -> tuple[Goals, Array]:
    """The goals over a floor that is level where the feet stand, and how much (T,) that lifts.

    Cameras bend the floor of a capture by centimetres; what stands on it goes with it. A foot of
    somebody who kneels, crawls or lies need not lie on its sole, and says nothing of the floor.
    """
    down: Flags = np.zeros(len(goals.contacts), bool)
    if goals.supports is not None:
        down = np.any(goals.supports.touches, axis=1)
    lifts = []
    for foot, side in enumerate(SIDES):
        at, axes = goals.positions[f"{side}_foot"], goals.rotations[f"{side}_foot"]
        edges = [at + axes @ edge for edge in _edges(soles, foot)]
        stands = (goals.contacts[:, foot, 0] | goals.contacts[:, foot, 1]) & ~down
        lift = -np.minimum(edges[0][:, 2], edges[1][:, 2])
        _between(lift, stands)
        lifts.append(lift if stands.any() else np.zeros(len(at)))
    even = gaussian_filter1d(np.mean(lifts, axis=0), EVEN_S * rate_hz, mode="nearest")
    raised = {name: at + even[:, None] * [0.0, 0.0, 1.0] for name, at in goals.positions.items()}
    return replace(goals, positions=raised), even


def _stances(
    stands: NDArray[np.bool_], at: Array, yaw: Array, rate_hz: float
) -> list[tuple[int, int]]:
    """Frames over which a foot keeps its place; a stance in which it is moved becomes several."""
    pause = max(2, round(SHUFFLE_S * rate_hz))
    waiting, stances = list(runs(stands[:, 0] | stands[:, 1])), list[tuple[int, int]]()
    while waiting:
        first, stop = waiting.pop()
        middle = np.median(at[first:stop, :2], axis=0)
        away = np.linalg.norm(at[first:stop, :2] - middle, axis=1) / MOVED_M
        away = np.maximum(away, np.abs(yaw[first:stop] - np.median(yaw[first:stop])) / TURNED_RAD)
        # Rolling over the toes moves the sole's middle too, but only at the end of a stance.
        flat = stands[first:stop].all(axis=1)
        if stop - first < 4 * pause or not np.any(away[flat] > 1):
            stances.append((first, stop))
            continue
        # The way itself, not `away`: the median may lie in the middle of it.
        way = np.column_stack([at[first:stop, :2] / MOVED_M, yaw[first:stop] / TURNED_RAD])
        speed = np.linalg.norm(
            np.gradient(gaussian_filter1d(way, pause / 2, axis=0), axis=0), axis=1
        )
        cut = first + pause + int(np.argmax(speed[pause:-pause]))
        pieces = [(first, cut - pause // 2), (cut + pause // 2, stop)]
        # Half a moment in the middle of a slow slide is no place to stand.
        waiting += [(first, stop) for first, stop in pieces if stop - first >= pause]
    return sorted(stances)


def _place(
    first: int,
    stop: int,
    stands: NDArray[np.bool_],
    at: Array,
    yaw: Array,
    raw: list[Array],
    edges: list[Array],
) -> tuple[Array, float]:
    """Where the middle of a sole stands (2,), and its heading."""
    flat = stands[first:stop].all(axis=1)
    if flat.any():
        chosen = np.flatnonzero(flat) + first
        return np.median(at[chosen, :2], axis=0), float(np.median(yaw[chosen]))
    part = int(stands[first:stop, 1].sum() > stands[first:stop, 0].sum())
    heading = float(np.median(yaw[first:stop]))
    edge = np.median(raw[part][first:stop, :2], axis=0)
    ahead = np.array([np.cos(heading), np.sin(heading)])
    return edge - ahead * edges[part][0], heading


def _edges(soles: Soles, foot: int) -> list[Array]:
    """Heel and toe (3,) from the middle of a sole, in its axes."""
    return [
        soles.rotations[foot].T @ (edge[foot] - soles.centre[foot])
        for edge in (soles.heel, soles.toe)
    ]


def _between(values: Array, held: NDArray[np.bool_]) -> None:
    """Fill the frames that are not held from those around, in place."""
    if held.any():
        known = np.flatnonzero(held)
        values[~held] = np.interp(np.flatnonzero(~held), known, values[known])


def _about_up(angles: Array) -> Array:
    """Rotations (T, 3, 3) about the vertical."""
    cosine, sine, zero = np.cos(angles), np.sin(angles), np.zeros(len(angles))
    rows = [cosine, -sine, zero, sine, cosine, zero, zero, zero, zero + 1]
    return np.stack(rows, axis=1).reshape(-1, 3, 3)
