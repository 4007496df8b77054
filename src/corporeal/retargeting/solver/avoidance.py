"""Keeping links of a robot apart, and the whole robot out of the ground."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.collision import CollisionModel, Shapes, shapes_of
from corporeal.geometry import Array
from corporeal.retargeting.solver.chain import Chain, ChainPose

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Avoidance:
    """Pairs of links nearer than `margin_m` are pushed apart, shapes in the ground are lifted."""

    model: CollisionModel
    weight: float
    margin_m: float

    def add(self, chain: Chain, posed: ChainPose, matrix: Array, slope: Array) -> float:
        """Add the rows of a state, as posed, to matrix (T, n, n) and slope (T, n); their cost."""
        located = self._shapes.located(posed.links)
        frames, rows, rest = self._apart(chain, posed, located)
        low, raising, depth = self._lifted(chain, posed, located)
        frames = np.concatenate([frames, low])
        rows = np.concatenate([rows, raising]) * self.weight
        rest = np.concatenate([rest, depth]) * self.weight
        order = np.argsort(frames, kind="stable")
        frames, rows, rest = frames[order], rows[order], rest[order]
        own = np.unique(frames)
        edges = np.searchsorted(frames, own), np.searchsorted(frames, own, side="right")
        for frame, start, stop in zip(own, *edges, strict=True):
            pushed = rows[start:stop]
            matrix[frame] += pushed.T @ pushed
            slope[frame] += rest[start:stop] @ pushed
        return float(np.vdot(rest, rest))

    def cost(self, chain: Chain, posed: ChainPose) -> float:
        """What `add` returns, without any derivatives."""
        located = self._shapes.located(posed.links)
        near = self.model.near_at(posed.links, located, self.margin_m).distance - self.margin_m
        heights = self._heights(chain, located)[1]
        low = heights[heights < 0]
        return float((np.vdot(near, near) + np.vdot(low, low)) * self.weight**2)

    def _apart(
        self, chain: Chain, posed: ChainPose, located: Array
    ) -> tuple[Numbers, Array, Array]:
        """Frames (n,), derivatives (n, size) and residuals (n,) of links that are too near."""
        near = self.model.near_at(posed.links, located, self.margin_m)
        rows = np.zeros((len(near.frame), chain.size))
        for side, sign in ((0, 1.0), (1, -1.0)):
            at = near.points[:, side]
            rows += sign * _along(chain, posed, near.links[:, side], near.frame, at, near.normal)
        return near.frame, rows, near.distance - self.margin_m

    def _lifted(
        self, chain: Chain, posed: ChainPose, located: Array
    ) -> tuple[Numbers, Array, Array]:
        """The same of the ends of shapes, other than the soles', that are below the ground."""
        shapes = self._shapes
        above, heights = self._heights(chain, located)
        end, number, frame = np.nonzero(heights < 0)
        if not len(frame):
            return np.zeros(0, np.int64), np.zeros((0, chain.size)), np.zeros(0)
        shape = above[number]
        middle, half = located[shape, :, 0, frame], located[shape, :, 1, frame]
        place = middle + (2.0 * end - 1.0)[:, None] * half
        up = np.broadcast_to([0.0, 0.0, 1.0], place.shape)
        rows = _along(chain, posed, shapes.link[shape], frame, place, up)
        return frame, rows, heights[end, number, frame]

    def _heights(self, chain: Chain, located: Array) -> tuple[Numbers, Array]:
        """Shapes (n,) other than the soles', and how high (2, n, T) their ends are."""
        shapes = self._shapes
        above = np.flatnonzero(~np.isin(shapes.link, chain.robot.soles.link))
        centre, spine = located[above, 2, 0], located[above, 2, 1]
        heights = np.stack([centre - spine, centre + spine]) - shapes.radii[above][:, None]
        return above, heights

    @cached_property
    def _shapes(self) -> Shapes:
        return shapes_of(self.model.embodiment)


def _along(
    chain: Chain, posed: ChainPose, links: Numbers, frames: Numbers, at: Array, direction: Array
) -> Array:
    """Derivatives (n, size) along a direction of points of links, each in a frame of its own."""
    out = np.zeros((len(frames), chain.size))
    arms = at - posed.base[frames, :3]
    pulls = np.concatenate([direction, np.cross(arms, direction)], axis=1).T[None]
    for link in np.unique(links):
        own = np.flatnonzero(links == link)
        motions = posed.motions[:, :, frames[own]]
        out[own] = chain.derivatives(motions, int(link), pulls[:, :, own])[0].T
    return out
