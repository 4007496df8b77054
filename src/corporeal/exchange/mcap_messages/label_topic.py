"""Labels as topics: a text message in JSON for every segment, at the time at which it begins."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from corporeal.episode.label_track import LabelTrack, Span
from corporeal.exchange.mcap_messages.log_writer import Batch, LogWriter
from corporeal.exchange.mcap_messages.media import TEXT
from corporeal.exchange.mcap_messages.message_type import definition, encode, message
from corporeal.units import SECOND_NS


def label_topics(
    log: LogWriter, labels: LabelTrack | None, offset_ns: int
) -> list[Iterator[Batch]]:
    """A topic `/labels/LANE` for every lane in which something is said."""
    queues: list[Iterator[Batch]] = []
    for lane in labels.used_lanes if labels is not None else ():
        spans = labels.in_lane(lane.name) if labels is not None else ()
        channel = log.add_topic(
            f"/labels/{lane.name}", TEXT, definition(TEXT), made_from="labels of people"
        )
        stamps = np.array([max(0, span.start_ns + offset_ns) for span in spans], np.uint64)
        texts = [encode(message(TEXT, _text(span)), TEXT) for span in spans]
        queues.append(iter([Batch(channel, 0, stamps, texts)]))
    return queues


def _text(span: Span) -> str:
    said = {
        "label": span.label,
        "start_s": span.start_ns / SECOND_NS,
        "end_s": span.end_ns / SECOND_NS,
        "attributes": span.attributes,
    }
    return json.dumps(said, ensure_ascii=False)
