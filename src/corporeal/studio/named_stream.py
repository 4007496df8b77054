"""The stream that a request names."""

from __future__ import annotations

from corporeal.episode import Episode
from corporeal.episode.file import StreamReader
from corporeal.errors import UnknownNameError


def stream_of(episode: Episode, path: str, *kinds: str) -> StreamReader:
    """The stream of this path and one of these kinds; raises UnknownNameError for any other."""
    known = [each for each in episode if episode[each].spec.kind in kinds]
    if path not in known:
        raise UnknownNameError("stream", path[:120], known)
    return episode[path]
