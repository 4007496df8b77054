"""Point clouds come bounded, in metres, without what is no number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from fastapi.testclient import TestClient
from tests.studio.conftest import SmallWorkspace
from tests.studio.test_robot import MEASURED, take_in, unpack

from corporeal.catalog.workspace import Workspace
from corporeal.embodiment import open_robot
from corporeal.schema import Stream

LIDAR = Stream.model_validate(
    {"name": "lidar", "group": "observations", "kind": "points", "shape": (4,), "rate_hz": 10,
     "components": ("intensity", "x", "y", "z"), "unit": ("1", "m", "m", "m"), "frame": "lidar"}
)  # fmt: skip


def _scans(count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    rng = np.random.default_rng(3)
    return rng.uniform(-2, 2, (2, count, 4)).astype(np.float32)


def test_a_cloud_is_given_by_the_names_of_its_columns(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    scans = _scans(50)
    scans[1, 7, 2] = np.nan
    episode = take_in(workspace, tmp_path, {LIDAR: scans}, open_robot("g1"))
    params: dict[str, str | int] = {"stream": LIDAR.path, "frame": 1}
    head, arrays = unpack(client.get(f"/api/episodes/{episode}/points", params=params).content)
    kept = np.delete(scans[1], 7, axis=0)
    assert head["total"] == 50
    np.testing.assert_array_equal(arrays["points"], kept[:, 1:])
    np.testing.assert_array_equal(arrays["intensity"], kept[:, 0])
    said = client.get(f"/api/episodes/{episode}/robot").json()
    assert said["clouds"][0]["link"] == "torso_link", "the scanner of the G1 sits on its torso"
    assert any("frame lidar" in sentence for sentence in said["missing"])


def test_a_cloud_that_is_too_large_is_thinned_and_says_so(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    scans = _scans(1000)
    episode = take_in(workspace, tmp_path, {LIDAR: scans}, open_robot("g1"))
    params: dict[str, str | int] = {"stream": LIDAR.path, "frame": 0, "most": 300}
    head, arrays = unpack(client.get(f"/api/episodes/{episode}/points", params=params).content)
    assert (head["total"], head["step"]) == (1000, 4)
    np.testing.assert_array_equal(arrays["points"], scans[0, ::4, 1:])


def test_a_scan_that_does_not_exist_is_told_in_a_sentence(
    client: TestClient, small_workspace: SmallWorkspace, workspace: Workspace, tmp_path: Path
) -> None:
    episode = take_in(workspace, tmp_path, {LIDAR: _scans(5)}, open_robot("g1"))
    for name, stream, frame, status in (
        (episode, LIDAR.path, 2, 404),
        (episode, LIDAR.path, -1, 422),
        (episode, "observations/nothing", 0, 404),
        (small_workspace.episodes[0], MEASURED, 0, 404),
    ):
        params: dict[str, str | int] = {"stream": stream, "frame": frame}
        answer = client.get(f"/api/episodes/{name}/points", params=params)
        assert answer.status_code == status, params
        assert answer.json()["error"].endswith((".", "?"))
