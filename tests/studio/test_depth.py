"""Depth reaches the page as it was measured, and in colours that mean distance."""

from __future__ import annotations

import numpy as np
import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from tests.studio.conftest import SmallWorkspace
from tests.studio.test_movie import unpacked

from corporeal.catalog.workspace import Workspace
from corporeal.studio.context import open_studio
from corporeal.studio.playback.depth_colour import coloured, metres_per_unit, percentiles
from corporeal.studio.settings import StudioSettings

DEPTH = "observations/head_depth"


@pytest.mark.parametrize("stride", [1, 3, 16])
def test_a_frame_of_depth_is_what_was_measured(
    client: TestClient, small_workspace: SmallWorkspace, workspace: Workspace, stride: int
) -> None:
    name = small_workspace.episodes[0]
    answer = client.get(
        f"/api/episodes/{name}/depth", params={"stream": DEPTH, "frame": 7, "stride": stride}
    )
    facts, values = unpacked(answer.content)
    with open_studio(workspace, StudioSettings()) as studio, studio.shelf.episode(name) as episode:
        expected = episode[DEPTH][7][::stride, ::stride]
        time_ns = int(episode[DEPTH].time_ns[7])
    assert (values["depth"] == expected).all()
    assert (facts["frame"], facts["time_ns"], facts["stride"]) == (7, time_ns, stride)
    assert facts["metres_per_unit"] == 0.001
    assert 0 < facts["near"] < facts["far"]


def test_a_camera_is_no_depth(client: TestClient, small_workspace: SmallWorkspace) -> None:
    answer = client.get(
        f"/api/episodes/{small_workspace.episodes[0]}/depth",
        params={"stream": "observations/head_left", "frame": 0},
    )
    assert answer.status_code == 404
    assert DEPTH in answer.json()["error"]


@pytest.mark.parametrize("stride", [0, -1, 17, 10**12])
def test_a_hostile_stride_gets_a_sentence(
    client: TestClient, small_workspace: SmallWorkspace, stride: int
) -> None:
    answer = client.get(
        f"/api/episodes/{small_workspace.episodes[0]}/depth",
        params={"stream": DEPTH, "frame": 0, "stride": stride},
    )
    assert answer.status_code == 422


def test_near_is_warm_far_is_cold_and_nothing_is_dark() -> None:
    frame = np.array([[500, 4000, 0]], np.uint16)
    near, far, nothing = coloured(frame, near=500, far=4000)[0].astype(int)
    assert near[0] > near[2]
    assert far[2] > far[0]
    assert nothing.max() < 40


@given(arrays.arrays(np.uint16, st.tuples(st.integers(1, 12), st.integers(1, 12))))
def test_any_depth_has_colours(frame: NDArray[np.uint16]) -> None:
    near, far = percentiles(frame)
    assert near < far
    assert coloured(frame).shape == (*frame.shape, 3)


def test_only_lengths_have_metres() -> None:
    assert metres_per_unit("mm") == 0.001
    assert metres_per_unit("1") is None
    assert metres_per_unit(("m", "m")) is None
