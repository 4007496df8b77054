"""The recipe document: what the streams of a foreign source are, and how late each one is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from corporeal.episode.label_track import LabelTrack
from corporeal.episode.recording import Dataset, ImageSequence, Recording, Signal, VideoFile
from corporeal.errors import EpisodeError
from corporeal.schema import Document, Part, Stream
from corporeal.schema.document import Name
from corporeal.schema.stream import Group, Method

_MILLISECOND_NS = 1_000_000


class RecipeStep(Part):
    """What becomes of one stream; what is not said stays as it is."""

    name: Name | None = Field(default=None, description="the name it gets, such as joint_position")
    group: Group | None = Field(default=None, description="observations, actions or debug")
    late_ms: float = Field(
        default=0.0, ge=-6e4, le=6e4, description="how late its stamps are; it is taken off them"
    )
    interpolation: Method | None = Field(default=None, description="how it is put on the rows")
    unit: str | None = None
    components: tuple[str, ...] | None = Field(default=None, description="names of its entries")
    drop: bool = False


class Recipe(Document):
    """Turns what a bag or a dataset calls its streams into what a policy is trained on."""

    kind: ClassVar[str] = "recipe"

    streams: dict[str, RecipeStep] = Field(description="steps by the stream's path or label")
    instruction: str | None = Field(default=None, description="what the robot was told to do")


@dataclass(frozen=True, eq=False)
class MovedSignal:
    """A signal under another description, or with its stamps set back."""

    spec: Stream
    time_ns: NDArray[np.int64]
    source: Signal

    def __len__(self) -> int:
        return len(self.time_ns)

    def __getitem__(self, selection: Any) -> Any:
        return self.source[selection]


def follow_recipe(dataset: Dataset, recipe: Recipe) -> Dataset:
    """The dataset with every episode changed as the recipe says."""
    return replace(dataset, open=partial(_open, dataset, recipe))


def _open(dataset: Dataset, recipe: Recipe, index: int) -> Recording:
    return apply(recipe, dataset.open(index))


def apply(recipe: Recipe, recording: Recording) -> Recording:
    """One episode, changed as the recipe says; a stream that is not there is an error."""
    by_name = {label: label for label in recording.signals}
    by_name |= {signal.spec.path: label for label, signal in recording.signals.items()}
    steps: dict[str, RecipeStep] = {}
    for name, step in recipe.streams.items():
        if name not in by_name:
            raise EpisodeError(
                f"{recording.source}: recipe {recipe.reference} speaks of {name!r}, which is not "
                f"there; expected one of: {', '.join(sorted(set(by_name)))}."
            )
        steps[by_name[name]] = step
    signals = {
        label: _changed(signal, steps[label]) if label in steps else signal
        for label, signal in recording.signals.items()
        if not (label in steps and steps[label].drop)
    }
    _check_names(recipe, recording, signals)
    metadata = dict(recording.metadata)
    if recipe.instruction is not None:
        metadata["instruction"] = recipe.instruction
    labels = _labels(recipe, recording, steps, signals)
    return replace(recording, signals=signals, metadata=metadata, labels=labels)


def _labels(
    recipe: Recipe,
    recording: Recording,
    steps: Mapping[str, RecipeStep],
    signals: Mapping[str, Signal],
) -> LabelTrack | None:
    """The labels, moved and renamed with the stream on whose stamps their boundaries lie."""
    labels = recording.labels
    if labels is None:
        return None
    if recipe.instruction is not None:
        others = (text for text in labels.instructions if text != recipe.instruction)
        given = (recipe.instruction, *others)
        labels = labels.model_copy(update={"instructions": given})
    for label, step in steps.items():
        if recording.signals[label].spec.path == labels.reference and label in signals:
            late = round(step.late_ms * _MILLISECOND_NS)
            spans = tuple(
                each.model_copy(
                    update={"start_ns": each.start_ns - late, "end_ns": each.end_ns - late}
                )
                for each in labels.spans
            )
            moved = {"reference": signals[label].spec.path, "spans": spans}
            labels = labels.model_copy(update=moved)
            break
    return labels


def _changed(signal: Signal, step: RecipeStep) -> Signal:
    given = {
        name: value
        for name in ("name", "group", "interpolation", "unit", "components")
        if (value := getattr(step, name)) is not None
    }
    spec = signal.spec
    if given and spec.kind == "video":
        # A foreign picture may have an odd size, which our own streams may not.
        spec = Stream.model_construct(**{**spec.model_dump(), **given})
    elif given:
        spec = Stream.model_validate({**spec.model_dump(), **given})
    stamps = signal.time_ns - round(step.late_ms * _MILLISECOND_NS)
    if isinstance(signal, VideoFile | ImageSequence):
        return replace(signal, spec=spec, time_ns=stamps)
    return MovedSignal(spec, stamps, signal)


def _check_names(recipe: Recipe, recording: Recording, signals: Mapping[str, Signal]) -> None:
    paths = [signal.spec.path for signal in signals.values()]
    twice = sorted({path for path in paths if paths.count(path) > 1})
    if twice:
        raise EpisodeError(
            f"{recording.source}: recipe {recipe.reference} gives two streams the name {twice[0]}. "
            "Give one of them another name, or drop it."
        )
