"""One frame of depth as it was measured; the page colours it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from corporeal.studio.authentication import Reader
from corporeal.studio.binary import packed
from corporeal.studio.context import StudioDep
from corporeal.studio.open_episodes import stream_of
from corporeal.studio.playback.depth_colour import metres_per_unit, percentiles
from corporeal.studio.routes.movie import StreamPath
from corporeal.studio.routes.picture import FrameNumber, check_frame

ROUTER = APIRouter(tags=["movie"])


@ROUTER.get("/episodes/{episode_id}/depth", response_class=Response)
def depth(
    episode_id: str,
    stream: StreamPath,
    frame: FrameNumber,
    studio: StudioDep,
    _: Reader,
    stride: Annotated[int, Query(ge=1, le=16)] = 1,
) -> Response:
    """Every `stride`-th row and column of a frame, as counts; 0 is nothing measured."""
    with studio.shelf.episode(episode_id) as episode:
        camera = stream_of(episode, stream, "depth")
        check_frame(camera, frame)
        counts, time_ns = camera[frame][::stride, ::stride], int(camera.time_ns[frame])
        unit = camera.spec.unit
    near, far = percentiles(counts)
    return packed(
        {"depth": counts},
        frame=frame, time_ns=time_ns, stride=stride, metres_per_unit=metres_per_unit(unit),
        near=near, far=far,
    )  # fmt: skip
