"""A preview as a movie that every browser plays."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from corporeal.retargeting.preview.caption import Caption
from corporeal.retargeting.preview.scene import PreviewScene
from corporeal.retargeting.preview.stage import Stage

Picture = NDArray[np.uint8]

# A movie of more pictures is drawn without smooth edges, in half the time.
MOST_SMOOTH = 300
_X264 = {"preset": "veryfast", "crf": "19"}
_BT709 = {"colorspace": 1, "color_primaries": 1, "color_trc": 1, "color_range": 1}


def write_movie(
    stage: Stage,
    path: Path,
    *,
    size: tuple[int, int],
    fps: float,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write an MP4 (H.264, its index first), one picture for every time of the stage.

    One picture is drawn while the one before is coded: memory does not grow with the clip.
    """
    caption = Caption(stage, size=size)
    with (
        PreviewScene(stage, size=size, smooth=len(stage) <= MOST_SMOOTH) as scene,
        av.open(str(path), "w", format="mp4", options={"movflags": "faststart"}) as container,
        ThreadPoolExecutor(1) as pool,
    ):
        stream = _stream(container, size, fps)
        coded: Future[None] | None = None
        for number, (moment, centre) in enumerate(zip(stage.moments(), stage.centres, strict=True)):
            picture = scene.draw(moment, centre)
            caption.write(picture, moment)
            if coded is not None:
                coded.result()
            coded = pool.submit(_code, container, stream, picture, number)
            if progress is not None:
                progress(number + 1, len(stage))
        if coded is not None:
            coded.result()
        container.mux(stream.encode(None))


def _stream(container: Any, size: tuple[int, int], fps: float) -> Any:
    stream = container.add_stream("libx264", rate=Fraction(fps).limit_denominator(1001))
    stream.height, stream.width, stream.pix_fmt = size[0], size[1], "yuv420p"
    stream.options = _X264
    for name, value in _BT709.items():
        setattr(stream.codec_context, name, value)
    return stream


def _code(container: Any, stream: Any, picture: Picture, number: int) -> None:
    frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
    frame = frame.reformat(format="yuv420p", dst_colorspace="ITU709", dst_color_range="MPEG")
    frame.pts = number
    frame.time_base = 1 / stream.codec_context.framerate
    container.mux(stream.encode(frame))
