"""What an episode came from and what became of it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from corporeal.release.lineage import lineage_of
from corporeal.studio.authentication import Reader
from corporeal.studio.context import StudioDep

ROUTER = APIRouter(tags=["lineage"])
_DEPTH = 2
_MOST = 6


class LineageNode(BaseModel):
    """One thing in the history; `id` is kind:name."""

    id: str
    kind: str
    label: str
    facts: dict[str, Any]


class LineageEdge(BaseModel):
    """`child` came from `parent`."""

    child: str
    parent: str
    relation: str


class Lineage(BaseModel):
    """The history of one episode, a few steps up and down."""

    subject: str
    nodes: list[LineageNode]
    edges: list[LineageEdge]


@ROUTER.get("/episodes/{episode_id}/lineage")
def lineage(episode_id: str, studio: StudioDep, actor: Reader) -> Lineage:
    """What the episode came from and what became of it; many of one kind are counted.

    Guests see the episode alone: all else tells of people, devices and other recordings.
    """
    studio.shelf.row(episode_id)
    if actor.guest:
        subject = f"episode:{episode_id}"
        node = LineageNode(id=subject, kind="episode", label=episode_id, facts={})
        return Lineage(subject=subject, nodes=[node], edges=[])
    with studio.workspace.database.read() as connection:
        graph = lineage_of(connection, f"episode:{episode_id}", depth=_DEPTH, most=_MOST)
    return Lineage.model_validate(graph.to_json())
