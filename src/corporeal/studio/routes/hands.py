"""A person's hands on the pictures of a camera, a run of pictures at a time."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query, Response

from corporeal.errors import CorporealError
from corporeal.studio.authentication import Reader
from corporeal.studio.binary import packed
from corporeal.studio.context import StudioDep
from corporeal.studio.open_episodes import stream_of
from corporeal.studio.scene.hand_overlay import calibrated_camera, hands_on_pictures

ROUTER = APIRouter(tags=["hands"])
MOST_PICTURES = 512


@ROUTER.get("/episodes/{episode_id}/hands", response_class=Response)
def hands(
    episode_id: str,
    studio: StudioDep,
    _: Reader,
    stream: str,
    first: Annotated[int, Query(ge=0, le=1 << 40)] = 0,
    count: Annotated[int, Query(ge=1, le=MOST_PICTURES)] = MOST_PICTURES,
) -> Response:
    """Of n pictures `pixels` (n, 2, 26, 2), `state` (n, 2), `confidence` and `distance_m`
    (n, 2, 26) and `trail` (n, 2, k, 2), of the left hand and the right one.

    `width` and `height` are those of the pictures that the pixels are of; `reason` says why there
    are none, where the camera is not calibrated.
    """
    with studio.shelf.episode(episode_id) as episode:
        reader = stream_of(episode, stream, "video")
        when = np.asarray(reader.time_ns[first : first + count])
        try:
            camera = calibrated_camera(episode, reader.spec.name)
        except CorporealError as error:
            return packed({}, stream=stream, first=first, reason=str(error), width=0, height=0)
        overlay = hands_on_pictures(episode, camera, when)
    return packed(
        {
            "pixels": overlay.pixels,
            "state": overlay.state,
            "confidence": overlay.confidence,
            "distance_m": overlay.distance_m,
            "trail": overlay.trail,
        },
        stream=stream,
        first=first,
        reason=None,
        width=camera.width,
        height=camera.height,
    )
