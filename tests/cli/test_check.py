"""`corporeal check`, `checks`, `failures` and `score` as people call them."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.quality.samples import joints
from typer.testing import CliRunner, Result

from corporeal.cli.program import program
from corporeal.embodiment import open_robot
from corporeal.episode import EpisodeWriter
from corporeal.errors import CorporealError
from corporeal.schema import Schema


def _run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(program(), [str(argument) for argument in arguments])


def _write(path: Path, seed: int, *, spoilt: bool = False) -> Path:
    """An episode of six seconds; a spoilt one has lost the numbers of one joint for a moment."""
    robot = open_robot("g1")
    recording = joints(robot, seed=seed)
    streams = [signal.spec for signal in recording.signals.values()]
    schema = Schema.model_validate(
        {"document": "schema", "name": "small", "version": "1.0.0", "metadata": ["task"],
         "file_name": "{task}_{index:04d}.h5",
         "streams": [each.model_dump() for each in streams]}
    )  # fmt: skip
    with EpisodeWriter(path, schema=schema, embodiment=robot, metadata=recording.metadata) as out:
        for signal in recording.signals.values():
            values = np.array(signal[:])
            if spoilt and signal.spec.name == "joint_position":
                values[100:110, 4] = np.nan
            out.extend(signal.spec.path, signal.time_ns, values)
    return path


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _write(tmp_path_factory.mktemp("good") / "good.h5", 0)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mixed")
    _write(folder / "a.h5", 1)
    _write(folder / "b.h5", 2, spoilt=True)
    return folder


ONLY = ("--only", "values_not_finite", "--only", "episode_unreadable")


def test_good_data_exits_with_0(good: Path) -> None:
    result = _run("check", good, *ONLY)
    assert result.exit_code == 0, result.output
    assert "1 accepted" in result.stdout


def test_bad_data_exits_with_1_and_says_what_and_where(mixed: Path) -> None:
    result = _run("check", mixed, *ONLY, "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    first, second = report["episodes"]
    assert (first["verdict"], second["verdict"]) == ("accepted", "failed")
    assert (first["index"], second["index"]) == (0, 1)
    (finding,) = second["findings"]
    assert finding["check"] == "values_not_finite"
    assert finding["stream"] == "observations/joint_position"
    assert finding["frames"] == [[100, 110]]
    assert report["set"]["findings"] == []


def test_the_table_for_people_leads_with_the_worst(mixed: Path) -> None:
    page = _run("check", mixed, *ONLY).stdout
    assert page.index("b.h5") < page.index("a.h5")
    assert "1 accepted, 0 quarantined, 1 failed of 2 under default@1.1.0" in page
    assert "corporeal check --explain values_not_finite" in page


def test_reports_are_written_beside_the_table(mixed: Path, tmp_path: Path) -> None:
    files = [tmp_path / "new" / name for name in ("page.html", "cases.xml", "results.sarif")]
    options = [*zip(("--html", "--junit", "--sarif"), files, strict=True)]
    result = _run("check", mixed, *ONLY, *(each for pair in options for each in pair))
    assert result.exit_code == 1
    assert "values_not_finite" in files[0].read_text()
    assert ElementTree.parse(files[1]).getroot().tag == "testsuites"
    assert json.loads(files[2].read_text())["version"] == "2.1.0"


def test_sorted_failures_are_listed_by_reason(mixed: Path, tmp_path: Path) -> None:
    assert _run("check", mixed, *ONLY, "--sort", tmp_path / "sorted").exit_code == 1
    listed = json.loads(_run("failures", tmp_path / "sorted", "--json").stdout)
    assert listed["reasons"] == {"values_not_finite": 1}
    assert listed["episodes"][0]["path"] == "failures/b.h5"
    result = _run("failures", tmp_path / "sorted", "--reason", "finite_value")
    assert "values_not_finite" in str(result.exception)


def test_an_episode_cut_short_fails_and_its_neighbours_are_still_judged(
    mixed: Path, tmp_path: Path
) -> None:
    whole = (mixed / "a.h5").read_bytes()
    (tmp_path / "cut.h5").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "whole.h5").write_bytes(whole)
    report = json.loads(_run("check", tmp_path, *ONLY, "--json").stdout)
    assert [each["verdict"] for each in report["episodes"]] == ["failed", "accepted"]
    assert report["episodes"][0]["findings"][0]["check"] == "episode_unreadable"


def test_a_file_that_cannot_be_read_is_no_data_to_judge(mixed: Path, tmp_path: Path) -> None:
    whole = (mixed / "a.h5").read_bytes()
    (tmp_path / "cut.h5").write_bytes(whole[: len(whole) // 2])
    result = _run("check", tmp_path / "cut.h5", *ONLY)
    assert isinstance(result.exception, CorporealError)
    assert "cut.h5" in str(result.exception)
    assert "\n" not in str(result.exception)


def test_a_set_without_episodes_is_not_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from corporeal.episode.recording import Dataset

    empty = Dataset(tmp_path, "lerobot", (), lambda _: joints())
    monkeypatch.setattr("corporeal.interface.open_paths", lambda *_, **__: empty)
    result = _run("check", tmp_path, *ONLY)
    assert isinstance(result.exception, CorporealError)
    assert "got no episode" in str(result.exception)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("check",), "got nothing to check"),
        (("check", "absent.h5"), "absent.h5 does not exist"),
        (("check", "--explain", "joint_beyond_limits"), "joint_beyond_limit"),
        (("checks", "--topic", "joint"), "joints"),
        (("check", ".", "--only", "nonsense"), "nonsense"),
        (("failures", "."), "--sort"),
    ],
)
def test_a_mistake_gets_one_sentence(
    arguments: tuple[str, ...], part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = _run(*arguments)
    assert isinstance(result.exception, CorporealError), result.output
    assert part in str(result.exception)
    assert "\n" not in str(result.exception)


def test_a_policy_with_an_unknown_check_is_refused_with_its_line(
    good: Path, tmp_path: Path
) -> None:
    policy = tmp_path / "ours.yaml"
    policy.write_text(
        "document: policy\nname: ours\nversion: 1.0.0\nchecks:\n  gap_in_streams: {}\n"
    )
    result = _run("check", good, "--policy", policy)
    assert isinstance(result.exception, CorporealError)
    assert "gap_in_stream" in str(result.exception)


def test_a_policy_decides_what_a_finding_means(mixed: Path, tmp_path: Path) -> None:
    policy = tmp_path / "ours.yaml"
    policy.write_text(
        "document: policy\nname: ours\nversion: 1.0.0\n"
        "checks:\n  values_not_finite: {severity: quarantine}\n"
    )
    report = json.loads(_run("check", mixed, *ONLY, "--policy", policy, "--json").stdout)
    assert report["episodes"][1]["verdict"] == "quarantined"
    assert report["policy"]["name"] == "ours@1.0.0"


def test_the_catalogue_lists_every_check_and_explains_one() -> None:
    from corporeal.quality.check import checks

    listed = json.loads(_run("checks", "--json").stdout)
    assert {each["check"] for each in listed} == set(checks())
    page = _run("check", "--explain", "joint_beyond_limit").stdout
    assert _run("check", "--explain", "joint_limits").stdout == page
    assert "Why it matters" in page
    assert "margin" in page


def test_the_printed_policy_is_a_valid_one(tmp_path: Path) -> None:
    path = tmp_path / "all.yaml"
    path.write_text(_run("checks", "--as-policy").stdout)
    assert _run("document", "check", path).exit_code == 0


def test_scores_come_with_their_parts(mixed: Path) -> None:
    report = json.loads(_run("score", mixed / "a.h5", "--json").stdout)
    (episode,) = report["episodes"]
    assert 0 <= episode["total"] <= 1
    contributions = sum(part["contribution"] for part in episode["parts"])
    assert contributions == pytest.approx(episode["total"])


def test_a_score_can_be_opened_part_by_part(mixed: Path) -> None:
    page = _run("score", mixed / "a.h5", "--explain").stdout
    assert "spectral_arc_length" in page
    assert "not assessed" in page
