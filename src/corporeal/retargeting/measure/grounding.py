"""What the ground says of a robot's motion: stances that drift or hover, and what is sunk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.embodiment.collision import lowest_point
from corporeal.geometry import Array
from corporeal.retargeting.goal.soles import Soles, corner_heights, sole_points
from corporeal.retargeting.result import Supports
from corporeal.signal.runs import runs

# Less than this below the ground is rounding, not a foot in the floor.
SUNK_M = 0.001
# A stance of one sample has nowhere to drift to.
_SHORTEST = 2


@dataclass(frozen=True)
class Grounding:
    """What the ground says of a motion, in metres.

    A stance is an unbroken contact of one heel or toe; its drift is how far that point gets, over
    the ground, from where the stance began. `hover_*` is the height of standing points above the
    ground, over all their frames. `sole_depth_*` is how deep the deepest corner of a sole is below
    the ground, `body_depth_*` the same of every shape that is no foot: the greatest, and the mean
    over those frames that are deeper than SUNK_M, which `sunk_frames` counts. In
    `supported_frames` something besides the feet is to rest on the ground, at worst
    `rest_hover_max_m` above it.
    """

    stances: int
    drift_mean_m: float
    drift_max_m: float
    hover_mean_m: float
    hover_max_m: float
    sole_depth_mean_m: float
    sole_depth_max_m: float
    body_depth_mean_m: float
    body_depth_max_m: float
    sunk_frames: int
    supported_frames: int = 0
    rest_hover_max_m: float = 0.0


def measure_grounding(
    robot: Embodiment,
    soles: Soles,
    poses: Array,
    contacts: NDArray[np.bool_],
    supports: Supports | None = None,
) -> Grounding:
    """Grounding of links at `poses` (L, 3, 4, T) with `contacts` (T, 2, 2) of heels and toes."""
    standing = sole_points(soles, poses)
    drifts, heights = [], []
    for side, part in np.ndindex(2, 2):
        touches, place = contacts[:, side, part], standing[:, side, part]
        heights.append(place[touches, 2])
        drifts += [
            float(np.linalg.norm(place[first:stop, :2] - place[first, :2], axis=1).max())
            for first, stop in runs(touches, least=_SHORTEST)
        ]
    above = np.maximum(np.concatenate(heights), 0.0)
    sole_depth = np.maximum(-corner_heights(soles, poses).min(axis=(1, 2)), 0.0)
    body_depth = np.maximum(-lowest_of_body(robot, soles, poses), 0.0)
    return Grounding(
        stances=len(drifts),
        drift_mean_m=_mean(np.array(drifts)),
        drift_max_m=max(drifts, default=0.0),
        hover_mean_m=_mean(above),
        hover_max_m=float(above.max(initial=0.0)),
        sole_depth_mean_m=_mean(sole_depth[sole_depth > SUNK_M]),
        sole_depth_max_m=float(sole_depth.max(initial=0.0)),
        body_depth_mean_m=_mean(body_depth[body_depth > SUNK_M]),
        body_depth_max_m=float(body_depth.max(initial=0.0)),
        sunk_frames=int(np.count_nonzero(np.maximum(sole_depth, body_depth) > SUNK_M)),
        supported_frames=0 if supports is None else int(supports.touches.any(axis=1).sum()),
        rest_hover_max_m=0.0 if supports is None else _rest_hover(supports, poses),
    )


def _rest_hover(supports: Supports, poses: Array) -> float:
    """How high above the ground, at worst, something is that is to rest there."""
    lowest = supports.located(poses)[..., 2].min(axis=2)
    return float(np.maximum(lowest[supports.touches], 0.0).max(initial=0.0))


def lowest_of_body(robot: Embodiment, soles: Soles, poses: Array) -> Array:
    """Height (T,) of the lowest point of every shape that is not on a foot; infinite without."""
    feet = set(soles.link.tolist())
    lowest = np.full(poses.shape[-1], np.inf)
    for number, link in enumerate(robot.links):
        if number not in feet:
            for shape in link.collision:
                np.minimum(lowest, lowest_point(shape, poses[number, 2]), out=lowest)
    return lowest


def _mean(values: Array) -> float:
    return float(values.mean()) if values.size else 0.0
