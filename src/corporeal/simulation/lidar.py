"""A small scanning laser on the head: rays cast in the world at the instant of each scan."""

from __future__ import annotations

from typing import Any

import numpy as np

from corporeal.embodiment.engines import import_mujoco
from corporeal.geometry import Array
from corporeal.simulation.run import Run
from corporeal.simulation.sensor import RangeNoise
from corporeal.simulation.trajectory import Trajectory

RINGS, COLUMNS = 16, 90
# Mostly downwards: the G1's document has its scanner (mid360_link) hanging upside down.
ELEVATION_RAD = (np.radians(-52.0), np.radians(7.0))
SITE = "lidar"


def ray_directions(rings: int = RINGS, columns: int = COLUMNS) -> Array:
    """Unit vectors (rings * columns, 3) in the frame of the sensor: x forward, z up."""
    elevation = np.repeat(np.linspace(*ELEVATION_RAD, rings), columns)
    azimuth = np.tile(np.linspace(-np.pi, np.pi, columns, endpoint=False), rings)
    level = np.cos(elevation)
    return np.stack([level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)], axis=1)


class Lidar:
    """Casts the rays of one scan; rays that end on the robot itself give no point.

    All rays of a scan leave at the same instant: there is no distortion by motion.
    """

    def __init__(self, run: Run, *, rings: int = RINGS, columns: int = COLUMNS) -> None:
        self._mujoco = import_mujoco()
        self._model: Any = run.world.model
        self._data = self._mujoco.MjData(self._model)
        self._trajectory = Trajectory(run)
        self._site = self._model.site(SITE)
        self._directions = ray_directions(rings, columns)
        roots = self._model.body_rootid[self._model.geom_bodyid]
        self._own_geoms = roots == self._model.body_rootid[int(self._site.bodyid[0])]
        self._albedo = _albedo(self._model)

    def scan(
        self, time_s: float, *, noise: RangeNoise | None, rng: np.random.Generator
    ) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Points (n, 4) in the frame of the sensor: x, y, z in metres, intensity 0..1."""
        distance, geom, incidence = self._cast(time_s)
        limits = noise or RangeNoise()
        hit = (geom >= 0) & (distance >= limits.near_m) & (distance <= limits.far_m)
        hit[hit] = ~self._own_geoms[geom[hit]]
        if noise is not None:
            hit &= rng.random(len(distance)) >= noise.dropouts
            distance = distance + rng.normal(size=len(distance)) * noise.white_m
        intensity = self._albedo[geom[hit]] * incidence[hit]
        points = self._directions[hit] * distance[hit, None]
        return np.column_stack([points, intensity]).astype(np.float32)

    def _cast(self, time_s: float) -> tuple[Array, Any, Array]:
        """Range (m), geom (-1: none) and cosine of incidence of every ray."""
        model, data = self._model, self._data
        data.qpos[:] = self._trajectory.qpos(np.array([time_s]))[0]
        self._mujoco.mj_kinematics(model, data)
        place = data.site_xpos[self._site.id]
        rays = self._directions @ data.site_xmat[self._site.id].reshape(3, 3).T
        count = len(rays)
        geom, distance = np.full(count, -1, np.int32), np.zeros(count)
        normals = np.zeros(3 * count)
        cutoff = 2 * RangeNoise().far_m
        # The sensor's own body is left out: its housing has a window, the collision shape none.
        self._mujoco.mj_multiRay(
            model, data, place, rays.ravel(), None, True, int(self._site.bodyid[0]),
            geom, distance, normals, count, cutoff,
        )  # fmt: skip
        incidence = np.abs(np.einsum("ni,ni->n", rays, normals.reshape(-1, 3)))
        return distance, geom, incidence


def _albedo(model: Any) -> Array:
    """How bright each geom is (ngeom,), which stands for how well it sends a pulse back."""
    colours = np.array(model.geom_rgba[:, :3], np.float64)
    painted = model.geom_matid >= 0
    colours[painted] = model.mat_rgba[model.geom_matid[painted], :3]
    # The weights of light in Rec. 709.
    bright: Array = colours @ np.array([0.2126, 0.7152, 0.0722])
    return bright
