"""When the samples of a stream were taken."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from corporeal.studio.authentication import Reader
from corporeal.studio.binary import packed
from corporeal.studio.context import StudioDep
from corporeal.studio.open_episodes import stream_of

ROUTER = APIRouter(tags=["stamps"])
KINDS = ("array", "video", "depth", "points", "text")
MOST_STAMPS = 500_000
"""In one answer: 4 MB, some four hours of a camera."""


@ROUTER.get("/episodes/{episode_id}/stamps", response_class=Response)
def stamps(
    episode_id: str,
    studio: StudioDep,
    _: Reader,
    stream: str,
    first: Annotated[int, Query(ge=0, le=1 << 40)] = 0,
    count: Annotated[int, Query(ge=1, le=MOST_STAMPS)] = MOST_STAMPS,
) -> Response:
    """Stamps `time_ns` from sample `first` on; `total` says how many the stream has in all."""
    with studio.shelf.episode(episode_id) as episode:
        times = stream_of(episode, stream, *KINDS).time_ns
        part = times[first : first + count]
    return packed({"time_ns": part}, stream=stream, first=first, total=len(times))
