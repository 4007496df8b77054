"""Lets proposals count that nobody has looked at, where a lead takes that upon themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import find_episode
from corporeal.catalog.permission import Actor, require
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.completeness import complaints
from corporeal.labelling.labels.versions import Labels, accept_labels
from corporeal.labelling.tasks.label_task import LabelTask, change_state, frames_of, tasks
from corporeal.labelling.taxonomy.taxonomy_store import kept_taxonomy

MACHINE = "(machine)"
"""Who made such labels; no account can have this name."""


@dataclass(frozen=True)
class Confident:
    """Labels that now count unseen, and the tasks that people still have to do, with the reason."""

    accepted: tuple[Labels, ...]
    left: tuple[tuple[str, str], ...]


def accept_confident(connection: Connection, queue: str, least: float, *, by: Actor) -> Confident:
    """Let whole proposals count whose every segment is at least so sure, inside a transaction.

    Only tasks that nobody has begun, that are no half of a pair and were not drawn to be done
    without a proposal. Their segments stay unconfirmed, so that they can always be told apart.
    """
    require(by, "judge")
    if not 0 < least <= 1:
        raise CatalogError(f"confidence, got {least}; expected above 0, up to 1.")
    accepted: list[Labels] = []
    left: list[tuple[str, str]] = []
    for held in tasks(connection, queue=queue, state="open", kind="annotate"):
        why = _unfit(connection, held, least)
        if why is not None:
            left.append((held.id, why))
            continue
        said = f"every segment is proposed with a confidence of {least:g} or more; nobody looked"
        accepted.append(accept_labels(
            connection, held.episode, held.annotation, kept_taxonomy(connection, held.taxonomy),
            task_id=held.id, by=by, who=MACHINE, why=said,
        ))  # fmt: skip
        change_state(connection, held, "dropped", by=by, why=said)
    return Confident(tuple(accepted), tuple(left))


def _unfit(connection: Connection, held: LabelTask, least: float) -> str | None:
    if held.pair is not None:
        return "two people are asked, to measure how far they agree"
    if held.is_blind or not held.settings.get("proposed"):
        return "it is done without a proposal"
    if held.version or held.assigned_to is not None:
        return "somebody works on it"
    said = held.annotation
    if not said.segments:
        return "nothing is proposed"
    sure = [each.confidence if each.confidence is not None else 0.0 for each in said.segments]
    if min(sure) < least:
        return f"a segment has a confidence of {min(sure):.2f}"
    frames = frames_of(connection, held.id)
    told = complaints(
        _as_confirmed(said), kept_taxonomy(connection, held.taxonomy),
        task=find_episode(connection, held.episode).task,
        stamps=frames.stamps if frames is not None else np.zeros(0, np.int64),
    )  # fmt: skip
    return told[0] if told else None


def _as_confirmed(said: Annotation) -> Annotation:
    seen = tuple(each.model_copy(update={"confirmed": True}) for each in said.segments)
    return said.model_copy(update={"segments": seen})
