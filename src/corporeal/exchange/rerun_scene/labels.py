"""Labels in a scene: words in the list of events, and a line of steps for every lane."""

from __future__ import annotations

import numpy as np

from corporeal.episode.label_track import Span
from corporeal.episode.recording import ArraySignal
from corporeal.exchange.rerun_scene.panels import EVENTS
from corporeal.exchange.rerun_scene.plots import Lines, Plot
from corporeal.exchange.rerun_scene.timeline import Scene
from corporeal.exchange.rerun_scene.viewer import rerun
from corporeal.exchange.table import Table
from corporeal.schema.stream import Stream

TAB = "Labels"


def label_places(table: Table) -> tuple[tuple[str, str], ...]:
    """How lanes are shown, and where."""
    return tuple(("text", f"{EVENTS}/labels/{lane.name}") for lane in table.layout.lanes)


def label_plots(table: Table) -> tuple[Plot, ...]:
    """A panel for every lane: the place of each row's label in the lane, -1 for none."""
    plots = []
    for lane in table.layout.lanes:
        spec = Stream(name="label", group="observations", dtype="int64", shape=(1,),
                      rate_hz=table.rate_hz, interpolation="nearest")  # fmt: skip
        signal = ArraySignal(spec, table.time_ns, table.labels[lane.name].reshape(-1, 1))
        listed = ", ".join(f"{number} {label}" for number, label in enumerate(lane.labels[:12]))
        lines = Lines(f"/labels/{lane.name}", signal, (0,), (listed,))
        plots.append(Plot(TAB, lane.name, [lines]))
    return tuple(plots)


def add_labels(scene: Scene, table: Table) -> None:
    """The words of every segment at the time at which it begins; lines are added as plots."""
    labels = table.recording.labels
    for lane in table.layout.lanes if labels is not None else ():
        spans = labels.in_lane(lane.name) if labels is not None else ()
        if not spans:
            continue
        stamps = np.array([span.start_ns for span in spans], np.int64)
        texts = [_words(span) for span in spans]
        entity = f"{EVENTS}/labels/{lane.name}"
        scene.add(entity, stamps, rerun().TextLog.columns(text=texts))


def _words(span: Span) -> str:
    said = ", ".join(str(each) for each in span.attributes.values() if each is not None)
    return f"{span.lane}: {span.label}" + (f" ({said})" if said else "")
