"""Which rows of a camera can be shown by the packets that its movie has already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import Footage
from corporeal.episode.video import Encoder
from corporeal.exchange.movie.h264 import parameters_in, stored_parameters
from corporeal.exchange.movie.packets import Packets, packets_of
from corporeal.exchange.table import Camera

# What an MP4 holds and every reader of one decodes.
_COPIED_CODECS = frozenset({"h264", "hevc", "av1", "vp9", "mpeg4"})


@dataclass(frozen=True, eq=False)
class Copy:
    """How a movie is copied: which rows as they are, and the encoder's rate for the others.

    `places` are those of the rows' packets, in decoding order.
    """

    source: Footage
    packets: Packets
    places: NDArray[np.int64]
    is_copied: NDArray[np.bool_]
    encoder_hz: float | None


def copy_of(camera: Camera, rate_hz: float) -> Copy | None:
    """How to write the rows of a camera; None when every picture has to be encoded."""
    source = camera.signal
    if not isinstance(source, Footage):
        return None
    packets = packets_of(source.open(), source.spec.path)
    last = int(camera.numbers[-1])
    if packets is None or source.first + last >= len(packets):
        return None
    coding = packets.coding
    if coding.codec not in _COPIED_CODECS or (coding.height, coding.width) != camera.spec.size:
        return None
    if source.count is not None and last >= source.count:
        return None
    # From a later picture on, footage is numbered by time.
    if source.first and not packets.is_even(source.first, source.first + last + 1):
        return None
    places = source.first + camera.numbers
    is_copied = _copied(packets, places)
    encoder_hz = None
    if not is_copied.all():
        encoder_hz = _encoder_hz(packets, [source.spec.rate_hz, rate_hz])
    if not is_copied.any() or (encoder_hz is None and not is_copied.all()):
        return None
    return Copy(source, packets, places, is_copied, encoder_hz)


def _copied(packets: Packets, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each row can be copied: it is in a run of neighbours that needs nothing else."""
    copied = np.zeros(len(places), bool)
    starts = [0, *(np.flatnonzero(np.diff(places) != 1) + 1).tolist()]
    for row, after in zip(starts, [*starts[1:], len(places)], strict=True):
        first = int(places[row])
        begin, stop = packets.stretch(first, first + after - row)
        copied[row + begin - first : row + stop - first] = True
    return copied


def _encoder_hz(packets: Packets, rates_hz: Sequence[float | None]) -> float | None:
    """The rate at which the encoder's packets fit between those of the movie; None if at none."""
    coding = packets.coding
    if (coding.codec, coding.pix_fmt) != ("h264", "yuv420p") or packets.delay:
        return None
    stored = stored_parameters(coding.extradata)
    for rate_hz in dict.fromkeys(rates_hz):
        if rate_hz and _parameters(coding.height, coding.width, rate_hz) == stored:
            return rate_hz
    return None


@lru_cache(maxsize=16)
def _parameters(height: int, width: int, rate_hz: float) -> tuple[bytes, ...] | None:
    if height % 2 or width % 2:
        return None
    black = np.zeros((height, width, 3), np.uint8)
    return parameters_in(Encoder(height, width, rate_hz=rate_hz).encode(black))
