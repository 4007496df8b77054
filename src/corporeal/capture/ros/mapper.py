"""Turns the messages of ROS topics into samples of the streams that were fitted to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from corporeal.capture.driver import Sample
from corporeal.capture.ros.flatten import pieces_of
from corporeal.capture.ros.foxglove import COMPRESSED_VIDEO, FilmDecoder, foxglove_name
from corporeal.capture.ros.message import MessagePart, NotMappedError, stamp_ns
from corporeal.capture.ros.message_type import Decode, normal_type
from corporeal.capture.ros.stream import PROBLEMS, Key, StreamFit
from corporeal.capture.ros.unitree import tick_ns

_MAX_COMPLAINTS = 1000


def open_message(
    decode: Decode,
    data: bytes,
    message_type: str,
    film: FilmDecoder | None = None,
    *,
    takes_ticks: bool = False,
) -> tuple[int | None, list[MessagePart]]:
    """The stamp and the pieces of a message; NotMappedError when it cannot be read.

    `film` remembers the pictures before, where the topic is one of coded video. `takes_ticks`: a
    robot's count of milliseconds is a stamp, too.
    """
    message = decode(data)
    if film is not None and foxglove_name(normal_type(message_type)) == COMPRESSED_VIDEO:
        return stamp_ns(message), film.pieces(message)
    pieces = pieces_of(message, normal_type(message_type))
    stamp = stamp_ns(message)
    if stamp is None and takes_ticks:
        stamp = tick_ns(message, normal_type(message_type))
    if stamp is None and pieces:
        stamp = pieces[0].stamp_ns
    return stamp, pieces


class Mapper:
    """Remembers what was last said, so that what only repeats is not said again."""

    def __init__(self, fits: Mapping[Key, StreamFit]) -> None:
        self._fits = fits
        self._last: dict[Key, Any] = {}
        self._said: set[tuple[str, str]] = set()

    def samples(
        self,
        topic: str,
        arrival_ns: int,
        opened: Callable[[], tuple[int | None, list[MessagePart]]],
        stamp: Callable[[int | None], int],
    ) -> Iterator[Sample]:
        """The samples of one message, or one sample of text that says why there are none."""
        try:
            header_ns, pieces = opened()
        except NotMappedError as error:
            yield from self._complaint(topic, arrival_ns, str(error))
            return
        source_ns = stamp(header_ns)
        for path, piece_ns, value in self._values(topic, arrival_ns, pieces):
            yield Sample(path, source_ns if piece_ns is None else piece_ns, arrival_ns, value)

    def _values(
        self, topic: str, arrival_ns: int, pieces: Iterable[MessagePart]
    ) -> Iterator[tuple[str, int | None, Any]]:
        for piece in pieces:
            key = (topic, piece.suffix, piece.variant)
            fit = self._fits.get(key)
            try:
                if fit is None:
                    raise NotMappedError(_stranger(piece))
                value = fit.value(piece)
            except NotMappedError as error:
                for sample in self._complaint(topic, arrival_ns, str(error)):
                    yield sample.stream, sample.source_ns, sample.value
                continue
            if piece.on_change:
                if key in self._last and np.array_equal(self._last[key], value):
                    continue
                self._last[key] = value
            yield fit.stream.path, piece.stamp_ns or None, value

    def _complaint(self, topic: str, arrival_ns: int, reason: str) -> Iterator[Sample]:
        if (topic, reason) not in self._said and len(self._said) < _MAX_COMPLAINTS:
            self._said.add((topic, reason))
            text = f"Topic {topic}: a message was not mapped because of {reason}."
            yield Sample(PROBLEMS.path, arrival_ns, arrival_ns, text)


def _stranger(piece: MessagePart) -> str:
    if piece.variant:
        return f"a set of {len(piece.variant)} joints that was not there at the start"
    return f"a part {piece.suffix!r} that was not there at the start"
