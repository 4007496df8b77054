"""Episodes as files: as recorded, and converted for Rerun and Foxglove."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import FileResponse

from corporeal.catalog.permission import Actor
from corporeal.release.reading import local_copies
from corporeal.studio.authentication import Exporter
from corporeal.studio.context import Studio, StudioDep
from corporeal.studio.playback.download_cache import (
    DownloadCache,
    DownloadState,
    Format,
    Remarks,
    remarks_of,
)

ROUTER = APIRouter(tags=["download"])
_MEDIA = {"h5": "application/x-hdf5", "rrd": "application/octet-stream",
          "mcap": "application/octet-stream"}  # fmt: skip
_FILES: dict[str, Any] = {"content": {"application/octet-stream": {}}}
Target = Annotated[Format, Query(alias="to")]
_caches: dict[str, DownloadCache] = {}
_lock = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class Conversion(DownloadState):
    """How far a conversion is: missing, working, ready or failed, and why it failed."""

    format: Format


@ROUTER.head("/episodes/{episode_id}/file", include_in_schema=False)
@ROUTER.get("/episodes/{episode_id}/file", response_class=Response,
            responses={200: _FILES, 206: {}})  # fmt: skip
def recorded_file(episode_id: str, studio: StudioDep, _: Exporter) -> Response:
    """The episode file as it was recorded, or the bytes of it that the Range header names."""
    row = studio.shelf.row(episode_id)
    # Checked against its hash before the first byte leaves; a distant one is fetched for it.
    path = local_copies(studio.workspace).path(row.hash)
    headers = {"ETag": f'"{row.hash}"', "Accept-Ranges": "bytes"}
    return FileResponse(path, headers=headers, media_type=_MEDIA["h5"],
                        filename=_name(row.file, "h5"))  # fmt: skip


# A viewer tells what a file is by the end of its address, so each has one that ends so.
@ROUTER.head("/episodes/{episode_id}/rrd", include_in_schema=False)
@ROUTER.head("/episodes/{episode_id}/episode.rrd", include_in_schema=False)
@ROUTER.get("/episodes/{episode_id}/episode.rrd", include_in_schema=False)
@ROUTER.get("/episodes/{episode_id}/rrd", response_class=FileResponse, responses={200: _FILES})
def rerun_file(episode_id: str, studio: StudioDep, actor: Exporter) -> FileResponse:
    """The episode for Rerun with its labels and findings; converted first, some seconds long."""
    return _converted(studio, episode_id, "rrd", actor)


@ROUTER.head("/episodes/{episode_id}/mcap", include_in_schema=False)
@ROUTER.head("/episodes/{episode_id}/episode.mcap", include_in_schema=False)
@ROUTER.get("/episodes/{episode_id}/episode.mcap", include_in_schema=False)
@ROUTER.get("/episodes/{episode_id}/mcap", response_class=FileResponse, responses={200: _FILES})
def foxglove_file(episode_id: str, studio: StudioDep, actor: Exporter) -> FileResponse:
    """The episode for Foxglove and ROS 2 with its labels and findings; converted if need be."""
    return _converted(studio, episode_id, "mcap", actor)


def _converted(studio: Studio, episode_id: str, format_name: Format, actor: Actor) -> FileResponse:
    row = studio.shelf.row(episode_id)
    remarks = _remarks(studio, episode_id, actor)
    path = cache_of(studio).file(row.hash, format_name, remarks)
    return FileResponse(path, headers={"ETag": f'"{path.name}"'}, media_type=_MEDIA[format_name],
                        filename=_name(row.file, format_name))  # fmt: skip


@ROUTER.get("/episodes/{episode_id}/conversion")
def conversion(
    episode_id: str, studio: StudioDep, actor: Exporter, format_name: Target
) -> Conversion:
    """How far a conversion is."""
    return _conversion(cache_of(studio).standing, studio, episode_id, format_name, actor)


@ROUTER.post("/episodes/{episode_id}/conversion")
def start_conversion(
    episode_id: str, studio: StudioDep, actor: Exporter, format_name: Target
) -> Conversion:
    """Begin to convert, unless that is done or under way."""
    return _conversion(cache_of(studio).start, studio, episode_id, format_name, actor)


def _conversion(
    ask: Callable[[str, Format, Remarks], DownloadState],
    studio: Studio,
    episode_id: str,
    format_name: Format,
    actor: Actor,
) -> Conversion:
    remarks = _remarks(studio, episode_id, actor)
    state = ask(studio.shelf.row(episode_id).hash, format_name, remarks)
    return Conversion(**vars(state), format=format_name)


def _remarks(studio: Studio, episode_id: str, actor: Actor) -> Remarks:
    with studio.workspace.database.read() as connection:
        return remarks_of(connection, episode_id, actor)


def cache_of(studio: Studio) -> DownloadCache:
    """The converted files of a workspace: one cache, whoever asks."""
    key = str(studio.workspace.root.resolve())
    with _lock:
        return _caches.setdefault(key, DownloadCache(studio.workspace))


def _name(file: str, suffix: str) -> str:
    """The name that the browser saves under: that of the recording, in plain letters."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "_", file.removesuffix(".h5"))[:120].strip("._")
    return f"{stem or 'episode'}.{suffix}"
