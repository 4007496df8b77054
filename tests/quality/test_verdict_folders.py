"""Sorting: every episode lies under its verdict, nothing is moved, and it can be repeated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from corporeal.episode.file import VERDICTS, list_episode_files
from corporeal.errors import CorporealError
from corporeal.quality.assessment import Assessment
from corporeal.quality.check import Finding, Severity
from corporeal.quality.inspection import EpisodeReport, Report
from corporeal.quality.policy import Policy
from corporeal.quality.verdict_folders import read_entries, sort_into

POLICY = Policy.parse("document: policy\nname: ours\nversion: 1.0.0\n")


def _episode(folder: Path, number: int, severity: Severity | None) -> EpisodeReport:
    path = folder / f"episode_{number}.h5"
    path.write_bytes(f"data {number}".encode())
    found = (Finding("it fell", severity=severity, check="robot_fell"),) if severity else ()
    return EpisodeReport(number, f"id{number}", path, Assessment(found, {}))


@pytest.fixture
def report(tmp_path: Path) -> Report:
    folder = tmp_path / "recorded"
    folder.mkdir()
    severities: tuple[Severity | None, ...] = (None, "quarantine", "fail", "note")
    episodes = tuple(_episode(folder, number, each) for number, each in enumerate(severities))
    return Report(folder, "episodes", episodes, Assessment((), {}), POLICY)


def test_every_episode_lies_under_its_verdict_and_where_it_was(
    report: Report, tmp_path: Path
) -> None:
    sort_into(report, tmp_path / "sorted")
    found = {
        str(path.relative_to(tmp_path / "sorted")) for path in (tmp_path / "sorted").rglob("*.h5")
    }
    assert found == {
        "accepted/episode_0.h5",
        "quarantined/episode_1.h5",
        "failures/episode_2.h5",
        "accepted/episode_3.h5",
    }
    assert all(each.source.is_file() for each in report.episodes)


def test_the_index_gives_the_reasons(report: Report, tmp_path: Path) -> None:
    sort_into(report, tmp_path / "sorted")
    entries = {entry.id: entry for entry in read_entries(tmp_path / "sorted")}
    assert entries["id2"].reasons == ("robot_fell",)
    assert entries["id2"].findings[0]["message"] == "it fell"
    assert entries["id3"].reasons == ()


def test_an_index_of_before_a_check_was_renamed_tells_its_present_name(
    report: Report, tmp_path: Path
) -> None:
    sort_into(report, tmp_path / "sorted")
    index = tmp_path / "sorted" / VERDICTS
    index.write_text(index.read_text("utf-8").replace("robot_fell", "stays_upright"), "utf-8")
    entries = {entry.id: entry for entry in read_entries(tmp_path / "sorted")}
    assert entries["id2"].reasons == ("robot_fell",)
    assert entries["id2"].findings[0]["check"] == "robot_fell"


def test_sorting_again_follows_a_changed_verdict(report: Report, tmp_path: Path) -> None:
    sort_into(report, tmp_path / "sorted")
    mended = replace(report.episodes[2], assessment=Assessment((), {}))
    sort_into(replace(report, episodes=(mended,)), tmp_path / "sorted")
    assert (tmp_path / "sorted" / "accepted" / "episode_2.h5").read_bytes() == b"data 2"
    assert not (tmp_path / "sorted" / "failures" / "episode_2.h5").exists()
    assert len(read_entries(tmp_path / "sorted")) == 4


def test_two_episodes_of_one_name_both_stay(report: Report, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    twin = _episode(other, 0, None)
    sort_into(report, tmp_path / "sorted")
    sort_into(replace(report, episodes=(twin,)), tmp_path / "sorted")
    accepted = sorted(path.name for path in (tmp_path / "sorted" / "accepted").iterdir())
    assert len(accepted) == 3
    assert len(read_entries(tmp_path / "sorted")) == 5


def test_a_folder_that_was_not_sorted_into_is_said_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(CorporealError, match="--sort"):
        read_entries(tmp_path)


def test_a_damaged_index_names_its_line(report: Report, tmp_path: Path) -> None:
    sort_into(report, tmp_path / "sorted")
    index = tmp_path / "sorted" / VERDICTS
    index.write_text(index.read_text() + "{\n")
    with pytest.raises(CorporealError, match=r"verdicts\.jsonl:5"):
        read_entries(tmp_path / "sorted")


def test_sorted_copies_are_no_further_episodes_of_the_folder_they_are_in(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise OSError("no hard links here")

    monkeypatch.setattr("os.link", refuse)
    recorded, judged = report.source, report.source / "sorted"
    sort_into(report, judged)
    names = [f"episode_{number}.h5" for number in range(4)]
    assert [path.name for path in list_episode_files(recorded)] == names
    assert all(path.parent == recorded for path in list_episode_files(recorded))
    # Whoever names the sorted folder means what is in it.
    assert len(list_episode_files(judged)) == 4
    assert len(list_episode_files(judged / "accepted")) == 2
    # A copy whose original is gone is all there is.
    (recorded / "episode_2.h5").unlink()
    assert judged / "failures" / "episode_2.h5" in list_episode_files(recorded)


def test_an_index_that_is_no_index_hides_nothing(report: Report) -> None:
    (report.source / VERDICTS).write_text('not JSON\n[1]\n{"path": 3, "source": []}\n{}\n')
    assert len(list_episode_files(report.source)) == 4
