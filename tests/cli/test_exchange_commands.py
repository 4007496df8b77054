"""import, export, convert, merge, split, delete, select as people call them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.exchange.formats.test_motion_csv import steps
from tests.exchange.lerobot_sets import Recipe, write_v3
from tests.exchange.small_sets import write_episodes
from typer.testing import CliRunner, Result

from corporeal.cli.export_options import numbers_of
from corporeal.cli.program import program
from corporeal.episode.facts import RATE
from corporeal.errors import CorporealError
from corporeal.exchange.opening import open_dataset


def _run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(program(), [str(argument) for argument in arguments])


def _good(*arguments: str | Path) -> str:
    result = _run(*arguments)
    assert result.exit_code == 0, f"{result.output} {result.exception!r}"
    return result.stdout


def _complaint(*arguments: str | Path) -> str:
    result = _run(*arguments)
    assert isinstance(result.exception, CorporealError), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commands")
    return write_episodes(folder / "recorded", 3, seconds=0.4, size=(32, 48))


@pytest.fixture(scope="module")
def dataset(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dataset") / "lerobot"
    _good("export", recorded, "--out", out, "--jobs", "1")
    return out


def _lengths(path: Path) -> list[int]:
    rows = open_dataset(path, restore=False)
    return [len(rows.open(number).signals["action"]) for number in rows.episodes]


def test_an_export_prints_its_proof_and_what_to_do_next(recorded: Path, tmp_path: Path) -> None:
    said = _good("export", recorded, "--out", tmp_path / "out", "--jobs", "1")
    assert "3 episodes" in said
    assert "30 Hz" in said
    assert "pictures agree" in said
    assert "statistics" in said
    assert "DIFFERS" not in said
    assert "smoke-train" in said
    assert "lerobot-train" in said


def test_json_is_alone_on_standard_output(recorded: Path, tmp_path: Path) -> None:
    said = json.loads(_good("export", recorded, "--out", tmp_path / "out", "--jobs", "1", "--json"))
    assert said["proof"]["holds"] is True
    assert [each["number"] for each in said["episodes"]] == [0, 1, 2]


def test_a_dataset_is_converted_into_another_format(dataset: Path, tmp_path: Path) -> None:
    _good("convert", dataset, tmp_path / "out", "--format", "robomimic", "--jobs", "1")
    assert len(open_dataset(tmp_path / "out").episodes) == 3


def test_an_export_is_imported_back_into_episodes(
    recorded: Path, dataset: Path, tmp_path: Path
) -> None:
    _good("import", dataset, "--out", tmp_path / "back", "--jobs", "1")
    before, after = open_dataset(recorded), open_dataset(tmp_path / "back")
    assert len(after.episodes) == 3
    assert before.open(1).id == after.open(1).id


def test_delete_leaves_the_old_dataset_and_the_other_episodes(
    dataset: Path, tmp_path: Path
) -> None:
    before = _lengths(dataset)
    _good("delete", dataset, "--episodes", "1", "--out", tmp_path / "out", "--jobs", "1")
    assert _lengths(dataset) == before
    assert _lengths(tmp_path / "out") == [before[0], before[2]]


def test_a_wrong_number_deletes_nothing(dataset: Path, tmp_path: Path) -> None:
    said = _complaint("delete", dataset, "--episodes", "1,9", "--out", tmp_path / "out")
    assert "has no episode 9" in said
    assert not list(tmp_path.iterdir())


def test_deleting_everything_is_refused(dataset: Path, tmp_path: Path) -> None:
    assert "no episode would be left" in _complaint(
        "delete", dataset, "--episodes", "0-2", "--out", tmp_path / "out"
    )


def test_select_takes_episodes_in_the_order_given(dataset: Path, tmp_path: Path) -> None:
    before = _lengths(dataset)
    _good("select", dataset, "--episodes", "2,0", "--out", tmp_path / "out", "--jobs", "1")
    assert _lengths(tmp_path / "out") == [before[2], before[0]]


def test_merge_puts_datasets_one_after_the_other(dataset: Path, tmp_path: Path) -> None:
    _good("merge", dataset, dataset, "--out", tmp_path / "out", "--jobs", "1")
    assert _lengths(tmp_path / "out") == 2 * _lengths(dataset)


def test_split_draws_every_episode_once(dataset: Path, tmp_path: Path) -> None:
    out = tmp_path / "parts"
    _good("split", dataset, "--parts", "a=0.67,b=0.33", "--out", out, "--jobs", "1")
    assert sorted(_lengths(out / "a") + _lengths(out / "b")) == sorted(_lengths(dataset))


@pytest.mark.parametrize(
    ("text", "numbers"), [("3", [3]), ("0-2", [0, 1, 2]), ("5, 1-2,1", [5, 1, 2])]
)
def test_numbers_of_episodes_are_read(text: str, numbers: list[int]) -> None:
    assert numbers_of(text) == numbers


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "2-1", "1,,2", "0-99999999999"])
def test_wrong_numbers_say_what_was_expected(text: str) -> None:
    with pytest.raises(CorporealError, match="expected"):
        numbers_of(text)


def test_what_does_not_exist_is_one_sentence(tmp_path: Path) -> None:
    for arguments in (
        ("export", tmp_path / "no", "--out", tmp_path / "out"),
        ("import", tmp_path / "no", "--out", tmp_path / "out"),
        ("delete", tmp_path / "no", "--episodes", "0", "--out", tmp_path / "out"),
        ("merge", tmp_path / "no", "--out", tmp_path / "out"),
    ):
        assert "does not exist" in _complaint(*arguments)


def test_an_unknown_format_lists_those_that_are_known(recorded: Path, tmp_path: Path) -> None:
    said = _complaint("export", recorded, "--format", "lerobt", "--out", tmp_path / "out")
    assert "lerobot" in said
    assert "rlds" in said


def test_weights_lie_beside_the_dataset(recorded: Path, tmp_path: Path) -> None:
    scores = tmp_path / "scores.json"
    scores.write_text(_good("score", recorded, "--json"))
    _good("export", recorded, "--weights", scores, "--out", tmp_path / "out", "--jobs", "1")
    weights = json.loads((tmp_path / "out" / "corporeal" / "weights.json").read_text())
    assert len(weights["episodes"]) == 3
    assert min(weights["episodes"]) >= 0


def test_the_action_is_chosen_and_one_without_recommends_no_training(
    recorded: Path, tmp_path: Path
) -> None:
    said = _good("export", recorded, "--out", tmp_path / "a", "--jobs", "1", "--no-verify",
                 "--action", "joint_position_target,pelvis_imu")  # fmt: skip
    assert "action: joint_position_target (29), pelvis_imu (6)" in said
    said = _good("export", recorded, "--out", tmp_path / "b", "--jobs", "1", "--no-verify",
                 "--action", "none")  # fmt: skip
    assert "no action, as asked for" in said
    assert "train" not in said.split("next:")[1]
    said = _complaint("export", recorded, "--out", tmp_path / "c", "--exclude",
                      "joint_position_target")  # fmt: skip
    assert "--action none" in said
    assert not list(tmp_path.glob("c*"))


@pytest.fixture
def without_movies(tmp_path: Path) -> Path:
    root = write_v3(tmp_path / "set", Recipe(camera=True, names=None, robot_type=None))
    shutil.rmtree(root / "videos")
    return root


@pytest.mark.parametrize("command", ["convert", "import"])
def test_a_camera_without_movies_is_lost_aloud(
    without_movies: Path, tmp_path: Path, command: str
) -> None:
    out: tuple[str | Path, ...] = (tmp_path / "out", "--action", "none", "--format", "robomimic")
    if command == "import":
        out = ("--out", tmp_path / "out", "--robot", "none")
    result = _run(command, without_movies, *out, "--jobs", "1")
    assert result.exit_code == 1
    assert "movie missing: videos/" in result.stdout
    assert result.stderr.startswith("lost whole: camera observation.images.")
    assert "--exclude observation.images." in result.stderr
    name = result.stderr.split("--exclude ")[1].rstrip(".\n ")
    out = tuple(tmp_path / "again" if each == tmp_path / "out" else each for each in out)
    said = _good(command, without_movies, *out, "--jobs", "1", "--exclude", name)
    assert "left out, as asked" in said


def test_the_ledger_is_in_the_json_and_one_line_where_all_is_taken(tmp_path: Path) -> None:
    root = write_v3(tmp_path / "set", Recipe(camera=True))
    said = json.loads(_good("import", root, "--out", tmp_path / "a", "--jobs", "1", "--json"))
    kinds = {item["name"]: item["kind"] for item in said["ledger"]}
    assert kinds["observation.state"] == "column"
    assert "camera" in kinds.values()
    assert all(item["taken_as"] for item in said["ledger"])
    assert said["assumed"] == {}
    text = _good("import", root, "--out", tmp_path / "b", "--jobs", "1")
    assert "1 camera, all taken" in text


def test_the_rate_of_a_motion_is_assumed_aloud_or_given(tmp_path: Path) -> None:
    path = tmp_path / "walk.csv"
    np.savetxt(path, steps("g1"), delimiter=",")
    said = _good("import", path, "--out", tmp_path / "a", "--jobs", "1")
    assert "assumed rate_hz: 60 Hz: the file states none (--source-rate says it)" in said
    (guessed,) = open_dataset(tmp_path / "a")
    assert guessed.facts.assumptions_of(RATE)
    given = ("--source-rate", "30", "--robot", "g1")
    said = _good("import", path, "--out", tmp_path / "b", *given, "--jobs", "1")
    assert "assumed" not in said
    (stated,) = open_dataset(tmp_path / "b")
    assert not stated.facts.assumed
    assert stated.signals["observations/joint_position"].time_ns[30] == 1_000_000_000


def test_a_rate_is_not_given_to_what_states_its_own(dataset: Path, tmp_path: Path) -> None:
    said = _complaint("convert", dataset, tmp_path / "out", "--source-rate", "30")
    assert "states its own rate, got 30 Hz" in said
    said = _complaint("check", dataset, "--source-rate", "0")
    assert "--source-rate, got 0; expected" in said


def test_what_leaves_the_rows_of_a_motion_is_named(tmp_path: Path) -> None:
    path = tmp_path / "walk.csv"
    np.savetxt(path, steps("g1"), delimiter=",")
    given = ("--action", "none", "--source-rate", "30", "--robot", "g1", "--jobs", "1")
    said = _good("convert", path, tmp_path / "a", *given)
    assert "beside the rows: base_pose (--include base_pose puts it into them)" in said
    said = _good("convert", path, tmp_path / "b", *given, "--no-sides")
    assert "no column of the rows; --include base_pose adds it" in said
    said = _good("convert", path, tmp_path / "c", *given, "--include", "base_pose")
    assert "2 arrays, all taken" in said
    assert "beside the rows" not in said
