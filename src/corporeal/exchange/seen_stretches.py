"""The stretches of episodes in which everything was seen: what a policy may learn from.

Nothing is copied: every stretch is the recording that it was cut from, with a span for its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from corporeal.episode.recording import Dataset, Recording
from corporeal.errors import EpisodeError
from corporeal.exchange.format import CUT
from corporeal.units import SECOND_NS

# A stretch that is shorter shows no part of a task, s.
LEAST_S = 0.5
_WHOLE = (-(1 << 62), 1 << 62)


@dataclass(frozen=True)
class SeenStretch:
    """A stretch of the episode of this number; None as its span where all of it was seen."""

    episode: int
    id: str
    span_ns: tuple[int, int] | None

    def cut(self, recording: Recording) -> Recording:
        """The stretch of the recording that it was found in."""
        if self.span_ns is None:
            return recording
        origin = recording.metadata.get(CUT, {}).get("episode", recording.id)
        cut = {"episode": origin, "span_ns": list(self.span_ns), "why": "not seen around it"}
        metadata = {**recording.metadata, CUT: cut}
        return replace(recording, id=self.id, span_ns=self.span_ns, metadata=metadata)


def find_stretches(
    dataset: Dataset, episodes: Sequence[int] | None = None
) -> tuple[SeenStretch, ...]:
    """Stretches of these episodes, by default of all; raises EpisodeError where there is none.

    The `segments` of an episode say what was not seen in them.
    """
    wanted = dataset.episodes if episodes is None else episodes
    stretches = [each for number in wanted for each in _stretches(dataset.open(number), number)]
    if not stretches:
        raise EpisodeError(
            f"{dataset.source}: no stretch of {LEAST_S:g} s in which everything was seen; expected "
            "one at least. Record it again with the hands in view."
        )
    return tuple(stretches)


def seen_dataset(dataset: Dataset, stretches: Sequence[SeenStretch]) -> Dataset:
    """The stretches as episodes of a dataset."""
    numbers = tuple(range(len(stretches)))
    opener = partial(_open_stretch, dataset, tuple(stretches))
    return replace(dataset, episodes=numbers, open=opener, statistics={})


def open_seen(opener: Callable[[], Dataset], episodes: Sequence[int] | None) -> Dataset:
    """The same of the dataset that a function opens, which other processes can call too."""
    dataset = opener()
    return seen_dataset(dataset, find_stretches(dataset, episodes))


def _open_stretch(dataset: Dataset, stretches: tuple[SeenStretch, ...], index: int) -> Recording:
    stretch = stretches[index]
    return stretch.cut(dataset.open(stretch.episode))


def _stretches(recording: Recording, number: int) -> Iterator[SeenStretch]:
    segments = sorted(recording.facts.segments, key=lambda each: each.start_ns)
    if not any(segment.not_seen for segment in segments):
        yield SeenStretch(number, recording.id, None)
        return
    first, last = recording.span_ns or _WHOLE
    spans: list[tuple[int, int]] = []
    is_open = False
    for segment in segments:
        if segment.not_seen:
            is_open = False
            continue
        start = spans.pop()[0] if is_open else segment.start_ns
        spans.append((start, segment.end_ns))
        is_open = True
    for begin, end in spans:
        begin, end = max(begin, first), min(end, last)
        if end - begin >= LEAST_S * SECOND_NS:
            name = f"{recording.id}_{begin // 1_000_000}_{end // 1_000_000}ms"
            yield SeenStretch(number, name, (begin, end))
