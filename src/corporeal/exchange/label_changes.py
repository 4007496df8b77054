"""What a lane of labels says from when on: how viewers that show states want it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from corporeal.episode.label_track import LabelSpan

MOMENT_NS = 100_000_000
"""How long a moment is shown: something without a length would not be seen."""


@dataclass(frozen=True)
class Change:
    """From `time_ns` on this span holds; None: nothing does."""

    time_ns: int
    span: LabelSpan | None


def label_changes(spans: Sequence[LabelSpan]) -> Iterator[Change]:
    """Every beginning of these spans of one lane, in order of time, and every end before a gap."""
    for number, span in enumerate(spans):
        yield Change(span.start_ns, span)
        end_ns = span.end_ns if span.end_ns > span.start_ns else span.start_ns + MOMENT_NS
        if number + 1 == len(spans) or spans[number + 1].start_ns > end_ns:
            yield Change(end_ns, None)
