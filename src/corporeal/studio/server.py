"""Runs Studio until it is told to stop."""

from __future__ import annotations

import resource
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.responses import FileResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import Receive, Scope, Send

from corporeal import __version__
from corporeal.catalog.accounts import has_accounts
from corporeal.catalog.workspace import Workspace
from corporeal.errors import CorporealError, MissingExtraError
from corporeal.registry import plugins
from corporeal.studio import errors
from corporeal.studio.access.guard import Guard
from corporeal.studio.access.log_bounds import bounded_log
from corporeal.studio.binary import MEDIA
from corporeal.studio.context import Studio
from corporeal.studio.guide_feed import GuideFeed
from corporeal.studio.routes.share import LINKS
from corporeal.studio.settings import StudioSettings

ROUTES = "corporeal.studio.routes"
NO_PAGE = "Studio's page was not built. In a clone of Corporeal, run: make studio."
STALE = "This part of Studio's page is not here any more: Studio was updated. Reload the page."
# Packed already, read by byte range, or of little use to pack.
_SENT_AS_IT_IS = (
    MEDIA, "application/octet-stream", "application/x-hdf5", "audio/*", "font/woff2", "image/jpeg",
    "image/png", "text/event-stream", "video/*",
)  # fmt: skip


def create_application(studio: Studio) -> FastAPI:
    """The application over an open Studio."""
    app = _create_api()
    app.state.studio = studio
    app.mount("/assets", _Assets(directory=studio.settings.page / "assets", check_dir=False))
    app.router.default = _Front(studio)
    app.add_middleware(
        GZipMiddleware, minimum_size=1000, compresslevel=4, exclude_content_types=_SENT_AS_IT_IS
    )
    app.add_middleware(Guard, settings=studio.settings)
    return app


def describe_api() -> dict[str, Any]:
    """The OpenAPI document of all routes; it needs no workspace."""
    return _create_api().openapi()


def _create_api() -> FastAPI:
    app = FastAPI(
        title="Corporeal Studio",
        version=__version__,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=errors.RESPONSES,
        separate_input_output_schemas=False,
    )
    errors.install(app)
    for router in plugins(ROUTES, "ROUTER", APIRouter).values():
        app.include_router(router, prefix="/api")
    app.include_router(LINKS)
    return app


class _Assets(StaticFiles):
    """Parts of the page; their names hold their content's hash, so that browsers keep them."""

    async def check_config(self) -> None:
        """A page that is built while Studio runs is served as soon as it is there."""

    def file_response(self, *given: Any, **named: Any) -> Response:
        response = super().file_response(*given, **named)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response

    async def get_response(self, path: str, scope: Scope) -> Response:
        try:
            return await super().get_response(path, scope)
        except (OSError, ValueError, RuntimeError):  # No name of a file, or no folder.
            return errors.answer(404, STALE)
        except HTTPException as error:
            if error.status_code != 404:
                raise
            return errors.answer(404, STALE)


class _Front:
    """Whatever is no route: the page, which knows its own paths."""

    def __init__(self, studio: Studio) -> None:
        self._index = studio.settings.page / "index.html"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 4404})
            return
        await self._answer(scope)(scope, receive, send)

    def _answer(self, scope: Scope) -> Response:
        path = scope["path"]
        if scope["method"] not in ("GET", "HEAD") and not _is_api(path):
            return errors.answer(405, f"{path[:120]} does not take {scope['method']}.",
                                  {"Allow": "GET, HEAD"})  # fmt: skip
        if _is_api(path):
            return errors.answer(404, f"{path[:120]} is nothing that Studio answers to.")
        if not self._index.is_file():
            return errors.answer(503, NO_PAGE)
        return FileResponse(self._index, headers={"Cache-Control": "no-cache"})


def _is_api(path: str) -> bool:
    return path == "/api" or path.startswith("/api/")


# The catalogue, episodes, movies and what accepting a batch of connections takes.
_OWN_FILES = 256
# Pages have nothing to say on a WebSocket.
_LARGEST_MESSAGE = 4096


def serve(
    workspace: Workspace, settings: StudioSettings, *,
    on_ready: Callable[[str], None] | None = None, guide: GuideFeed | None = None,
    until: threading.Event | None = None,
) -> None:  # fmt: skip
    """Serve a workspace, and a guided calibration where there is one, `until` it is over.

    `on_ready` is given the address when the page can be opened.
    """
    try:
        import uvicorn

        from corporeal.studio.access.connections import StudioConfig
        from corporeal.studio.context import open_studio
        from corporeal.studio.response_cache import warming
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "fastapi", "server") from None
    _refuse_strangers(workspace, settings)
    with (
        closing(listening(settings)) as listener,
        open_studio(workspace, settings, guide=guide) as studio,
    ):
        host, port = listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        bounds = replace(settings.connections, most=_room_for(settings.connections.most))
        config = StudioConfig(
            create_application(studio),
            bounds,
            timeout_graceful_shutdown=3,
            ws_max_size=_LARGEST_MESSAGE,
        )
        if on_ready is not None:
            on_ready(f"http://{shown}:{port}")
        server = uvicorn.Server(config)
        with warming(workspace), bounded_log(), ended_by(until, server):
            server.run(sockets=[listener])


@contextmanager
def ended_by(until: threading.Event | None, server: Any) -> Iterator[None]:
    """End the server when an event says so."""
    if until is None:
        yield
        return
    is_over = threading.Event()

    def watch() -> None:
        while not until.wait(0.2) and not is_over.is_set():
            pass
        server.should_exit = True

    watcher = threading.Thread(target=watch, name="end of the server", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()


def _room_for(connections: int) -> int:
    """As many connections as asked for, or as files may be open, once as many as possible may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    if soft == resource.RLIM_INFINITY:
        return connections
    return max(8, min(connections, soft - _OWN_FILES if soft > 2 * _OWN_FILES else soft // 2))


def _refuse_strangers(workspace: Workspace, settings: StudioSettings) -> None:
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


def listening(settings: StudioSettings) -> socket.socket:
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
