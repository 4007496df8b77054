"""The movies of a LeRobot episode, and where they do not fit its table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import (
    FOOTAGE_INCOMPLETE,
    INDEX_WRONG,
    METADATA_WRONG,
    Defect,
    DefectCheck,
    VideoFile,
)
from corporeal.errors import EpisodeError
from corporeal.exchange.foreign_stream import picture_stream
from corporeal.exchange.lerobot.files import Files
from corporeal.exchange.lerobot.info import Feature
from corporeal.exchange.lerobot.listing import LerobotEntry, ListedClip
from corporeal.exchange.movie.foreign_movie import Header

RATE_TOLERANCE = 0.01


@dataclass(frozen=True, eq=False)
class CameraFiles:
    """The cameras of a dataset. `reported` are complaints already made of the whole set."""

    files: Files
    reported: frozenset[tuple[str, str]] = frozenset()
    _places: dict[Path, dict[int, int]] = field(default_factory=dict)

    def footage(
        self, camera: Feature, entry: LerobotEntry, time_ns: NDArray[np.int64]
    ) -> tuple[VideoFile | None, tuple[Defect, ...]]:
        """One camera's pictures in one episode; None when they are not there."""
        key = camera.key
        if (key, "absent") in self.reported:
            return None, ()
        clip = entry.clips.get(key)
        if clip is None or not clip.path.is_file():
            what = f"{clip.path.name} of {key} is missing" if clip else f"no place listed of {key}"
            return None, (
                Defect(FOOTAGE_INCOMPLETE, what, entry.index, key, 0.0, float(len(time_ns))),
            )
        try:
            header = self.files.header(clip.path)
        except EpisodeError as error:
            what = f"the movie of {key} cannot be opened: {error}"
            return None, (
                Defect(FOOTAGE_INCOMPLETE, what, entry.index, key, 0.0, float(len(time_ns))),
            )
        first, count = self._stretch(clip, header)
        defects = (
            *self._said(camera, header, entry.index),
            *self._count(key, entry, clip, header, (first, count), len(time_ns)),
            *self._place(key, entry, clip, header, first),
        )
        if camera.is_depth:
            return None, defects
        spec = picture_stream(
            key, height=header.height, width=header.width, rate_hz=self.files.info.fps
        )
        path = str(clip.path)
        return VideoFile(spec, time_ns, lambda: path, first, count), defects

    def _stretch(self, clip: ListedClip, header: Header) -> tuple[int, int | None]:
        """First picture of a clip and their number; None for all that the movie has."""
        if clip.from_s is None or clip.to_s is None:
            return 0, None
        rate = header.fps or self.files.info.fps
        first = max(0, round(clip.from_s * rate))
        return first, max(0, round(clip.to_s * rate) - first)

    def _said(self, camera: Feature, header: Header, index: int) -> Iterator[Defect]:
        for what, check, message in contradictions(camera, header, self.files.info.fps):
            if (camera.key, what) not in self.reported:
                yield Defect(check, message, index, camera.key)

    def _count(
        self,
        key: str,
        entry: LerobotEntry,
        clip: ListedClip,
        header: Header,
        stretch: tuple[int, int | None],
        rows: int,
    ) -> Iterator[Defect]:
        first, count = stretch
        there = max(0, min(header.frames - first, header.frames if count is None else count))
        if there != rows:
            short = "too few" if there < rows else "too many"
            message = f"{clip.path.name} of {key} has {there} pictures for {rows} rows: {short}"
            yield Defect(FOOTAGE_INCOMPLETE, message, entry.index, key, float(there), float(rows))

    def _place(
        self, key: str, entry: LerobotEntry, clip: ListedClip, header: Header, first: int
    ) -> Iterator[Defect]:
        if clip.from_s is None:
            return
        if clip.path not in self._places:
            self._places[clip.path] = self._expected(key, clip.path, header)
        expected = self._places[clip.path].get(entry.index, first)
        if first != expected:
            message = (
                f"from_timestamp of {key} points at picture {first} of {clip.path.name}, but the "
                f"episodes before it in that file have {expected}"
            )
            yield Defect(INDEX_WRONG, message, entry.index, key, float(first), float(expected))

    def _expected(self, key: str, path: Path, header: Header) -> dict[int, int]:
        """First picture of each episode in a movie, where lengths and movie leave no doubt."""
        inside = [
            entry
            for entry in self.files.listing.entries
            if key in entry.clips and entry.clips[key].path == path
        ]
        lengths = np.array([max(0, entry.length) for entry in inside], np.int64)
        if int(lengths.sum()) != header.frames:
            return {}
        starts = np.cumsum(lengths) - lengths
        return {entry.index: int(start) for entry, start in zip(inside, starts, strict=True)}


def contradictions(
    camera: Feature, header: Header, fps: float
) -> Iterator[tuple[str, DefectCheck, str]]:
    """What info.json says of a camera and its movie denies: (what, check, message)."""
    size = picture_size(camera)
    if size is not None and size != (header.height, header.width):
        yield (
            "size",
            FOOTAGE_INCOMPLETE,
            f"{camera.key} has pictures of {header.height} x {header.width}, but info.json says "
            f"{size[0]} x {size[1]}",
        )
    rate = header.fps if header.frames > 2 else None
    if rate is not None and abs(rate - fps) > RATE_TOLERANCE * fps:
        yield (
            "fps",
            METADATA_WRONG,
            f"the movie of {camera.key} runs at {rate:g} frames per second, but info.json says "
            f"{fps:g}",
        )


def picture_size(camera: Feature) -> tuple[int, int] | None:
    """Height and width that info.json gives, whether channels come first or last."""
    if len(camera.shape) != 3:
        return None
    if camera.shape[0] in (1, 3, 4) and camera.shape[2] not in (1, 3, 4):
        return camera.shape[1], camera.shape[2]
    return camera.shape[0], camera.shape[1]
