"""The state of a run at any instant, not only at its logged steps."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.engines import import_mujoco
from corporeal.geometry import Array, slerp
from corporeal.simulation.run import SimulatedRun


class Trajectory:
    """A run between its steps: numbers are blended, quaternions turned, commands held."""

    def __init__(self, run: SimulatedRun) -> None:
        self.run = run

    def blend(self, values: Array, time_s: Array) -> Array:
        """Rows (T, n) of logged `values` (N, n), linear between the steps."""
        row, fraction = self._place(time_s)
        before, after = values[row], values[row + 1]
        blended: Array = before + (after - before) * fraction[:, None]
        return blended

    def hold(self, values: Array, time_s: Array) -> Array:
        """Rows (T, n) of logged `values` (N, n) as they stood last at each instant."""
        row = np.searchsorted(self.run.time_s, time_s, side="right") - 1
        held: Array = values[np.clip(row, 0, len(values) - 1)]
        return held

    def qpos(self, time_s: Array) -> Array:
        """MuJoCo's positions (T, nq), quaternions on the short arc."""
        row, fraction = self._place(time_s)
        positions = self.blend(self.run.qpos, time_s)
        before, after = self.run.qpos[row], self.run.qpos[row + 1]
        for first in self._quaternions:
            part = slice(first, first + 4)
            positions[:, part] = slerp(before[:, part], after[:, part], fraction)
        return positions

    def _place(self, time_s: Array) -> tuple[NDArray[np.int64], Array]:
        times = self.run.time_s
        row = np.clip(np.searchsorted(times, time_s, side="right") - 1, 0, len(times) - 2)
        step = times[row + 1] - times[row]
        return row.astype(np.int64), np.clip((time_s - times[row]) / step, 0.0, 1.0)

    @cached_property
    def _quaternions(self) -> tuple[int, ...]:
        """Where in qpos the quaternions of free and ball joints begin."""
        mujoco = import_mujoco()
        model: Any = self.run.world.model
        ball, free = int(mujoco.mjtJoint.mjJNT_BALL), int(mujoco.mjtJoint.mjJNT_FREE)
        skip = {ball: 0, free: 3}
        return tuple(
            int(address) + skip[int(kind)]
            for kind, address in zip(model.jnt_type, model.jnt_qposadr, strict=True)
            if int(kind) in skip
        )
