"""Which labels of an episode somebody may see."""

from __future__ import annotations

from sqlalchemy import Connection

from corporeal.catalog.permission import Actor, may
from corporeal.labelling.labels import Labels, labels_of
from corporeal.labelling.tasks import find_tasks


def seen_labels(connection: Connection, episode: str, actor: Actor) -> Labels | None:
    """The labels in force, stale or not; None for somebody who is still asked for their own.

    Whoever labels an episode must not copy the labels that it has.
    """
    is_asked = find_tasks(connection, episode=episode, assigned_to=actor.name, limit=50)
    is_blind = any(each.is_editable for each in is_asked) and not may(actor, "judge")
    return None if is_blind else labels_of(connection, episode)
