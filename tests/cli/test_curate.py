"""`corporeal curate` as people call it: files, a workspace, a release of what was chosen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.exchange.small_sets import write_episodes
from typer.testing import CliRunner, Result

from corporeal.catalog.episodes import move_episodes
from corporeal.catalog.query import every_episode
from corporeal.catalog.workspace import open_workspace
from corporeal.cli.program import program
from corporeal.errors import CorporealError
from corporeal.exchange.training import read_weights

pytestmark = pytest.mark.slow


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(program(), [str(word) for word in words])


def good(*words: str | Path) -> str:
    result = run(*words)
    assert result.exit_code == 0, f"{result.output} {result.exception!r}"
    return result.stdout


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("curate")
    recorded = write_episodes(folder / "recorded", 6, seconds=0.6, size=(32, 48))
    root = folder / "lab"
    good("init", root)
    run("ingest", recorded, "--workspace", root, "--jobs", "1", "--no-check")
    with open_workspace(root) as workspace, workspace.database.write() as connection:
        ids = [row.id for row in every_episode(connection)]
        move_episodes(connection, ids, "accepted", who="lead", why="looked at by hand")
    return root


def test_a_selection_is_kept_released_and_weighs_an_export(lab: Path, tmp_path: Path) -> None:
    page = tmp_path / "cut.html"
    said = good("curate", "-w", lab, "--by", "shortest,random", "--keep", "0.5", "--name", "half",
                "--report", page)  # fmt: skip
    assert "3 of 6 demonstrations kept" in said
    assert "release create NAME --selection half" in said
    assert "<img" in page.read_text("utf-8")
    again = json.loads(good("curate", "-w", lab, "--by", "shortest,random", "--keep", "0.5",
                            "--name", "half", "--json"))  # fmt: skip
    assert again["is_new"] is False
    other = json.loads(good("curate", "-w", lab, "--by", "random", "--keep", "0.34", "--name",
                            "half", "--against", "half@1.0.0", "--json"))  # fmt: skip
    assert other["selection"]["version"] == "2.0.0"
    assert other["against"]["likeness"] < 1
    made = json.loads(good("release", "create", "third", "--selection", "half@1.0.0", "--split",
                           "train=1", "--unlike-splits", "-w", lab, "--json"))  # fmt: skip
    assert made["episodes"] == 3
    out = tmp_path / "dataset"
    good("export", "third", "-w", lab, "--format", "lerobot", "--out", out, "--no-verify")
    assert set(read_weights(out / "corporeal" / "weights.json").values()) == {1.0}
    assert "select" in good("audit", "log", "selection:half@1.0.0", "--workspace", lab)


def test_files_are_curated_into_a_file_that_export_weighs_by(lab: Path, tmp_path: Path) -> None:
    data = lab.parent / "recorded"
    out = tmp_path / "third.json"
    said = good("curate", data, "--by", "duplicates,random", "--keep", "0.34", "--out", out)
    assert str(out) in said.replace("\n", "")
    assert sorted(set(read_weights(out).values())) == [0.0, 1.0]
    assert "good" in good("document", "check", out)


def test_what_is_wrong_is_said_before_anything_is_read(tmp_path: Path) -> None:
    for words, expected in (
        (("x", "--out", tmp_path / "a.txt"), "ends in .json"),
        (("x", "--report", tmp_path / "no" / "a.html"), "no folder"),
        ((tmp_path / "nothing.h5",), "does not exist"),
    ):
        result = run("curate", *words)
        assert isinstance(result.exception, CorporealError), result.output
        assert expected in str(result.exception)


def test_the_methods_are_listed_with_what_they_need() -> None:
    assert "rollouts with outcomes" in good("curate", "--methods").replace("\n", " ")
