"""Pairs of annotations that both people have submitted, compared with each other and a lead's."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, select, true

from corporeal.catalog.tables import EPISODE, LABEL_TASK
from corporeal.labelling.adjudication.adjudication import stamps_of
from corporeal.labelling.agreement.comparison import Agreement, by_rule, compare
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.frames import assumed_stamps, frames_from_json
from corporeal.labelling.tasks.label_task import from_row
from corporeal.labelling.taxonomy.document import Taxonomy
from corporeal.labelling.taxonomy.taxonomy_store import kept_taxonomy

_OVER = ("submitted", "done")
_MOST, _BLOCK = 5000, 500
"""The newest pairs that figures rest on; episodes that are asked for at once."""
_KEPT: OrderedDict[tuple[str, int, str, int], Agreement] = OrderedDict()
_LOCK = threading.Lock()


@dataclass(frozen=True)
class ComparedPair:
    """Two people on one episode: who they are, what they began with, how far they agree.

    Differences are the second's minus the first's.
    """

    pair: str
    episode: str
    queue: str
    taxonomy: str
    at: str
    people: tuple[str, str]
    proposed: tuple[bool, bool]
    agreement: Agreement

    def seen_by(self, name: str) -> Agreement:
        """The same with this person as the second: positive differences mean that they are late."""
        return self.agreement if self.people[1] == name else turned(self.agreement)


def compared_pairs(
    connection: Connection,
    where: ColumnElement[bool] | None = None,
    *,
    taxonomy: str | None = None,
    queue: str | None = None,
    most: int | None = _MOST,
) -> list[ComparedPair]:
    """Every pair that both have submitted, of episodes that `where` holds for, the oldest first.

    With the hash of a `taxonomy` or a `queue`, only pairs of it; the newest ones, `most` of them.
    """
    query = (
        select(LABEL_TASK, EPISODE.c.duration_s)
        .join(EPISODE, EPISODE.c.id == LABEL_TASK.c.episode)
        .where(LABEL_TASK.c.pair.is_not(None), LABEL_TASK.c.kind == "annotate",
               LABEL_TASK.c.state.in_(_OVER), true() if where is None else where)
        .order_by(LABEL_TASK.c.changed_at.desc())
        .limit(None if most is None else 2 * most)
    )  # fmt: skip
    if taxonomy is not None:
        query = query.where(LABEL_TASK.c.taxonomy == taxonomy)
    if queue is not None:
        query = query.where(LABEL_TASK.c.queue == queue)
    tasks: dict[str, list[Mapping[str, Any]]] = {}
    for row in connection.execute(query).mappings():
        tasks.setdefault(str(row["pair"]), []).append(dict(row))
    whole = [rows for rows in tasks.values() if len(rows) == 2]
    return sorted(_compared(connection, whole), key=lambda each: (each.at, each.pair))


def _compared(
    connection: Connection, pairs: Sequence[Sequence[Mapping[str, Any]]]
) -> Iterator[ComparedPair]:
    for rows in pairs:
        first, second = sorted(rows, key=lambda row: int(row["settings"].get("place", 1)))
        found = _agreement(connection, first, second)
        yield ComparedPair(
            pair=str(first["pair"]),
            episode=str(first["episode"]),
            queue=str(first["queue"]),
            taxonomy=str(first["taxonomy"]),
            at=max(str(first["changed_at"]), str(second["changed_at"])),
            people=(first["assigned_to"] or "", second["assigned_to"] or ""),
            proposed=(_was_proposed(first), _was_proposed(second)),
            agreement=found,
        )


def _agreement(
    connection: Connection, first: Mapping[str, Any], second: Mapping[str, Any]
) -> Agreement:
    """Versions of tasks never change, so a comparison of two is made once."""
    key = (str(first["id"]), int(first["version"]), str(second["id"]), int(second["version"]))
    with _LOCK:
        found = _KEPT.get(key)
    if found is not None:
        return found
    taxonomy = kept_taxonomy(connection, str(first["taxonomy"]))
    one, two = (Annotation.model_validate(each["content"]) for each in (first, second))
    made = compare(one, two, taxonomy, stamps_of_row(first))
    with _LOCK:
        _KEPT[key] = made
        while len(_KEPT) > _MOST:
            _KEPT.popitem(last=False)
    return made


def stamps_of_row(row: Mapping[str, Any]) -> NDArray[np.int64]:
    """The stamps that a task's frames are counted by: those noted, else thirty a second."""
    frames = frames_from_json(row["settings"].get("frames"))
    if frames is not None and len(frames.stamps):
        return frames.stamps
    return assumed_stamps(row["duration_s"])


def turned(agreement: Agreement) -> Agreement:
    """The same agreement with the two people the other way round."""
    lanes = tuple(
        replace(
            lane,
            pairs=tuple((two, one) for one, two in lane.pairs),
            differences=tuple((rule, -step) for rule, step in lane.differences),
        )
        for lane in agreement.lanes
    )
    attributes = tuple((name, two, one) for name, one, two in agreement.attributes)
    return replace(agreement, lanes=lanes, attributes=attributes)


def _was_proposed(row: Mapping[str, Any]) -> bool:
    settings = row["settings"]
    return bool(settings.get("proposed")) and not settings.get("blind")


def distances_to_lead(
    connection: Connection, pairs: Sequence[ComparedPair]
) -> dict[str, list[int]]:
    """Frames between what people said and what a lead decided, by rule, over adjudicated pairs."""
    wanted = {each.pair for each in pairs}
    episodes = list(dict.fromkeys(each.episode for each in pairs))
    found: dict[str, list[int]] = {}
    for first in range(0, len(episodes), _BLOCK):
        part = episodes[first : first + _BLOCK]
        rows = connection.execute(
            select(LABEL_TASK, EPISODE.c.duration_s)
            .join(EPISODE, EPISODE.c.id == LABEL_TASK.c.episode)
            .where(LABEL_TASK.c.kind == "adjudicate", LABEL_TASK.c.state == "done",
                   LABEL_TASK.c.episode.in_(part))
        ).mappings()  # fmt: skip
        for row in rows:
            if row["settings"].get("of") not in wanted:
                continue
            taxonomy = kept_taxonomy(connection, str(row["taxonomy"]))
            truth = Annotation.model_validate(row["content"])
            sides = (str(row["settings"][side]) for side in ("first", "second"))
            said = [_content(connection, name) for name in sides]
            made = [compare(truth, each, taxonomy, stamps_of_row(dict(row))) for each in said]
            for rule, steps in by_rule(made).items():
                found.setdefault(rule, []).extend(steps)
    return found


def _content(connection: Connection, task_id: str) -> Annotation:
    query = select(LABEL_TASK.c.content).where(LABEL_TASK.c.id == task_id)
    return Annotation.model_validate(connection.execute(query).scalar_one())


FEWEST = 10
_TIMES, _FRAMES = 2.0, 1.0


@dataclass(frozen=True)
class ProposalBias:
    """Mean distance in frames from people's boundaries to the proposal's, shown it and not."""

    with_tasks: int
    with_boundaries: int
    with_frames: float
    without_tasks: int
    without_boundaries: int
    without_frames: float

    @property
    def is_suspicious(self) -> bool:
        """Whether those who saw no proposal end up at least twice, and a frame, further away."""
        if min(self.with_boundaries, self.without_boundaries) < FEWEST:
            return False
        apart = self.without_frames - self.with_frames
        return apart > _FRAMES and self.without_frames > _TIMES * self.with_frames


def measure_proposal_bias(
    connection: Connection,
    taxonomy: Taxonomy,
    *,
    since: str | None = None,
    queue: str | None = None,
) -> ProposalBias:
    """The distance to the proposal of all that was submitted, with and without it in sight."""
    query = select(LABEL_TASK).where(
        LABEL_TASK.c.taxonomy == taxonomy.hash,
        LABEL_TASK.c.kind == "annotate",
        LABEL_TASK.c.state.in_(("submitted", "done")),
    )
    if queue is not None:
        query = query.where(LABEL_TASK.c.queue == queue)
    if since is not None:
        query = query.where(LABEL_TASK.c.changed_at >= since)
    counts, steps = {True: 0, False: 0}, {True: [0] * 0, False: [0] * 0}
    for row in connection.execute(query).mappings():
        held = from_row(dict(row))
        if not held.settings.get("proposed"):
            continue
        proposal = row["settings"]["proposal"] if held.is_blind else held.start
        found = compare(
            Annotation.model_validate(proposal), held.annotation, taxonomy,
            stamps_of(connection, held),
        )  # fmt: skip
        counts[held.is_blind] += 1
        steps[held.is_blind] += [step for lane in found.lanes for _, step in lane.differences]
    return ProposalBias(
        counts[False], len(steps[False]), _mean(steps[False]),
        counts[True], len(steps[True]), _mean(steps[True]),
    )  # fmt: skip


def _mean(steps: list[int]) -> float:
    return float(np.abs(steps).mean()) if steps else math.nan
