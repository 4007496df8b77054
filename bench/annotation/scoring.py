"""A proposed annotation held against the truth: boundaries, segments, outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.annotation.episodes import REFERENCE, Boundary, TrueEpisode
from corporeal.labelling.annotation import Annotation, Segment
from corporeal.labelling.frames import boundary_ns, end_ns

WITHIN = 2
"""Frames that a boundary may be off."""


@dataclass(frozen=True)
class Hit:
    """A true boundary, how many frames off the proposed one of its label is, and its confidence."""

    label: str
    error: int | None
    confidence: float | None = None

    @property
    def right(self) -> bool:
        """Whether it is there, within two frames."""
        return self.error is not None and abs(self.error) <= WITHIN


@dataclass(frozen=True)
class Score:
    """One episode: its boundaries, those proposed too many, its segments and its outcome."""

    task: str
    hits: tuple[Hit, ...]
    extra: tuple[float, ...]
    """Confidences of proposed boundaries that no true one answers to."""
    segments: tuple[int, int, int]
    """Segments of the truth, proposed ones, and those of one label that overlap by half."""
    outcome_right: bool
    mode_right: bool
    marks: tuple[int | None, ...]
    """Frames between the first and last boundary and the operator's marks."""


def score(annotation: Annotation, episode: TrueEpisode) -> Score:
    """Match every true boundary with the nearest proposed one of its label, each once."""
    stamps = episode.recording.signals[REFERENCE].time_ns
    got = annotation.in_lane("phase")
    left = list(got[1:])
    hits = []
    for true in episode.boundaries:
        frame = _frame(stamps, boundary_ns(stamps, true.time_ns))
        own = [segment for segment in left if segment.label == true.label]
        if not own:
            hits.append(Hit(true.label, None))
            continue
        near = min(own, key=lambda each: abs(_frame(stamps, each.start_ns) - frame))
        left.remove(near)
        error = _frame(stamps, near.start_ns) - frame
        hits.append(Hit(true.label, error, near.confidence))
    said = annotation.outcome
    return Score(
        task=episode.task,
        hits=tuple(hits),
        extra=tuple(segment.confidence or 0.0 for segment in left),
        segments=_segments(got, episode.boundaries, stamps),
        outcome_right=said is not None and (said == "success") == episode.success,
        mode_right=said is not None and annotation.failure_mode == episode.failure,
        marks=_marks(got, episode, stamps),
    )


def truth(episode: TrueEpisode) -> list[tuple[str, int, int]]:
    """The true phases as label and half-open range of frames."""
    stamps = episode.recording.signals[REFERENCE].time_ns
    return _ranges([("rest", 0), *((each.label, _frame(stamps, boundary_ns(stamps, each.time_ns)))
                                   for each in episode.boundaries)], len(stamps))  # fmt: skip


def f1(right: int, proposed: int, true: int) -> float:
    """The harmonic mean of precision and recall; 1 where there was nothing to say."""
    return 2 * right / (proposed + true) if proposed + true else 1.0


def _segments(
    got: Sequence[Segment], boundaries: Sequence[Boundary], stamps: NDArray[np.int64]
) -> tuple[int, int, int]:
    edges = [(each.label, _frame(stamps, boundary_ns(stamps, each.time_ns))) for each in boundaries]
    true = _ranges([("rest", 0), *edges], len(stamps))
    mine = [(each.label, _frame(stamps, each.start_ns), _frame(stamps, each.end_ns))
            for each in got]  # fmt: skip
    found, free = 0, list(mine)
    for label, first, stop in true:
        for each in free:
            both = min(stop, each[2]) - max(first, each[1])
            either = max(stop, each[2]) - min(first, each[1])
            if each[0] == label and 2 * both >= either > 0:
                free.remove(each)
                found += 1
                break
    return len(true), len(mine), found


def _ranges(edges: Sequence[tuple[str, int]], count: int) -> list[tuple[str, int, int]]:
    stops = [frame for _, frame in edges[1:]] + [count]
    return [(label, first, stop) for (label, first), stop in zip(edges, stops, strict=True)
            if stop > first]  # fmt: skip


def _marks(
    got: Sequence[Segment], episode: TrueEpisode, stamps: NDArray[np.int64]
) -> tuple[int | None, ...]:
    if episode.task not in ("pick_place", "handover", "bimanual_lift", "reach"):
        return ()
    found: list[int | None] = []
    for mark, segment in (("start", got[1] if len(got) > 1 else None), ("end", got[-1])):
        if any(each.label == "fall" for each in episode.boundaries) and mark == "end":
            continue
        frame = _frame(stamps, boundary_ns(stamps, episode.marks[mark]))
        found.append(None if segment is None else _frame(stamps, segment.start_ns) - frame)
    return tuple(found)


def _frame(stamps: NDArray[np.int64], time_ns: int) -> int:
    return len(stamps) if time_ns >= end_ns(stamps) else int(np.searchsorted(stamps, time_ns))
