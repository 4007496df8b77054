"""Calms the robot where the person's points are noisy, without ever leaving its limits."""

from __future__ import annotations

import numpy as np

from corporeal.embodiment.engines import import_pinocchio
from corporeal.geometry import Array

# Marker systems scatter less than this: their poses pass as they are.
CALM_M = 0.003
# 2 cm of scatter are smoothed at 6 Hz.
_HZ_M, _LEAST_HZ = 0.12, 3.0


class PoseSmoother:
    """Two low-passes in a row: every output is a mean of inputs, so that limits still hold."""

    def __init__(self) -> None:
        self._pin = import_pinocchio()
        self._stages: list[tuple[Array, Array, Array]] = []

    def take(
        self, pose: tuple[Array, Array, Array], scatter_m: float, dt_s: float
    ) -> tuple[Array, Array, Array]:
        """Joints (J,), origin (3,) and rotation (3, 3), smoothed as their scatter asks for."""
        if not self._stages:
            self._stages = [pose, pose]
        share = 1.0
        if scatter_m > CALM_M:
            turn = 2 * np.pi * max(_HZ_M / scatter_m, _LEAST_HZ) * dt_s
            share = turn / (1 + turn)
        for index, (q, origin, turned) in enumerate(self._stages):
            rest = self._pin.log3(pose[2] @ turned.T)
            pose = (
                q + share * (pose[0] - q),
                origin + share * (pose[1] - origin),
                pose[2] if share == 1.0 else self._pin.exp3(share * rest) @ turned,
            )
            self._stages[index] = pose
        return pose
