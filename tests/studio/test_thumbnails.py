"""Thumbnails are pictures of the right moment, made once, kept within a bound."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image
from tests.catalog.entries import entry
from tests.studio.conftest import SmallWorkspace
from tests.studio.small_workspace import burnt_number

from corporeal.catalog.episodes import add_episodes
from corporeal.catalog.workspace import Workspace
from corporeal.episode import Episode
from corporeal.studio.routes.thumbnails import (
    FOLDER,
    MOMENTS,
    ThumbnailCache,
    camera_of,
    moment_of,
)


def _number(content: bytes) -> int | None:
    return burnt_number(np.asarray(Image.open(io.BytesIO(content)).convert("RGB")))


def test_a_thumbnail_shows_the_moment_that_was_asked_for(
    client: TestClient, workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    episode_id = small_workspace.episodes[0]
    facts = client.get(f"/api/episodes/{episode_id}").json()
    cameras = [stream for stream in facts["streams"] if stream["kind"] == "video"]
    outside = [stream for stream in cameras if stream["placement"] == "external"]
    samples = (outside or cameras)[0]["samples"]
    for at in (0.0, 0.25, 0.5, 1.0):
        answer = client.get(f"/api/episodes/{episode_id}/thumbnail", params={"at": at})
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "image/jpeg"
        assert _number(answer.content) == round((samples - 1) * moment_of(at) / MOMENTS)


def test_a_thumbnail_is_made_once_and_kept(
    client: TestClient, workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    path = f"/api/episodes/{small_workspace.episodes[0]}/thumbnail"
    first = client.get(path)
    assert "immutable" in first.headers["cache-control"]
    (kept,) = (workspace.root / FOLDER).glob("*/*")
    assert kept.read_bytes() == first.content
    kept.write_bytes(b"kept")
    assert client.get(path).content == b"kept"
    again = client.get(path, headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304
    assert not again.content


def test_a_thumbnail_is_as_small_as_asked(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    path = f"/api/episodes/{small_workspace.episodes[0]}/thumbnail"
    wide = Image.open(io.BytesIO(client.get(path, params={"width": 2000}).content))
    assert wide.size == (160, 120)


@pytest.mark.parametrize("params", [{"at": 2}, {"at": "nan"}, {"width": 0}, {"width": 10**9}])
def test_a_thumbnail_out_of_bounds_is_refused(
    client: TestClient, small_workspace: SmallWorkspace, params: dict[str, str]
) -> None:
    path = f"/api/episodes/{small_workspace.episodes[0]}/thumbnail"
    answer = client.get(path, params=params)
    assert answer.status_code == 422
    assert answer.json()["error"]


def test_what_has_no_picture_is_told_in_a_sentence(
    client: TestClient, workspace: Workspace
) -> None:
    with workspace.database.write() as connection:
        add_episodes(connection, [made := entry(1)], who="tester")
    for name in ("nobody", "..%2f..%2fetc%2fpasswd", made.id):
        answer = client.get(f"/api/episodes/{name}/thumbnail")
        assert 400 <= answer.status_code < 500, name
        assert answer.json()["error"].endswith(".")
    assert not (workspace.root / FOLDER).exists()


def test_the_folder_of_thumbnails_stays_within_its_bound(tmp_path: Path) -> None:
    cache = ThumbnailCache(tmp_path, most_bytes=1000)
    for number in range(20):
        cache.get(f"picture {number}", lambda: bytes(100))
    oldest = cache.get("picture 0", lambda: b"made anew")
    assert oldest == bytes(100)
    for place, path in enumerate(sorted(tmp_path.glob("*/*.jpg"))):
        os.utime(path, (place, place))
    newest = sorted(tmp_path.glob("*/*.jpg"))[-1]
    cache.shrink()
    left = list(tmp_path.glob("*/*.jpg"))
    assert sum(path.stat().st_size for path in left) <= 800
    assert newest in left


def test_a_full_disk_only_makes_it_slow(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder can be here")
    cache = ThumbnailCache(tmp_path / "file" / "below")
    assert cache.get("picture", lambda: b"made") == b"made"


def test_the_camera_that_sees_the_robot_comes_first(workspace: Workspace) -> None:
    objects = workspace.root / "objects"
    files = [each for each in objects.rglob("*") if each.is_file() and "audit" not in each.parts]
    with Episode.open(files[0]) as episode:
        cameras = [path for path in episode if episode[path].spec.kind == "video"]
        outside = [path for path in cameras if episode[path].spec.placement == "external"]
        assert camera_of(episode) == (outside or cameras)[0]
