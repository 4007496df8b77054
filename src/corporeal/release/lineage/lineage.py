"""Lineage: what a thing came from, and what became of it, as far as the catalogue knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, select

from corporeal.catalog.audit import latest_events
from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import (
    HistoryEdge,
    documents_of,
    edges_of,
    episodes_under,
    find_documents,
    find_episode,
    limited,
)
from corporeal.catalog.query import read_fields
from corporeal.catalog.tables import MEMBER, RELEASE
from corporeal.labelling.labels import label_summary
from corporeal.labelling.tasks import editors_of, task_summaries
from corporeal.release.lineage.calibration_history import calibration_history, history_steps

MOST = 12
"""Neighbours of one kind that are shown of a node; the rest is one node that counts them."""
MORE = "more"
TRAINED_ON, MODEL_EVENT = "trained_on", "model"
"""How a model hangs on its release, and the event of the audit log that says more of it."""
_MOST_PEOPLE = 12
_EPISODE = (
    "id",
    "number",
    "task",
    "state",
    "operator",
    "robot",
    "score",
    "hash",
    "duration_s",
    "file",
)
_RELEASE = ("manifest", "condition", "episodes", "created_at", "created_by")
_Step = tuple[Sequence[HistoryEdge], int]
"""Neighbours of a node, and how many more there are."""


@dataclass(frozen=True)
class GraphNode:
    """One thing in the history: `id` is kind:name, `label` its line for people."""

    id: str
    label: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """What sort of thing it is."""
        return self.id.partition(":")[0]


@dataclass(frozen=True)
class LineageGraph:
    """The history of `subject`: its ancestors, its descendants, and how they hang together."""

    subject: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[HistoryEdge, ...]

    def node(self, name: str) -> GraphNode:
        """The node with this id."""
        return next(each for each in self.nodes if each.id == name)

    def parents(self, name: str) -> list[HistoryEdge]:
        """What a node came from."""
        return [edge for edge in self.edges if edge.child == name]

    def to_json(self) -> dict[str, Any]:
        """The graph as plain values."""
        return {
            "subject": self.subject,
            "nodes": [
                {"id": each.id, "kind": each.kind, "label": each.label, "facts": dict(each.facts)}
                for each in self.nodes
            ],
            "edges": [each._asdict() for each in self.edges],
        }


def lineage_of(
    connection: Connection, subject: str, *, depth: int = 4, most: int = MOST
) -> LineageGraph:
    """The history of `kind:id`, such as episode:ID, release:NAME@VERSION or document:sha256:...

    Upwards and downwards `depth` steps. Of a node with many neighbours of one kind `most` are
    there, and one node that counts the others. Behind an episode that is asked for stands how its
    calibration was verified, and what held it. Raises CatalogError for what is not known.
    """
    edges: dict[HistoryEdge, None] = {}
    known: dict[str, GraphNode] = {}
    for neighbours in (_parents, _children):
        seen = {subject}
        front = [subject]
        for _ in range(max(0, depth)):
            far: list[str] = []
            for name in front:
                for near, others in neighbours(connection, name, most):
                    edges |= dict.fromkeys(near)
                    far += [_far_end(edge, name) for edge in near]
                    if others:
                        node, edge = _more(name, near[0], others)
                        known[node.id] = node
                        edges[edge] = None
            front = [name for name in dict.fromkeys(far) if name not in seen]
            seen.update(front)
    for node, edge in _calibrated(connection, subject):
        known[node.id] = node
        edges[edge] = None
    names = dict.fromkeys([subject, *(n for edge in edges for n in (edge.child, edge.parent))])
    labelled = _nodes(connection, [name for name in names if name not in known])
    if not edges and subject not in labelled:
        raise _unknown(subject)
    nodes = tuple(known.get(name) or labelled.get(name) or _plain(name) for name in names)
    return LineageGraph(subject, nodes, tuple(edges))


def _calibrated(connection: Connection, subject: str) -> Iterator[tuple[GraphNode, HistoryEdge]]:
    """What a calibration says of the one episode that was asked for."""
    kind, _, own = subject.partition(":")
    if kind != "episode":
        return
    try:
        history = calibration_history(connection, find_episode(connection, own))
    except CatalogError:  # Also of one that only others name: what it was is not known.
        return
    for name, label, facts, relation in () if history is None else history_steps(history, own):
        yield GraphNode(name, label, facts), HistoryEdge(subject, name, relation)


def _unknown(subject: str) -> CatalogError:
    return CatalogError(
        f"lineage of {subject[:120]!r}, got nothing in the catalogue; expected episode:ID, "
        "release:NAME@VERSION, model:NAME, document:HASH or anything that an episode came from, "
        "such as session:NAME. List episodes with: corporeal ls."
    )


def _far_end(edge: HistoryEdge, name: str) -> str:
    return edge.parent if edge.child == name else edge.child


def _more(name: str, first: HistoryEdge, others: int) -> tuple[GraphNode, HistoryEdge]:
    """The node that stands for all neighbours which are not shown."""
    upwards = first.child == name
    kind = _far_end(first, name).partition(":")[0]
    way = "above" if upwards else "below"
    plural = "s" if others > 1 else ""
    node = GraphNode(f"{MORE}:{kind} {way} {name}", f"and {others:,} more {kind}{plural}",
                     {"count": others})  # fmt: skip
    ends = (name, node.id) if upwards else (node.id, name)
    return node, HistoryEdge(*ends, first.relation)


def _parents(connection: Connection, name: str, most: int) -> Iterator[_Step]:
    kind, _, own = name.partition(":")
    # What an episode came from is all shown: it is a handful, and each is of another kind.
    limit = most if kind == "release" else 8 * most
    yield edges_of(connection, name, upwards=True, most=limit)
    if kind == "episode":
        behind = documents_of(connection, own)
        yield [HistoryEdge(name, f"document:{each.hash}", each.kind) for each in behind], 0
        labels = label_summary(connection, own)
        if labels is not None:
            yield [HistoryEdge(name, f"labels:{own}/{labels['number']}", "labelled")], 0
    elif kind == "labels":
        yield list(_behind_labels(connection, own)), 0
    elif kind == "label_task":
        people = editors_of(connection, own)[:_MOST_PEOPLE]
        yield [HistoryEdge(name, f"annotator:{who}", "edited_by") for who in people], 0
    elif kind == "release":
        release, _, version = own.partition("@")
        mine = (MEMBER.c.name == release) & (MEMBER.c.version == version)
        query = select(MEMBER.c.episode, MEMBER.c.split).where(mine).order_by(MEMBER.c.episode)
        yield limited(
            connection, query, most,
            lambda row: HistoryEdge(name, f"episode:{row.episode}", row.split),
        )  # fmt: skip


def _behind_labels(connection: Connection, own: str) -> Iterator[HistoryEdge]:
    labels = label_summary(connection, *_parts(own))
    if labels is None:
        return
    name = f"labels:{own}"
    yield HistoryEdge(name, f"document:{labels['taxonomy']}", "taxonomy")
    yield HistoryEdge(name, f"annotator:{labels['who']}", "annotated_by")
    if labels["task"] is not None:
        yield HistoryEdge(name, f"label_task:{labels['task']}", "made_in")


def _children(connection: Connection, name: str, most: int) -> Iterator[_Step]:
    kind, _, own = name.partition(":")
    yield edges_of(connection, name, upwards=False, most=most)
    if kind == "document":
        yield episodes_under(connection, own, most=most)
    elif kind == "episode":
        columns = (MEMBER.c.name, MEMBER.c.version, MEMBER.c.split)
        query = select(*columns).where(MEMBER.c.episode == own).order_by(*columns[:2])
        yield limited(
            connection, query, most,
            lambda row: HistoryEdge(f"release:{row.name}@{row.version}", name, row.split),
        )  # fmt: skip


def _nodes(connection: Connection, names: Sequence[str]) -> dict[str, GraphNode]:
    """Nodes of things that have a table of their own, with what that says of them."""
    by_kind: dict[str, list[str]] = {}
    for name in names:
        kind, _, own = name.partition(":")
        by_kind.setdefault(kind, []).append(own)
    nodes: dict[str, GraphNode] = {}
    readers = (("episode", _episodes), ("release", _releases), ("document", _documents),
               ("labels", _labels), ("label_task", _tasks), ("model", _models))  # fmt: skip
    for kind, read in readers:
        nodes |= {node.id: node for node in read(connection, by_kind.get(kind, []))}
    return nodes


def _plain(name: str) -> GraphNode:
    """A thing that is known by its name alone."""
    kind, _, own = name.partition(":")
    return GraphNode(name, f"{kind} {own}")


def _episodes(connection: Connection, ids: Sequence[str]) -> Iterable[GraphNode]:
    for row in read_fields(connection, *_EPISODE, ids=ids):
        facts = dict(zip(_EPISODE, row, strict=True))
        words = [f"episode #{facts['number']}", facts["task"], facts["state"]]
        yield GraphNode(f"episode:{facts['id']}", ", ".join(filter(None, words)), facts)


def _releases(connection: Connection, names: Sequence[str]) -> Iterable[GraphNode]:
    for name in names:
        release, _, version = name.partition("@")
        query = select(RELEASE).where(RELEASE.c.name == release, RELEASE.c.version == version)
        row = connection.execute(query).mappings().first()
        if row is not None:
            label = f"release {name}, {row['episodes']:,} episodes"
            yield GraphNode(f"release:{name}", label, {each: row[each] for each in _RELEASE})


def _documents(connection: Connection, hashes: Sequence[str]) -> Iterable[GraphNode]:
    for each in find_documents(connection, hashes).values():
        reference = f"{each.name}@{each.version}" if each.version else each.name
        facts = {name: getattr(each, name) for name in ("hash", "kind", "name", "version")}
        yield GraphNode(f"document:{each.hash}", f"{each.kind} {reference}", facts)


def _labels(connection: Connection, names: Sequence[str]) -> Iterable[GraphNode]:
    """Labels with what the catalogue says of each version."""
    for own in names:
        labels = label_summary(connection, *_parts(own))
        if labels is not None:
            stale = ", no longer in force" if labels["stale"] is not None else ""
            facts = {name: value for name, value in labels.items() if name != "episode"}
            yield GraphNode(f"labels:{own}", f"labels, version {labels['number']}{stale}", facts)


def _tasks(connection: Connection, names: Sequence[str]) -> Iterable[GraphNode]:
    """Tasks with their kind, queue and state."""
    for row in task_summaries(connection, names):
        label = f"task to {row['kind']}, queue {row['queue']}"
        yield GraphNode(f"label_task:{row['id']}", label, row)


def _models(connection: Connection, names: Sequence[str]) -> Iterable[GraphNode]:
    """Models with what was said when they were recorded."""
    for name in names:
        events = latest_events(connection, f"model:{name}", [MODEL_EVENT], most=1000)
        if not events:
            continue
        known = [each for each in events if each["details"].get("hash") is not None]
        event = (known or events)[0]
        stated: dict[str, str] = {}
        for each in reversed(events):
            stated |= each["details"].get("metadata") or {}
        facts: dict[str, Any] = {each: event["details"].get(each) for each in ("hash", "file")}
        facts |= {"metadata": stated, "recorded_at": event["at"], "recorded_by": event["who"]}
        label = f"model {name}" + (f", {facts['file']}" if facts["file"] else "")
        yield GraphNode(f"model:{name}", label, facts)


def _parts(own: str) -> tuple[str, int]:
    """The episode and the version in `EPISODE/NUMBER`; a version of -1 is never there."""
    episode, _, number = own.rpartition("/")
    return episode, int(number) if number.isdecimal() and len(number) < 10 else -1
