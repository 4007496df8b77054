"""Labels as topics: a message whenever the label of a lane changes, one for the whole episode."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from corporeal.episode.label_track import LabelTrack
from corporeal.exchange.label_changes import Change, label_changes
from corporeal.exchange.mcap_messages.log_writer import Batch, LogWriter
from corporeal.exchange.mcap_messages.message_type import (
    EPISODE_LABELS,
    LABEL,
    definition,
    encode,
    message,
)
from corporeal.units import SECOND_NS

TOPIC = "/labels"
_MADE_FROM = "labels of people"


def label_topics(
    log: LogWriter, labels: LabelTrack | None, begin_ns: int, offset_ns: int
) -> list[Iterator[Batch]]:
    """A topic `/labels/LANE` for every lane in which something is said, and `/labels`.

    A field `label` that is empty ends the label before, so that a panel of states shows the gap.
    """
    if labels is None:
        return []
    channel = log.add_topic(TOPIC, EPISODE_LABELS, definition(EPISODE_LABELS), made_from=_MADE_FROM)
    queues = [iter([Batch(channel, 0, _stamps([begin_ns], offset_ns), [_episode(labels)])])]
    for lane in labels.used_lanes:
        changes = list(label_changes(labels.in_lane(lane.name)))
        channel = log.add_topic(
            f"{TOPIC}/{lane.name}", LABEL, definition(LABEL), made_from=_MADE_FROM
        )
        stamps = _stamps([each.time_ns for each in changes], offset_ns)
        queues.append(iter([Batch(channel, 0, stamps, [_label(each) for each in changes])]))
    return queues


def _stamps(times_ns: list[int], offset_ns: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array([max(0, each + offset_ns) for each in times_ns], np.uint64)


def _episode(labels: LabelTrack) -> bytes:
    said = (
        labels.taxonomy,
        list(labels.instructions),
        labels.outcome or "",
        labels.failure_mode or "",
        labels.variant or "",
        list(labels.flags),
    )
    return encode(message(EPISODE_LABELS, *said), EPISODE_LABELS)


def _label(change: Change) -> bytes:
    span = change.span
    if span is None:
        end_s = change.time_ns / SECOND_NS
        return encode(message(LABEL, "", end_s, end_s, "{}"), LABEL)
    attributes = json.dumps(span.attributes, ensure_ascii=False)
    said = (span.label, span.start_ns / SECOND_NS, span.end_ns / SECOND_NS, attributes)
    return encode(message(LABEL, *said), LABEL)
