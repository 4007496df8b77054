"""Points of the simulated scanner lie in the world where the room really is."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from fastapi.testclient import TestClient
from numpy.typing import NDArray
from tests.studio.test_robot import MEASURED, take_in, unpack

from corporeal.catalog.workspace import Workspace
from corporeal.embodiment.kinematics import Kinematics
from corporeal.geometry import matrix_from_rpy
from corporeal.schema import open_schema
from corporeal.simulation.balance import standing_start
from corporeal.simulation.sensing import Lidar
from corporeal.simulation.sensor import RangeNoise
from corporeal.simulation.variation import FIXED, SceneLayout, vary
from corporeal.simulation.world import World, build_world

RIG = open_schema("simulated_humanoid")
LIDAR, BASE = "observations/lidar", "debug/base_pose"
BENT_RAD = 0.3


def _bent(world: World) -> NDArray[np.float64]:
    """Where all is when the robot stands before the table and bows: a tilt shows every lever."""
    qpos = standing_start(world)
    waist = world.embodiment.joint_names.index("waist_pitch_joint")
    qpos[world.joint_qpos[waist]] = BENT_RAD
    return qpos


def _drawn(client: TestClient, episode: str, world: World) -> NDArray[np.float64]:
    """The points (n, 3) of the first scan in the world, placed as the page places them."""
    said = client.get(f"/api/episodes/{episode}/robot").json()
    (cloud,) = said["clouds"]

    def sample(stream: str) -> NDArray[Any]:
        params: dict[str, str | int] = {"stream": stream, "start_ns": 0, "end_ns": 10}
        answer = client.get(f"/api/episodes/{episode}/motion", params=params)
        assert answer.status_code == 200, answer.text
        values: NDArray[Any] = unpack(answer.content)[1]["values"]
        return values[:1]

    poses = Kinematics(world.embodiment).link_poses(sample(MEASURED), sample(BASE))
    params: dict[str, str | int] = {"stream": LIDAR, "frame": 0}
    _, arrays = unpack(client.get(f"/api/episodes/{episode}/points", params=params).content)
    on_link = arrays["points"] @ matrix_from_rpy(np.array(cloud["rpy"])).T + cloud["xyz"]
    placed: NDArray[np.float64] = (
        on_link @ poses.rotation(cloud["link"])[0].T + poses.position(cloud["link"])[0]
    )
    return placed


def test_the_floor_and_the_table_are_drawn_at_their_heights(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    world = build_world(vary(SceneLayout(), 3, ranges=FIXED))
    qpos = _bent(world)
    run = cast(Any, SimpleNamespace(world=world, qpos=np.stack([qpos, qpos]),
                                    time_s=np.array([0.0, 1.0])))  # fmt: skip
    noise = RangeNoise(white_m=0.002, dropouts=0.0)
    scan = Lidar(run).scan(0.0, noise=noise, rng=np.random.default_rng(0))
    base = qpos[world.base_qpos : world.base_qpos + 7]
    streams = {
        RIG.stream(LIDAR): scan[None],
        RIG.stream(MEASURED): qpos[world.joint_qpos][None].astype("f4"),
        RIG.stream(BASE): base[None].astype("f4"),
    }
    episode = take_in(workspace, tmp_path, streams, world.embodiment)
    height = _drawn(client, episode, world)[:, 2]
    spread = noise.white_m
    floor = height[np.abs(height) < 6 * spread]
    assert len(floor) > 200
    assert abs(np.median(floor)) < spread
    assert height.min() > -6 * spread, "nothing lies below the floor"
    table = world.variation.table_height_m
    assert table is not None
    top = height[np.abs(height - table) < 6 * spread]
    assert len(top) > 20
    assert abs(np.median(top) - table) < spread
