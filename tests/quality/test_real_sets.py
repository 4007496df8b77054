"""The checks on sets and records are silent on real data, and say the truth about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from corporeal.exchange.opening import open_dataset
from corporeal.quality import Subject
from corporeal.quality.assessment import Assessment, assess
from corporeal.quality.batch import Batch
from corporeal.quality.check import checks
from corporeal.quality.synopsis import synopsis

MINE = (
    "stream_missing", "metadata_wrong", "index_wrong", "recording_incomplete",
    "instruction_meaningless", "task_failed", "idle_too_long", "episode_statistics_wrong",
    "episode_duplicated", "episode_nearly_duplicated", "motion_unlike_task",
    "dataset_statistics_wrong", "operator_dominates", "dataset_records_wrong", "episode_cut_short",
)  # fmt: skip


def _assessed(folder: Path) -> tuple[list[Assessment], Assessment]:
    dataset = open_dataset(folder)
    subjects = [Subject(dataset.open(number)) for number in dataset.episodes]
    single = [assess(subject, only=MINE) for subject in subjects]
    batch = Batch(
        tuple(synopsis(subject, pictures=False) for subject in subjects),
        statistics=dataset.statistics,
        facts=dataset.facts,
        defects=dataset.defects,
    )
    return single, assess(batch, scope="batch", only=MINE)


def test_the_checks_named_here_exist() -> None:
    assert set(MINE) <= set(checks())


@pytest.mark.parametrize("name", ["gr1_picknplace_v20", "g1_inspire_v21_part", "so101_v30"])
def test_real_episodes_have_no_findings_of_sets_and_records(shared_data: Path, name: str) -> None:
    single, _ = _assessed(shared_data / "lerobot" / name)
    assert single
    assert not [finding for each in single for finding in each.findings]


def test_the_statistics_of_the_gr1_set_are_those_of_its_data(shared_data: Path) -> None:
    _, whole = _assessed(shared_data / "lerobot" / "gr1_picknplace_v20")
    assert "dataset_statistics_wrong" not in whole.not_assessed
    # The one thing that is wrong in this set, and known to be.
    assert [(each.check, each.stream) for each in whole.findings] == [
        ("stream_missing", "observation.images.egoview")
    ]


def test_the_statistics_of_every_g1_episode_are_those_of_its_data(shared_data: Path) -> None:
    single, whole = _assessed(shared_data / "lerobot" / "g1_inspire_v21_part")
    assert all("episode_statistics_wrong" not in each.not_assessed for each in single)
    assert [each.check for each in whole.findings] == ["index_wrong"]
    assert len(whole.findings[0].episodes) == 88
