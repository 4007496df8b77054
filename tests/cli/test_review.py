"""`corporeal review` as people call it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.catalog.entries import entry, show_people
from typer.testing import CliRunner, Result

from corporeal.catalog.episodes import add_episodes, move_episodes
from corporeal.catalog.workspace import make_workspace
from corporeal.cli.program import program
from corporeal.errors import CorporealError


def _run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(program(), ["review", *(str(argument) for argument in arguments)])


def _good(*arguments: str | Path) -> str:
    result = _run(*arguments)
    assert result.exit_code == 0, f"{result.output} {result.exception!r}"
    return result.stdout


def _json(*arguments: str | Path) -> Any:
    return json.loads(_good(*arguments, "--json"))


def _complaint(*arguments: str | Path) -> str:
    result = _run(*arguments)
    assert isinstance(result.exception, CorporealError), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A workspace with forty accepted episodes of two operators in one session."""
    made = [
        entry(number, station="st1", session="s0", operator=f"op{number % 2}", task="reach",
              recorded_ns=1_700_049_600 * 10**9 + number * 60 * 10**9)
        for number in range(40)
    ]  # fmt: skip
    with make_workspace(tmp_path / "lab") as workspace:
        show_people(workspace.database)
        with workspace.database.write() as connection:
            add_episodes(connection, made, who="tester")
            ids = [each.id for each in made]
            move_episodes(connection, ids, "accepted", who="tester", why=None)
    return tmp_path / "lab"


def test_a_review_from_the_draw_to_the_verdict(lab: Path) -> None:
    said = _good("create", "monday", "operator = op1", "--share", "0.15", "-w", lab)
    assert "look at 3 of 20; if none is bad" in said
    assert "next: corporeal studio" in said
    shown = _json("show", "monday", "-w", lab)
    episodes = [each["episode"] for each in shown["episodes"]]
    assert len(episodes) == 3
    rejected = _json("decide", "monday", episodes[0][:13], "reject", "--why", "camera: dark",
                     "-w", lab)  # fmt: skip
    assert (rejected["state"], rejected["item"]["why"]) == ("quarantined", "camera: dark")
    assert len(rejected["pulled"]) >= 1
    assert "now accepted" in _good("decide", "monday", episodes[1], "accept", "-w", lab)
    assert "not accepted" in _good("list", "-w", lab)
    words = _good("show", "monday", "-w", lab)
    assert "batch not accepted: 1 of 2 rejected, 0 allowed" in words
    assert f"neighbour of {episodes[0]}" in words
    assert "now accepted" in _good("decide", "monday", episodes[0], "undo", "-w", lab)
    assert _json("show", "monday", "-w", lab)["progress"]["items"] == 3
    for each in (episodes[0], episodes[2]):
        _good("decide", "monday", each, "accept", "-w", lab)
    assert "next: corporeal review close monday" in _good("show", "monday", "-w", lab)
    assert "batch accepted: 0 of 3 rejected" in _good("close", "monday", "-w", lab)


def test_the_same_seed_draws_the_same(lab: Path, tmp_path: Path) -> None:
    first = _json("create", "one", "--seed", "3", "-w", lab)
    assert first["settings"]["seed"] == 3
    assert first["progress"]["plan"]["words"].startswith("look at 5 of 40")
    proved = _json("create", "two", "--limit", "0.2", "-w", lab)
    assert proved["progress"]["plan"]["proves"] <= 0.2


def test_mistakes_get_one_sentence(lab: Path) -> None:
    assert "corporeal review create" in _good("list", "-w", lab)
    _good("create", "monday", "-w", lab)
    assert "expected one of: monday" in _complaint("show", "tuesday", "-w", lab)
    assert "exists already" in _complaint("create", "monday", "-w", lab)
    assert "expected one of: accept, reject, undo" in _complaint(
        "decide", "monday", "x", "burn", "-w", lab
    )
    assert "is not in the catalogue" in _complaint("decide", "monday", "zzz", "accept", "-w", lab)
    assert "is not in the catalogue" in _complaint("decide", "monday", "", "accept", "-w", lab)
    episode = _json("show", "monday", "-w", lab)["episodes"][0]["episode"]
    assert "expected one of: camera" in _complaint("decide", "monday", episode, "reject", "-w", lab)
    assert "share" in _complaint("create", "x", "--share", "2", "-w", lab)
