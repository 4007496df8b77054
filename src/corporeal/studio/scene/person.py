"""The person that a robot's motion was made from, and where to draw them: beside the robot."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from corporeal.embodiment import Embodiment
from corporeal.episode import Episode
from corporeal.retargeting.motion import POINTS, SIDES
from corporeal.schema import roles
from corporeal.studio.scene.joint_motion import PoseTrack, SceneStream

STREAM = roles.HUMAN_POINTS
_CONFIDENCE = roles.HUMAN_CONFIDENCE
_ERROR = roles.RETARGET_ERROR
_MOST_POINTS = 256
_LOOKED_AT = 64
_HEADING_M = 0.5
_FARTHEST_M = 1e4
_SCALES = (0.4, 1.4)
_CROWN_M = 0.12

Array = NDArray[np.float64]


class GoalDistances(BaseModel):
    """A stream of distances from goals, m: where on the robot each of its columns is measured."""

    stream: str
    rate_hz: float | None
    places: list[str | None]


class HumanFigure(SceneStream):
    """A stream of named points; drawn `scale` times as large and moved by `shift` (x, y), m.

    So the person goes as far as the robot does, `aside` (x, y) of it. `heading_rad` is where both
    go, or look if they go nowhere; `height` is that of the person as drawn, m.
    """

    names: list[str]
    confidence: str | None
    misses: GoalDistances | None
    scale: float
    shift: tuple[float, float]
    aside: tuple[float, float]
    heading_rad: float
    height: float


def find_person(
    episode: Episode, robot: Embodiment | None, base: PoseTrack | None
) -> HumanFigure | None:
    """The person of the first stream of points with the name that says so, if there is one."""
    path = next((each for each in episode if _is_person(episode, each)), None)
    if path is None:
        return None
    reader = episode[path]
    count = int(reader.spec.shape[0])
    confidence = _sibling(episode, path, _CONFIDENCE, count)
    names = list(episode[confidence].spec.names) if confidence else []
    if not names and count == len(POINTS):
        names = list(POINTS)
    if not names:
        return None
    rows = np.unique(np.linspace(0, len(reader) - 1, _LOOKED_AT).astype(np.int64))
    points = _known(np.asarray(reader[rows], np.float64))
    if confidence and len(episode[confidence]) == len(reader):
        points[np.asarray(episode[confidence][rows]) <= 0] = np.nan
    root = points[:, names.index("pelvis") if "pelvis" in names else 0, :2]
    scale, shift = _together(root, _base_at(episode, base, reader.time_ns[rows]))
    heading = _heading(points, names, root)
    right = np.array([np.sin(heading), -np.cos(heading)])
    aside = _distance(scale * points, scale * root, right) * right
    return HumanFigure(
        stream=path, rate_hz=reader.spec.rate_hz, samples=len(reader), names=names,
        confidence=confidence, misses=_misses(episode, path, robot), scale=scale,
        shift=_pair(shift + aside), aside=_pair(aside), heading_rad=heading,
        height=scale * (_highest(points) + _CROWN_M),
    )  # fmt: skip


def _is_person(episode: Episode, path: str) -> bool:
    spec = episode[path].spec
    return (
        spec.name == STREAM
        and spec.kind == "array"
        and len(spec.shape) == 2
        and spec.shape[1] == 3
        and 0 < int(spec.shape[0]) <= _MOST_POINTS
        and spec.frame in (None, "world")
        and len(episode[path]) > 0
    )


def _sibling(episode: Episode, path: str, name: str, width: int | None) -> str | None:
    """The stream of this name in the same group, one number a column."""
    found = f"{path.rpartition('/')[0]}/{name}"
    if found not in episode or not len(episode[found]):
        return None
    spec = episode[found].spec
    flat = spec.kind == "array" and len(spec.shape) == 1
    return found if flat and width in (None, int(spec.shape[0])) else None


def _misses(episode: Episode, path: str, robot: Embodiment | None) -> GoalDistances | None:
    found = _sibling(episode, path, _ERROR, None)
    named = episode[found].spec.names if found else ()
    if found is None or robot is None or not named:
        return None
    feet = {f"{side}_foot": robot.feet[side] for side in SIDES if side in robot.feet}
    places = {**robot.end_effectors, **feet}
    return GoalDistances(
        stream=found,
        rate_hz=episode[found].spec.rate_hz,
        places=[places.get(name) for name in named],
    )


def _known(points: Array) -> Array:
    """The points with NaN for numbers that no person in a room has."""
    return np.where(np.abs(points) <= _FARTHEST_M, points, np.nan)


def _base_at(episode: Episode, base: PoseTrack | None, time_ns: NDArray[np.int64]) -> Array | None:
    if base is None:
        return None
    reader = episode[base.stream]
    rows = np.clip(np.searchsorted(reader.time_ns, time_ns, "right") - 1, 0, len(reader) - 1)
    x, y = base.position[:2]
    return _known(np.asarray(reader[rows], np.float64)[:, [x, y]])


def _together(person: Array, robot: Array | None) -> tuple[float, Array]:
    """Scale and shift (2,) that lay the person's way over the robot's, which is shorter."""
    if robot is None:
        return 1.0, np.zeros(2)
    both = np.isfinite(person).all(axis=1) & np.isfinite(robot).all(axis=1)
    if not both.any():
        return 1.0, np.zeros(2)
    middles = person[both].mean(axis=0), robot[both].mean(axis=0)
    a, b = person[both] - middles[0], robot[both] - middles[1]
    spread = float((a * a).sum())
    # Who stays in one place has no way to compare: they keep their size.
    stays = np.sqrt(spread / len(a)) < _HEADING_M / 2
    scale = 1.0 if stays else float(np.clip((a * b).sum() / spread, *_SCALES))
    return scale, middles[1] - scale * middles[0]


def _heading(points: Array, names: list[str], root: Array) -> float:
    """Where the person goes, as an angle from x; where they look first if they go nowhere."""
    seen = root[np.isfinite(root).all(axis=1)]
    way = seen[-1] - seen[0] if len(seen) else np.zeros(2)
    if np.hypot(*way) >= _HEADING_M:
        return float(np.arctan2(way[1], way[0]))
    if not {"left_hip", "right_hip"} <= set(names):
        return 0.0
    hips = (points[:, names.index("left_hip")] - points[:, names.index("right_hip")])[:, :2]
    hips = hips[np.isfinite(hips).all(axis=1)]
    return float(np.arctan2(-hips[0, 0], hips[0, 1])) if len(hips) else 0.0


def _distance(points: Array, root: Array, right: Array) -> float:
    """How far apart two who move alike must stand so that both are seen whole, m."""
    reach = np.abs((points[..., :2] - root[:, None]) @ right)
    widest = float(np.nanmax(reach)) if np.isfinite(reach).any() else 0.0
    return float(np.clip(2 * widest + 0.3, 1.0, 2.0))


def _highest(points: Array) -> float:
    heights = points[..., 2]
    return float(np.clip(np.nanmax(heights), 0.5, 3.0)) if np.isfinite(heights).any() else 1.6


def _pair(values: NDArray[Any]) -> tuple[float, float]:
    return float(values[0]), float(values[1])
