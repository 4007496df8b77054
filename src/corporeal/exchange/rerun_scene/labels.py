"""Labels in a scene: words in the list of events, and a lane of states from begin to end."""

from __future__ import annotations

import numpy as np

from corporeal.episode.label_track import LabelSpan
from corporeal.exchange.label_changes import label_changes
from corporeal.exchange.rerun_scene.panels import EVENTS
from corporeal.exchange.rerun_scene.timeline import Scene
from corporeal.exchange.rerun_scene.viewer import rerun
from corporeal.exchange.table import Table
from corporeal.units import SECOND_NS

LANES = "/labels"


def label_places(table: Table) -> tuple[tuple[str, str], ...]:
    """How lanes are shown, and where: each as text and as states."""
    names = [lane.name for lane in table.layout.lanes]
    texts = tuple(("text", f"{EVENTS}/labels/{name}") for name in names)
    return (*texts, *(("state", f"{LANES}/{name}") for name in names))


def add_labels(scene: Scene, table: Table) -> None:
    """Every segment in words at the time at which it begins, and as a state until it ends."""
    labels = table.recording.labels
    if labels is None:
        return
    for lane in table.layout.lanes:
        spans = labels.in_lane(lane.name)
        if spans:
            _add_words(scene, f"{EVENTS}/labels/{lane.name}", spans)
            _add_states(scene, f"{LANES}/{lane.name}", spans)


def _add_words(scene: Scene, entity: str, spans: tuple[LabelSpan, ...]) -> None:
    stamps = np.array([span.start_ns for span in spans], np.int64)
    texts = [_words(span) for span in spans]
    scene.add(entity, stamps, rerun().TextLog.columns(text=texts))


def _add_states(scene: Scene, entity: str, spans: tuple[LabelSpan, ...]) -> None:
    changes = list(label_changes(spans))
    stamps = np.array([each.time_ns for each in changes], np.int64)
    states = [each.span.label for each in changes if each.span is not None]
    # What holds no state is an empty row: `rrd verify` refuses a null among texts.
    sizes = [0 if each.span is None else 1 for each in changes]
    scene.add(entity, stamps, rerun().StateChange.columns(state=states).partition(sizes))


def _words(span: LabelSpan) -> str:
    said = ", ".join(str(each) for each in span.attributes.values() if each is not None)
    until = f" until {span.end_ns / SECOND_NS:.2f} s" if span.end_ns > span.start_ns else ""
    return f"{span.lane}: {span.label}" + (f" ({said})" if said else "") + until
