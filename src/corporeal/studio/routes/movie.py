"""Movies as they lie in the episode: any bytes of them, and where each picture's packet is."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Header, HTTPException, Query, Response
from fastapi.responses import StreamingResponse

from corporeal.episode.file import VideoReader
from corporeal.errors import CorporealError
from corporeal.studio.authentication import Reader
from corporeal.studio.binary import packed
from corporeal.studio.context import Studio, StudioDep
from corporeal.studio.open_episodes import stream_of
from corporeal.studio.playback.byte_range import ByteRange, RangeError, asked_range
from corporeal.studio.playback.clip import cut_clip

ROUTER = APIRouter(tags=["movie"])
BLOCK = 1 << 20
"""Bytes read in one go: a slow client holds no more than this, and never the file."""
_AVCC = 1
_AV1C = 0x81
KEPT = "private, max-age=86400, immutable"
LONGEST_CLIP_S = 60
CLIP_NS = 5_000_000_000
"""Of a clip whose end is not named."""
_FAR_NS = 1 << 62
StreamPath = Annotated[str, Query(max_length=400, description="such as observations/head_left")]


@dataclass(frozen=True)
class _Movie:
    """The MP4 of one camera, read block by block so that others have their turn in between."""

    studio: Studio
    episode_id: str
    stream: str

    def length(self) -> int:
        with self.studio.shelf.episode(self.episode_id) as episode:
            camera = stream_of(episode, self.stream, "video")
            assert isinstance(camera, VideoReader)
            return camera.byte_range[1]

    def block(self, first: int, stop: int) -> bytes:
        with self.studio.shelf.episode(self.episode_id) as episode:
            camera = stream_of(episode, self.stream, "video")
            assert isinstance(camera, VideoReader)
            movie = camera.movie()
            movie.seek(first)
            return movie.read(stop - first)

    def blocks(self, begun: bytes, wanted: ByteRange) -> Iterator[bytes]:
        yield begun
        for first in range(wanted.first + len(begun), wanted.stop, BLOCK):
            yield self.block(first, min(first + BLOCK, wanted.stop))


@ROUTER.head("/episodes/{episode_id}/movie", include_in_schema=False)
@ROUTER.get(
    "/episodes/{episode_id}/movie",
    response_class=Response,
    responses={200: {"content": {"video/mp4": {}}}, 206: {}, 304: {}},
)
def movie(
    episode_id: str,
    stream: StreamPath,
    studio: StudioDep,
    _: Reader,
    wanted: Annotated[str | None, Header(alias="Range", max_length=200)] = None,
    held: Annotated[str | None, Header(alias="If-None-Match", max_length=400)] = None,
    only_if: Annotated[str | None, Header(alias="If-Range", max_length=400)] = None,
) -> Response:
    """The complete MP4 of a camera, or the bytes of it that the Range header names."""
    opened = _Movie(studio, episode_id, stream)
    length = opened.length()
    tag = f'"{studio.shelf.row(episode_id).hash}"'
    headers = {"Accept-Ranges": "bytes", "Cache-Control": KEPT, "ETag": tag}
    if held is not None and tag in held:
        return Response(status_code=304, headers=headers)
    try:
        part = asked_range(wanted if only_if in (None, tag) else None, length)
    except RangeError as error:
        raise HTTPException(416, str(error), {"Content-Range": f"bytes */{length}"}) from None
    if part is not None:
        headers["Content-Range"] = part.content_range
    span = part or ByteRange(0, length, length)
    headers["Content-Length"] = str(span.stop - span.first)
    # Read before the answer begins: what is wrong can still be told in a sentence.
    begun = opened.block(span.first, min(span.first + BLOCK, span.stop))
    status = 200 if part is None else 206
    if span.first + len(begun) >= span.stop:
        return Response(begun, status, headers, media_type="video/mp4")
    return StreamingResponse(opened.blocks(begun, span), status, headers, media_type="video/mp4")


@ROUTER.get(
    "/episodes/{episode_id}/clip",
    response_class=Response,
    responses={200: {"content": {"video/mp4": {}}}},
)
def clip(
    episode_id: str,
    stream: StreamPath,
    studio: StudioDep,
    _: Reader,
    start_ns: Annotated[int, Query(ge=-_FAR_NS, le=_FAR_NS)],
    end_ns: Annotated[int | None, Query(ge=-_FAR_NS, le=_FAR_NS)] = None,
) -> Response:
    """Some seconds of a camera as an MP4 of the packets as they are, named after its moment.

    It begins with the key frame before `start_ns`; X-Start-Ns says when that is.
    """
    end_ns = start_ns + CLIP_NS if end_ns is None else end_ns
    if not 0 < end_ns - start_ns <= LONGEST_CLIP_S * 1_000_000_000:
        raise CorporealError(
            f"clip, got {(end_ns - start_ns) / 1e9:g} s; expected more than 0 and at most "
            f"{LONGEST_CLIP_S} s. For all of it take the whole movie."
        )
    with studio.shelf.episode(episode_id) as episode:
        camera = stream_of(episode, stream, "video")
        assert isinstance(camera, VideoReader)
        cut = cut_clip(camera, start_ns, end_ns)
    number = studio.shelf.row(episode_id).number
    name = f"{number}_{camera.spec.name}_{cut.start_ns / 1e9:.3f}s.mp4"
    headers = {
        "Cache-Control": KEPT,
        "Content-Disposition": f'attachment; filename="{name}"',
        "X-Start-Ns": str(cut.start_ns),
        "X-End-Ns": str(cut.end_ns),
    }
    return Response(cut.data, media_type="video/mp4", headers=headers)


@ROUTER.get("/episodes/{episode_id}/packets", response_class=Response)
def packets(episode_id: str, stream: StreamPath, studio: StudioDep, _: Reader) -> Response:
    """Stamps, places and sizes of a camera's packets in its MP4, and how to decode them."""
    with studio.shelf.episode(episode_id) as episode:
        camera = stream_of(episode, stream, "video")
        assert isinstance(camera, VideoReader)
        index, stamps = camera.packets, camera.time_ns
        height, width = (int(size) for size in camera.spec.shape[:2])
    return packed(
        {"time_ns": stamps, "start": index.start, "size": index.size, "key": index.is_key},
        codec=index.codec,
        codec_string=codec_string(index.codec, index.extradata),
        extradata=base64.b64encode(index.extradata).decode(),
        width=width,
        height=height,
    )


def codec_string(codec: str, extradata: bytes) -> str | None:
    """Such as avc1.42C00D; None for a movie that pages are better shown picture by picture."""
    if codec == "h264" and len(extradata) >= 7 and extradata[0] == _AVCC:
        return "avc1." + extradata[1:4].hex().upper()
    if codec == "av1" and len(extradata) >= 4 and extradata[0] == _AV1C:
        profile, level = extradata[1] >> 5, extradata[1] & 0x1F
        tier = "H" if extradata[2] >> 7 else "M"
        depth = 8 if not extradata[2] & 0x40 else 10
        return f"av01.{profile}.{level:02}{tier}.{depth:02}"
    return None
