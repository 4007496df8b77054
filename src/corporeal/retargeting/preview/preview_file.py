"""Writes a preview of a retargeted motion, by the suffix: a movie, one picture, a Rerun scene."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Any

import av
import numpy as np
from av import FFmpegError
from PIL import Image, ImageDraw

from corporeal.errors import WriteError
from corporeal.files import atomic_file
from corporeal.retargeting.preview import look
from corporeal.retargeting.preview.look import (
    Caption,
    Picture,
    clip_title,
    errors,
    font,
    robot_title,
)
from corporeal.retargeting.preview.rerun_file import write_rerun
from corporeal.retargeting.preview.scene import PreviewScene
from corporeal.retargeting.preview.stage import Stage, stage_of
from corporeal.retargeting.result import Retargeted

SIZE = (720, 1280)
FPS, MOST_FPS = 30.0, 240.0
LEAST_SIDE, MOST_SIDE = 32, 4096
SUFFIXES = (".mp4", ".png", ".rrd")

Progress = Callable[[int, int], None]


def write_preview(
    result: Retargeted,
    path: Path,
    *,
    size: tuple[int, int] = SIZE,
    fps: float = FPS,
    progress: Progress | None = None,
) -> None:
    """Write person and robot side by side: .mp4 a movie, .png one picture, .rrd for Rerun.

    `size` is (height, width); a movie's sides are made even. `progress` is told how many pictures
    are done, and of how many. The file appears under its name only when it is whole.
    """
    kind = path.suffix.lower()
    if kind not in SUFFIXES:
        raise WriteError(
            f"{path}: got a preview ending in {path.suffix!r}; expected one of "
            f"{', '.join(SUFFIXES)}. Name it so."
        )
    if not (isfinite(fps) and 0 < fps <= MOST_FPS):
        raise WriteError(f"{path}: got {fps} pictures a second; expected up to {MOST_FPS:g}.")
    if not all(LEAST_SIDE <= side <= MOST_SIDE for side in size):
        raise WriteError(
            f"{path}: got pictures of {size[0]} x {size[1]}; expected sides from {LEAST_SIDE} to "
            f"{MOST_SIDE} pixels."
        )
    if not path.parent.is_dir():
        raise WriteError(f"{path}: its folder does not exist. Make it first.")
    even = (size[0] - size[0] % 2, size[1] - size[1] % 2)
    progress = progress or (lambda *_: None)
    try:
        stage = stage_of(result, fps=fps)
        with atomic_file(path) as draft:
            if kind == ".mp4":
                write_movie(stage, draft, size=even, fps=fps, progress=progress)
            elif kind == ".png":
                write_figure(stage, draft, size=even, progress=progress)
            else:
                write_rerun(stage, draft, progress=progress)
    except (OSError, FFmpegError) as error:
        raise WriteError(f"{path}: cannot be written ({error}). Is the disk full?") from error


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
    progress: Progress,
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


COLUMNS, ROWS = 4, 2
RULE_PX = 2


def write_figure(
    stage: Stage,
    path: Path,
    *,
    size: tuple[int, int],
    progress: Progress,
) -> None:
    """Write a PNG of `size` (height, width): moments evenly over the clip, in reading order."""
    height, width = size
    letters = max(8, round(height * 0.019))
    head = round(2.6 * letters)
    tile = ((height - head) // ROWS, width // COLUMNS)
    numbers = np.unique(np.linspace(0, len(stage) - 1, COLUMNS * ROWS).round().astype(np.int64))
    sheet = Image.new("RGB", (width, height), look.PAPER)
    draw = ImageDraw.Draw(sheet)
    with PreviewScene(stage, size=tile, clear=0.8) as scene:
        for place, moment in enumerate(stage.moments(numbers)):
            picture = scene.draw(moment, stage.centres[numbers[place]])
            x, y = (place % COLUMNS) * tile[1], head + (place // COLUMNS) * tile[0]
            shown = picture[: tile[0] - RULE_PX, : tile[1] - RULE_PX]
            sheet.paste(Image.fromarray(np.ascontiguousarray(shown)), (x, y))
            corner = (x + letters * 0.8, y + letters * 0.7)
            draw.text(corner, f"{moment.time_s:.1f} s", look.INK, font(letters, bold=True))
            low = y + tile[0] - letters * 0.8
            across = corner[0]
            for part, words in enumerate(errors(moment)):
                colour = look.FAR if moment.far[2 * part : 2 * part + 2].any() else look.QUIET
                draw.text((across, low), words, colour, font(letters), anchor="ls")
                across += font(letters).getlength(words) + 1.2 * letters
            progress(place + 1, len(numbers))
    title = f"{clip_title(stage.result)}  →  {robot_title(stage.result)}"
    draw.text((letters * 0.8, head / 2), title, look.INK, font(letters, bold=True), anchor="lm")
    sheet.save(path, "PNG")
