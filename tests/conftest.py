"""Fixtures that every test may use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.catalog.databases import (
    database,
    empty_url,
    postgres_fresh,
    postgres_server,
    postgres_url,
    s3_server,
    s3_store,
    s3_url,
)
from tests.studio.real_browser import browser_open, program

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = [
    "browser",
    "database",
    "empty_url",
    "postgres_fresh",
    "postgres_server",
    "postgres_url",
    "s3_server",
    "s3_store",
    "s3_url",
    "shared_data",
]
PROJECT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session", autouse=True)
def own_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a user has agreed to, and their keys, are no part of any test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real models and recordings beside the project; a plain clone has none."""
    folder = PROJECT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("real sample data is not here: ../shared/data does not exist")
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium; one for all tests of a process, which cannot have two."""
    pytest.importorskip("playwright", reason="needs playwright")
    if program() is None:
        pytest.skip("no browser here: install Debian's package chromium")
    with browser_open() as opened:
        yield opened
