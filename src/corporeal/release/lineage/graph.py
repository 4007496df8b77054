"""A history as nodes and edges: every edge leads from a thing to what it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


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
class GraphEdge:
    """`child` came from `parent`."""

    child: str
    parent: str
    relation: str


@dataclass(frozen=True)
class LineageGraph:
    """The history of `subject`: its ancestors, its descendants, and how they hang together."""

    subject: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]

    def node(self, name: str) -> GraphNode:
        """The node with this id."""
        return next(each for each in self.nodes if each.id == name)

    def parents(self, name: str) -> list[GraphEdge]:
        """What a node came from."""
        return [edge for edge in self.edges if edge.child == name]

    def children(self, name: str) -> list[GraphEdge]:
        """What came of a node."""
        return [edge for edge in self.edges if edge.parent == name]

    def to_json(self) -> dict[str, Any]:
        """The graph as plain values."""
        return {
            "subject": self.subject,
            "nodes": [
                {"id": each.id, "kind": each.kind, "label": each.label, "facts": dict(each.facts)}
                for each in self.nodes
            ],
            "edges": [dict(each.__dict__) for each in self.edges],
        }
