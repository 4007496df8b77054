"""Views of a board in what people have: image files, a movie, or the camera of an episode."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from corporeal.calibration.board import Board
from corporeal.calibration.detection import BoardView, detect, is_legacy
from corporeal.episode import Episode
from corporeal.episode.video import open_movie
from corporeal.errors import CorporealError
from corporeal.files import refuse_links_out, refuse_pointer

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp")
MOVIES = (".mp4", ".mkv", ".mov", ".avi", ".webm")
# Pillow would hand a picture of any other kind to programs beside it: EPS to Ghostscript.
_FORMATS = ("PNG", "JPEG", "BMP", "TIFF", "WEBP")
_MOST_PIXELS, _MOST_BYTES = 64_000_000, 256 << 20
# Names in one folder are those of several cameras where each has so many, and they are most.
_FEWEST_EACH, _MOST_SHARE = 3, 0.8
# Of a movie of fewer pictures than these, finer ones are taken until there are enough views.
_SHORT_MOVIE, _ENOUGH_VIEWS = 20, 8
_WILD = str.maketrans("", "", "*?[]!")


@dataclass(frozen=True)
class Picture:
    """One picture and what it is called: its file, or its number in the movie."""

    name: str
    pixels: NDArray[np.uint8]


@dataclass(frozen=True)
class FoundViews:
    """The views of a board, among how many pictures, and the size of those in pixels."""

    views: tuple[BoardView, ...]
    pictures: int
    width: int
    height: int


def find_views(
    source: Path, board: Board, *, stream: str | None = None, every: int = 1,
    progress: Callable[[], object] = lambda: None,
) -> FoundViews:  # fmt: skip
    """Every view of the board in a source; its pictures must be of one size.

    Of a short movie that gives few views, more pictures are looked at than every `every`-th.
    """
    views: list[BoardView] = []
    first: Picture | None = None
    count = 0
    for picture in read_pictures(source, stream=stream, every=every):
        first = first or picture
        if picture.pixels.shape != first.pixels.shape:
            (height, width), (high, wide) = picture.pixels.shape[:2], first.pixels.shape[:2]
            raise CorporealError(
                f"{picture.name} has {width} x {height} pixels; expected {wide} x {high} as the "
                "pictures before. Use pictures of one camera, not resized."
            )
        view = detect(picture.pixels, board, name=picture.name)
        views += [] if view is None else [view]
        count += 1
        progress()
    if first is None:
        raise CorporealError(f"{source} holds no pictures.")
    if not views and is_legacy(first.pixels, board):
        raise CorporealError(
            f"{source} shows a board in the layout of OpenCV before 4.6; expected the new one. "
            "Add 'legacy: true' to the board's document."
        )
    is_short = count < _SHORT_MOVIE and source.suffix.lower() in MOVIES
    if is_short and every >= 2 and len(views) < _ENOUGH_VIEWS:
        return find_views(source, board, every=every // 2, progress=progress)
    return FoundViews(tuple(views), count, first.pixels.shape[1], first.pixels.shape[0])


def cameras_in(source: Path) -> dict[str, Path]:
    """The sub-folders of pictures and the movies of a folder, by the camera they are named after.

    Empty for all else: pictures that lie in the folder itself are of one camera.
    """
    if not source.is_dir():
        return {}
    refuse_links_out(source)
    inside = sorted(source.iterdir())
    if any(path.suffix.lower() in IMAGES for path in inside):
        return {}
    found: dict[str, Path] = {}
    for path in inside:
        is_folder = path.is_dir() and any(each.suffix.lower() in IMAGES for each in path.iterdir())
        if not is_folder and path.suffix.lower() not in MOVIES:
            continue
        name = path.name if is_folder else path.stem
        if name in found:
            raise CorporealError(
                f"{source} holds {found[name].name} and {path.name}, got camera {name} twice; "
                "expected one source for each. Take one of them away."
            )
        found[name] = path
    return found


def source_name(source: Path) -> str:
    """What a source is called: its name without its ending, or without the signs of a pattern."""
    if not _is_pattern(source):
        return source.stem
    return re.sub(r"\W+", "", source.stem.translate(_WILD)) or source.parent.name


def refuse_mixed_names(files: Sequence[Path]) -> None:
    """Raise where the names of pictures are those of two cameras or more: left01, right01.

    Names count as those of cameras where they differ by letters alone, or by a number beside
    which the same moments come again, and each has about as many pictures.
    """
    for run in (-1, 0):
        groups: dict[str, list[str]] = {}
        for path in files:
            numbers = list(re.finditer(r"\d+", path.stem))
            if numbers:
                start, end = numbers[run].span()
                key = f"{path.stem[:start]}*{path.stem[end:]}"
                groups.setdefault(key, []).append(numbers[run].group())
        most = max(map(len, groups.values()), default=0)
        groups = {key: numbers for key, numbers in groups.items()
                  if len(numbers) >= max(_FEWEST_EACH, most / 2)}  # fmt: skip
        if len(groups) < 2 or sum(map(len, groups.values())) < _MOST_SHARE * len(files):
            continue
        letters = {re.sub(r"\d+", "", key) for key in groups}
        moments = [set(numbers) for numbers in groups.values()]
        shared = len(set.intersection(*moments))
        if len(letters) < len(groups) and shared < max(map(len, moments)) / 2:
            continue
        folder, names = files[0].parent, " and ".join(sorted(groups))
        raise CorporealError(
            f"{folder} holds pictures of two names or more, got {names}; expected those of one "
            f"camera. Put each camera's into a sub-folder, or name them: '{folder}/"
            f"{min(groups)}'. '{folder}/*' takes all as those of one."
        )


def _is_pattern(source: Path) -> bool:
    return any(sign in source.name for sign in "*?[") and not source.exists()


def moment_of(name: str) -> str:
    """What a picture is called where others were taken at the same moment: without its ending."""
    path = Path(name)
    return path.stem if path.suffix.lower() in IMAGES else name.rpartition(" ")[2]


def read_pictures(source: Path, *, stream: str | None = None, every: int = 1) -> Iterator[Picture]:
    """The pictures of a folder, an image, a movie or an episode; of movies every `every`-th.

    A folder's may be named by a pattern, `cell/left*`.
    """
    if source.is_dir():
        refuse_links_out(source)
        files = sorted(path for path in source.iterdir() if path.suffix.lower() in IMAGES)
        if not files:
            raise CorporealError(
                f"{source} holds no pictures; expected files ending in {', '.join(IMAGES)}."
            )
        refuse_mixed_names(files)
        yield from map(_read_image, files)
    elif _is_pattern(source):
        yield from map(_read_image, _matching(source))
    elif source.suffix.lower() in IMAGES:
        yield _read_image(source)
    elif source.suffix.lower() in MOVIES:
        yield from _read_movie(source, every)
    elif source.suffix == ".h5":
        yield from _read_episode(source, stream, every)
    else:
        raise CorporealError(
            f"{source}, got {source.suffix or 'no ending'}; expected a folder of pictures, a movie "
            "or an episode (.h5)."
        )


def _matching(pattern: Path) -> list[Path]:
    """The pictures of a folder whose names match the last part of a path."""
    if pattern.parent.is_dir():
        refuse_links_out(pattern.parent)
    files = sorted(path for path in pattern.parent.glob(pattern.name)
                   if path.suffix.lower() in IMAGES)  # fmt: skip
    if not files:
        raise CorporealError(
            f"{pattern}, got no picture of such a name; expected files ending in "
            f"{', '.join(IMAGES)}."
        )
    return files


def _read_image(path: Path) -> Picture:
    refuse_pointer(path)
    try:
        # From memory: of a file Pillow would take as much as a damaged header claims.
        with Image.open(io.BytesIO(_content(path)), formats=_FORMATS) as image:
            _refuse_huge(path, image.width, image.height)
            return Picture(path.name, np.asarray(image.convert("RGB"), np.uint8))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise CorporealError(f"{path} is no picture: {error}. Leave it out.") from None


def _content(path: Path) -> bytes:
    if path.stat().st_size > _MOST_BYTES:
        raise CorporealError(f"{path} is larger than 256 MiB; expected a picture. Leave it out.")
    return path.read_bytes()


def _refuse_huge(path: Path, width: int, height: int) -> None:
    if width * height > _MOST_PIXELS:
        raise CorporealError(
            f"{path} has {width} x {height} pixels; expected 64 million or fewer. Make it smaller."
        )


def _read_movie(path: Path, every: int) -> Iterator[Picture]:
    try:
        with closing(open_movie(path)) as container:
            frames: Any = container.decode(video=0)
            for number, frame in enumerate(frames):
                _refuse_huge(path, frame.width, frame.height)
                if number % every == 0:
                    yield Picture(f"{path.name} {number}", frame.to_ndarray(format="rgb24"))
    except (av.FFmpegError, IndexError, OSError) as error:
        raise CorporealError(f"{path} cannot be decoded: {error}.") from None


def _read_episode(path: Path, stream: str | None, every: int) -> Iterator[Picture]:
    with Episode.open(path) as episode:
        frames = episode[find_camera(episode, stream, path)]
        for number in range(0, len(frames), every):
            yield Picture(f"{path.stem} {number}", frames[number])


def find_camera(episode: Episode, stream: str | None, path: Path) -> str:
    """The camera of an episode by its address or name, or its only one."""
    cameras = [each.path for each in episode.schema.streams if each.kind == "video"]
    name = cameras[0] if stream is None and len(cameras) == 1 else stream
    matching = [camera for camera in cameras if name and camera.rpartition("/")[2] == name]
    chosen = name if name in cameras else (matching[0] if len(matching) == 1 else None)
    if chosen is None:
        known = ", ".join(cameras) or "none"
        raise CorporealError(f"--stream, got {stream}; expected a camera of {path}: {known}.")
    return chosen
