"""The trace of a frame as a history to draw: from its sensors to the row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from corporeal.catalog.ingestion import NOTHING
from corporeal.release.lineage.frame_trace import FrameTrace, SampleTrace
from corporeal.release.lineage.graph import GraphEdge, GraphNode, LineageGraph
from corporeal.units import SECOND_NS

_FACTS = {
    "operator": "made_by",
    "session": "recorded_in",
    "station": "recorded_at",
    "calibration": "calibrated_with",
    "protocol": "follows",
    "environment": "recorded_at",
}


def history_of(trace: FrameTrace) -> LineageGraph:
    """Row, then the samples that it rests on, then their sensors and all behind the episode."""
    subject = f"frame:{trace.episode}@{trace.row}"
    label = f"row {trace.row} of {Path(trace.dataset).name}, at {trace.time_ns / SECOND_NS:.3f} s"
    nodes = {subject: GraphNode(subject, label, {"time_ns": trace.time_ns})}
    edges: dict[GraphEdge, None] = {}
    for node, edge in (*_released(trace, subject), *_behind(trace), *_samples(trace, subject)):
        nodes.setdefault(node.id, node)
        edges[edge] = None
    return LineageGraph(subject, tuple(nodes.values()), tuple(edges))


def _episode(trace: FrameTrace) -> GraphNode:
    words = [f"episode {trace.episode[-12:]}", trace.facts.get("task")]
    return GraphNode(f"episode:{trace.episode}", ", ".join(filter(None, words)))


def _samples(trace: FrameTrace, subject: str) -> Iterator[tuple[GraphNode, GraphEdge]]:
    for sample in trace.samples:
        node = GraphNode(f"sample:{sample.stream} {sample.samples}", _words(sample))
        yield node, GraphEdge(subject, node.id, sample.column)
        if sample.serial is not None:
            sensor = GraphNode(
                f"sensor:{sample.serial}", f"{sample.sensor}, serial {sample.serial}"
            )
            yield sensor, GraphEdge(node.id, sensor.id, "sensed_by")


def _words(sample: SampleTrace) -> str:
    name = sample.stream.rsplit("/", 1)[-1]
    if not sample.samples:
        return f"{name}, {sample.method}"
    numbers = " and ".join(map(str, sorted(sample.samples)))
    return f"{name} {numbers}, at {sample.stamps_ns[0] / SECOND_NS:.4f} s"


def _released(trace: FrameTrace, subject: str) -> Iterator[tuple[GraphNode, GraphEdge]]:
    episode = _episode(trace)
    if not trace.releases:
        yield episode, GraphEdge(subject, episode.id, "exported_from")
    for name in trace.releases:
        release = GraphNode(f"release:{name}", f"release {name}")
        yield release, GraphEdge(subject, release.id, "released_in")
        yield episode, GraphEdge(release.id, episode.id, "contains")


def _behind(trace: FrameTrace) -> Iterator[tuple[GraphNode, GraphEdge]]:
    """Everything that stands behind the episode."""
    episode = _episode(trace)
    stored = GraphNode(f"object:{trace.hash}", trace.hash[:23])
    yield stored, GraphEdge(episode.id, stored.id, "stored_as")
    for kind, document in trace.documents.items():
        node = GraphNode(f"document:{document['hash']}",
                    f"{kind} {document['name']}@{document['version']}")  # fmt: skip
        yield node, GraphEdge(episode.id, node.id, kind)
    for kind, relation in _FACTS.items():
        value = trace.facts.get(kind)
        if str(value or "").lower() not in NOTHING and kind not in trace.documents:
            node = GraphNode(f"{kind}:{value}", f"{kind} {value}")
            yield node, GraphEdge(episode.id, node.id, relation)
