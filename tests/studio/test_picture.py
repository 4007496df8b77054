"""The picture with a number is that picture."""

from __future__ import annotations

import io

import numpy as np
import pytest
from fastapi.testclient import TestClient
from numpy.typing import NDArray
from PIL import Image
from tests.studio.conftest import SmallWorkspace
from tests.studio.small_workspace import burnt_number

from corporeal.catalog.workspace import Workspace
from corporeal.studio.context import open_studio
from corporeal.studio.settings import StudioSettings

CAMERA = "observations/head_left"


def shown(client: TestClient, name: str, frame: int, **more: str | int) -> NDArray[np.uint8]:
    """What the server shows as this frame."""
    answer = client.get(
        f"/api/episodes/{name}/picture", params={"stream": CAMERA, "frame": frame, **more}
    )
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-frame"] == str(frame)
    return np.asarray(Image.open(io.BytesIO(answer.content)).convert("RGB"))


def test_a_picture_equals_what_the_episode_decodes(
    client: TestClient, small_workspace: SmallWorkspace, workspace: Workspace
) -> None:
    name = small_workspace.episodes[0]
    with (
        open_studio(workspace, StudioSettings()) as studio,
        studio.shelf.episode(name) as episode,
    ):
        last = len(episode[CAMERA]) - 1
        decoded = {frame: episode[CAMERA][frame] for frame in (0, 1, 37, last, 5)}
    for frame, expected in decoded.items():
        assert (shown(client, name, frame, format="png") == expected).all(), frame
        assert burnt_number(shown(client, name, frame)) == frame


def test_a_picture_is_made_smaller_but_never_larger(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    name = small_workspace.episodes[0]
    assert shown(client, name, 3, width=80).shape == (60, 80, 3)
    assert shown(client, name, 3, width=4096).shape == (120, 160, 3)


def test_depth_is_shown_in_colours(client: TestClient, small_workspace: SmallWorkspace) -> None:
    answer = client.get(
        f"/api/episodes/{small_workspace.episodes[0]}/picture",
        params={"stream": "observations/head_depth", "frame": 2, "format": "png"},
    )
    picture = np.asarray(Image.open(io.BytesIO(answer.content)))
    assert picture.shape == (120, 160, 3)
    assert np.ptp(picture[..., 0]) > 100


@pytest.mark.parametrize(
    ("frame", "status"),
    [(-1, 422), (10**6, 404), (2**40, 404), (2**70, 422), ("seven", 422), ("1.5", 422), ("", 422)],
)
@pytest.mark.parametrize("part", ["picture", "depth"])
def test_a_hostile_frame_number_gets_a_sentence(
    client: TestClient, small_workspace: SmallWorkspace, frame: int | str, status: int, part: str
) -> None:
    stream = CAMERA if part == "picture" else "observations/head_depth"
    answer = client.get(
        f"/api/episodes/{small_workspace.episodes[0]}/{part}",
        params={"stream": stream, "frame": frame},
    )
    assert answer.status_code == status, answer.text
    assert answer.json()["error"].endswith(".")


@pytest.mark.parametrize("wrong", [{"width": 0}, {"width": 10**9}, {"format": "exe"}])
def test_a_hostile_size_or_format_gets_a_sentence(
    client: TestClient, small_workspace: SmallWorkspace, wrong: dict[str, str | int]
) -> None:
    answer = client.get(
        f"/api/episodes/{small_workspace.episodes[0]}/picture",
        params={"stream": CAMERA, "frame": 0, **wrong},
    )
    assert answer.status_code == 422
    assert answer.json()["error"].endswith(".")


def test_an_episode_whose_file_is_gone_says_so(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    for path in (small_workspace.root / "objects").rglob("*"):
        if path.is_file():
            path.unlink()
    answer = client.get(
        f"/api/episodes/{small_workspace.episodes[0]}/picture",
        params={"stream": CAMERA, "frame": 0},
    )
    assert answer.status_code == 410
    assert answer.json()["error"].endswith(".")
    assert "Traceback" not in answer.text
