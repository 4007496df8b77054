"""Tactile maps are found, and their colours cover touches rather than noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from fastapi.testclient import TestClient
from tests.studio.test_robot import joints, take_in

from corporeal.catalog.workspace import Workspace
from corporeal.embodiment import open_robot
from corporeal.schema import Stream


def _stream(name: str, shape: tuple[int, ...], unit: str) -> Stream:
    return Stream.model_validate(
        {"name": name, "group": "observations", "shape": shape, "unit": unit, "rate_hz": 60}
    )


def test_maps_are_told_from_other_tables_of_numbers(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    streams = {
        _stream("left_tactile", (16, 16), "Pa"): np.zeros((3, 16, 16), "f4"),
        _stream("fingers", (4, 5), "N"): np.ones((3, 4, 5), "f4"),
        _stream("skin", (6, 6, 3), "N"): np.ones((3, 6, 6, 3), "f4"),
        _stream("camera_pose", (4, 4), "1"): np.zeros((3, 4, 4), "f4"),
        _stream("heights", (300, 300), "m"): np.zeros((3, 300, 300), "f4"),
    }
    episode = take_in(workspace, tmp_path, streams, open_robot("g1"))
    said = client.get(f"/api/episodes/{episode}/tactile").json()
    assert [(each["name"], each["height"], each["width"], each["depth"]) for each in said] == [
        ("left_tactile", 16, 16, 1), ("fingers", 4, 5, 1), ("skin", 6, 6, 3),
    ]  # fmt: skip
    assert all(each["high"] > each["low"] for each in said)


def test_the_colours_cover_touches_and_neither_noise_nor_a_leap(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(0, 50, (300, 16, 16)).clip(0)
    values[200:280, 4:8, 4:8] += 90_000
    values[100, 3, 3] = 4e6
    values[10, 2, 2] = np.nan
    streams = {
        _stream("left_tactile", (16, 16), "Pa"): values.astype("f4"),
        _stream("right_tactile", (16, 16), "Pa"): values[:150].clip(0, 400).astype("f4"),
    }
    episode = take_in(workspace, tmp_path, streams, open_robot("g1"))
    touched, calm = client.get(f"/api/episodes/{episode}/tactile").json()
    assert touched["low"] == calm["low"] == 0
    assert touched["touched"]
    assert not calm["touched"]
    assert 80_000 < touched["high"] < 120_000
    assert calm["high"] > 5 * 150, "noise of three spreads stays in the darkest fifth"


def test_an_episode_without_maps_has_none(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    knee = joints("joint_position", "observations", ("left_knee_joint",))
    episode = take_in(workspace, tmp_path, {knee: np.zeros((3, 1), "f4")}, open_robot("g1"))
    assert client.get(f"/api/episodes/{episode}/tactile").json() == []
