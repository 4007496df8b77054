"""Runs Studio until it is told to stop."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import closing

from corporeal.catalog.accounts import has_accounts
from corporeal.catalog.workspace import Workspace
from corporeal.errors import CorporealError, MissingExtraError
from corporeal.studio.settings import Settings

# Pages have nothing to say on a WebSocket.
_LARGEST_MESSAGE = 4096


def serve(
    workspace: Workspace, settings: Settings, *, on_ready: Callable[[str], None] | None = None
) -> None:
    """Serve a workspace; `on_ready` is given the address when the page can be opened."""
    try:
        import uvicorn

        from corporeal.studio.application import create_application
        from corporeal.studio.studio import open_studio
        from corporeal.studio.warming import warming
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "fastapi", "server") from None
    _refuse_strangers(workspace, settings)
    with closing(_listening(settings)) as listener, open_studio(workspace, settings) as studio:
        host, port = listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        config = uvicorn.Config(
            create_application(studio),
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=3,
            ws="websockets-sansio",
            ws_max_size=_LARGEST_MESSAGE,
        )
        if on_ready is not None:
            on_ready(f"http://{shown}:{port}")
        with warming(workspace):
            uvicorn.Server(config).run(sockets=[listener])


def _refuse_strangers(workspace: Workspace, settings: Settings) -> None:
    """Raise where everyone on the network would be the admin of a workspace without accounts.

    Reading alone would be too much as well: recordings show people and their rooms.
    """
    with workspace.database.read() as connection:
        if settings.is_loopback or has_accounts(connection):
            return
    raise CorporealError(
        f"host, got {settings.host}, which others can reach, for a workspace without accounts; "
        "expected 127.0.0.1. Make an account first: corporeal account add NAME --role admin."
    )


def _listening(settings: Settings) -> socket.socket:
    """A socket that listens already: the address may be given away before the server runs."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # Named as TCP, or asyncio would leave small answers waiting 40 ms for an acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host, settings.port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise CorporealError(
            f"{settings.host}:{settings.port}: {error.strerror or error}. "
            "Choose another port with --port, or 0 for any."
        ) from None
    return listener
