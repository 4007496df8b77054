"""Fixtures of Studio's tests: a small workspace, its application, a real server, a real browser."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uvicorn
from fastapi.testclient import TestClient
from tests.studio.real_browser import new_page
from tests.studio.small_workspace import make_small_workspace
from tests.studio.waiting import SECONDS

from corporeal.catalog.workspace import Workspace, open_workspace
from corporeal.studio.context import open_studio
from corporeal.studio.server import create_application
from corporeal.studio.settings import StudioSettings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@dataclass(frozen=True)
class SmallWorkspace:
    """A workspace of three episodes on disk; the second has fallen."""

    root: Path
    episodes: list[str]


@pytest.fixture(scope="session")
def made_workspace(tmp_path_factory: pytest.TempPathFactory) -> SmallWorkspace:
    """Made once for all tests; those that change something take `small_workspace`."""
    folder = tmp_path_factory.mktemp("studio")
    (folder / "files").mkdir()
    return SmallWorkspace(folder / "workspace", make_small_workspace(folder))


@pytest.fixture
def small_workspace(made_workspace: SmallWorkspace, tmp_path: Path) -> SmallWorkspace:
    """A copy that a test may change."""
    root = tmp_path / "workspace"
    shutil.copytree(made_workspace.root, root)
    return SmallWorkspace(root, made_workspace.episodes)


@pytest.fixture
def workspace(small_workspace: SmallWorkspace) -> Iterator[Workspace]:
    """The same, open."""
    with open_workspace(small_workspace.root) as opened:
        yield opened


@pytest.fixture
def client(workspace: Workspace) -> Iterator[TestClient]:
    """The application, called without a network."""
    with open_studio(workspace, StudioSettings()) as studio:
        app = create_application(studio)
        with TestClient(
            app, "http://127.0.0.1:8700", raise_server_exceptions=False, headers={"X-Studio": "1"}
        ) as made:
            yield made


@pytest.fixture
def address(workspace: Workspace) -> Iterator[str]:
    """A real server on a free port of this machine."""
    with open_studio(workspace, StudioSettings()) as studio:
        server = uvicorn.Server(
            uvicorn.Config(create_application(studio), port=0, log_level="warning")
        )
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        until = time.monotonic() + SECONDS
        while not server.started and time.monotonic() < until:
            time.sleep(0.02)
        assert server.started
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
        server.should_exit = True
        thread.join(timeout=SECONDS)


@pytest.fixture(scope="session")
def browser(browser: Browser) -> Browser:
    """The system's Chromium, where there is a page to look at."""
    if not (StudioSettings().page / "index.html").is_file():
        pytest.skip("Studio's page was not built: run make page")
    return browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh window of 1440 x 900; a script error fails the test."""
    opened = new_page(browser)
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    opened.context.close()
    assert not errors, errors
