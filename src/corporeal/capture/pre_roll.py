"""The last moments of every stream, for the episode that may start next."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from corporeal.episode.video import GROUP_OF_PICTURES, is_key_frame
from corporeal.schema import Stream
from corporeal.units import SECOND_NS

_MARGIN_S = 0.5
# Of a stream that sends far more than it announced, and of events, only so many are remembered.
_MOST_EVENTS = 1024
# Raw pictures are large: a camera whose encoder is far behind has a shorter past.
_MOST_RAW_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Packed:
    """One sample, checked and encoded, or raw; `received_s` is when we got it (monotonic)."""

    stream: str
    source_ns: int
    arrival_ns: int
    payload: bytes
    received_s: float = 0.0
    is_raw: bool = False


class PreRoll:
    """Remembers each stream for `seconds` and a little more; its memory is bounded."""

    def __init__(self, streams: Iterable[Stream], seconds: float) -> None:
        self._keep_ns: dict[str, int] = {}
        self._most: dict[str, int] = {}
        self._recent: dict[str, deque[Packed]] = {}
        self._videos: set[str] = set()
        self._raw_bytes: dict[str, int] = {}
        for stream in streams:
            # A slow camera needs more: its first picture must be one to start at.
            slow_s = (GROUP_OF_PICTURES + 1) / stream.rate_hz if stream.rate_hz else 0.0
            keep_s = seconds + max(_MARGIN_S, slow_s)
            most = (
                _MOST_EVENTS if stream.rate_hz is None else 64 + round(4 * keep_s * stream.rate_hz)
            )
            self._keep_ns[stream.path] = round(keep_s * SECOND_NS)
            self._recent[stream.path] = deque()
            self._most[stream.path], self._raw_bytes[stream.path] = most, 0
            if stream.kind == "video":
                self._videos.add(stream.path)

    def keep(self, packed: Packed) -> None:
        """Remember a sample, forget what is too old beside it."""
        stream = packed.stream
        recent = self._recent[stream]
        recent.append(packed)
        self._raw_bytes[stream] += packed.is_raw * len(packed.payload)
        oldest = packed.arrival_ns - self._keep_ns[stream]
        while (
            recent[0].arrival_ns < oldest
            or len(recent) > self._most[stream]
            or (self._raw_bytes[stream] > _MOST_RAW_BYTES and len(recent) > 1)
        ):
            gone = recent.popleft()
            self._raw_bytes[stream] -= gone.is_raw * len(gone.payload)

    def since(self, now_ns: int) -> Iterator[Packed]:
        """What is young enough at `now_ns`, stream by stream, a camera's from a key frame on."""
        for path, recent in self._recent.items():
            has_begun = path not in self._videos
            for packed in recent:
                if packed.arrival_ns < now_ns - self._keep_ns[path]:
                    continue
                has_begun = has_begun or packed.is_raw or is_key_frame(packed.payload)
                if has_begun:
                    yield packed
