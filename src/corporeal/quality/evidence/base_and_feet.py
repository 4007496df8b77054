"""The order of the base's quaternion, where the soles are, what they stand on and carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from corporeal.embodiment.collision import lowest_point
from corporeal.embodiment.kinematics import Poses, ancestors, mount_of
from corporeal.errors import NotAssessed
from corporeal.geometry import matrix_from_quaternion, normalise
from corporeal.quality.evidence.rigid_motion import (
    columns_of,
    fit_axes,
    foot_links,
    has_chain,
    instants,
    mean_rates,
    mean_values,
    mounted,
    poses_in_base,
    require_finite,
)
from corporeal.quality.subject import Subject, attempt, once_per_subject
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.runs import Flags, flags_of, runs
from corporeal.signal.track import Array, Track

# Where w x y z are found in the four columns that are said to be w x y z.
STATED, LAST, FIRST = "as stated", "w last", "w first"
ORDERS = {STATED: (0, 1, 2, 3), LAST: (3, 0, 1, 2), FIRST: (1, 2, 3, 0)}
# Half of the span over which rates are averaged, and that of poses: sway is slow.
WINDOW_S = 0.25
BLOCK_S = 0.3
# Degrees that soles are nearer to level, so that sway alone cannot be the reason.
CLEARLY_FLATTER_DEG = 5.0
# Degrees that planted feet turn less; noise of a tracker, averaged, is half of it.
CLEARLY_STEADIER_DEG = 0.05
# Part of the frames in which the lower foot is below the ground at most: a step or a fall lifts it.
GROUND_SHARE = 0.3
# A sole stands when it is this near to the ground and this level, and carries this much weight.
NEAR_M, FLAT_DEG, LOADED_SHARE = 0.015, 4.0, 0.1
# What is left out at both ends of a stance, and the fewest samples that a stance has.
EDGE_S, MIN_STANCE = 0.04, 8
# Faster over the ground than this a foot without a force sensor does not stand.
SWING_M_S = 0.3
# A base may be repeated so often because it was recorded more slowly than it is written.
MOST_REPEATS = 4
# Soles farther than this from the floor, in heights of the base: the poses are not in metres.
FAR = 1.5


@dataclass(frozen=True)
class OrderEvidence:
    """What each order would mean: tilt of the flatter sole, turning of planted feet (degrees),
    and the share of the gyro's power that the base's turning leaves unexplained."""

    tilt_deg: float
    turning_deg: float
    gyro_error: float


@dataclass(frozen=True, eq=False)
class BaseOrder:
    """The order that fits best, and what speaks for it. `base` (T, 7) is in that order."""

    order: str
    evidence: dict[str, OrderEvidence]
    base: Array

    @property
    def is_as_stated(self) -> bool:
        """Whether the order is the stated one."""
        return self.order == STATED


@once_per_subject
def base_order(subject: Subject) -> BaseOrder:
    """The base in its true order; raises NotAssessed without a base pose."""
    base = subject.posture.base
    require_finite(subject)
    if base is None or len(base) < 2:
        raise NotAssessed("no base_pose stream")
    evidence = {}
    for name, columns in ORDERS.items():
        rotations = matrix_from_quaternion(base[:, [3 + column for column in columns]])
        tilt, turning = _feet(subject, rotations)
        evidence[name] = OrderEvidence(tilt, turning, _gyro(subject, rotations))
    stated = evidence[STATED]
    better = {name: _lead(stated, evidence[name]) for name in (LAST, FIRST)}
    name, lead = max(better.items(), key=lambda item: item[1])
    order = name if lead > 0 else STATED
    turned = np.concatenate((base[:, :3], base[:, [3 + column for column in ORDERS[order]]]), 1)
    return BaseOrder(order, evidence, turned)


@once_per_subject
def world_poses(subject: Subject) -> Poses:
    """Every link in the world, the base taken in its true order."""
    order = base_order(subject)
    if order.is_as_stated:
        return subject.link_poses
    return subject.kinematics.link_poses(subject.posture.q, order.base)


def upward_of(subject: Subject) -> Array:
    """The vertical (T, 3) in axes of the base: from its pose, from its IMU, or as it stands."""
    posture = subject.posture
    if posture.base is not None:
        w, x, y, z = base_order(subject).base[:, 3:].T
        return np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=1)
    for track, mount in mounted(subject, roles.IMU):
        if mount.link == subject.robot.base and len(track) > 2:
            force = track.at(posture.time_ns)[:, columns_of(track, ("ax", "ay", "az"), 0)]
            return np.tile(normalise(np.nanmedian(force @ mount.axes.T, axis=0)), (len(force), 1))
    return np.tile([0.0, 0.0, 1.0], (len(posture), 1))


def _lead(stated: OrderEvidence, other: OrderEvidence) -> float:
    """How clearly another order is better; 0 when it is not."""
    if stated.tilt_deg > other.tilt_deg + CLEARLY_FLATTER_DEG:
        return stated.tilt_deg - other.tilt_deg
    if other.tilt_deg > stated.tilt_deg + CLEARLY_FLATTER_DEG:
        return 0.0
    if stated.turning_deg > 2.0 * other.turning_deg + CLEARLY_STEADIER_DEG:
        return stated.turning_deg - other.turning_deg
    if other.turning_deg > 1.5 * stated.turning_deg + CLEARLY_STEADIER_DEG / 2:
        return 0.0
    if stated.gyro_error > max(0.6, other.gyro_error + 0.35):
        return stated.gyro_error - other.gyro_error
    return 0.0


def _feet(subject: Subject, rotations: Array) -> tuple[float, float]:
    """Median tilt of the flatter sole, and how far the steadier one turns, in degrees."""
    feet = attempt(foot_links, subject)
    if feet is None:
        return 0.0, 0.0
    poses = poses_in_base(subject)
    flat, steady = [], []
    seconds = subject.posture.time_ns / 1e9
    blocks = max(8, int((seconds[-1] - seconds[0]) / BLOCK_S))
    edges = np.unique(np.linspace(0, len(rotations), blocks + 1).astype(np.int64))[:-1]
    lengths = np.diff(np.append(edges, len(rotations)))[:, None, None]
    for link, placement in feet.values():
        turns = rotations @ poses.rotation(link) @ placement[:, :3]
        turns = np.add.reduceat(turns, edges, axis=0) / lengths
        flat.append(np.degrees(np.arccos(np.clip(turns[:, 2, 2], -1.0, 1.0))))
        middle = turns - np.nanmedian(turns, axis=0)
        steady.append(float(np.degrees(np.nanmedian(np.sqrt(np.sum(middle**2, axis=(1, 2)) / 2)))))
    return float(np.nanmedian(np.min(flat, axis=0))), min(steady)


def _gyro(subject: Subject, rotations: Array) -> float:
    """The least error of any gyro on a link that the data places; 1 without one."""
    posture = subject.posture
    seconds = posture.time_ns / 1e9
    poses = poses_in_base(subject)
    errors = [1.0]
    for track, mount in mounted(subject, roles.IMU):
        if len(track) < 2 or track.values.shape[1] < 6 or not has_chain(subject, mount.link):
            continue
        turns = rotations @ poses.rotation(mount.link) @ mount.axes
        when = instants(seconds, WINDOW_S)
        gyro = bridge_gaps(track.values[:, columns_of(track, ("wx", "wy", "wz"), 3)])
        fit = fit_axes(
            mean_values(track.seconds, gyro, when, WINDOW_S),
            mean_rates(seconds, turns, when, WINDOW_S),
        )
        if fit is not None:
            errors.append(fit.error)
    return min(errors)


@dataclass(frozen=True, eq=False)
class Footing:
    """The feet on the clock of the joints, in the world.

    `centres` (T, F, 3) are the middles of the soles, `turns` (T, F, 3, 3) their axes, `lowest`
    (T, F) the height of the lowest point of each. `ground` is the height that the robot stands
    on, from the data alone; `floor` the one that it should stand on, which a retargeted episode
    states, else 0.
    """

    names: tuple[str, ...]
    label: str
    time_ns: NDArray[np.int64]
    centres: Array
    turns: Array
    lowest: Array
    ground: float
    floor: float = 0.0

    @property
    def above(self) -> Array:
        """Height (T, F) of the lowest point of each sole above the ground."""
        return self.lowest - self.ground


@dataclass(frozen=True, eq=False)
class Loads:
    """What the ankle sensors say on the clock of the joints.

    `upward` (T, F) is the force of the ground on each foot along the vertical, N; NaN for a foot
    without a sensor. `tracks` are the streams by foot.
    """

    upward: Array
    tracks: dict[str, Track]


@once_per_subject
def footing_of(subject: Subject) -> Footing:
    """The soles of the robot; raises NotAssessed without a base pose or without the legs."""
    posture = subject.posture
    if posture.base is None:
        raise NotAssessed("no base_pose stream")
    if len(posture) < 2:
        raise NotAssessed(f"{posture.label} has {len(posture)} samples")
    feet = foot_links(subject)
    poses = world_poses(subject)
    shapes = {link.name: link.collision for link in subject.robot.links}
    centres, turns, lowest = [], [], []
    for link, placement in feet.values():
        position, rotation = poses.position(link), poses.rotation(link)
        centres.append(position + rotation @ placement[:, 3])
        turns.append(rotation @ placement[:, :3])
        if shapes[link]:
            row = np.concatenate([rotation[:, 2].T, position[:, 2][None]])
            lowest.append(np.min([lowest_point(shape, row) for shape in shapes[link]], axis=0))
        else:
            lowest.append(centres[-1][:, 2])
    lower = np.min(lowest, axis=0)
    finite = lower[np.isfinite(lower)]
    if not finite.size:
        raise NotAssessed("base pose or joints have no finite sample")
    floor, flies = _stated_ground(subject, len(lower))
    finite = lower[np.isfinite(lower) & ~flies]
    if not finite.size:
        raise NotAssessed("nothing is meant to touch the ground at any time")
    ground = float(np.quantile(finite, GROUND_SHARE))
    standing = subject.robot.standing
    if standing is not None and abs(ground) > FAR * standing.height:
        raise NotAssessed(f"the soles are {ground:.3g} m above the ground: no height in metres")
    return Footing(
        tuple(feet),
        posture.label,
        posture.time_ns,
        np.stack(centres, axis=1),
        np.stack(turns, axis=1),
        np.stack(lowest, axis=1),
        ground,
        floor,
    )


def _stated_ground(subject: Subject, frames: int) -> tuple[float, Flags]:
    """The height of the ground, and when nobody is on it, as a retargeted episode states them."""
    said = subject.recording.facts.other.get("retargeting")
    facts = said if isinstance(said, Mapping) else {}
    height, spans = facts.get("ground_height_m"), facts.get("airborne")
    whole = [span for span in spans if _is_span(span)] if isinstance(spans, list | tuple) else []
    flies = flags_of(tuple((max(0, int(a)), min(frames, int(b))) for a, b in whole), frames)
    if not isinstance(height, int | float) or not np.isfinite(height):
        return 0.0, flies
    return float(height), flies


def _is_span(span: object) -> bool:
    return isinstance(span, list | tuple) and len(span) == 2 and all(type(n) is int for n in span)


@once_per_subject
def loads_of(subject: Subject) -> Loads:
    """The load of every foot; raises NotAssessed without ankle sensors."""
    tracks = ankle_tracks(subject)
    posture = subject.posture
    poses = world_poses(subject)
    names = tuple(foot_links(subject))
    upward = np.full((len(posture), len(names)), np.nan)
    for column, name in enumerate(names):
        if name in tracks:
            mount = mount_of(subject.robot, tracks[name].spec)
            if mount is not None:
                force = tracks[name].at(posture.time_ns)[:, :3]
                up = poses.rotation(mount.link)[:, 2] @ mount.axes
                upward[:, column] = np.einsum("ti,ti->t", up, force)
    # Sensors differ in which side they count as pushing; whoever stands is pushed up.
    total = np.nansum(upward, axis=1)
    if np.median(total) < 0:
        upward = -upward
    return Loads(upward, tracks)


def ankle_tracks(subject: Subject) -> dict[str, Track]:
    """The force sensor of every foot, by the foot's name."""
    chains = {
        name: {*ancestors(subject.robot, link), link}
        for name, (link, _) in foot_links(subject).items()
    }
    found: dict[str, Track] = {}
    for track, mount in mounted(subject, roles.WRENCH):
        for name, chain in chains.items():
            if mount.link in chain and track.values.shape[1] >= 3:
                found[name] = track
    if not found:
        raise NotAssessed("no force sensor at the ankles")
    return found


def base_jumps(track: Track, *, max_step_m: float, max_speed_m_s: float) -> tuple[Array, Flags]:
    """Length of every step (T-1,) of a base pose, and which of them come out of the blue."""
    place = track.values[:, [track.names.index(name) for name in roles.POSITION]]
    place = np.where(np.isfinite(place), place, np.nan)
    step = np.linalg.norm(np.diff(place, axis=0), axis=1)
    seconds = np.maximum(np.diff(track.seconds), 1e-9)
    speed = step / seconds
    # Every frame twice or three times: a step took as long as the repeats before it.
    moved = np.flatnonzero(step != 0)
    for place_before, here in zip(moved[:-1].tolist(), moved[1:].tolist(), strict=True):
        if 1 < here - place_before <= MOST_REPEATS:
            span = slice(place_before + 1, here + 1)
            speed[span] = step[here] / seconds[span].sum()
    # The second largest step of five: a jump out and back has two of them side by side.
    padded = np.pad(speed, 3, mode="reflect") if len(speed) > 3 else np.pad(speed, 3)
    near = np.stack([padded[shift : shift + len(speed)] for shift in (0, 1, 2, 4, 5, 6)])
    usual = np.sort(near, axis=0)[3]
    jump = (step > max_step_m) & (speed > max_speed_m_s) & (speed > 4 * usual)
    return step, jump


def stances(footing: Footing, loads: Loads | None, weight_n: float) -> Flags:
    """Where each foot (T, F) stands flat on the ground, and carries weight where that is known.

    The first and last moments of a stance are left out: a heel that lands rolls and slides.
    """
    seconds = footing.time_ns / 1e9
    flat = footing.turns[:, :, 2, 2] > np.cos(np.radians(FLAT_DEG))
    standing: Flags = flat & (np.abs(footing.above) < NEAR_M)
    known = np.zeros(standing.shape, bool) if loads is None else np.isfinite(loads.upward)
    if loads is not None:
        standing &= ~known | (loads.upward > LOADED_SHARE * weight_n)
    # A foot that swings low over the ground looks as if it stood, but for its speed.
    # Over a tenth of a second, because a tracker's noise is fast from one sample to the next.
    period = max(float(np.median(np.diff(seconds))), 1e-3)
    reach = min(max(1, round(0.05 / period)), len(seconds) - 1)
    numbers = np.arange(len(seconds))
    before, after = np.maximum(numbers - reach, 0), np.minimum(numbers + reach, len(numbers) - 1)
    way = np.linalg.norm(footing.centres[after, :, :2] - footing.centres[before, :, :2], axis=2)
    swings = way / np.maximum(seconds[after] - seconds[before], 1e-9)[:, None] > SWING_M_S
    standing &= known | ~swings
    margin = round(EDGE_S / period)
    for _ in range(margin):
        inner = standing.copy()
        inner[1:] &= standing[:-1]
        inner[:-1] &= standing[1:]
        standing = inner
    return standing


def drifts(footing: Footing, standing: Flags, foot: int) -> Array:
    """How far (T, 2) a sole has moved over the ground since its stance began; zero in the air."""
    out = np.zeros((len(standing), 2))
    place = footing.centres[:, foot, :2]
    for first, stop in runs(standing[:, foot]):
        if stop - first >= MIN_STANCE:
            out[first:stop] = place[first:stop] - np.median(place[first : first + 5], axis=0)
    # A median of five takes out the noise of the tracker, and nothing that lasts.
    calm = [scipy.ndimage.median_filter(column, 5, mode="nearest") for column in out.T]
    return np.stack(calm, axis=1)
