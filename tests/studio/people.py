"""Accounts and browsers for tests of who may see what."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from fastapi.testclient import TestClient

from corporeal.catalog.accounts import add_account, new_token
from corporeal.catalog.permission import Actor
from corporeal.catalog.workspace import Workspace
from corporeal.studio.context import open_studio
from corporeal.studio.guide_feed import GuideFeed
from corporeal.studio.server import create_application
from corporeal.studio.settings import StudioSettings

ADMIN = Actor("tester", "admin")
HOME = "http://127.0.0.1:8700"


def token_of(workspace: Workspace, name: str, role: str) -> str:
    """A new account and its token."""
    with workspace.database.write() as connection:
        add_account(connection, name, role, by=ADMIN)
        return new_token(connection, name, "browser", by=ADMIN)


def make_page(folder: Path) -> Path:
    """A page as vite would have built it."""
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>Studio</title>")
    (folder / "assets" / "main-abc.js").write_text("console;\n" * 500)
    return folder


@contextmanager
def open_client(
    workspace: Workspace,
    settings: StudioSettings | None = None,
    *,
    page: Path | None = None,
    guide: GuideFeed | None = None,
) -> Iterator[TestClient]:
    """A browser before a Studio that was just started; nobody has logged in."""
    chosen = settings or StudioSettings()
    if page is not None:
        chosen = replace(chosen, page=page)
    with (
        open_studio(workspace, chosen, guide=guide) as studio,
        TestClient(
            create_application(studio),
            HOME,
            raise_server_exceptions=False,
            headers={"X-Studio": "1"},
        ) as client,
    ):
        yield client
