"""Where the object lies at first, and other numbers of an episode: drawn, and spread far apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import cos, pi, sin, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.protocol import Protocol
from corporeal.protocol.coverage import ContinuousFactor, ObjectPlace

# Of so many candidates the one farthest from all that was collected is taken.
_CANDIDATES = 256


@dataclass(frozen=True)
class StartConditions:
    """`asked` is where the object is to lie (object_xyz in metres, object_yaw_rad), if anywhere;
    `values` are the numbers of the continuous factors by name and axis."""

    asked: Mapping[str, Any] | None
    values: Mapping[str, Mapping[str, float]]


def draw_conditions(
    protocol: Protocol,
    levels: Mapping[str, str],
    done: Sequence[Mapping[str, Any]],
    rng: np.random.Generator,
) -> StartConditions:
    """The start of the next episode, whose levels are given; `done` are metadata of the others."""
    values = {factor.name: _farthest(factor, done, rng) for factor in protocol.continuous or ()}
    for factor in protocol.factors:
        place = (factor.places or {}).get(levels.get(factor.name, ""))
        if place is not None:
            return StartConditions(_in_disc(place, rng), values)
    rule = protocol.randomisation
    for spread in protocol.continuous or ():
        if spread.places_object:
            point = values[spread.name]
            height = 0.0 if rule.object_xyz is None else rule.object_xyz[2]
            asked = {
                "object_xyz": [point["x_m"], point["y_m"], point.get("z_m", height)],
                "object_yaw_rad": point.get("yaw_rad", 0.0),
            }
            return StartConditions(asked, values)
    if rule.object_xyz is None:
        return StartConditions(None, values)
    anywhere = ObjectPlace(
        xyz=rule.object_xyz,
        radius_m=rule.object_position_m,
        yaw_range_rad=rule.object_yaw_rad,
    )
    return StartConditions(_in_disc(anywhere, rng), values)


def _in_disc(place: ObjectPlace, rng: np.random.Generator) -> dict[str, Any]:
    x, y, z = place.xyz
    away, angle = place.radius_m * sqrt(rng.random()), rng.uniform(-pi, pi)
    turn = place.yaw_rad + rng.uniform(-place.yaw_range_rad, place.yaw_range_rad)
    return {
        "object_xyz": [round(x + away * cos(angle), 4), round(y + away * sin(angle), 4), z],
        "object_yaw_rad": round(turn, 3),
    }


def _farthest(
    factor: ContinuousFactor, done: Sequence[Mapping[str, Any]], rng: np.random.Generator
) -> dict[str, float]:
    """The point whose nearest collected neighbour is farthest, each axis by its own range."""
    ranges = np.array(list(factor.axes.values()))
    points: NDArray[np.float64] = rng.random((_CANDIDATES, len(ranges)))
    stated = [values for each in done if (values := factor.values_of(each)) is not None]
    best = 0
    if stated:
        known = (np.array(stated) - ranges[:, 0]) / (ranges[:, 1] - ranges[:, 0])
        away = np.linalg.norm(points[:, None, :] - known[None, :, :], axis=2).min(axis=1)
        best = int(away.argmax())
    values = ranges[:, 0] + points[best] * (ranges[:, 1] - ranges[:, 0])
    return {axis: round(float(value), 4) for axis, value in zip(factor.axes, values, strict=True)}
