"""Whether people stay nearer to a proposal because they were shown it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, select

from corporeal.catalog.tables import LABEL_TASK
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.comparison.comparison import compare
from corporeal.labelling.tasks.label_task import from_row
from corporeal.labelling.tasks.pair import stamps_of
from corporeal.labelling.taxonomy.document import Taxonomy

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
