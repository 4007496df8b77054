"""How far people were from what a lead decided: adjudication teaches which side a rule is on."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from corporeal.catalog.tables import EPISODE, LABEL_TASK
from corporeal.labelling.agreement.comparison import by_rule, compare
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.tasks.frames import assumed_stamps, frames_from_json
from corporeal.labelling.tasks.kept_taxonomy import kept_taxonomy
from corporeal.studio.labelling.pairs import ComparedPair

_BLOCK = 500


def distances_to_decided(
    connection: Connection, pairs: Sequence[ComparedPair]
) -> dict[str, list[int]]:
    """Frames between what people said and what was decided, by rule, over adjudicated pairs."""
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
            frames = frames_from_json(row["settings"].get("frames"))
            stamps = assumed_stamps(row["duration_s"]) if frames is None else frames.stamps
            taxonomy = kept_taxonomy(connection, str(row["taxonomy"]))
            truth = Annotation.model_validate(row["content"])
            sides = (str(row["settings"][side]) for side in ("first", "second"))
            said = [_content(connection, name) for name in sides]
            made = [compare(truth, each, taxonomy, stamps) for each in said]
            for rule, steps in by_rule(made).items():
                found.setdefault(rule, []).extend(steps)
    return found


def _content(connection: Connection, task_id: str) -> Annotation:
    query = select(LABEL_TASK.c.content).where(LABEL_TASK.c.id == task_id)
    return Annotation.model_validate(connection.execute(query).scalar_one())
