"""Labels of rows: how lanes stand in a table, and how a dataset's lanes are found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.label_track import FIELD, NOTHING, LabelSpan, Lane, united
from corporeal.episode.recording import Recording
from corporeal.errors import CorporealError
from corporeal.exchange.layout import LABELS

Numbers = NDArray[np.int64]


def lane_key(lane: Lane) -> str:
    """The key of a lane beside those of columns and cameras."""
    return f"{LABELS}{lane.name}"


def main_lane(lanes: Sequence[Lane]) -> Lane | None:
    """What others call subtasks or phases: the first lane without gaps, else the first."""
    return next((lane for lane in lanes if lane.tiles), lanes[0] if lanes else None)


def label_words(lane: Lane, numbers: Numbers) -> list[str]:
    """The label of every row as text; empty where the lane says nothing."""
    return [lane.labels[number] if number != NOTHING else "" for number in numbers.tolist()]


def metadata_with_labels(recording: Recording) -> Mapping[str, Any]:
    """What a recording says of itself, its labels among it."""
    if recording.labels is None:
        return recording.metadata
    return {**recording.metadata, FIELD: recording.labels.to_json()}


def collect_lanes(
    open_recording: Callable[[int], Recording], numbers: Sequence[int]
) -> tuple[Lane, ...]:
    """The lanes of all recordings, for formats that say it only in each of them."""
    lanes = []
    for number in numbers:
        try:
            labels = open_recording(number).labels
        except CorporealError:
            continue
        if labels is not None:
            lanes.append(labels.used_lanes)
    return united(lanes)


MOMENT_NS = 100_000_000
"""How long a moment is shown: something without a length would not be seen."""


@dataclass(frozen=True)
class LabelChange:
    """From `time_ns` on this span holds; None: nothing does."""

    time_ns: int
    span: LabelSpan | None


def label_changes(spans: Sequence[LabelSpan]) -> Iterator[LabelChange]:
    """Every beginning of these spans of one lane, in order of time, and every end before a gap."""
    for number, span in enumerate(spans):
        yield LabelChange(span.start_ns, span)
        end_ns = span.end_ns if span.end_ns > span.start_ns else span.start_ns + MOMENT_NS
        if number + 1 == len(spans) or spans[number + 1].start_ns > end_ns:
            yield LabelChange(end_ns, None)
