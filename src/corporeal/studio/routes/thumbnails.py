"""A small picture of an episode, at any part of it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response

from corporeal.studio.authentication import Reader
from corporeal.studio.context import StudioDep
from corporeal.studio.playback.thumbnail import (
    FOLDER,
    cache_at,
    camera_of,
    fitting_width,
    moment_of,
    picture,
)

ROUTER = APIRouter(tags=["episodes"])
_KEEP = "private, max-age=604800, immutable"


@ROUTER.get(
    "/episodes/{episode_id}/thumbnail",
    response_class=Response,
    responses={200: {"content": {"image/jpeg": {}}}},
)
def thumbnail(
    episode_id: str,
    request: Request,
    studio: StudioDep,
    _: Reader,
    width: Annotated[int, Query(ge=16, le=2000)] = 320,
    at: Annotated[float, Query(ge=0, le=1)] = 0.5,
) -> Response:
    """A JPEG of the camera that tells most; `at` is a part of the episode, 0 to 1.

    404 where no camera looked.
    """
    digest = studio.shelf.row(episode_id).hash
    moment, wide = moment_of(at), fitting_width(width)
    key = f"{digest} {moment} {wide}"
    tag = f'"{digest[-24:]}-{moment}-{wide}"'
    headers = {"Cache-Control": _KEEP, "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)

    def make() -> bytes:
        with studio.shelf.episode(episode_id) as episode:
            camera = camera_of(episode)
            if camera is None:
                raise HTTPException(404, "This episode has no camera.")
            return picture(episode, camera, moment=moment, width=wide)

    cache = cache_at(studio.workspace.root / FOLDER)
    return Response(cache.get(key, make), media_type="image/jpeg", headers=headers)
