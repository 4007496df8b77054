"""Point clouds, one scan at a time."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Response
from numpy.typing import NDArray

from corporeal.episode.file import StreamReader
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.schema import roles
from corporeal.studio.authentication import Reader
from corporeal.studio.binary import packed
from corporeal.studio.context import StudioDep
from corporeal.studio.open_episodes import stream_of

ROUTER = APIRouter(tags=["points"])
MOST_POINTS = 100_000
_MOST_READ_VALUES = 40_000_000


@ROUTER.get("/episodes/{episode_id}/points", response_class=Response)
def points(
    episode_id: str,
    studio: StudioDep,
    _: Reader,
    stream: str,
    frame: Annotated[int, Query(ge=0, le=1 << 40)],
    most: Annotated[int, Query(ge=1, le=MOST_POINTS)] = MOST_POINTS,
) -> Response:
    """`points` (n, 3) in the frame of the sensor, m, and `intensity` (n,) where there is one.

    Of `total` points every `step`-th is given, so that no more than `most` are; points that are
    no numbers are left out.
    """
    with studio.shelf.episode(episode_id) as episode:
        reader = stream_of(episode, stream, "points")
        if frame >= len(reader):
            raise UnknownNameError(f"scan of {stream}", str(frame), [f"0 to {len(reader) - 1}"])
        rows = _scan(reader, frame)
        time_ns = int(reader.time_ns[frame])
    step = max(-(-len(rows) // most), 1)
    arrays = _columns(rows[::step], reader)
    return packed(arrays, stream=stream, frame=frame, time_ns=time_ns, total=len(rows), step=step)


def _scan(reader: StreamReader, frame: int) -> NDArray[Any]:
    """The rows of a scan, if they are not too many to be read for a picture."""
    count = int(reader.sizes(np.array([frame]))[0])
    if count * int(reader.spec.shape[0]) > _MOST_READ_VALUES:
        raise CorporealError(
            f"scan {frame} of {reader.spec.path} has {count} points; "
            f"expected at most {_MOST_READ_VALUES} values. Export it to look at it elsewhere."
        )
    rows: NDArray[Any] = reader[frame]
    return rows


def _columns(rows: NDArray[Any], reader: StreamReader) -> dict[str, NDArray[np.float32]]:
    """Places and intensities, by the names of the columns; the first three where none is named."""
    names = reader.spec.names
    if rows.shape[1] < 3:
        raise CorporealError(
            f"points of {reader.spec.path} have {rows.shape[1]} columns; expected x, y and z."
        )
    is_named = set(roles.POSITION) <= set(names)
    places = [names.index(axis) for axis in roles.POSITION] if is_named else [0, 1, 2]
    finite = np.isfinite(rows[:, places]).all(axis=1)
    kept = rows[finite]
    found = {"points": kept[:, places].astype(np.float32)}
    if "intensity" in names:
        shine = kept[:, names.index("intensity")].astype(np.float32)
        found["intensity"] = np.nan_to_num(shine, nan=0.0, posinf=1.0, neginf=0.0)
    return found
