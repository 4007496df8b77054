"""Long recordings in pieces, so that ten hours take no more memory than ten minutes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import ImageSequence, Recording, Signal, VideoFile
from corporeal.quality.assessment import Assessment
from corporeal.quality.finding import Finding
from corporeal.signal import SignalPart
from corporeal.units import SECOND_NS

LONGEST_S = 1200.0
PIECE_S = 300.0
_MOST_SPANS = 1000


@dataclass(frozen=True, eq=False)
class Excerpt:
    """A piece of a recording, and at which sample of each signal it begins."""

    recording: Recording
    first: Mapping[str, int]


def span_s(recording: Recording) -> float:
    """Seconds from the first to the last sample of all signals."""
    ends = [
        (float(signal.time_ns.min()), float(signal.time_ns.max()))
        for signal in recording.signals.values()
        if len(signal)
    ]
    if not ends:
        return 0.0
    return (max(last for _, last in ends) - min(first for first, _ in ends)) / SECOND_NS


def excerpts(recording: Recording, *, piece_s: float = PIECE_S) -> Iterator[Excerpt]:
    """The recording in pieces of equal time, one after the other."""
    signals = {label: signal for label, signal in recording.signals.items() if len(signal)}
    begin = min(int(signal.time_ns.min()) for signal in signals.values())
    count = max(1, round(span_s(recording) / piece_s))
    edges = [begin + round(number * piece_s * SECOND_NS) for number in range(1, count)]
    cuts = {
        label: [0, *_cuts(signal.time_ns, edges), len(signal)] for label, signal in signals.items()
    }
    for number in range(count):
        parts = {
            label: _part(signal, cuts[label][number], cuts[label][number + 1])
            for label, signal in signals.items()
        }
        first = {label: cuts[label][number] for label in signals}
        yield Excerpt(replace(recording, signals=parts), first)


def _cuts(time_ns: NDArray[np.int64], edges: list[int]) -> list[int]:
    # A clock that steps back must not make a cut step back.
    places = np.searchsorted(np.maximum.accumulate(time_ns), edges)
    return [int(place) for place in places]


def _part(signal: Signal, first: int, stop: int) -> Signal:
    if isinstance(signal, VideoFile):
        return replace(
            signal,
            time_ns=signal.time_ns[first:stop],
            first=signal.first + first,
            count=stop - first,
        )
    if isinstance(signal, ImageSequence):
        return replace(
            signal, time_ns=signal.time_ns[first:stop], pictures=signal.pictures[first:stop]
        )
    return SignalPart(signal, first, stop)


def combined(pieces: Iterable[tuple[Excerpt, Assessment]]) -> Assessment:
    """What is said of the pieces, as said of the whole: frames counted from its beginning.

    Findings of one check on one stream become one, with the frames of all and the words of the
    first. A check that was assessed in some piece counts as assessed.
    """
    merged: dict[tuple[str, str | None], Finding] = {}
    reasons: list[Mapping[str, str]] = []
    for excerpt, assessment in pieces:
        reasons.append(assessment.not_assessed)
        for finding in assessment.findings:
            moved = _moved(finding, excerpt.first.get(finding.stream or "", 0))
            key = (finding.check, finding.stream)
            merged[key] = _together(merged[key], moved) if key in merged else moved
    nowhere = {
        name: reason
        for name, reason in (reasons[0] if reasons else {}).items()
        if all(name in each for each in reasons)
    }
    return Assessment(tuple(merged.values()), nowhere)


def _moved(finding: Finding, first: int) -> Finding:
    frames = tuple((begin + first, stop + first) for begin, stop in finding.frames)
    return replace(finding, frames=frames)


def _together(one: Finding, other: Finding) -> Finding:
    return replace(one, frames=(one.frames + other.frames)[:_MOST_SPANS])
