"""What a policy predicted, as tasks for people to put right, and what they made of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError
from sqlalchemy import Connection

from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import find_episode
from corporeal.catalog.permission import Actor
from corporeal.labelling.annotation import (
    Annotation,
    AnnotationError,
    Stamp,
    Value,
    first_complaint,
)
from corporeal.labelling.labels.versions import Labels
from corporeal.labelling.tasks.creation import TaskOptions, create_tasks
from corporeal.labelling.tasks.label_task import LabelTask
from corporeal.labelling.taxonomy import Taxonomy
from corporeal.schema import Part

MOST_BYTES, MOST_PREDICTIONS = 64 << 20, 2000
"""What a file may hold, and what one episode may."""


class Prediction(Part):
    """What a policy said at one moment: a grasp pose or an action, as names with values."""

    episode: str = Field(min_length=1, max_length=200, description="id, or how it begins")
    time_ns: Stamp = Field(description="nanoseconds since the episode's epoch")
    kind: Literal["grasp", "action"]
    predicted: dict[str, Value | list[float]] = Field(min_length=1, max_length=64)
    policy: str = Field(default="", max_length=200, description="which one, and its version")


def read_predictions(path: Path) -> list[Prediction]:
    """Predictions of a file of JSON lines; raises AnnotationError with the line that is none."""
    try:
        size = path.stat().st_size
        text = path.read_text(encoding="utf-8") if size <= MOST_BYTES else ""
    except (OSError, UnicodeDecodeError) as error:
        raise AnnotationError(
            f"{path}: cannot be read as text ({error}); expected JSON, one prediction a line."
        ) from error
    if size > MOST_BYTES:
        raise AnnotationError(
            f"{path}, got {size >> 20} MB; expected up to {MOST_BYTES >> 20}. Split the file."
        )
    predictions = [
        _parse(line, f"{path}:{number}")
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip()
    ]
    if not predictions:
        raise AnnotationError(f"{path} is empty; expected JSON, one prediction a line.")
    return predictions


def _parse(line: str, where: str) -> Prediction:
    try:
        return Prediction.model_validate(json.loads(line))
    except ValidationError as error:
        raise AnnotationError(
            f"{where}: got what is no prediction ({first_complaint(error)[:200]}) "
            "Expected episode, time_ns, kind (grasp or action) and predicted."
        ) from error
    except (ValueError, RecursionError) as error:
        raise AnnotationError(
            f"{where}: is no JSON ({str(error)[:80]}); expected one prediction a line."
        ) from error


def create_correction_tasks(
    connection: Connection,
    predictions: Sequence[Prediction],
    taxonomy: Taxonomy,
    queue: str,
    *,
    by: Actor,
) -> list[LabelTask]:
    """A task for every episode with predictions, inside a transaction.

    Episodes whose earlier corrections are not over yet are left out.
    """
    episodes: dict[str, list[dict[str, Any]]] = {}
    for prediction in predictions:
        name = find_episode(connection, prediction.episode).id
        listed = episodes.setdefault(name, [])
        listed.append(prediction.model_dump(mode="json", exclude={"episode"}))
        if len(listed) > MOST_PREDICTIONS:
            raise CatalogError(
                f"episode {name}, got more than {MOST_PREDICTIONS} predictions; expected fewer. "
                "Send those that a person is to look at."
            )
    options = TaskOptions(queue, "correct", double_share=0.0, blind_share=0.0, again=True)
    settings = {
        name: {"predictions": sorted(listed, key=lambda each: int(each["time_ns"]))}
        for name, listed in episodes.items()
    }
    return create_tasks(connection, list(episodes), taxonomy, options, by=by, settings=settings)


def corrected_predictions(labels: Sequence[Labels]) -> Iterator[Mapping[str, Any]]:
    """What people put right, one mapping for each: what was predicted and what it should be."""
    for held in labels:
        annotation: Annotation = held.annotation
        for correction in annotation.corrections:
            yield {
                "episode": held.episode,
                "time_ns": correction.time_ns,
                "kind": correction.kind,
                "predicted": correction.predicted,
                "corrected": correction.corrected,
                "changed": sorted(
                    name
                    for name, value in correction.corrected.items()
                    if correction.predicted.get(name) != value
                ),
                "note": correction.note,
            }
