"""Two people's work on one episode: agreed, it counts; else every difference becomes a card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from corporeal.catalog.episodes import find_episode
from corporeal.catalog.permission import Actor
from corporeal.catalog.tables import LABEL_TASK
from corporeal.labelling.annotation import Annotation, Segment
from corporeal.labelling.comparison.comparison import NOTHING, Agreement, LabelDisagreement, compare
from corporeal.labelling.comparison.matching import FrameSpan, pair_up
from corporeal.labelling.frames import assumed_stamps, frame_of
from corporeal.labelling.labels.versions import Labels, accept_labels
from corporeal.labelling.tasks.creation import insert_tasks, new_row
from corporeal.labelling.tasks.label_task import (
    LabelTask,
    change_state,
    frames_of,
    hidden,
    tasks,
)
from corporeal.labelling.taxonomy.document import Taxonomy
from corporeal.labelling.taxonomy.taxonomy_store import kept_taxonomy

AGREED = "two people agree within the tolerance; the labels are those of the first"
ADJUDICATION_PRIORITY = 10


@dataclass(frozen=True)
class Settled:
    """What became of a pair: labels when the two agree, else a task for a lead."""

    agreement: Agreement
    labels: Labels | None
    adjudication: LabelTask | None


def pair_of(connection: Connection, pair: str) -> list[LabelTask]:
    """The tasks of a pair that were not dropped, the first one first."""
    found = [each for each in tasks(connection, pair=pair) if each.state != "dropped"]
    return sorted(found, key=lambda each: int(each.settings.get("place", 1)))


def settle(connection: Connection, pair: str, *, by: Actor) -> Settled | None:
    """Decide on a pair once both are submitted, inside a transaction; None before that.

    Within the taxonomy's tolerance the first one's labels count at once, whoever was quicker;
    else a lead who annotated neither decides on every difference.
    """
    both = pair_of(connection, pair)
    if len(both) != 2 or any(each.state != "submitted" for each in both):
        return None
    first, second = both
    taxonomy = kept_taxonomy(connection, first.taxonomy)
    stamps = stamps_of(connection, first)
    found = compare(first.annotation, second.annotation, taxonomy, stamps)
    differing = differences(found, first.annotation, second.annotation, taxonomy, stamps)
    if differing:
        return Settled(found, None, _adjudication(connection, first, second, differing, by))
    labels = accept_labels(
        connection, first.episode, first.annotation, taxonomy,
        task_id=first.id, by=by, who=first.assigned_to, why=AGREED,
    )  # fmt: skip
    for each in both:
        change_state(connection, each, "done", by=by, why=AGREED)
    return Settled(found, labels, None)


def adjudication_of(connection: Connection, pair: str) -> LabelTask | None:
    """The task in which a lead decides on a pair, if there is one that was not dropped."""
    both = pair_of(connection, pair)
    if not both:
        return None
    found = tasks(connection, episode=both[0].episode, kind="adjudicate")
    return next(
        (each for each in found if each.settings.get("of") == pair and each.state != "dropped"),
        None,
    )


def stamps_of(connection: Connection, held: LabelTask) -> NDArray[np.int64]:
    """The stamps to count a task's frames by: those noted, else thirty a second."""
    frames = frames_of(connection, held.id)
    if frames is not None and len(frames.stamps):
        return frames.stamps
    return assumed_stamps(find_episode(connection, held.episode).duration_s)


def differences(
    found: Agreement, first: Annotation, second: Annotation, taxonomy: Taxonomy,
    stamps: NDArray[np.int64],
) -> list[LabelDisagreement]:  # fmt: skip
    """Every disagreement, with what is said differently of segments that both have."""
    told = list(found.disagreements)
    if any(each.kind == "attribute" for each in told):
        return told
    for lane in taxonomy.lanes:
        one, two = first.in_lane(lane.name), second.in_lane(lane.name)
        for a, b in pair_up(_pieces(one, stamps), _pieces(two, stamps)):
            if a is not None and b is not None and a.label == b.label:
                told += _attributes(lane.name, one[a.place], two[b.place])
    return told


def _attributes(lane: str, one: Segment, two: Segment) -> list[LabelDisagreement]:
    names = sorted(set(one.attributes) | set(two.attributes))
    values = [(name, _text(one.attributes.get(name)), _text(two.attributes.get(name)))
              for name in names]  # fmt: skip
    return [
        LabelDisagreement("attribute", lane, mine, yours, one.start_ns, one.end_ns, rule=name)
        for name, mine, yours in values
        if mine != yours
    ]


def _text(value: object) -> str:
    return NOTHING if value in (None, "") else str(value)


def _pieces(segments: Sequence[Segment], stamps: NDArray[np.int64]) -> list[FrameSpan]:
    return [
        FrameSpan(each.label, frame_of(stamps, each.start_ns), frame_of(stamps, each.end_ns), place)
        for place, each in enumerate(segments)
    ]


def _adjudication(
    connection: Connection, first: LabelTask, second: LabelTask,
    differing: Sequence[LabelDisagreement], by: Actor,
) -> LabelTask:  # fmt: skip
    cards: list[dict[str, Any]] = [
        {"id": f"d{number}", **asdict(each), "resolved": None}
        for number, each in enumerate(differing, 1)
    ]
    kept = hidden(connection, first.id)
    noted = {"frames": kept["frames"]} if "frames" in kept else {}
    row = new_row({
        "episode": first.episode, "kind": "adjudicate", "queue": first.queue,
        "taxonomy": first.taxonomy, "priority": first.priority + ADJUDICATION_PRIORITY,
        "start": dict(first.content),
        "settings": {"of": first.pair, "first": first.id, "second": second.id,
                     "disagreements": cards, **noted},
        "created_by": by.name,
    })  # fmt: skip
    return insert_tasks(connection, [row], by)[0]


def annotators_of(connection: Connection, held: LabelTask) -> set[str]:
    """Who annotated the episode that a task is about, under the same taxonomy."""
    query = select(LABEL_TASK.c.assigned_to).where(
        LABEL_TASK.c.episode == held.episode,
        LABEL_TASK.c.taxonomy == held.taxonomy,
        LABEL_TASK.c.kind == "annotate",
        LABEL_TASK.c.assigned_to.is_not(None),
    )
    return {str(each) for each in connection.execute(query).scalars()}
