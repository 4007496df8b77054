"""Where the boxes of a drawn history stand: columns by age, rows so that few lines cross."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from corporeal.release.lineage.graph import Edge, Graph

_SWEEPS = 4


@dataclass(frozen=True)
class Place:
    """A column from the left, 0 the oldest, and a row from the top, which may be a half one.

    `is_later` marks what became of the subject.
    """

    column: int
    row: float
    is_later: bool


def places_of(graph: Graph) -> dict[str, Place]:
    """A place for every node; parents stand left of their children."""
    above = _distances(graph, graph.parents, lambda edge: edge.parent)
    below = _distances(graph, graph.children, lambda edge: edge.child)
    levels = {name: -far for name, far in above.items()}
    levels |= {name: far for name, far in below.items() if name not in above}
    for node in graph.nodes:
        levels.setdefault(node.id, 0)
    oldest = min(levels.values())
    columns: dict[int, list[str]] = defaultdict(list)
    for node in graph.nodes:
        columns[levels[node.id] - oldest].append(node.id)
    rows = _rows(graph, columns)
    tallest = max(len(names) for names in columns.values())
    return {
        name: Place(column, rows[name] + (tallest - len(names)) / 2,
                    name in below and name not in above)
        for column, names in columns.items()
        for name in names
    }  # fmt: skip


def _distances(
    graph: Graph, next_edges: Callable[[str], list[Edge]], far: Callable[[Edge], str]
) -> dict[str, int]:
    """The longest way from the subject to each node; a circle is walked once."""
    found = {graph.subject: 0}
    front = [graph.subject]
    for step in range(1, len(graph.nodes)):
        front = list(dict.fromkeys(far(edge) for name in front for edge in next_edges(name)))
        front = [name for name in front if name != graph.subject]
        if not front:
            break
        found |= dict.fromkeys(front, step)
    return found


def _rows(graph: Graph, columns: dict[int, list[str]]) -> dict[str, float]:
    """Neighbours at about the same height: every node moves to the middle of its own."""
    near: dict[str, list[str]] = defaultdict(list)
    for edge in graph.edges:
        near[edge.child].append(edge.parent)
        near[edge.parent].append(edge.child)
    rows = {name: float(row) for names in columns.values() for row, name in enumerate(names)}
    for _ in range(_SWEEPS):
        for names in columns.values():
            middle = (len(names) - 1) / 2
            wanted = {
                name: sum(rows[each] for each in near[name]) / len(near[name])
                if near[name]
                else middle
                for name in names
            }
            names.sort(key=lambda name: wanted[name])
            rows |= {name: float(row) for row, name in enumerate(names)}
    return rows
