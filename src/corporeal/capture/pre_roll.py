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


@dataclass(frozen=True, slots=True)
class Packed:
    """One sample, checked and encoded."""

    stream: str
    source_ns: int
    arrival_ns: int
    payload: bytes


class PreRoll:
    """Remembers each stream for `seconds` and a little more; its memory is bounded."""

    def __init__(self, streams: Iterable[Stream], seconds: float) -> None:
        self._keep_ns: dict[str, int] = {}
        self._recent: dict[str, deque[Packed]] = {}
        self._videos: set[str] = set()
        for stream in streams:
            # A slow camera needs more: its first picture must be one to start at.
            slow_s = (GROUP_OF_PICTURES + 1) / stream.rate_hz if stream.rate_hz else 0.0
            keep_s = seconds + max(_MARGIN_S, slow_s)
            most = (
                _MOST_EVENTS if stream.rate_hz is None else 64 + round(4 * keep_s * stream.rate_hz)
            )
            self._keep_ns[stream.path] = round(keep_s * SECOND_NS)
            self._recent[stream.path] = deque(maxlen=most)
            if stream.kind == "video":
                self._videos.add(stream.path)

    def keep(self, packed: Packed) -> None:
        """Remember a sample, forget what is too old beside it."""
        recent = self._recent[packed.stream]
        recent.append(packed)
        oldest = packed.arrival_ns - self._keep_ns[packed.stream]
        while recent[0].arrival_ns < oldest:
            recent.popleft()

    def since(self, now_ns: int) -> Iterator[Packed]:
        """What is young enough at `now_ns`, stream by stream, a camera's from a key frame on."""
        for path, recent in self._recent.items():
            has_begun = path not in self._videos
            for packed in recent:
                if packed.arrival_ns < now_ns - self._keep_ns[path]:
                    continue
                has_begun = has_begun or is_key_frame(packed.payload)
                if has_begun:
                    yield packed
