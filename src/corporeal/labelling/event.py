"""Physical events in an episode, found in its signals with sub-frame time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from corporeal.episode.recording import Recording, Signal
from corporeal.registry import plugins
from corporeal.signal import SignalPart
from corporeal.units import SECOND_NS

PACKAGE = "corporeal.labelling.detectors"
_WINDOW_NS, _OVERLAP_NS, _MOST_WINDOWS = 900 * SECOND_NS, 30 * SECOND_NS, 1000


@dataclass(frozen=True)
class PhysicalEvent:
    """Something that happened at `time_ns` since the epoch, between two samples as a rule.

    `name` is the detector's word (grasp_closes, contact_begins, ...), `side` left, right or empty,
    `confidence` 0 to 1, `uncertainty_ns` how far it may be off.
    """

    time_ns: int
    name: str
    side: str = ""
    stream: str = ""
    confidence: float = 1.0
    uncertainty_ns: int = 0
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class EventDetector:
    """Finds events of `names` in a recording; limits are keyword-only arguments of `find`."""

    find: Callable[[Recording], Iterator[PhysicalEvent]]
    names: tuple[str, ...]


@cache
def detectors() -> dict[str, EventDetector]:
    """Every detector by name."""
    return plugins(PACKAGE, "DETECTOR", EventDetector)


def detect(recording: Recording) -> tuple[PhysicalEvent, ...]:
    """All events of all detectors, in order of time.

    A long recording is looked at in windows that overlap, so that memory stays bounded.
    """
    found = [
        event
        for window in _windows(recording)
        for each in detectors().values()
        for event in each.find(window.recording)
        if window.first_ns <= event.time_ns < window.stop_ns
    ]
    return tuple(sorted(found, key=lambda event: (event.time_ns, event.name, event.side)))


@dataclass(frozen=True)
class _Window:
    """What is looked at together, and the part of it whose events count."""

    recording: Recording
    first_ns: float
    stop_ns: float


def _windows(recording: Recording) -> Iterator[_Window]:
    stamps = [
        signal.time_ns
        for signal in recording.signals.values()
        if signal.spec.kind == "array" and len(signal)
    ]
    if not stamps:
        return
    # A stray stamp far away would ask for windows without end: the bulk of them decides.
    begin = min(float(np.quantile(each, 0.001)) for each in stamps)
    end = max(float(np.quantile(each, 0.999)) for each in stamps)
    if end - begin <= _WINDOW_NS:
        yield _Window(recording, -math.inf, math.inf)
        return
    count = min(math.ceil((end - begin) / _WINDOW_NS), _MOST_WINDOWS)
    edges = np.linspace(begin, end, count + 1)
    edges[0], edges[-1] = -math.inf, math.inf
    for first, stop in pairwise(edges.tolist()):
        signals: dict[str, Signal] = {
            label: _excerpt(signal, first - _OVERLAP_NS, stop + _OVERLAP_NS)
            for label, signal in recording.signals.items()
            if signal.spec.kind == "array" and len(signal)
        }
        yield _Window(replace(recording, signals=signals), first, stop)


def _excerpt(signal: Signal, first_ns: float, stop_ns: float) -> SignalPart:
    inside = np.flatnonzero((signal.time_ns >= first_ns) & (signal.time_ns < stop_ns))
    if not len(inside):
        return SignalPart(signal, 0, 0)
    return SignalPart(signal, int(inside[0]), int(inside[-1]) + 1)
