"""What a solve pulls at: points, turns and level soles, each with a weight in every frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corporeal.geometry import Array
from corporeal.retargeting.solver.chain import Chain, LinkPoses, vector_of

UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class PointTask:
    """A point of a link is to be at `goal` (T, 3); `weight` (T, 3) along the world's axes."""

    link: int
    offset: Array
    goal: Array
    weight: Array

    rows = 3

    def fill(
        self, chain: Chain, posed: LinkPoses, frames: slice, jacobian: Array, rest: Array
    ) -> None:
        """Write weighted derivatives (T, 3, size) and residuals (T, 3)."""
        at = posed.point(self.link, self.offset)
        chain.point_rows(posed, self.link, at, jacobian)
        weight = self.weight[frames]
        jacobian *= weight[:, :, None]
        np.multiply(at - self.goal[frames], weight, out=rest)


@dataclass(frozen=True, eq=False)
class RotationTask:
    """A link with axes `own` (3, 3) on it is to be turned as `goal` (T, 3, 3)."""

    link: int
    own: Array
    goal: Array
    weight: Array

    rows = 3

    def fill(
        self, chain: Chain, posed: LinkPoses, frames: slice, jacobian: Array, rest: Array
    ) -> None:
        """Write weighted derivatives (T, 3, size) and residuals (T, 3)."""
        chain.turn_rows(posed, self.link, jacobian)
        now = posed.turn(self.link) @ self.own
        weight = self.weight[frames]
        jacobian *= weight[:, None, None]
        apart = vector_of(now @ self.goal[frames].swapaxes(1, 2))
        np.multiply(apart, weight[:, None], out=rest)


@dataclass(frozen=True, eq=False)
class LevelTask:
    """An axis on a link is to be level: a sole does not stand on its edge."""

    link: int
    axis: Array
    weight: Array

    rows = 1

    def fill(
        self, chain: Chain, posed: LinkPoses, frames: slice, jacobian: Array, rest: Array
    ) -> None:
        """Write weighted derivatives (T, 1, size) and residuals (T, 1)."""
        turned = posed.turn(self.link) @ self.axis
        whole = np.zeros((len(turned), 3, jacobian.shape[2]))
        chain.turn_rows(posed, self.link, whole)
        # The height of a turning axis changes by what lies across it and the vertical.
        across = np.cross(turned, UP)
        weight = self.weight[frames]
        jacobian[:, 0] = weight[:, None] * np.einsum("ti,tij->tj", across, whole)
        rest[:, 0] = weight * turned[:, 2]


@dataclass(frozen=True, eq=False)
class FloorTask:
    """Points (K, 3) of a link are not to be below the ground."""

    link: int
    offsets: Array
    weight: float

    @property
    def rows(self) -> int:
        """One row for each point."""
        return len(self.offsets)

    def fill(self, chain: Chain, posed: LinkPoses, _: slice, jacobian: Array, rest: Array) -> None:
        """Write weighted derivatives (T, K, size) and residuals (T, K); zero above the ground."""
        whole = np.zeros((jacobian.shape[0], 3, jacobian.shape[2]))
        for row, offset in enumerate(self.offsets):
            at = posed.point(self.link, offset)
            weight = np.where(at[:, 2] < 0, self.weight, 0.0)
            if weight.any():
                whole[:] = 0.0
                chain.point_rows(posed, self.link, at, whole)
                jacobian[:, row] = weight[:, None] * whole[:, 2]
                rest[:, row] = weight * at[:, 2]


Task = PointTask | RotationTask | LevelTask | FloorTask
