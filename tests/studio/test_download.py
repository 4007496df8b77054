"""Episodes leave Studio as files: as recorded, for Rerun, for Foxglove; converted once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.studio.conftest import SmallWorkspace

from corporeal.catalog.store.store import digest_of
from corporeal.catalog.stores.folder import FolderStore
from corporeal.catalog.workspace import Workspace
from corporeal.errors import MissingExtraError
from corporeal.exchange.conversion import export
from corporeal.exchange.opening import open_dataset
from corporeal.studio.playback import download_cache
from corporeal.studio.playback.download_cache import FOLDER, DownloadCache


def _digest(workspace: Workspace, name: str) -> str:
    from corporeal.catalog.episodes import find_episode

    with workspace.database.read() as connection:
        return find_episode(connection, name).hash


def test_the_recorded_file_comes_whole_and_in_pieces(
    client: TestClient, workspace: Workspace, small_workspace: SmallWorkspace, tmp_path: Path
) -> None:
    name = small_workspace.episodes[0]
    answer = client.get(f"/api/episodes/{name}/file")
    assert answer.status_code == 200
    assert answer.headers["content-disposition"].endswith('filename="episode_0.h5"')
    saved = tmp_path / "saved.h5"
    saved.write_bytes(answer.content)
    assert digest_of(saved) == _digest(workspace, name)
    part = client.get(f"/api/episodes/{name}/file", headers={"Range": "bytes=0-7"})
    assert part.status_code == 206
    assert part.content == b"\x89HDF\r\n\x1a\n"
    beyond = client.get(f"/api/episodes/{name}/file", headers={"Range": "bytes=99999999999-"})
    assert beyond.status_code == 416
    assert beyond.headers["content-range"].startswith("bytes */")
    assert beyond.json()["error"].startswith("The range lies outside of the file, which has ")


def test_mcap_holds_the_episode_and_is_made_once(
    client: TestClient, small_workspace: SmallWorkspace, tmp_path: Path
) -> None:
    name = small_workspace.episodes[0]
    answer = client.get(f"/api/episodes/{name}/mcap")
    assert answer.status_code == 200
    saved = tmp_path / "saved.mcap"
    saved.write_bytes(answer.content)
    assert open_dataset(saved).open(0).id == name
    kept = list((small_workspace.root / FOLDER).iterdir())
    assert [each.suffix for each in kept] == [".mcap"]
    again = client.get(f"/api/episodes/{name}/episode.mcap")
    assert again.headers["etag"] == answer.headers["etag"]
    assert kept[0].stat().st_ino == next((small_workspace.root / FOLDER).iterdir()).stat().st_ino


def test_a_recording_for_rerun_is_offered(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    pytest.importorskip("rerun")
    answer = client.get(f"/api/episodes/{small_workspace.episodes[0]}/episode.rrd")
    assert answer.status_code == 200
    assert answer.content[:4] == b"RRF2"


def test_without_rerun_the_install_line_is_told(
    client: TestClient, small_workspace: SmallWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: Any, **__: Any) -> Any:
        raise MissingExtraError("rerun-sdk", "viz")

    monkeypatch.setattr(download_cache, "export", missing)
    name = small_workspace.episodes[0]
    answer = client.get(f"/api/episodes/{name}/rrd")
    assert 400 <= answer.status_code < 500
    assert "pip install" in answer.json()["error"]
    said = client.get(f"/api/episodes/{name}/conversion?to=rrd").json()
    assert said["state"] == "failed"
    assert "pip install" in said["reason"]


def test_a_page_of_another_site_gets_no_file(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Origin": "https://x.org"}
    for part in ("file", "mcap", "rrd"):
        answer = client.get(f"/api/episodes/{small_workspace.episodes[0]}/{part}", headers=foreign)
        assert answer.status_code == 403, part


def test_progress_is_told_until_it_is_ready(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    url = f"/api/episodes/{small_workspace.episodes[0]}/conversion"
    assert client.get(url, params={"to": "mcap"}).json()["state"] == "missing"
    assert client.post(url, params={"to": "mcap"}).json()["state"] in ("working", "ready")
    _until(lambda: client.get(url, params={"to": "mcap"}).json()["state"] == "ready")
    assert client.get(url, params={"to": "mcap"}).json()["bytes"] > 1000
    assert client.post(url, params={"to": "exe"}).status_code == 422


def test_two_who_ask_at_once_get_one_conversion(
    workspace: Workspace, small_workspace: SmallWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = _digest(workspace, small_workspace.episodes[0])
    calls: list[int] = []

    def counted(*given: Any, **named: Any) -> Any:
        calls.append(1)
        time.sleep(0.1)
        return export(*given, **named)

    monkeypatch.setattr(download_cache, "export", counted)
    cache = DownloadCache(workspace)
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(cache.file(digest, "mcap")))
               for _ in range(4)]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert len(set(found)) == 1


def test_an_episode_whose_file_is_gone_is_told_as_such(
    client: TestClient, workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    name = small_workspace.episodes[2]
    assert isinstance(workspace.store, FolderStore)
    workspace.store.path(_digest(workspace, name)).unlink()
    for part in ("file", "mcap"):
        answer = client.get(f"/api/episodes/{name}/{part}")
        assert answer.status_code == 410, part
        assert "Traceback" not in answer.text
        assert answer.json()["error"].endswith("."), part


def test_the_oldest_make_room(workspace: Workspace, small_workspace: SmallWorkspace) -> None:
    cache = DownloadCache(workspace, most_bytes=1)
    first, second = (_digest(workspace, name) for name in small_workspace.episodes[:2])
    cache.file(first, "mcap")
    cache.file(second, "mcap")
    assert cache.standing(first, "mcap").state == "missing"
    assert cache.standing(second, "mcap").state == "ready"


def _until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_forged_object_is_not_handed_out(
    client: TestClient, workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    name = small_workspace.episodes[1]
    path = workspace.store.path(_digest(workspace, name))
    assert path is not None
    good, mode = path.read_bytes(), path.stat().st_mode
    path.chmod(0o600)
    path.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    try:
        for kind in ("file", "mcap"):
            answer = client.get(f"/api/episodes/{name}/{kind}")
            assert answer.status_code >= 400
            assert "do not match its hash" in answer.text
    finally:
        path.write_bytes(good)
        path.chmod(mode)
