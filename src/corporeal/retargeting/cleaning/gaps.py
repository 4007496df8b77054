"""Gaps closed, short ones by a cubic and long ones by the body; motion at another rate."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicHermiteSpline, CubicSpline
from scipy.signal import butter, sosfiltfilt

from corporeal.geometry import Array, matrix_from_quaternion, quaternion_from_matrix, slerp
from corporeal.retargeting.motion import POINTS, SIDES, HumanMotion, MotionError

Mask = NDArray[np.bool_]

SHORT_S = 0.2
# A short gap is filled this surely; a long one starts at LONG and loses trust with every moment.
SHORT, LONG, LEAST = 0.6, 0.3, 0.05
_FADING_S = 0.5
_BEND_M_S2 = 60.0
_WIDE = 4
_TRUNK = (
    "pelvis", "spine", "chest", "neck", "head",
    "left_hip", "right_hip", "left_shoulder", "right_shoulder",
)  # fmt: skip
# A part of a limb, the segment (from, to) that carries it, and the direction in the trunk's axes
# (x forward, z up) from which that segment seldom points away; outwards from the trunk.
_CARRIED = (
    ("knee", "neck", "{side}_hip", (0.0, 0.0, -1.0)),
    ("ankle", "{side}_hip", "{side}_knee", (0.6, 0.0, -0.8)),
    ("heel", "{side}_knee", "{side}_ankle", (0.0, 0.0, -1.0)),
    ("toe", "{side}_knee", "{side}_ankle", (0.0, 0.0, -1.0)),
    ("elbow", "pelvis", "{side}_shoulder", (0.0, 0.0, 1.0)),
    ("wrist", "{side}_shoulder", "{side}_elbow", (1.0, 0.0, 0.0)),
    ("hand", "{side}_elbow", "{side}_wrist", (1.0, 0.0, 0.0)),
)


@dataclass(frozen=True, eq=False)
class Filled:
    """Positions without gaps in every point that was ever known, and how sure each sample is."""

    positions: Array
    confidence: Array
    gaps: int
    longest_s: float
    longest: str


def fill_gaps(positions: Array, confidence: Array, rate_hz: float, *, straight: bool) -> Filled:
    """Close the gaps, where `confidence` (T, P) is 0, of every point known in some frame.

    Short gaps are `straight` where the samples are too noisy to tell a slope.
    """
    known = confidence > 0
    ever = np.any(known, axis=0)
    gap_s, away_s, count = _gaps(known, rate_hz)
    # A gap at either end of the clip is treated as a long one: there is nothing beyond it.
    short = ~known & (gap_s <= SHORT_S) & np.logical_or.accumulate(known, axis=0)
    short &= np.logical_or.accumulate(known[::-1], axis=0)[::-1]
    filled = np.where(known[..., None], positions, np.nan)
    if straight:
        filled = np.where(short[..., None], bridge(positions, known), filled)
    else:
        _fill_short(filled, known, short, gap_s + 1 / rate_hz)
    _carry(filled)
    sure = np.where(short, SHORT, np.maximum(LEAST, LONG * np.exp(-away_s / _FADING_S)))
    longest = np.unravel_index(np.argmax(np.where(ever, gap_s, 0.0)), gap_s.shape)
    return Filled(
        positions=np.where(ever[:, None], filled, np.nan),
        confidence=np.where(known, confidence, np.where(ever, sure, 0.0)),
        gaps=int(np.sum(count[ever])),
        longest_s=float(gap_s[longest]) if np.any(ever) else 0.0,
        longest=POINTS[int(longest[1])],
    )


def _gaps(known: Mask, rate_hz: float) -> tuple[Array, Array, NDArray[np.int64]]:
    """Of every sample the length of its gap and the time to the next known one; gaps per point."""
    frames = len(known)
    index = np.arange(frames)[:, None]
    before = np.maximum.accumulate(np.where(known, index, -1), axis=0)
    after = np.minimum.accumulate(np.where(known, index, frames)[::-1], axis=0)[::-1]
    length = np.where(known, 0.0, (after - before - 1) / rate_hz)
    to_before = np.where(before < 0, np.inf, index - before)
    to_after = np.where(after >= frames, np.inf, after - index)
    away = np.minimum(to_before, to_after) / rate_hz
    count = np.sum(np.diff(known.astype(np.int8), axis=0) < 0, axis=0) + ~known[0]
    return length, away, count


def _fill_short(filled: Array, known: Mask, short: Mask, span_s: Array) -> None:
    """Cubics that meet the path at the slopes it has there; `span_s` is from end to end."""
    for point in np.flatnonzero(np.any(short, axis=0)):
        seen = np.flatnonzero(known[:, point])
        gap = np.flatnonzero(short[:, point])
        path = filled[seen, point]
        steps = np.diff(seen)
        slopes = np.gradient(path, seen, axis=0)
        # At the edge of a wide gap the slope is the one of the known side alone.
        edge = np.flatnonzero(steps > _WIDE)
        inner = edge[(edge > 0) & (edge < len(seen) - 2)]
        inner = inner[(steps[inner - 1] == 1) & (steps[inner + 1] == 1)]
        slopes[inner] = _one_sided(path, seen, inner, -1)
        slopes[inner + 1] = _one_sided(path, seen, inner + 1, 1)
        chord = bridge(filled[:, [point]], known[:, [point]])[gap, 0]
        bow = CubicHermiteSpline(seen, path, slopes)(gap) - chord
        # No farther from the straight line than a strong acceleration bends the path.
        farthest = _BEND_M_S2 * span_s[gap, point] ** 2 / 8
        size = np.linalg.norm(bow, axis=1)
        filled[gap, point] = (
            chord + bow * np.minimum(1.0, farthest / np.maximum(size, 1e-9))[:, None]
        )


def _one_sided(path: Array, seen: NDArray[np.int64], at: NDArray[np.int64], step: int) -> Array:
    run = (seen[at] - seen[at + step])[:, None]
    return np.asarray((path[at] - path[at + step]) / run)


def _carry(filled: Array) -> None:
    """Fill what is still NaN from where it was, seen from the segment that carries it."""
    trunk = [POINTS.index(name) for name in _TRUNK]
    missing = ~np.isfinite(filled[..., 0])
    if np.any(missing[:, trunk]):
        rotations, origins = _trunk_frames(filled[:, trunk])
        for point in trunk:
            _fill_locally(filled, point, rotations, origins)
    limbs = [POINTS.index(f"{side}_{part}") for part, *_ in _CARRIED for side in SIDES]
    if not np.any(missing[:, limbs]):
        return
    axes = _trunk_axes(filled)
    for part, start, end, usual in _CARRIED:
        for side in SIDES:
            point = POINTS.index(f"{side}_{part}")
            if np.any(missing[:, point]):
                first, last = (
                    filled[:, POINTS.index(name.format(side=side))] for name in (start, end)
                )
                rotations = _shortest_rotations(axes @ np.array(usual), _unit(last - first)) @ axes
                _fill_locally(filled, point, rotations, last)


def _fill_locally(filled: Array, point: int, rotations: Array, origins: Array) -> None:
    known = np.isfinite(filled[:, point, 0])
    if not np.any(known) or np.all(known):
        return
    local = np.einsum("tji,tj->ti", rotations, filled[:, point] - origins)
    steady = bridge(local[:, None], known[:, None])[:, 0]
    gap = ~known
    filled[gap, point] = origins[gap] + np.einsum("tij,tj->ti", rotations[gap], steady[gap])


def _trunk_axes(filled: Array) -> Array:
    """Rotations (T, 3, 3) of a trunk all of whose points are known: x forward, y left, z up."""
    up = _unit(filled[:, POINTS.index("neck")] - filled[:, POINTS.index("pelvis")])
    left = filled[:, POINTS.index("left_hip")] - filled[:, POINTS.index("right_hip")]
    forward = _unit(np.cross(left, up))
    return np.stack([forward, np.cross(up, forward), up], axis=-1)


def _shortest_rotations(start: Array, end: Array) -> Array:
    """Rotations (T, 3, 3) that take unit vectors to others (T, 3) by the shortest way."""
    cross = np.cross(start, end)
    skew = np.zeros((len(start), 3, 3))
    skew[:, [2, 0, 1], [1, 2, 0]] = cross
    skew[:, [1, 2, 0], [2, 0, 1]] = -cross
    cosine = np.einsum("ti,ti->t", start, end)
    opposed = np.maximum(1.0 + cosine, 1e-3)[:, None, None]
    return np.asarray(np.eye(3) + skew + skew @ skew / opposed)


def _trunk_frames(points: Array) -> tuple[Array, Array]:
    """The trunk's pose in every frame: the best fit of its usual shape to what is known of it."""
    known = np.isfinite(points[..., 0])
    usual = _usual_shape(points, known)
    shared = known & np.isfinite(usual[:, 0])
    rotations, origins, _, strength = fit_shape(usual, points, shared)
    good = (shared.sum(axis=1) >= 3) & (strength > 1e-4)
    if not np.any(good):
        return np.broadcast_to(np.eye(3), rotations.shape).copy(), np.zeros_like(origins)
    return bridge_rotations(rotations, good), bridge(origins[:, None], good[:, None])[:, 0]


def fit_shape(shape: Array, points: Array, shared: Mask) -> tuple[Array, Array, Array, Array]:
    """Rotations (T, 3, 3) and shifts (T, 3) that bring a shape (P, 3) onto `shared` points (T, P).

    Also how far (T,) the points are from it on average, and how strongly (T,) they tell the
    rotation: not at all where they lie on a line.
    """
    weight = shared[..., None].astype(np.float64)
    count = np.maximum(weight.sum(axis=1), 1.0)
    ours, theirs = np.nan_to_num(shape)[None] * weight, np.nan_to_num(points) * weight
    middle, centre = ours.sum(axis=1) / count, theirs.sum(axis=1) / count
    ours, theirs = (ours - middle[:, None]) * weight, (theirs - centre[:, None]) * weight
    left, strengths, right = np.linalg.svd(np.einsum("tmi,tmj->tij", theirs, ours))
    flip = np.ones((len(points), 3))
    flip[:, 2] = np.where(np.linalg.det(left @ right) < 0, -1.0, 1.0)
    rotation = (left * flip[:, None, :]) @ right
    shift = centre - np.einsum("tij,tj->ti", rotation, middle)
    apart = theirs - np.einsum("tij,tmj->tmi", rotation, ours)
    error = np.sqrt(np.sum(apart**2, axis=(1, 2)) / count[:, 0])
    return rotation, shift, error, strengths[:, 1]


def _usual_shape(points: Array, known: Mask) -> Array:
    """The trunk in the frame in which most of it is known, completed from other frames."""
    best = int(np.argmax(known.sum(axis=1)))
    shape = points[best].copy()
    for point in np.flatnonzero(~known[best] & np.any(known, axis=0)):
        frame = int(np.argmax(np.where(known[:, point], known[:, known[best]].sum(axis=1), -1)))
        shared = known[best] & known[frame]
        if np.any(shared):
            shape[point] = points[frame, point] + np.mean(shape[shared] - points[frame, shared], 0)
    return np.asarray(shape - np.nanmean(shape, axis=0))


def bridge_rotations(rotations: Array, known: Mask) -> Array:
    """Rotations (T, 3, 3), some `known` (T,), with the others on great arcs between their ends."""
    seen, lost = np.flatnonzero(known), np.flatnonzero(~known)
    after = np.clip(np.searchsorted(seen, lost), 0, len(seen) - 1)
    before = np.maximum(np.searchsorted(seen, lost) - 1, 0)
    first, last = seen[before], seen[after]
    part = np.clip((lost - first) / np.maximum(last - first, 1), 0.0, 1.0)
    quaternions = quaternion_from_matrix(rotations[seen])
    bridged = rotations.copy()
    bridged[lost] = matrix_from_quaternion(slerp(quaternions[before], quaternions[after], part))
    return bridged


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9))


MAX_FRAMES = 5_000_000


def resample(motion: HumanMotion, rate_hz: float) -> HumanMotion:
    """The motion at `rate_hz`, from the same first moment; a lower rate is filtered first.

    Positions go through cubics, rotations along great arcs; a new sample is as sure as the less
    sure of its two neighbours, and unknown where one of them is.
    """
    if not (np.isfinite(rate_hz) and rate_hz > 0):
        raise MotionError(f"{motion.origin.path}: got a rate of {rate_hz} Hz; give --rate.")
    if abs(rate_hz - motion.rate_hz) < 1e-9 * rate_hz or len(motion) < 2:
        return replace(motion, rate_hz=rate_hz)
    frames = int(motion.duration_s * rate_hz + 1e-6) + 1
    if frames > MAX_FRAMES:
        raise MotionError(
            f"{motion.origin.path}: {frames} frames at {rate_hz} Hz; expected at most "
            f"{MAX_FRAMES}. Give a lower --rate."
        )
    where = np.minimum(np.arange(frames) * (motion.rate_hz / rate_hz), len(motion) - 1.0)
    first = np.minimum(where.astype(np.int64), len(motion) - 2)
    fraction = where - first
    # A sample on a frame depends on that frame alone.
    after = np.where(fraction > 1e-9, first + 1, first)
    contacts = motion.contacts
    return replace(
        motion,
        rate_hz=rate_hz,
        positions=_positions(motion, rate_hz, where, first, after),
        confidence=np.minimum(motion.confidence[first], motion.confidence[after]),
        rotations={
            name: _rotations(rotation, first, fraction)
            for name, rotation in motion.rotations.items()
        },
        contacts=None if contacts is None else contacts[np.rint(where).astype(np.int64)],
    )


def _positions(
    motion: HumanMotion,
    rate_hz: float,
    where: Array,
    first: NDArray[np.int64],
    after: NDArray[np.int64],
) -> Array:
    known = np.all(np.isfinite(motion.positions), axis=2)
    filled = bridge(motion.positions, known)
    frames = len(motion)
    if rate_hz < 0.99 * motion.rate_hz and frames > 18:
        sections = butter(4, 0.45 * rate_hz, fs=motion.rate_hz, output="sos")
        filled = sosfiltfilt(sections, filled, axis=0, padlen=min(frames - 1, 60))
    new = np.asarray(CubicSpline(np.arange(frames), filled, axis=0)(where))
    new[~(known[first] & known[after])] = np.nan
    return new


def _rotations(rotations: Array, first: NDArray[np.int64], fraction: Array) -> Array:
    quaternions = quaternion_from_matrix(rotations)
    new = matrix_from_quaternion(slerp(quaternions[first], quaternions[first + 1], fraction))
    unknown = ~np.all(np.isfinite(rotations), axis=(1, 2))
    new[unknown[first] | unknown[first + 1]] = np.nan
    return new


def bridge(positions: Array, known: NDArray[np.bool_]) -> Array:
    """Positions (T, P, 3) with straight lines where not `known` (T, P), 0 where it never is."""
    filled = np.where(known[..., None], positions, 0.0)
    frames = np.arange(len(positions))
    for point in np.flatnonzero(~np.all(known, axis=0) & np.any(known, axis=0)):
        seen, unseen = known[:, point], ~known[:, point]
        for axis in range(3):
            filled[unseen, point, axis] = np.interp(
                frames[unseen], frames[seen], positions[seen, point, axis]
            )
    return filled
