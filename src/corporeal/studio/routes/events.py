"""Events that signals show, and the pictures around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel

from corporeal.catalog.permission import Actor
from corporeal.episode.recording import recording_of
from corporeal.labelling.proposal import PhysicalEvent, detect
from corporeal.studio.authentication import allowed
from corporeal.studio.context import StudioDep
from corporeal.studio.open_episodes import stream_of
from corporeal.studio.playback.filmstrip import MOST_PICTURES, filmstrip
from corporeal.studio.plotting.byte_cache import ByteCache
from corporeal.studio.routes.movie import KEPT, StreamPath
from corporeal.studio.routes.picture import FrameNumber, check_frame

ROUTER = APIRouter(tags=["annotation"])
Annotator = Annotated[Actor, Depends(allowed("annotate"))]
_MOST_EVENTS = 5000
_EVENT_BYTES = 600


class EventFacts(BaseModel):
    """Something that happened, as a detector saw it; times lie between samples as a rule."""

    time_ns: int
    name: str
    side: str
    stream: str
    confidence: float
    uncertainty_ns: int


@dataclass(frozen=True)
class _Found:
    """The events of one file, which never change."""

    events: tuple[PhysicalEvent, ...]

    @property
    def nbytes(self) -> int:
        """Bytes in memory, roughly."""
        return _EVENT_BYTES * (1 + len(self.events))


_FOUND: ByteCache[_Found] = ByteCache(1 << 25)


@ROUTER.get("/episodes/{episode_id}/events")
def events(episode_id: str, studio: StudioDep, _: Annotator) -> list[EventFacts]:
    """All events of all detectors, in order of time; found once and then kept."""

    def find() -> _Found:
        with studio.shelf.episode(episode_id) as episode:
            return _Found(detect(recording_of(episode))[:_MOST_EVENTS])

    digest = studio.shelf.row(episode_id).hash
    return [
        EventFacts(
            time_ns=each.time_ns, name=each.name, side=each.side, stream=each.stream,
            confidence=min(max(each.confidence, 0.0), 1.0), uncertainty_ns=each.uncertainty_ns,
        )
        for each in _FOUND.get(digest, find).events
    ]  # fmt: skip


@ROUTER.get(
    "/episodes/{episode_id}/filmstrip",
    response_class=Response,
    responses={200: {"content": {"image/jpeg": {}}}},
)
def strip(
    episode_id: str,
    stream: StreamPath,
    frame: FrameNumber,
    studio: StudioDep,
    _: Annotator,
    count: Annotated[int, Query(ge=1, le=MOST_PICTURES)] = 9,
    width: Annotated[int, Query(ge=16, le=480)] = 160,
) -> Response:
    """Exactly the pictures from `frame` on, side by side, each `width` wide at most."""
    with studio.shelf.episode(episode_id) as episode:
        camera = stream_of(episode, stream, "video", "depth")
        check_frame(camera, frame)
        body = filmstrip(camera, frame, count, width)
    headers = {"Cache-Control": KEPT, "X-Frame": str(frame), "X-Count": str(count)}
    return Response(body, media_type="image/jpeg", headers=headers)
