"""Signals as plots need them: samples where they fit, their extremes where they do not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query, Response
from numpy.typing import NDArray
from pydantic import BaseModel

from corporeal.errors import CorporealError
from corporeal.studio.authentication import Reader
from corporeal.studio.binary import packed
from corporeal.studio.context import Studio, StudioDep
from corporeal.studio.open_episodes import stream_of
from corporeal.studio.plotting.byte_cache import ByteCache
from corporeal.studio.plotting.command_error import Followed, JointError, joint_errors, pair_columns
from corporeal.studio.plotting.pyramid import Blocks, Pyramid, build, glimpse, merge, read_blocks
from corporeal.studio.plotting.samples import (
    PlotColumn,
    SampleStamps,
    columns_of,
    read_columns,
    read_stamps,
    rows_within,
    value_type,
)

ROUTER = APIRouter(tags=["signal"])
MOST_POINTS = 20_000
MOST_COLUMNS = 64
MOST_VALUES = 400_000
"""Of one answer: points times columns."""
_MOST_READ = 1 << 24
"""Values that are read for one answer; more come from the pyramid."""
_PIECE_BYTES = 1 << 24
_FAR_NS = 1 << 62
_PATIENCE_S = 0.3


@dataclass(frozen=True)
class KnownErrors:
    """What was worked out for one stream and its commands."""

    joints: list[JointError]

    @property
    def nbytes(self) -> int:
        """Bytes in memory, roughly."""
        return 512 * len(self.joints)


# By the hash of the file: what it holds never changes, whoever asks.
_STAMPS: ByteCache[SampleStamps] = ByteCache(1 << 30)
_PYRAMIDS: ByteCache[Pyramid] = ByteCache(1 << 29)

_ERRORS: ByteCache[KnownErrors] = ByteCache(1 << 24)

StreamPath = Annotated[str, Query(max_length=300, description="group/name, of kind array")]
Against = Annotated[
    str | None, Query(max_length=300, description="the stream of commands that it follows")
]
Moment = Annotated[int, Query(ge=-_FAR_NS, le=_FAR_NS)]


class SampleFacts(BaseModel):
    """The sample that holds at a time: the last one not after it. Index -1: there is none yet."""

    stream: str
    index: int
    time_ns: int | None
    age_ns: int | None
    columns: list[str]
    units: list[str]
    values: list[float | None]


@dataclass(frozen=True)
class PlottedSignal:
    """A stream, ready to be read; each read takes the episode for itself only for a moment."""

    studio: Studio
    episode_id: str
    key: tuple[str, str]
    path: str
    columns: tuple[PlotColumn, ...]
    stamps: SampleStamps
    itemsize: int
    piece: int

    def read(self, first: int, stop: int) -> NDArray[np.floating[Any]]:
        """Samples as (n, columns), a piece of the file at a time."""
        parts = []
        for begin in range(first, max(stop, first + 1), self.piece):
            with self.studio.shelf.episode(self.episode_id) as episode:
                reader = stream_of(episode, self.path, "array")
                parts.append(read_columns(reader, begin, min(begin + self.piece, stop)))
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    @property
    def pyramid(self) -> Pyramid | None:
        """Begun when it is first asked for; None while it takes longer than people like to wait."""

        def make() -> Pyramid:
            return build(self.stamps, self.read, columns=len(self.columns),
                         itemsize=self.itemsize, rows=self.piece)  # fmt: skip

        # From a store far away, some hundred places take as long as all of them.
        if not self.studio.workspace.store.is_local:
            return _PYRAMIDS.get(self.key, make)
        return _PYRAMIDS.soon(self.key, make, wait_s=_PATIENCE_S)


@dataclass(frozen=True)
class PlottedError(PlottedSignal):
    """What was commanded, less what was measured, at the times of the measurements."""

    followed: Followed

    def read(self, first: int, stop: int) -> NDArray[np.floating[Any]]:
        """Errors as (n, columns)."""
        return self.followed.error(first, stop)


@ROUTER.get("/episodes/{episode_id}/signal", response_class=Response)
def signal(
    episode_id: str, studio: StudioDep, _: Reader, stream: StreamPath,
    columns: Annotated[str, Query(max_length=400, pattern=r"^(\d{1,4}(,\d{1,4})*)?$")] = "",
    start_ns: Moment = -_FAR_NS, end_ns: Moment = _FAR_NS,
    points: Annotated[int, Query(ge=2, le=MOST_POINTS)] = 2000, against: Against = None,
) -> Response:  # fmt: skip
    """A span of a stream as packed arrays, with what a line drawn through them must know.

    With `against`, a stream of commands, it is what was commanded less what was measured.

    `mode` samples: time_ns (n), values (columns, n). `mode` envelope: time_ns, end_ns (n), low,
    high and nan (columns, n). `gap` (n) marks what comes after a hole. With `coarse` it is only
    a glimpse, until the extremes of all samples are known: ask again a little later.
    """
    if end_ns < start_ns:
        raise CorporealError(f"end_ns, got {end_ns}; expected no less than start_ns {start_ns}.")
    found = _open(studio, episode_id, stream)
    if against is not None:
        found = _against(found, _open(studio, episode_id, against))
    chosen = _chosen(columns, found.columns)
    points = min(points, max(2, MOST_VALUES // len(chosen)))
    shown, kind = _shown(found, chosen, start_ns, end_ns, points)
    arrays: dict[str, NDArray[Any]] = {"time_ns": shown.start_ns, "gap": shown.gap_ns > 0}
    if kind == "samples":
        arrays["values"] = shown.low.T
    else:
        arrays |= {"end_ns": shown.end_ns, "low": shown.low.T, "high": shown.high.T,
                   "nan": shown.has_nan.T}  # fmt: skip
    return packed(
        arrays,
        keep=kind != "glimpse",
        mode="samples" if kind == "samples" else "envelope",
        coarse=kind == "glimpse",
        stream=stream,
        columns=[found.columns[place].name for place in chosen],
        units=[found.columns[place].unit for place in chosen],
        numbers=chosen,
        samples=len(found.stamps),
        backward=found.stamps.backward,
        repeated=found.stamps.repeated,
        gap_ns=found.stamps.gap_ns,
    )


@ROUTER.get("/episodes/{episode_id}/sample")
def sample(
    episode_id: str, studio: StudioDep, _: Reader, stream: StreamPath, time_ns: Moment
) -> SampleFacts:
    """The values of a stream at one time."""
    found = _open(studio, episode_id, stream)
    index = found.stamps.last_before(time_ns)
    values = found.read(index, index + 1)[0].tolist() if index >= 0 else []
    at_ns = int(found.stamps.time_ns[index]) if index >= 0 else None
    return SampleFacts(
        stream=stream,
        index=index,
        time_ns=at_ns,
        age_ns=None if at_ns is None else time_ns - at_ns,
        columns=[column.name for column in found.columns],
        units=[column.unit for column in found.columns],
        values=[value if math.isfinite(value) else None for value in values],
    )


@ROUTER.get("/episodes/{episode_id}/errors")
def errors(
    episode_id: str, studio: StudioDep, _: Reader, stream: StreamPath, against: StreamPath
) -> list[JointError]:
    """How far every joint of a stream was from its command, the farthest off first."""
    error = _against(_open(studio, episode_id, stream), _open(studio, episode_id, against))

    def look() -> KnownErrors:
        with studio.shelf.episode(episode_id) as episode:
            try:
                robot = episode.embodiment
            except CorporealError:
                robot = None  # Without it nothing is said of motors.
        return KnownErrors(joint_errors(error.followed, error.columns, robot))

    return _ERRORS.get(error.key, look).joints


def _against(measured: PlottedSignal, commanded: PlottedSignal) -> PlottedError:
    """The error between two streams of an episode."""
    columns = pair_columns(measured.columns, commanded.columns)
    if max(columns, default=-1) < 0:
        raise CorporealError(
            f"against, got {commanded.path!r}; expected a stream with columns of "
            f"{measured.path!r}. Choose the commands that it follows."
        )
    followed = Followed(measured.stamps, commanded.stamps, measured.read, commanded.read, columns)
    digest, path = measured.key
    return PlottedError(
        measured.studio, measured.episode_id, (digest, f"{path} against {commanded.path}"),
        measured.path, measured.columns, measured.stamps, 8, measured.piece, followed,
    )  # fmt: skip


def _open(studio: Studio, episode_id: str, path: str) -> PlottedSignal:
    digest = studio.shelf.row(episode_id).hash
    with studio.shelf.episode(episode_id) as episode:
        reader = stream_of(episode, path, "array")
        spec = reader.spec
        stamps = _STAMPS.get((digest, path), lambda: read_stamps(reader.time_ns, spec.rate_hz))
    return PlottedSignal(studio, episode_id, (digest, path), path, columns_of(spec), stamps,
                  np.dtype(value_type(spec)).itemsize, rows_within(spec, _PIECE_BYTES))  # fmt: skip


def _chosen(columns: str, known: tuple[PlotColumn, ...]) -> list[int]:
    """The columns that are asked for, the first `MOST_COLUMNS` if none are named."""
    if not columns:
        return list(range(min(len(known), MOST_COLUMNS)))
    chosen = [int(each) for each in columns.split(",")]
    if len(chosen) > MOST_COLUMNS or max(chosen) >= len(known):
        raise CorporealError(
            f"columns, got {columns[:80]!r}; expected at most {MOST_COLUMNS} numbers "
            f"from 0 to {len(known) - 1}."
        )
    return chosen


def _shown(
    found: PlottedSignal, chosen: list[int], start_ns: int, end_ns: int, points: int
) -> tuple[Blocks, Literal["samples", "envelope", "glimpse"]]:
    """What to draw, and whether it is every sample of the span, the extremes of all, or of some."""

    def read(begin: int, end: int) -> NDArray[np.floating[Any]]:
        return found.read(begin, end)[:, chosen]

    time_ns = found.stamps.time_ns
    first = max(int(np.searchsorted(time_ns, start_ns, side="left")) - 1, 0)
    stop = min(int(np.searchsorted(time_ns, end_ns, side="right")) + 1, len(time_ns))
    count = stop - first
    per = max(1, math.ceil(count / points))
    if per > 1 and count * len(found.columns) > _MOST_READ:
        pyramid = found.pyramid
        if pyramid is None:
            return glimpse(found.stamps, read, (first, stop)), "glimpse"
        level, begin, end = pyramid.level(start_ns, end_ns, points)
        runs = level.part(begin, end, chosen)
        per = math.ceil(len(runs) / points)
        return merge(runs, per, most_breaks=points), "envelope"
    blocks = read_blocks(found.stamps, read, (first, stop), per=per, rows=found.piece)
    return blocks, "samples" if per <= 1 else "envelope"
