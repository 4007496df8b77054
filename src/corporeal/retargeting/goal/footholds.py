"""Where a robot's feet stand: one place for every stance, and swings that begin and end there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from corporeal.geometry import Array
from corporeal.retargeting.goal.soles import Soles
from corporeal.retargeting.motion import SIDES
from corporeal.retargeting.result import Goals
from corporeal.signal.runs import runs

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

    Cameras bend the floor of a capture by centimetres; what stands on it goes with it.
    """
    lifts = []
    for foot, side in enumerate(SIDES):
        at, axes = goals.positions[f"{side}_foot"], goals.rotations[f"{side}_foot"]
        edges = [at + axes @ edge for edge in _edges(soles, foot)]
        stands = goals.contacts[:, foot, 0] | goals.contacts[:, foot, 1]
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
