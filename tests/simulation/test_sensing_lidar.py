from __future__ import annotations

from dataclasses import replace
from typing import Any

import mujoco
import numpy as np
import pytest

from corporeal.simulation.run import SimulatedRun
from corporeal.simulation.sensing import RAY_COLUMNS, RINGS, Lidar, ray_directions
from corporeal.simulation.sensor import RangeNoise


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _world_from_lidar(run: SimulatedRun) -> tuple[Any, Any]:
    data = mujoco.MjData(run.world.model)
    data.qpos[:] = run.qpos[0]
    mujoco.mj_kinematics(run.world.model, data)
    site = data.site("lidar")
    return site.xpos.copy(), site.xmat.reshape(3, 3).copy()


def test_rays_are_unit_vectors_in_rings() -> None:
    rays = ray_directions()
    assert rays.shape == (RINGS * RAY_COLUMNS, 3)
    assert np.linalg.norm(rays, axis=1) == pytest.approx(1.0)
    assert len(np.unique(np.round(rays[:, 2], 9))) == RINGS


def _surfaces(run: SimulatedRun, points: Any) -> dict[str, Any]:
    """Which points (n, 4) lie on which part of the scene, as it is at the start."""
    place, turn = _world_from_lidar(run)
    x, y, z = (points[:, :3] @ turn.T + place).T
    sides = (np.abs(x - 0.4) < 1e-4) | (np.abs(np.abs(y) - 0.5) < 1e-4)
    return {
        "floor": np.abs(z) < 1e-4,
        "wall": (np.abs(x - 2.9) < 1e-4) | (np.abs(z - 2.0) < 1e-4),
        "table": (np.abs(z - 0.7) < 1e-4) | sides,
        "ball": np.abs(np.hypot(np.hypot(x - 0.6, y + 0.3), z - 1.0) - 0.05) < 1e-4,
    }


def test_points_lie_on_floor_wall_table_or_ball(tiny_run: SimulatedRun) -> None:
    on = _surfaces(tiny_run, Lidar(tiny_run).scan(0.0, noise=None, rng=_rng()))
    assert np.any(list(on.values()), axis=0).all()
    assert on["floor"].sum() > 100
    assert on["table"].sum() > 10


def test_the_robot_hides_the_scene_but_gives_no_points(tiny_run: SimulatedRun) -> None:
    world = tiny_run.world
    shoulder = world.embodiment.joint_names.index("left_shoulder_pitch_joint")
    raised = tiny_run.qpos.copy()
    raised[:, world.joint_qpos[shoulder]] = -2.0
    run = replace(tiny_run, qpos=raised)
    points = Lidar(run).scan(0.0, noise=None, rng=_rng())
    assert len(points) < len(Lidar(tiny_run).scan(0.0, noise=None, rng=_rng())) - 5
    assert np.any(list(_surfaces(run, points).values()), axis=0).all()


def test_ranges_scatter_as_much_as_asked_and_pulses_get_lost(tiny_run: SimulatedRun) -> None:
    lidar = Lidar(tiny_run)
    clean = np.linalg.norm(lidar.scan(0.0, noise=None, rng=_rng())[:, :3], axis=1)
    noise = RangeNoise(white_m=0.02, dropouts=0.0)
    noisy = np.linalg.norm(lidar.scan(0.0, noise=noise, rng=_rng())[:, :3], axis=1)
    assert np.std(noisy - clean) == pytest.approx(0.02, rel=0.1)
    lost = lidar.scan(0.0, noise=replace(noise, dropouts=0.3), rng=_rng())
    assert len(lost) / len(clean) == pytest.approx(0.7, abs=0.05)


def test_what_is_out_of_range_gives_no_point(tiny_run: SimulatedRun) -> None:
    noise = RangeNoise(white_m=0.0, far_m=1.5, dropouts=0.0)
    near = np.linalg.norm(Lidar(tiny_run).scan(0.0, noise=noise, rng=_rng())[:, :3], axis=1)
    assert len(near) > 0
    assert near.max() <= 1.5 + 1e-5


def test_intensity_is_a_share_and_differs_between_surfaces(tiny_run: SimulatedRun) -> None:
    intensity = Lidar(tiny_run).scan(0.0, noise=None, rng=_rng())[:, 3]
    assert intensity.min() >= 0
    assert intensity.max() <= 1
    assert np.ptp(intensity) > 0.1
