"""Rows of an episode file in any order: numbers held in memory, pictures decoded when asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.episode import Episode
from corporeal.episode.file import MAX_FRAME_BYTES, VideoReader
from corporeal.episode.recording import Recording, recording_of
from corporeal.episode.video import Decoder, PacketIndex
from corporeal.errors import EpisodeError
from corporeal.exchange.layout import TableLayout
from corporeal.exchange.table import EpisodeTable, table_of
from corporeal.exchange.training.normalisation import Normalisation
from corporeal.exchange.training.picture_cache import DescriptorCache


@dataclass(frozen=True, eq=False)
class MovieRows:
    """Where the pictures of a camera lie in the file: row k shows picture `numbers[k]`."""

    offset: int
    packets: PacketIndex
    shape: tuple[int, ...]
    numbers: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EpisodeRows:
    """All numbers of an episode by key, one entry for each row, and where its pictures are."""

    path: Path
    content: str
    columns: Mapping[str, NDArray[Any]]
    movies: Mapping[str, MovieRows]
    instructions: tuple[str, ...]
    instruction: NDArray[np.int64]
    mode: NDArray[np.int64] | None
    labels: Mapping[str, NDArray[np.int64]]

    @property
    def nbytes(self) -> int:
        """The memory that it takes, about."""
        arrays = [*self.columns.values(), self.instruction, *self.labels.values()]
        for movie in self.movies.values():
            arrays += [movie.numbers, movie.packets.start, movie.packets.size]
        return sum(array.nbytes for array in arrays)


def read_rows(
    path: Path,
    layout: TableLayout,
    *,
    number: int,
    columns: Collection[str],
    normalisation: Normalisation | None,
    cut: Callable[[Recording], Recording] = lambda recording: recording,
) -> EpisodeRows:
    """The episode at a path with these columns, as the table of this layout has them.

    `cut` takes the piece that is meant out of the recording.
    """
    with Episode.open(path) as episode:
        table = table_of(cut(recording_of(episode, index=number)), layout, number=number)
        movies = {
            key: _movie(episode[camera.spec.stream.path], camera.numbers)
            for key, camera in table.cameras.items()
        }
        return EpisodeRows(
            path=path,
            content=episode.content_hash,
            columns=_columns(table, columns, normalisation),
            movies=movies,
            instructions=table.instructions,
            instruction=table.instruction,
            mode=table.mode,
            labels=table.labels,
        )


def _columns(
    table: EpisodeTable, wanted: Collection[str], normalisation: Normalisation | None
) -> dict[str, NDArray[Any]]:
    kept = {key: spec for key, spec in table.layout.columns.items() if key in wanted}
    shorter = replace(table, layout=replace(table.layout, columns=kept), normaliser=normalisation)
    return {key: _trainable(values) for key, values in shorter.whole().items()}


def _trainable(values: NDArray[Any]) -> NDArray[Any]:
    """In a type that networks take: float32, int64, bytes or flags."""
    kind = values.dtype.kind
    wanted = {"f": np.float32, "i": np.int64}.get(kind)
    if kind == "u" and values.dtype != np.uint8:
        wanted = np.int64
    return np.ascontiguousarray(values, wanted)


def _movie(reader: Any, numbers: NDArray[np.int64]) -> MovieRows:
    assert isinstance(reader, VideoReader)
    shape = reader.spec.sizes
    if reader.spec.width > MAX_FRAME_BYTES:
        raise EpisodeError(f"{reader.spec.path} has pictures of {shape}; expected smaller ones.")
    return MovieRows(reader.byte_range[0], reader.packets, shape, numbers)


class Projector:
    """Shows pictures of many files: one decoder for each camera, a few files open at a time."""

    def __init__(self, open_files: int) -> None:
        self._files = DescriptorCache(open_files)
        self._decoders: dict[tuple[str, tuple[int, ...]], Decoder] = {}
        self._shown: dict[tuple[str, tuple[int, ...]], Path] = {}

    def show(self, rows: EpisodeRows, key: str, numbers: Sequence[int], out: NDArray[Any]) -> None:
        """Write pictures of rising numbers into `out` (count, 3, height, width)."""
        movie = rows.movies[key]
        decoder = self._decoder(rows.path, key, movie)
        last = -1
        for row, number in enumerate(numbers):
            if number == last:
                out[row] = out[row - 1]
            else:
                decoder.planes(number, out=out[row])
            last = number

    def _decoder(self, path: Path, key: str, movie: MovieRows) -> Decoder:
        which = (key, movie.shape)
        decoder = self._decoders.get(which)
        if decoder is not None and self._shown[which] == path:
            return decoder

        def read(start: int, count: int) -> bytes:
            block = os.pread(self._files.descriptor(path), count, movie.offset + start)
            if len(block) != count:
                raise EpisodeError(f"{path}: ends within a picture. Take it from its source again.")
            return block

        if decoder is None:
            decoder = self._decoders[which] = Decoder(movie.packets, movie.shape, read)
        else:
            decoder.turn_to(movie.packets, read)
        self._shown[which] = path
        return decoder
