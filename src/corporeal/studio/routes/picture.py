"""One picture, decoded by the server: the exact frame; depth in colours, or as it was measured."""

from __future__ import annotations

import io
from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, HTTPException, Query, Response
from numpy.typing import NDArray
from PIL import Image

from corporeal.episode.file import StreamReader
from corporeal.studio.authentication import Reader
from corporeal.studio.binary import packed
from corporeal.studio.context import StudioDep
from corporeal.studio.open_episodes import stream_of
from corporeal.studio.playback.depth_colour import coloured, metres_per_unit, percentiles
from corporeal.studio.routes.movie import KEPT, StreamPath

ROUTER = APIRouter(tags=["movie"])
MOST_FRAMES = 1 << 40
_QUALITY = 90
FrameNumber = Annotated[int, Query(ge=0, le=MOST_FRAMES, description="from 0 on")]


@ROUTER.get(
    "/episodes/{episode_id}/picture",
    response_class=Response,
    responses={200: {"content": {"image/jpeg": {}, "image/png": {}}}},
)
def picture(
    episode_id: str,
    stream: StreamPath,
    frame: FrameNumber,
    studio: StudioDep,
    _: Reader,
    width: Annotated[int | None, Query(ge=16, le=4096)] = None,
    kind: Annotated[Literal["jpeg", "png"], Query(alias="format")] = "jpeg",
) -> Response:
    """The picture with this number, never enlarged; depth is coloured by its own range."""
    with studio.shelf.episode(episode_id) as episode:
        camera = stream_of(episode, stream, "video", "depth")
        check_frame(camera, frame)
        shown, time_ns = camera[frame], int(camera.time_ns[frame])
        is_depth = camera.spec.kind == "depth"
    headers = {"Cache-Control": KEPT, "X-Frame": str(frame), "X-Time-Ns": str(time_ns)}
    body = _encoded(coloured(shown) if is_depth else shown, width, kind)
    return Response(body, media_type=f"image/{kind}", headers=headers)


def check_frame(camera: StreamReader, frame: int) -> None:
    """Refuse a number that the stream does not have."""
    if frame >= len(camera):
        raise HTTPException(
            404, f"frame {frame}; {camera.spec.path} has {len(camera)}, counted from 0."
        )


def _encoded(shown: NDArray[np.uint8], width: int | None, kind: str) -> bytes:
    image = Image.fromarray(shown)
    if width is not None and width < image.width:
        height = max(1, round(image.height * width / image.width))
        image = image.resize((width, height), Image.Resampling.BOX)
    if kind == "jpeg":
        return encode_jpeg(image, _QUALITY)
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=1)
    return file.getvalue()


def encode_jpeg(image: Image.Image, quality: int) -> bytes:
    """The bytes of a JPEG."""
    file = io.BytesIO()
    image.save(file, "JPEG", quality=quality)
    return file.getvalue()


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
