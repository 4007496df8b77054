"""The front door: few names, loaded when asked for, that do whole jobs on what a user points at."""

from __future__ import annotations

import gc
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import corporeal
from corporeal.episode.recording import Dataset
from corporeal.notebook import html_table

MEMBERS = {
    "CorporealError",
    "Episode",
    "EpisodeDataset",
    "EpisodeWriter",
    "Workspace",
    "check",
    "export",
    "open",
    "open_dataset",
    "open_robot",
    "open_schema",
    "retarget",
    "open_workspace",
    "score",
}


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A folder with two short episodes of a G1; in the second a sample is not a number."""
    folder = tmp_path / "recordings"
    folder.mkdir()
    robot = corporeal.open_robot("g1")
    time_ns = np.arange(300) * 10_000_000
    for number in range(2):
        position = 0.3 * np.sin(time_ns[:, None] / 1e9 + np.arange(len(robot.joint_names)))
        if number:
            position[100:105, 3] = np.nan
        with corporeal.EpisodeWriter(
            folder / f"wave_{number}.h5",
            schema=corporeal.open_schema("teleop_humanoid"),
            embodiment=robot,
            metadata={"task": "wave", "operator": "anna"},
        ) as writer:
            writer.extend("observations/joint_position", time_ns, position)
            writer.extend(
                "actions/joint_position_target", time_ns[::2], np.nan_to_num(position)[::2]
            )
            writer.append("observations/instruction", 0, "wave")
    return folder


def test_the_front_door_has_these_members_and_each_loads() -> None:
    assert set(dir(corporeal)) == MEMBERS
    for name in MEMBERS:
        assert getattr(corporeal, name) is not None


def test_importing_the_package_loads_nothing_heavy() -> None:
    program = "import sys, corporeal; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "corporeal" in loaded
    assert not {"numpy", "h5py", "pydantic", "av", "sqlalchemy", "typer"} & set(loaded)


def test_one_episode_opens_as_an_episode_and_a_folder_as_a_dataset(recorded: Path) -> None:
    episode = corporeal.open(recorded / "wave_0.h5")
    assert isinstance(episode, corporeal.Episode)
    with episode:
        assert "observations/joint_position" in episode
    dataset = corporeal.open(recorded)
    assert isinstance(dataset, Dataset)
    assert len(dataset) == 2
    assert [recording.index for recording in dataset] == [0, 1]
    assert dataset[1].metadata["task"] == "wave"


def test_several_bags_open_as_one_dataset_and_leave_nothing_behind(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = shared_data / "robot_logs" / "ros1_joint_states_burst_time"
    bags = sorted(folder.glob("*.bag"))[:2]
    dataset = corporeal.open_dataset(bags)
    assert len(dataset) == 2
    assert len(list(tmp_path.glob("corporeal-bag-*"))) == 2
    del dataset
    gc.collect()
    assert not list(tmp_path.glob("corporeal-bag-*"))
    torn = tmp_path / "torn.bag"
    torn.write_bytes(b"no bag at all")
    with pytest.raises(corporeal.CorporealError):
        corporeal.open_dataset([bags[0], torn])
    assert not list(tmp_path.glob("corporeal-bag-*"))


def test_a_folder_of_bags_is_one_dataset_of_them(shared_data: Path, tmp_path: Path) -> None:
    logs = shared_data / "robot_logs"
    dataset = corporeal.open_dataset(logs / "ros1_joint_states_burst_time")
    names = [dataset.open(number).source.name for number in dataset.episodes]
    assert names == [f"{letter}-Shape-1_joints.bag" for letter in "CGN"]
    assert dataset.source == logs / "ros1_joint_states_burst_time"
    # In one line, nobody holds the dataset when its episode is opened.
    first = corporeal.open_dataset(logs / "ros1_joint_states_burst_time").open(0)
    assert len(first.signals["observations/joint_position"][:]) == 150
    # A bag of ROS 2 is a folder itself, and not looked into.
    pair = corporeal.open_dataset(logs / "ros2_mcap_db3_pair")
    assert [pair.open(number).source.name for number in pair.episodes] == [
        "test_bag_mcap", "test_bag_sqlite3"]  # fmt: skip
    deep = tmp_path / "lab" / "monday"
    deep.mkdir(parents=True)
    shutil.copy(logs / "ros1_joint_states_burst_time" / "C-Shape-1_joints.bag", deep)
    (deep / "again.bag").symlink_to(deep / "C-Shape-1_joints.bag")
    assert len(corporeal.open_dataset(tmp_path).episodes) == 1


def test_what_does_not_exist_is_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(corporeal.CorporealError, match="does not exist; expected an episode"):
        corporeal.open(tmp_path / "nothing.h5")


def test_check_judges_every_episode_of_a_source(recorded: Path) -> None:
    report = corporeal.check(recorded, pictures=False)
    assert len(report.episodes) == 2
    assert report.episodes[1].verdict == "failed"
    names = {finding.check for finding in report.episodes[1].findings}
    assert names - {finding.check for finding in report.episodes[0].findings}
    alone = corporeal.check(corporeal.open_dataset(recorded / "wave_1.h5"), pictures=False)
    assert alone.episodes[0].verdict == "failed"


def test_score_gives_every_episode_a_total(recorded: Path) -> None:
    scored = corporeal.score(recorded)
    assert [one.index for one in scored] == [0, 1]
    assert scored[0].total is not None
    assert 0 <= scored[0].total <= 1


def test_export_writes_a_dataset_that_opens_again(recorded: Path, tmp_path: Path) -> None:
    corporeal.export(recorded / "wave_0.h5", tmp_path / "set", "lerobot")
    again = corporeal.open(tmp_path / "set")
    assert isinstance(again, Dataset)
    assert again.format.startswith("lerobot")
    assert len(again) == 1


def test_episodes_datasets_and_findings_show_themselves_in_a_notebook(recorded: Path) -> None:
    with corporeal.Episode.open(recorded / "wave_0.h5") as episode:
        page = episode._repr_html_()
    assert "observations/joint_position" in page
    assert "<table>" in page
    assert "2 episodes" in corporeal.open_dataset(recorded)._repr_html_()
    report = corporeal.check(recorded, pictures=False)
    assert "failed" in report._repr_html_()
    shown = report.episodes[1]._repr_html_()
    assert report.episodes[1].findings[0].message[:20] in shown
    assert "<table>" in report.episodes[1].findings[0]._repr_html_()


def test_what_a_notebook_shows_is_text_and_never_markup() -> None:
    page = html_table("<b>", ("a",), [("<script>alert(1)</script>",)] * 50)
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "and 10 more" in page
