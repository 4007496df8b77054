"""Small pictures of episodes, made once and kept in a bounded folder of the workspace."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request, Response
from numpy.typing import NDArray
from PIL import Image

from corporeal.episode import Episode
from corporeal.files import atomic_write
from corporeal.studio.authentication import Reader
from corporeal.studio.context import StudioDep
from corporeal.studio.routes.picture import encode_jpeg

ROUTER = APIRouter(tags=["episodes"])
FOLDER = Path(".cache") / "thumbnails"
WIDTHS = (160, 320, 640)
MOMENTS = 12
"""Pictures along an episode; a moment between two of them gets the nearer one."""
_KEEP = "private, max-age=604800, immutable"
_MOST_BYTES = 256 << 20
_QUALITY = 82
# A folder is measured once in so many new pictures.
_ROUND = 200


@ROUTER.get(
    "/episodes/{episode_id}/thumbnail",
    response_class=Response,
    responses={200: {"content": {"image/jpeg": {}}}},
)
def thumbnail(
    episode_id: str,
    request: Request,
    studio: StudioDep,
    _: Reader,
    width: Annotated[int, Query(ge=16, le=2000)] = 320,
    at: Annotated[float, Query(ge=0, le=1)] = 0.5,
) -> Response:
    """A JPEG of the camera that tells most; `at` is a part of the episode, 0 to 1.

    404 where no camera looked.
    """
    digest = studio.shelf.row(episode_id).hash
    moment, wide = moment_of(at), fitting_width(width)
    key = f"{digest} {moment} {wide}"
    tag = f'"{digest[-24:]}-{moment}-{wide}"'
    headers = {"Cache-Control": _KEEP, "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)

    def make() -> bytes:
        with studio.shelf.episode(episode_id) as episode:
            camera = camera_of(episode)
            if camera is None:
                raise HTTPException(404, "This episode has no camera.")
            return picture(episode, camera, moment=moment, width=wide)

    cache = cache_at(studio.workspace.root / FOLDER)
    return Response(cache.get(key, make), media_type="image/jpeg", headers=headers)


def camera_of(episode: Episode) -> str | None:
    """The camera that tells most: one that sees the robot from outside, else its own first."""
    cameras = [path for path in episode if episode[path].spec.kind == "video" and episode[path]]
    outside = [path for path in cameras if episode[path].spec.placement == "external"]
    return next(iter(outside or cameras), None)


def fitting_width(width: int) -> int:
    """The smallest width we make that is no smaller than the one asked for."""
    return next((each for each in WIDTHS if each >= width), WIDTHS[-1])


def moment_of(at: float) -> int:
    """The number of the picture nearest to a part of the episode, 0 to 1."""
    return min(max(round(at * MOMENTS), 0), MOMENTS)


def picture(episode: Episode, path: str, *, moment: int, width: int) -> bytes:
    """A JPEG of the frame at this moment, as wide as asked but not wider than the frame."""
    reader = episode[path]
    number = round((len(reader) - 1) * moment / MOMENTS)
    frame: NDArray[Any] = reader[number]
    image = Image.fromarray(frame)
    if image.width > width:
        size = (width, max(1, round(image.height * width / image.width)))
        image = image.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)
    return encode_jpeg(image, _QUALITY)


class ThumbnailCache:
    """Pictures in files by the hash of what they show; the ones not seen for long go first."""

    def __init__(self, folder: Path, *, most_bytes: int = _MOST_BYTES) -> None:
        self._folder, self._most = folder, most_bytes
        self._lock = threading.Lock()
        self._fresh = 0

    def get(self, key: str, make: Callable[[], bytes]) -> bytes:
        """The picture of this key, made if it is not there; a full disk only makes it slow."""
        path = self._path(key)
        with suppress(OSError):
            content = path.read_bytes()
            os.utime(path)
            return content
        made = make()
        with suppress(OSError):
            self._put(path, made)
        return made

    def _path(self, key: str) -> Path:
        name = hashlib.sha256(key.encode()).hexdigest()
        return self._folder / name[:2] / f"{name}.jpg"

    def _put(self, path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, content, sync=False)
        with self._lock:
            self._fresh += 1
            is_turn = self._fresh % _ROUND == 1
        if is_turn:
            self.shrink()

    def shrink(self) -> None:
        """Remove what was not seen for longest, down to four fifths of the bound."""
        files = []
        for path in self._folder.glob("*/*"):
            with suppress(OSError):
                facts = path.stat()
                files.append((facts.st_mtime, facts.st_size, path))
        total = sum(size for _, size, _ in files)
        if total <= self._most:
            return
        for _, size, path in sorted(files):
            with suppress(OSError):
                path.unlink()
                total -= size
            if total <= self._most * 4 // 5:
                return


@lru_cache(maxsize=16)
def cache_at(folder: Path) -> ThumbnailCache:
    """The one cache of a folder in this process."""
    return ThumbnailCache(folder)
