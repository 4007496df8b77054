"""Reference cards beside the work: where the workspace's own episodes show what a label means."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field

from corporeal.labelling.labels import CardExample, CardExamples, card_examples, episodes_at_work
from corporeal.labelling.tasks import find_task
from corporeal.labelling.taxonomy import kept_taxonomy
from corporeal.studio.context import StudioDep
from corporeal.studio.response_cache import ResponseCache
from corporeal.studio.routes.annotation import TaskId
from corporeal.studio.routes.events import Annotator

ROUTER = APIRouter(tags=["annotation"])
_KEPT: ResponseCache[CardExamples] = ResponseCache()


class TopicExamples(BaseModel):
    """What shows a label of a lane, or a value of an attribute; the rule is in the taxonomy."""

    lane: str | None = Field(description="null for a value of an attribute")
    attribute: str | None = Field(description="null for a label of a lane")
    name: str
    examples: list[CardExample]


@ROUTER.get("/label-tasks/{task_id}/cards")
def list_cards(task_id: TaskId, studio: StudioDep, actor: Annotator) -> list[TopicExamples]:
    """Examples of the labels of a task's taxonomy; none from an episode that is being labelled."""
    database = studio.workspace.database
    with database.read() as connection:
        task = find_task(connection, task_id, seen_by=actor)
        taxonomy = kept_taxonomy(connection, task.taxonomy)
    found = _KEPT.get(
        database,
        (taxonomy.hash, task.episode),
        lambda connection: card_examples(
            connection,
            lambda row: studio.shelf.episode(row.id),
            taxonomy,
            without=episodes_at_work(connection) | {task.episode},
        ),
    )
    return [_topic(*about, list(own)) for about, own in found.by_topic.items()]


def _topic(kind: str, name: str, examples: list[CardExample]) -> TopicExamples:
    """A topic by its kind: a lane, or `=attribute`."""
    is_value = kind.startswith("=")
    return TopicExamples(
        lane=None if is_value else kind,
        attribute=kind[1:] if is_value else None,
        name=name,
        examples=examples,
    )
