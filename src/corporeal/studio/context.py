"""What all requests share: the workspace, the settings, the episodes at hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection

from corporeal.catalog.workspace import Workspace
from corporeal.studio.access.login_session import SessionKey, session_key
from corporeal.studio.access.login_throttle import LoginThrottle
from corporeal.studio.guide_feed import GuideFeed
from corporeal.studio.live_relay import LiveRelay
from corporeal.studio.open_episodes import OpenEpisodes
from corporeal.studio.settings import StudioSettings


@dataclass(frozen=True)
class Studio:
    """An open Studio; made by `open_studio`."""

    workspace: Workspace
    settings: StudioSettings
    shelf: OpenEpisodes
    key: SessionKey
    live: LiveRelay
    throttle: LoginThrottle
    guide: GuideFeed | None = None


@contextmanager
def open_studio(
    workspace: Workspace, settings: StudioSettings, *, guide: GuideFeed | None = None
) -> Iterator[Studio]:
    """Everything that requests share, closed at the end of the block; the workspace stays open."""
    with OpenEpisodes(workspace, most=settings.open_episodes) as shelf:
        key, live = session_key(workspace.root), LiveRelay(settings.recorders)
        with LoginThrottle(workspace.database) as throttle:
            yield Studio(workspace, settings, shelf, key, live, throttle, guide)


def _studio(connection: HTTPConnection) -> Studio:
    found = connection.app.state.studio
    assert isinstance(found, Studio)
    return found


StudioDep = Annotated[Studio, Depends(_studio)]
"""How a route asks for it: `def list_episodes(studio: Shared)`."""
