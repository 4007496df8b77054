"""Writes a preview of a retargeted motion; the suffix of its name decides what it becomes."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from pathlib import Path

from av import FFmpegError

from corporeal.errors import WriteError
from corporeal.files import atomic_file
from corporeal.retargeting.preview.figure import write_figure
from corporeal.retargeting.preview.movie import write_movie
from corporeal.retargeting.preview.rerun_file import write_rerun
from corporeal.retargeting.preview.stage import stage_of
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
