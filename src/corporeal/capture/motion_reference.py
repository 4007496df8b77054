"""The robot's own motion, from its joints: what the other streams are held against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corporeal.capture.motion_energy import Energy, Order
from corporeal.embodiment import Embodiment
from corporeal.embodiment.kinematics import Kinematics
from corporeal.episode.file import StreamReader
from corporeal.geometry import Array
from corporeal.units import SECOND_NS

# The share of all intervals with so little motion that the picture does not differ in full.
FULL = 0.8
# Places that move less than this share of the one that moves most are left out, and how many stay.
_MOVES, _MOST_PLACES = 0.1, 24


@dataclass(frozen=True, eq=False)
class MotionReference:
    """The speed of the joints, and the ways of the robot's places, which is what cameras see.

    `places` (T, P, D) are points of the robot in metres, or joint angles with D = 1 where nothing
    else is known.
    """

    speed: Energy
    time_s: Array
    places: Array

    def shapes(self, order: Order, begin_s: Array, end_s: Array) -> Array:
        """What a stream may show between two times (...,), as columns (..., B).

        A stream of speed shows the speed of the joints. A camera shows how far each place has
        moved, but no more than a certain change when it is near: each place comes in three
        shapes, of which any positive mixture can be seen.
        """
        if order == "speed":
            return mean_of(self.speed, begin_s, end_s)[..., None]
        moved = self._moved(begin_s, end_s)
        full = np.quantile(moved, FULL, axis=tuple(range(moved.ndim - 1)))
        return np.concatenate([moved, np.sqrt(moved * full), np.minimum(moved, full)], axis=-1)

    def _moved(self, begin_s: Array, end_s: Array) -> Array:
        """How far every place moves between two times (..., P)."""
        squares = np.zeros((*begin_s.shape, self.places.shape[1]))
        for place in range(self.places.shape[1]):
            for axis in range(self.places.shape[2]):
                way = self.places[:, place, axis]
                step = np.interp(end_s, self.time_s, way) - np.interp(begin_s, self.time_s, way)
                squares[..., place] += step**2
        return np.asarray(np.sqrt(squares))


def mean_of(curve: Energy, begin_s: Array, end_s: Array) -> Array:
    """The mean of a curve without gaps over intervals (...,), at least one of its own long."""
    edges = np.append(curve.begin_s, curve.end_s[-1])
    area = np.append(0.0, np.cumsum(curve.value * np.diff(edges)))
    widen = np.maximum(float(np.median(np.diff(edges))) - (end_s - begin_s), 0.0) / 2
    low, high = begin_s - widen, end_s + widen
    mean: Array = (np.interp(high, edges, area) - np.interp(low, edges, area)) / (high - low)
    return mean


def make_reference(reader: StreamReader, robot: Embodiment | None) -> MotionReference:
    """The motion over the whole recording, from joint positions or, without them, velocities.

    Without a robot description, cameras are held against the joints, which fits less well.
    """
    stamps = reader.time_ns / SECOND_NS
    kept = np.append(True, np.diff(stamps) > 0)
    time_s = stamps[kept]
    values = np.nan_to_num(np.asarray(reader[:], np.float64)[kept])
    if set(reader.spec.units) <= {"rad/s", "m/s"}:
        rate = (values[1:] + values[:-1]) / 2
        values = np.append(values[:1] * 0, np.cumsum(rate * np.diff(time_s)[:, None], axis=0), 0)
    else:
        rate = np.diff(values, axis=0) / np.diff(time_s)[:, None]
    speed = Energy(time_s[:-1], time_s[1:], np.linalg.norm(rate, axis=1), "speed")
    known = robot is not None and robot.joint_names == reader.spec.components
    places = _points(robot, values) if robot is not None and known else values[:, :, None]
    return MotionReference(speed, time_s, _moving(places))


def _points(robot: Embodiment, angles: Array) -> Array:
    """Links and hands (T, P, 3) seen from the base."""
    kinematics = Kinematics(robot)
    links, hands = kinematics.link_poses(angles), kinematics.end_effectors(angles)
    return np.concatenate([links.positions, hands.positions], axis=1)


def _moving(places: Array) -> Array:
    span = np.linalg.norm(np.diff(places, axis=0), axis=-1).max(axis=0)
    order = np.argsort(-span, kind="stable")[:_MOST_PLACES]
    return places[:, order[span[order] >= _MOVES * span.max()]]
