"""Episodes of a workspace are data for every command that takes data: by id, by query, with -w."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.exchange.small_sets import write_episodes
from typer.testing import CliRunner, Result

from corporeal.cli.program import program
from corporeal.errors import CorporealError


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(program(), [str(argument) for argument in arguments])


def _complaint(*arguments: object) -> str:
    result = _run(*arguments)
    assert isinstance(result.exception, CorporealError), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("words")
    return write_episodes(folder / "recorded", 3, seconds=0.6, size=(32, 48))


@pytest.fixture(scope="module")
def lab(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("lab") / "lab"
    assert _run("init", root).exit_code == 0
    assert _run("ingest", recorded, "-w", root, "--no-check", "--jobs", "1").exit_code == 0
    return root


@pytest.fixture(scope="module")
def rows(lab: Path) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(_run("ls", "-w", lab, "--json").stdout)["episodes"]
    return listed


def test_an_id_is_an_episode_to_check_and_names_the_file_it_came_in_with(
    lab: Path, rows: list[dict[str, Any]]
) -> None:
    arguments = ("--no-pictures", "--on", "serial", "--json")
    report = json.loads(_run("check", rows[0]["id"], "-w", lab, *arguments).stdout)
    (episode,) = report["episodes"]
    assert episode["id"] == rows[0]["id"]
    assert Path(episode["source"]).name == Path(rows[0]["file"]).name


def test_a_number_is_an_episode_and_verify_says_which(
    lab: Path, rows: list[dict[str, Any]]
) -> None:
    numbers = [row["number"] for row in rows]
    result = _run("verify", numbers[0], f"#{numbers[1]}", "-w", lab, "--json")
    assert json.loads(result.stdout) == {f"#{numbers[0]}": [], f"#{numbers[1]}": []}


def test_a_query_is_many_episodes(lab: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = _run("export", "state = recorded", "-w", lab, "--format", "episodes", "--out", out,
                  "--on", "serial", "--no-verify", "--json")  # fmt: skip
    assert result.exit_code == 0, result.output
    assert len(json.loads(result.stdout)["episodes"]) == 3
    scored = json.loads(_run("score", "state = recorded", "-w", lab, "--json").stdout)
    assert len(scored["episodes"]) == 3


def test_one_episode_is_drawn_verified_and_its_clocks_are_tested(
    lab: Path, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    name = rows[0]["id"]
    page = tmp_path / "page.png"
    assert _run("plot", name, "-w", lab, "-o", page).exit_code == 0
    assert page.stat().st_size > 1000
    result = _run("verify", name, "-w", lab, "--json")
    assert result.exit_code == 0, result.output
    assert list(json.loads(result.stdout).values()) == [[]]
    assert "got state = recorded, which are 3; expected one" in _complaint(
        "plot", "state = recorded", "-w", lab
    )


def test_what_is_neither_path_nor_episode_says_so(lab: Path) -> None:
    assert "no path, and no episode or release of" in _complaint(
        "check", "state = accepted", "-w", lab
    )
    assert "Did you mean" in _complaint("check", "task = synthetic_reech", "-w", lab)
    assert "does not exist; expected" in _complaint("check", "recordngs")


def test_a_release_takes_its_query_in_place(lab: Path) -> None:
    assert "--where beside a query" in _complaint(
        "release", "create", "walks", "state = accepted", "--where", "state = accepted", "-w", lab
    )
    assert "none meets the condition" in _complaint(
        "release", "create", "walks", "state = accepted", "-w", lab
    )


def test_studio_takes_its_workspace_by_w_as_all_do(lab: Path) -> None:
    assert "expected one of them" in _complaint("studio", lab, "-w", lab)
    assert "is no workspace" in _complaint("studio", "-w", lab / "absent")


def test_a_folder_is_no_episode_to_show_and_says_what_to_do(lab: Path) -> None:
    assert "corporeal ls -w" in _complaint("info", lab)
