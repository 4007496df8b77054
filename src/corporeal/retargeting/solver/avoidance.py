"""Keeping links of a robot apart, and the whole robot out of the ground."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.collision import CollisionModel, Shapes, shapes_of
from corporeal.geometry import Array
from corporeal.retargeting.solver.chain import Chain, ChainPose, MotionState

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Avoidance:
    """Pairs of links nearer than `margin_m` are pushed apart, shapes in the ground are lifted."""

    model: CollisionModel
    weight: float
    margin_m: float

    def add(
        self, chain: Chain, state: MotionState, posed: ChainPose, matrix: Array, slope: Array
    ) -> float:
        """Add the rows of a state to matrix (T, n, n) and slope (T, n); the cost of them.

        `posed` is the state with all its links.
        """
        frames, rows, rest = self._apart(chain, state, posed)
        low, raising, depth = self._lifted(chain, posed)
        frames = np.concatenate([frames, low])
        rows = np.concatenate([rows, raising]) * self.weight
        rest = np.concatenate([rest, depth]) * self.weight
        # Rows of one frame one after the other: an assignment adds only one of equal numbers.
        order = np.argsort(frames, kind="stable")
        frames, rows, rest = frames[order], rows[order], rest[order]
        repeat = np.arange(len(frames)) - np.searchsorted(frames, frames)
        for number in range(int(repeat.max(initial=-1)) + 1):
            own = repeat == number
            matrix[frames[own]] += rows[own][:, :, None] * rows[own][:, None, :]
            slope[frames[own]] += rows[own] * rest[own][:, None]
        return float(np.vdot(rest, rest))

    def _apart(
        self, chain: Chain, state: MotionState, posed: ChainPose
    ) -> tuple[Numbers, Array, Array]:
        """Frames (n,), derivatives (n, size) and residuals (n,) of links that are too near."""
        near = self.model.near(state.q, self.margin_m)
        rotation = posed.rotation(chain.kinematics.names.index(chain.robot.robot.base))[near.frame]
        origin = state.base[near.frame, :3]
        normal = np.einsum("tij,tj->ti", rotation, near.normal)
        rows = np.zeros((len(near.frame), chain.size))
        for side, sign in ((0, 1.0), (1, -1.0)):
            at = np.einsum("tij,tj->ti", rotation, near.points[:, side]) + origin
            rows += sign * _along(chain, posed, near.links[:, side], near.frame, at, normal)
        return near.frame, rows, near.distance - self.margin_m

    def _lifted(self, chain: Chain, posed: ChainPose) -> tuple[Numbers, Array, Array]:
        """The same of the ends of shapes, other than the soles', that are below the ground."""
        shapes = self._shapes
        frames, links, places = list[Numbers](), list[Numbers](), list[Array]()
        depths = list[Array]()
        located = shapes.located(posed.links)
        for number, link in enumerate(shapes.link):
            if link in chain.robot.soles.link:
                continue
            for end in (-1.0, 1.0):
                at = located[number, :, 0] + end * located[number, :, 1]
                height = at[2] - shapes.radii[number]
                low = np.flatnonzero(height < 0)
                if len(low):
                    frames.append(low)
                    links.append(np.full(len(low), link))
                    places.append(at[:, low].T)
                    depths.append(height[low])
        if not frames:
            return np.zeros(0, np.int64), np.zeros((0, chain.size)), np.zeros(0)
        frame, link, place = np.concatenate(frames), np.concatenate(links), np.concatenate(places)
        up = np.broadcast_to([0.0, 0.0, 1.0], place.shape)
        return frame, _along(chain, posed, link, frame, place, up), np.concatenate(depths)

    @cached_property
    def _shapes(self) -> Shapes:
        return shapes_of(self.model.embodiment)


def _along(
    chain: Chain, posed: ChainPose, links: Numbers, frames: Numbers, at: Array, direction: Array
) -> Array:
    """Derivatives (n, size) along a direction of points of links, each in a frame of its own."""
    out = np.zeros((len(frames), chain.size))
    for link in np.unique(links):
        own = np.flatnonzero(links == link)
        whole = np.zeros((len(own), 3, chain.size))
        part = ChainPose(
            posed.links[:, :, :, :0],
            posed.axes[frames[own]],
            posed.origins[frames[own]],
            posed.base[frames[own]],
        )
        chain.point_rows(part, int(link), at[own], whole)
        out[own] = np.einsum("ti,tij->tj", direction[own], whole)
    return out
