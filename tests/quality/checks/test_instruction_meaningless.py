"""Instructions that are sentences, and words that only stand where one should be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.quality.demonstrations import demonstration, told

from corporeal.episode.recording import ArraySignal
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.instruction_meaningless import complaint, find
from corporeal.schema import Stream

REAL = [
    "Pick up the yellow bottle on the table.",
    "pick the squash from the counter and place it in the plate",
    "pick and place",
    "wipe table",
    "Stand up.",
    "wave",
    "walk",
    "push T",
    "put 2 cups in box 3",
    "press the START button",
    "把红色的杯子放到架子上",
    "Räum den Tisch ab",
    "Stand still and keep your balance.",
]
HOLLOW = [
    "", "  ", "task", "TODO", "test", "pick", "lorem ipsum dolor", "episode_000012.parquet",
    "task_0", "0", "asdfgh", "xxxx", "{task}", "<instruction>", "n/a", "None", "sdkjfh wkrjth",
    "dummy task", "test 123", "aaaaaa", "---", "do the task", "TBD", "valid",
]  # fmt: skip


@pytest.mark.parametrize("text", REAL)
def test_passes_on_what_a_person_could_be_told(text: str) -> None:
    assert complaint(text) is None
    assert not list(find(Subject(told(demonstration(), instruction=text))))


@pytest.mark.parametrize("text", HOLLOW)
def test_finds_words_that_say_nothing(text: str) -> None:
    (found,) = find(Subject(told(demonstration(), instruction=text)))
    assert repr(text.strip()) in found.message


def test_finds_the_name_of_the_dataset_in_its_place() -> None:
    named = replace(demonstration(), source=Path("cup_stacking_v2"))
    (found,) = find(Subject(told(named, instruction="cup_stacking_v2")))
    assert "name of the dataset" in found.message


def _saying(*texts: str) -> Subject:
    spec = Stream(name="instruction", group="observations", kind="text")
    stamps = np.arange(len(texts), dtype=np.int64)
    good = demonstration()
    said = ArraySignal(spec, stamps, list(texts))
    metadata = {key: value for key, value in good.metadata.items() if key != "instruction"}
    signals = {**good.signals, "observations/instruction": said}
    return Subject(replace(good, signals=signals, metadata=metadata))


def test_the_stream_is_named_where_the_words_stand_in_one() -> None:
    (found,) = find(_saying("placeholder"))
    assert found.stream == "observations/instruction"


def test_a_mark_of_validity_beside_a_sentence_is_no_instruction() -> None:
    assert not list(find(_saying("valid", "put the cup on the shelf")))


def test_without_any_instruction_nothing_is_assessed() -> None:
    with pytest.raises(NotAssessed, match="no instruction"):
        list(find(_saying()))


def test_the_tasks_of_a_dataset_are_its_instructions() -> None:
    good = replace(demonstration(), regridded=True, metadata={"task": "todo"})
    (found,) = find(Subject(good))
    assert "'todo'" in found.message
