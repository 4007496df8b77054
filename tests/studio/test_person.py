"""The person beside the robot: told from their stream alone, and put where both are seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from numpy.typing import NDArray
from tests.studio.test_robot import take_in

from corporeal.catalog.workspace import Workspace
from corporeal.embodiment import open_robot
from corporeal.retargeting.motion import POINTS
from corporeal.schema import Stream, open_schema

FRAMES = 50
NAMES = ("human_points", "human_confidence", "retarget_error", "base_pose")


def streams_of(
    way_m: float, *, robot_way_m: float | None = None, without: tuple[str, ...] = ()
) -> dict[Stream, NDArray[Any]]:
    """A person 1.7 m tall who goes `way_m` along y, arms hanging, and a robot that follows."""
    schema = open_schema("retargeted")
    share = np.linspace(0, 1, FRAMES)
    points = np.zeros((FRAMES, len(POINTS), 3), np.float32)
    points[:, :, 1] = (way_m * share)[:, None]
    points[:, :, 2] = np.linspace(0.1, 1.7, len(POINTS))
    # Facing y, left is towards -x.
    for side, x in (("left", -0.2), ("right", 0.2)):
        points[:, [n for n, name in enumerate(POINTS) if name.startswith(side)], 0] = x
    confidence = np.ones((FRAMES, len(POINTS)), np.float32)
    base = np.tile(np.array([0, 0, 0.78, 1, 0, 0, 0], np.float64), (FRAMES, 1))
    base[:, 1] = (way_m if robot_way_m is None else robot_way_m) * share
    error = np.zeros((FRAMES, 4), np.float32)
    error[30, 1] = 0.06
    made: tuple[NDArray[Any], ...] = (points, confidence, error, base)
    return {
        schema.stream(f"debug/{name}"): values.astype(schema.stream(f"debug/{name}").dtype)
        for name, values in zip(NAMES, made, strict=True)
        if name not in without
    }


def said_of(
    client: TestClient, workspace: Workspace, folder: Path, streams: dict[Stream, NDArray[Any]]
) -> Any:
    """What the page is told of the person."""
    episode = take_in(workspace, folder, streams, open_robot("g1"))
    return client.get(f"/api/episodes/{episode}/robot").json()["person"]


def test_the_person_walks_at_the_right_of_the_robot_as_far_as_it_does(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    said = said_of(client, workspace, tmp_path, streams_of(4.0, robot_way_m=3.0))
    assert said["names"] == list(POINTS)
    assert said["confidence"] == "debug/human_confidence"
    assert said["misses"]["places"] == ["left_palm", "right_palm", "left_sole", "right_sole"]
    assert said["heading_rad"] == pytest.approx(np.pi / 2)
    assert said["scale"] == pytest.approx(0.75, abs=1e-3)
    assert said["aside"] == pytest.approx([1.0, 0.0], abs=1e-6)
    assert said["shift"] == pytest.approx([1.0, 0.0], abs=0.03)
    assert said["height"] == pytest.approx(0.75 * (1.7 + 0.12), abs=1e-2)


def test_who_stays_keeps_their_size_and_the_hips_say_where_they_look(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    said = said_of(client, workspace, tmp_path, streams_of(0.1, robot_way_m=0.07))
    assert said["scale"] == 1.0
    assert said["heading_rad"] == pytest.approx(np.pi / 2, abs=1e-3)


def test_points_alone_are_enough(client: TestClient, workspace: Workspace, tmp_path: Path) -> None:
    without = ("human_confidence", "retarget_error", "base_pose")
    said = said_of(client, workspace, tmp_path, streams_of(2.0, without=without))
    assert said["names"] == list(POINTS)
    assert (said["confidence"], said["misses"], said["scale"]) == (None, None, 1.0)


def test_points_without_numbers_are_no_trouble(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    streams = streams_of(2.0)
    for stream, values in streams.items():
        if stream.name == "human_points":
            values[:] = np.nan
    said = said_of(client, workspace, tmp_path, streams)
    assert said["shift"] == pytest.approx([0.0, -1.0])
    assert said["heading_rad"] == 0.0


def test_an_episode_without_a_person_has_none(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    streams = streams_of(2.0, without=("human_points",))
    assert said_of(client, workspace, tmp_path, streams) is None
