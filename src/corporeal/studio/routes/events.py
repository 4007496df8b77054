"""Events detected in the signals, and the pictures around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Depends, Query, Response
from PIL import Image
from pydantic import BaseModel

from corporeal.catalog.permission import Actor
from corporeal.episode.file import StreamReader
from corporeal.episode.recording import recording_of
from corporeal.labelling.proposal import PhysicalEvent, detect
from corporeal.studio.authentication import Reader, allowed
from corporeal.studio.context import StudioDep
from corporeal.studio.open_episodes import stream_of
from corporeal.studio.playback.depth_colour import coloured
from corporeal.studio.plotting.byte_cache import ByteCache
from corporeal.studio.routes.movie import KEPT, StreamPath
from corporeal.studio.routes.picture import FrameNumber, check_frame, encode_jpeg

ROUTER = APIRouter(tags=["annotation"])
Annotator = Annotated[Actor, Depends(allowed("annotate"))]
MOST_PICTURES = 48
_QUALITY = 85
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
def events(episode_id: str, studio: StudioDep, _: Reader) -> list[EventFacts]:
    """All events of all detectors, in order of time; found once and then kept."""

    def find() -> _Found:
        with studio.shelf.episode(episode_id) as episode:
            return _Found(detect(recording_of(episode))[:_MOST_EVENTS])

    digest = studio.shelf.row(episode_id).hash
    events = _FOUND.get(digest, find).events
    return [
        EventFacts(**vars(event) | {"confidence": min(max(event.confidence, 0.0), 1.0)})
        for event in events
    ]


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
        body = _filmstrip(camera, frame, count, width)
    headers = {"Cache-Control": KEPT, "X-Frame": str(frame), "X-Count": str(count)}
    return Response(body, media_type="image/jpeg", headers=headers)


def _filmstrip(camera: StreamReader, first: int, count: int, width: int) -> bytes:
    """Pictures `first` to `first + count` side by side as JPEG; past the end they are black.

    So a strip has the same width wherever it lies, and every picture has its place in it.
    """
    shown = camera[first : first + count]
    rows, columns = shown[0].shape[:2]
    width = min(width, columns)
    height = max(1, round(rows * width / columns))
    strip = Image.new("RGB", (width * count, height))
    for place, picture in enumerate(shown):
        plain = coloured(picture) if camera.spec.kind == "depth" else np.asarray(picture)
        small = Image.fromarray(plain).convert("RGB")
        strip.paste(small.resize((width, height), Image.Resampling.BOX), (place * width, 0))
    return encode_jpeg(strip, _QUALITY)
