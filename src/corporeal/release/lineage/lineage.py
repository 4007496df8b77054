"""Lineage: what a thing came from, and what became of it, as far as the catalogue knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, func, select

from corporeal.catalog.database import CatalogError
from corporeal.catalog.tables import (
    DOCUMENT,
    EDGE,
    EPISODE,
    GOVERNS,
    MEMBER,
    RELEASE,
)
from corporeal.labelling.labels import label_summary
from corporeal.labelling.tasks import editors_of, task_summaries
from corporeal.release.lineage.graph import GraphEdge, GraphNode, LineageGraph

MOST = 12
"""Neighbours of one kind that are shown of a node; the rest is one node that counts them."""
MORE = "more"


@dataclass(frozen=True)
class _Step:
    """Neighbours of a node, and how many more there are."""

    edges: tuple[GraphEdge, ...]
    others: int = 0


def lineage_of(
    connection: Connection, subject: str, *, depth: int = 4, most: int = MOST
) -> LineageGraph:
    """The history of `kind:id`, such as episode:ID, release:NAME@VERSION or document:sha256:...

    Upwards and downwards `depth` steps. Of a node with many neighbours of one kind `most` are
    there, and one node that counts the others. Raises CatalogError for what is not known.
    """
    edges: dict[GraphEdge, None] = {}
    counts: dict[str, GraphNode] = {}
    for neighbours in (_parents, _children):
        seen = {subject}
        front = [subject]
        for _ in range(max(0, depth)):
            found: list[str] = []
            for name in front:
                for step in neighbours(connection, name, most):
                    edges |= dict.fromkeys(step.edges)
                    found += [_far_end(edge, name) for edge in step.edges]
                    if step.others:
                        more = _more(name, step)
                        counts[more[0].id] = more[0]
                        edges[more[1]] = None
            front = [name for name in dict.fromkeys(found) if name not in seen]
            seen.update(front)
    names = dict.fromkeys([subject, *(n for edge in edges for n in (edge.child, edge.parent))])
    labelled = _nodes(connection, [name for name in names if name not in counts])
    if not edges and subject not in labelled:
        raise _unknown(subject)
    nodes = tuple(counts.get(name) or labelled.get(name) or _plain(name) for name in names)
    return LineageGraph(subject, nodes, tuple(edges))


def _unknown(subject: str) -> CatalogError:
    return CatalogError(
        f"lineage of {subject[:120]!r}, got nothing in the catalogue; expected episode:ID, "
        "release:NAME@VERSION, document:HASH or anything that an episode came from, such as "
        "session:NAME. List episodes with: corporeal ls."
    )


def _far_end(edge: GraphEdge, name: str) -> str:
    return edge.parent if edge.child == name else edge.child


def _more(name: str, step: _Step) -> tuple[GraphNode, GraphEdge]:
    """The node that stands for all neighbours which are not shown."""
    first = step.edges[0]
    upwards = first.child == name
    kind = _far_end(first, name).partition(":")[0]
    way = "above" if upwards else "below"
    plural = "s" if step.others > 1 else ""
    node = GraphNode(f"{MORE}:{kind} {way} {name}", f"and {step.others:,} more {kind}{plural}",
                {"count": step.others})  # fmt: skip
    ends = (name, node.id) if upwards else (node.id, name)
    return node, GraphEdge(*ends, first.relation)


def _parents(connection: Connection, name: str, most: int) -> list[_Step]:
    kind, _, own = name.partition(":")
    steps = [_by_edge(connection, name, most, upwards=True)]
    if kind == "episode":
        query = select(GOVERNS.c.kind, GOVERNS.c.document).where(GOVERNS.c.episode == own)
        rows = connection.execute(query.order_by(GOVERNS.c.kind)).all()
        governs = (GraphEdge(name, f"document:{row.document}", row.kind) for row in rows)
        steps.append(_Step(tuple(governs)))
        steps.append(_Step(tuple(labels_behind(connection, own))))
    elif kind in LABEL_KINDS:
        steps.append(_Step(tuple(label_parents(connection, kind, own))))
    elif kind == "release":
        steps.append(_members(connection, name, most))
    return [step for step in steps if step.edges]


def _members(connection: Connection, name: str, most: int) -> _Step:
    release, version = _named_release(name)
    mine = (MEMBER.c.name == release) & (MEMBER.c.version == version)
    query = select(MEMBER.c.episode, MEMBER.c.split).where(mine).order_by(MEMBER.c.episode)
    return _limited(
        connection, query, most, lambda row: GraphEdge(name, f"episode:{row.episode}", row.split)
    )


def _children(connection: Connection, name: str, most: int) -> list[_Step]:
    kind, _, own = name.partition(":")
    steps = [_by_edge(connection, name, most, upwards=False)]
    if kind == "document":
        query = (
            select(GOVERNS.c.episode, GOVERNS.c.kind)
            .where(GOVERNS.c.document == own)
            .order_by(GOVERNS.c.episode)
        )
        steps.append(_limited(
            connection, query, most,
            lambda row: GraphEdge(f"episode:{row.episode}", name, row.kind),
        ))  # fmt: skip
    elif kind == "episode":
        query = (
            select(MEMBER.c.name, MEMBER.c.version, MEMBER.c.split)
            .where(MEMBER.c.episode == own)
            .order_by(MEMBER.c.name, MEMBER.c.version)
        )
        steps.append(_limited(
            connection, query, most,
            lambda row: GraphEdge(f"release:{row.name}@{row.version}", name, row.split),
        ))  # fmt: skip
    return [step for step in steps if step.edges]


def _by_edge(connection: Connection, name: str, most: int, *, upwards: bool) -> _Step:
    near, far = (EDGE.c.child, EDGE.c.parent) if upwards else (EDGE.c.parent, EDGE.c.child)
    query = select(EDGE).where(near == name).order_by(EDGE.c.relation, far)
    # What an episode came from is all shown: it is a handful, and each is of another kind.
    limit = most if not upwards or name.startswith("release:") else 8 * most
    return _limited(
        connection, query, limit, lambda row: GraphEdge(row.child, row.parent, row.relation)
    )


def _limited(
    connection: Connection,
    query: Select[*tuple[Any, ...]],
    most: int,
    edge: Callable[[Any], GraphEdge],
) -> _Step:
    rows = connection.execute(query.limit(most + 1)).all()
    if len(rows) <= most:
        return _Step(tuple(edge(row) for row in rows))
    whole = connection.execute(
        select(func.count()).select_from(query.order_by(None).subquery())
    ).scalar_one()
    return _Step(tuple(edge(row) for row in rows[:most]), int(whole) - most)


def _nodes(connection: Connection, names: Sequence[str]) -> dict[str, GraphNode]:
    """Nodes of things that have a table of their own, with what that says of them."""
    by_kind: dict[str, list[str]] = {}
    for name in names:
        kind, _, own = name.partition(":")
        by_kind.setdefault(kind, []).append(own)
    found: dict[str, GraphNode] = {}
    readers = (("episode", _episodes), ("release", _releases), ("document", _documents),
               ("labels", label_nodes), ("label_task", label_task_nodes))  # fmt: skip
    for kind, read in readers:
        found |= {each.id: each for each in read(connection, by_kind.get(kind, []))}
    return found


def _plain(name: str) -> GraphNode:
    """A thing that is known by its name alone."""
    kind, _, own = name.partition(":")
    return GraphNode(name, f"{kind} {own}")


def _episodes(connection: Connection, ids: Sequence[str]) -> Iterable[GraphNode]:
    columns = ("id", "task", "state", "operator", "robot", "score", "hash", "duration_s", "file")
    query = select(*(EPISODE.c[name] for name in columns)).where(EPISODE.c.id.in_(ids))
    for row in connection.execute(query).mappings() if ids else ():
        words = [f"episode {row['id'][-12:]}", row["task"], row["state"]]
        yield GraphNode(f"episode:{row['id']}", ", ".join(filter(None, words)), dict(row))


def _releases(connection: Connection, names: Sequence[str]) -> Iterable[GraphNode]:
    for name in names:
        release, version = _named_release(f"release:{name}")
        query = select(RELEASE).where(RELEASE.c.name == release, RELEASE.c.version == version)
        row = connection.execute(query).mappings().first()
        if row is not None:
            shown = ("manifest", "condition", "episodes", "created_at", "created_by")
            label = f"release {name}, {row['episodes']:,} episodes"
            yield GraphNode(f"release:{name}", label, {each: row[each] for each in shown})


def _documents(connection: Connection, hashes: Sequence[str]) -> Iterable[GraphNode]:
    columns = (DOCUMENT.c.hash, DOCUMENT.c.kind, DOCUMENT.c.name, DOCUMENT.c.version)
    query = select(*columns).where(DOCUMENT.c.hash.in_(hashes))
    for row in connection.execute(query).mappings() if hashes else ():
        reference = f"{row['name']}@{row['version']}" if row["version"] else row["name"]
        yield GraphNode(f"document:{row['hash']}", f"{row['kind']} {reference}", dict(row))


def _named_release(name: str) -> tuple[str, str]:
    release, _, version = name.removeprefix("release:").partition("@")
    return release, version


LABEL_KINDS = ("labels", "label_task")
_MOST_PEOPLE = 12


def labels_behind(connection: Connection, episode: str) -> Iterator[GraphEdge]:
    """The labels of an episode that are in force."""
    labels = label_summary(connection, episode)
    if labels is not None:
        yield GraphEdge(f"episode:{episode}", f"labels:{episode}/{labels['number']}", "labelled")


def label_parents(connection: Connection, kind: str, own: str) -> Iterator[GraphEdge]:
    """What labels, or a task that made some, came from."""
    if kind == "labels":
        yield from _of_labels(connection, own)
        return
    for who in editors_of(connection, own)[:_MOST_PEOPLE]:
        yield GraphEdge(f"label_task:{own}", f"annotator:{who}", "edited_by")


def _of_labels(connection: Connection, own: str) -> Iterator[GraphEdge]:
    labels = label_summary(connection, *_parts(own))
    if labels is None:
        return
    name = f"labels:{own}"
    yield GraphEdge(name, f"document:{labels['taxonomy']}", "taxonomy")
    yield GraphEdge(name, f"annotator:{labels['who']}", "annotated_by")
    if labels["task"] is not None:
        yield GraphEdge(name, f"label_task:{labels['task']}", "made_in")


def label_nodes(connection: Connection, names: Sequence[str]) -> Iterable[GraphNode]:
    """Labels with what the catalogue says of each version."""
    for own in names:
        labels = label_summary(connection, *_parts(own))
        if labels is not None:
            stale = ", no longer in force" if labels["stale"] is not None else ""
            facts = {name: value for name, value in labels.items() if name != "episode"}
            yield GraphNode(f"labels:{own}", f"labels, version {labels['number']}{stale}", facts)


def label_task_nodes(connection: Connection, names: Sequence[str]) -> Iterable[GraphNode]:
    """Tasks with their kind, queue and state."""
    for row in task_summaries(connection, names):
        label = f"task to {row['kind']}, queue {row['queue']}"
        yield GraphNode(f"label_task:{row['id']}", label, row)


def _parts(own: str) -> tuple[str, int]:
    """The episode and the version in `EPISODE/NUMBER`; a version of -1 is never there."""
    episode, _, number = own.rpartition("/")
    return episode, int(number) if number.isdecimal() and len(number) < 10 else -1
