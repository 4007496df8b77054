"""Errors as the page shows them: one sentence, no trace."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from corporeal.catalog.database import UnreachableError
from corporeal.catalog.episodes import UnknownEpisodeError
from corporeal.catalog.permission import PermissionDeniedError
from corporeal.catalog.store import StoreError
from corporeal.errors import CorporealError, EpisodeError, UnknownNameError
from corporeal.labelling.tasks import StaleEditError, TaskStateError, UnknownTaskError
from corporeal.operations.review import ReviewConflictError

_log = logging.getLogger("corporeal.studio")
FAILED = "Studio failed to answer this; its log on the server says why."


class NotLoggedInError(PermissionDeniedError):
    """Nobody has said who they are, on a Studio that has to know."""


class TooManyFailuresError(NotLoggedInError):
    """Wrong tokens came too often from one address."""


class GoneError(CorporealError):
    """Something that was there once and is no more."""


class ErrorAnswer(BaseModel):
    """What every answer that is no success holds."""

    error: str


# The first that fits decides.
_STATUSES: tuple[tuple[type[CorporealError], int], ...] = (
    (TooManyFailuresError, 429),
    (NotLoggedInError, 401),
    (PermissionDeniedError, 403),
    (UnknownNameError, 404),
    (UnknownEpisodeError, 404),
    (UnknownTaskError, 404),
    (TaskStateError, 409),
    (StaleEditError, 409),
    (ReviewConflictError, 409),
    (UnreachableError, 503),
    (EpisodeError, 410),
    (StoreError, 410),
    (GoneError, 410),
)
_MEANINGS = {
    400: "The request cannot be read.",
    401: "Nobody is logged in.",
    403: "The visitor may not do this.",
    404: "There is no such thing.",
    405: "This method does nothing here.",
    409: "Somebody else has changed it in the meantime.",
    410: "It was there, and is gone or damaged.",
    413: "The request is too large.",
    416: "The range is outside of what there is.",
    421: "The request was meant for another host.",
    422: "Something in the request is not as it has to be.",
    429: "Too many wrong tokens; wait a minute.",
    500: "Studio failed.",
    503: "The catalogue or the store does not answer now.",
}
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": meaning} for status, meaning in _MEANINGS.items()
}
"""What any route may answer with besides its success."""


def answer(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """A problem as a response; half a character in a sentence of ours came from the request."""
    shown = sentence.encode("utf-8", "backslashreplace").decode()
    return JSONResponse(
        {"error": shown}, status, headers={"Cache-Control": "no-store", **(headers or {})}
    )


def status_of(error: CorporealError) -> int:
    """The status that tells a program what the sentence tells a person."""
    for kind, status in _STATUSES:
        if isinstance(error, kind):
            return status
    return 422


def install(app: FastAPI) -> None:
    """Have the application answer with sentences."""

    @app.exception_handler(CorporealError)
    async def _known(_: Request, error: CorporealError) -> JSONResponse:
        status = status_of(error)
        return answer(status, str(error), {"Retry-After": "60"} if status == 429 else None)

    @app.exception_handler(RequestValidationError)
    async def _malformed(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part)[:80] for part in first["loc"][1:]) or "the request"
        return answer(422, f"{where}: {first['msg']}.")

    @app.exception_handler(HTTPException)
    async def _refused(request: Request, error: HTTPException) -> JSONResponse:
        return answer(error.status_code, _sentence(request, error), error.headers)

    @app.exception_handler(Exception)
    async def _unforeseen(request: Request, error: Exception) -> JSONResponse:
        log_failure(request.method, request.url.path, error)
        return answer(500, FAILED)


def log_failure(method: str, path: str, error: Exception) -> None:
    """What people are not shown, for whoever runs the server."""
    _log.error("%s %s failed", method, path, exc_info=error)


def _sentence(request: Request, error: HTTPException) -> str:
    """What the framework says in two words, in one sentence; a sentence of ours stays."""
    path = request.url.path[:120]
    if error.status_code == 404 and error.detail == "Not Found":
        return f"{path} is nothing that Studio answers to."
    if error.status_code == 405:
        return f"{path} does not take {request.method}."
    detail = str(error.detail).rstrip(".")
    return f"{detail}."
