"""A file that lies in a set is judged as in the set."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pytest
from tests.catalog.demonstration_files import write_demonstration, write_demonstrations

from corporeal.errors import CorporealError
from corporeal.exchange import open_dataset
from corporeal.quality import neighbours
from corporeal.quality.inspection import InspectionOptions, Report, inspect
from corporeal.quality.policy import default_policy


def _report(path: Path, *, alone: bool = False, only: tuple[str, ...] | None = None) -> Report:
    options = InspectionOptions(
        default_policy(), pictures=False, quick=True, alone=alone, only=only
    )
    return inspect(partial(open_dataset, path), options, on="serial")


def _said(report: Report, number: int) -> tuple[str, list[str]]:
    (episode,) = [each for each in report.episodes if each.index == number]
    return episode.verdict, sorted(each.check for each in episode.findings)


def test_tables_of_real_sets_are_judged_alone_as_in_the_set(shared_data: Path) -> None:
    folder = shared_data / "lerobot" / "gr1_picknplace_v20"
    whole = _report(folder)
    for number in (0, 3):
        table = folder / "data" / "chunk-000" / f"episode_00000{number}.parquet"
        report = _report(table)
        assert [each.index for each in report.episodes] == [number]
        assert _said(report, number) == _said(whole, number)
        beside = report.neighbours.to_json()
        assert (beside["total"], beside["compared"]) == (4, 4), "each words its own task"


def test_a_copy_of_a_real_episode_is_found_when_its_table_is_looked_at_alone(
    shared_data: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "set"
    shutil.copytree(shared_data / "lerobot" / "g1_inspire_v21_part", folder,
                    ignore=shutil.ignore_patterns("videos"))  # fmt: skip
    tables = folder / "data" / "chunk-000"
    shutil.copy(tables / "episode_000001.parquet", tables / "episode_000004.parquet")
    only = ("episode_duplicated",)
    copy = _report(tables / "episode_000004.parquet", only=only)
    assert _said(copy, 4)[1] == ["episode_duplicated"]
    assert not _said(_report(tables / "episode_000001.parquet", only=only), 1)[1]
    alone = _report(tables / "episode_000004.parquet", only=only, alone=True)
    assert not alone.episodes[0].findings
    assert "neighbours" not in alone.to_json()


def test_of_two_files_the_copy_is_named_whichever_is_looked_at(tmp_path: Path) -> None:
    write_demonstration(tmp_path / "a.h5", 0)
    write_demonstration(tmp_path / "b.h5", 0, number=1)
    first, copy = _report(tmp_path / "a.h5"), _report(tmp_path / "b.h5")
    assert first.accepted
    assert _said(copy, 0) == _said(_report(tmp_path), 1)
    (finding,) = copy.episodes[0].findings
    assert "of episode a.h5" in finding.message
    assert copy.to_json()["neighbours"] == {
        "total": 1, "compared": 1, "limit": 50, "episodes": ["a.h5"],
    }  # fmt: skip
    assert _report(tmp_path / "b.h5", alone=True).accepted


def test_a_copied_file_has_the_same_id_and_is_the_later_one_by_name(tmp_path: Path) -> None:
    path = write_demonstration(tmp_path / "a.h5", 0)
    shutil.copy(path, tmp_path / "b.h5")
    assert _report(tmp_path / "a.h5").accepted
    assert not _report(tmp_path / "b.h5").accepted


def test_what_is_found_of_neighbours_alone_is_not_said_of_the_file(tmp_path: Path) -> None:
    write_demonstrations(tmp_path, range(2))
    shutil.copy(tmp_path / "d01.h5", tmp_path / "d08.h5")
    (tmp_path / "d09.h5").write_bytes(b"no episode")
    report = _report(tmp_path / "d00.h5", only=("episode_duplicated",))
    assert report.accepted
    assert not report.batch.findings
    assert report.neighbours.to_json()["episodes"] == ["d01.h5", "d08.h5"]


def test_the_nearest_of_the_same_task_come_first_and_no_more_than_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_demonstrations(tmp_path, range(5))
    write_demonstration(tmp_path / "d02_other.h5", 7, number=7, metadata={"task": "walk"})
    monkeypatch.setattr(neighbours, "MOST_NEIGHBOURS", 3)
    report = _report(tmp_path / "d02.h5", only=("episode_duplicated",))
    assert [name for _, name in report.neighbours.names] == ["d00.h5", "d01.h5", "d03.h5"]
    assert report.neighbours.total == 5


def test_a_file_of_a_dataset_that_is_no_table_of_it_is_refused(shared_data: Path) -> None:
    folder = shared_data / "lerobot" / "gr1_picknplace_v20"
    with pytest.raises(CorporealError, match="is the table of none of its 5 episodes"):
        open_dataset(folder / "meta" / "info.json")
