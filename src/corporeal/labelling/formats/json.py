"""JSON: annotations whole, as the catalogue has them, with nothing lost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from corporeal.labelling.annotation import Annotation, AnnotationError
from corporeal.labelling.labels.label_file import EpisodeLabels, LabelFormat, bounded_text, refused

_FORMAT = "corporeal-annotations"


def read(path: Path) -> list[EpisodeLabels]:
    """The annotations by episode."""
    try:
        values = json.loads(bounded_text(path))
    except (ValueError, RecursionError) as error:
        raise AnnotationError(f"{path}: not JSON ({error}). Replace the file.") from None
    listed = values.get("episodes") if isinstance(values, dict) else None
    if not isinstance(listed, dict) or values.get("format") != _FORMAT:
        raise AnnotationError(
            f'{path}: got no annotations; expected an object with "format": "{_FORMAT}" and '
            '"episodes".'
        )
    return [
        EpisodeLabels(str(episode), _annotation(said, f"{path}: {episode}"))
        for episode, said in listed.items()
    ]


def _annotation(said: Any, where: str) -> Annotation:
    try:
        return Annotation.model_validate(said)
    except ValidationError as error:
        raise refused(error, where) from None


def write(path: Path, labels: Sequence[EpisodeLabels]) -> None:
    """One object with all episodes."""
    values = {
        "format": _FORMAT,
        "version": 1,
        "episodes": {
            each.episode: each.annotation.model_dump(mode="json", exclude_none=True)
            for each in labels
        },
    }
    path.write_text(json.dumps(values, ensure_ascii=False, indent=1) + "\n", "utf-8")


FORMAT = LabelFormat("JSON of Corporeal", ".json", read, write)
