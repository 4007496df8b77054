"""The web application: routes, errors as sentences, and the page."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.responses import FileResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import Receive, Scope, Send

from corporeal import __version__
from corporeal.registry import plugins
from corporeal.studio import problem
from corporeal.studio.access.guard import Guard
from corporeal.studio.binary import MEDIA
from corporeal.studio.routes.share import LINKS
from corporeal.studio.studio import Studio

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
        responses=problem.RESPONSES,
        separate_input_output_schemas=False,
    )
    problem.install(app)
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
            return problem.answer(404, STALE)
        except HTTPException as error:
            if error.status_code != 404:
                raise
            return problem.answer(404, STALE)


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
            return problem.answer(405, f"{path[:120]} does not take {scope['method']}.",
                                  {"Allow": "GET, HEAD"})  # fmt: skip
        if _is_api(path):
            return problem.answer(404, f"{path[:120]} is nothing that Studio answers to.")
        if not self._index.is_file():
            return problem.answer(503, NO_PAGE)
        return FileResponse(self._index, headers={"Cache-Control": "no-cache"})


def _is_api(path: str) -> bool:
    return path == "/api" or path.startswith("/api/")
