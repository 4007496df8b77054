"""Exact samples of a narrow stream around a time, and when the samples of any were taken."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query, Response

from corporeal.errors import CorporealError
from corporeal.studio.authentication import Reader
from corporeal.studio.binary import packed
from corporeal.studio.context import StudioDep
from corporeal.studio.open_episodes import stream_of
from corporeal.studio.plotting.samples import samples_between

ROUTER = APIRouter(tags=["motion"])
MOST_VALUES = 200_000
MOST_WIDTH = 65_536
MOST_STAMPS = 500_000
"""In one answer: 4 MB, some four hours of a camera."""
KINDS = ("array", "video", "depth", "points", "text")
_FAR_NS = 1 << 62

Stamp = Annotated[int, Query(ge=-_FAR_NS, le=_FAR_NS)]


@ROUTER.get("/episodes/{episode_id}/motion", response_class=Response)
def motion(
    episode_id: str, studio: StudioDep, _: Reader, stream: str, start_ns: Stamp, end_ns: Stamp
) -> Response:
    """Samples `time_ns` (n,) and `values` (n, width), the last one not after `start_ns` first.

    What does not fit into one answer is left out: `next_ns` says from where to ask on.
    """
    with studio.shelf.episode(episode_id) as episode:
        reader = stream_of(episode, stream, "array")
        width = reader.spec.width
        if width > MOST_WIDTH:
            raise CorporealError(
                f"stream {stream} has {width} values a sample; "
                f"expected at most {MOST_WIDTH}. Ask for a narrower stream."
            )
        found = samples_between(reader, start_ns, end_ns, most_values=MOST_VALUES)
    return packed(
        {"time_ns": found.time_ns, "values": found.values.astype(np.float32)},
        stream=stream,
        first=found.first,
        total=found.total,
        next_ns=found.next_ns,
    )


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
