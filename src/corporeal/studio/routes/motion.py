"""Exact samples of a narrow stream around a time: what moves the robot and fills tactile maps."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query, Response

from corporeal.errors import CorporealError
from corporeal.studio.authentication import Reader
from corporeal.studio.binary import packed
from corporeal.studio.context import StudioDep
from corporeal.studio.open_episodes import stream_of
from corporeal.studio.plotting.stamps import samples_between

ROUTER = APIRouter(tags=["motion"])
MOST_VALUES = 200_000
MOST_WIDTH = 65_536
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
        width = int(np.prod([int(size) for size in reader.spec.shape], dtype=np.int64))
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
