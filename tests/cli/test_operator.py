"""`corporeal operator` and `corporeal fatigue` as people call them."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.catalog.entries import show_people
from tests.operations.trained import BEGIN, put
from typer.testing import CliRunner, Result

from corporeal.catalog.workspace import make_workspace, open_workspace
from corporeal.cli.program import program
from corporeal.errors import CorporealError
from corporeal.release import ReleaseOptions, create_release


def _run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(program(), [str(argument) for argument in arguments])


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
    """A workspace with three hours of two operators, a day before today's."""
    with make_workspace(tmp_path / "lab") as workspace, workspace.database.write() as connection:
        put(connection, 40, at=BEGIN)
        put(connection, 40, at=BEGIN, operator="op02")
    return tmp_path / "lab"


def test_people_without_a_certificate_stay_out_of_a_release(lab: Path) -> None:
    _good("operator", "add", "op01", "--hours-before", "40", "-w", lab)
    assert "all data counts" in _good("operator", "tasks", "-w", lab)
    said = _json("operator", "require", "reach", "--since", BEGIN.isoformat(), "-w", lab)
    assert said["practice"] == 80
    moment = (BEGIN + timedelta(minutes=20)).isoformat()
    given = _json("operator", "certify", "op01", "reach", "--since", moment,
                  "--why", "known from the other site", "-w", lab)  # fmt: skip
    assert given["practice"] == 20
    found = _json("ls", "practice is known", "--limit", "1", "-w", lab)
    assert found["total"] == 60
    with open_workspace(lab) as workspace:
        made = create_release(
            workspace, "walks", ReleaseOptions(objects=False, labels="none", unlike_splits=True),
            who="lea",
        )  # fmt: skip
        assert made.episodes == 20
        assert made.facts["left_out"] == {"in practice": 60}
    _good("operator", "revoke", "op01", "reach", "--since", BEGIN.isoformat(),
          "--why", "left the protocol", "-w", lab)  # fmt: skip
    refused = _complaint(
        "export", "walks@1.0.0", "--out", lab / "out", "--format", "lerobot", "-w", lab
    )
    assert "practice partition" in refused
    assert not (lab / "out").exists()


def test_what_is_shown_of_people_follows_the_mode(lab: Path) -> None:
    _good("operator", "add", "op01", "-w", lab)
    assert "data-only" in _good("operator", "privacy", "-w", lab)
    listed = _json("operator", "list", "-w", lab)
    assert listed["operators"][0]["experience"] is None
    assert listed["unknown"] == []
    assert "data-only" in _complaint("ls", "operator = op01", "-w", lab)
    assert "data-only" in _complaint("ls", "op02", "-w", lab)
    assert "data-only" in _complaint("ls", "--order", "operator", "-w", lab)
    assert "data-only" in _complaint("fatigue", "--operator", "op01", "-w", lab)
    assert "data-only" in _complaint("operator", "certify", "op01", "reach", "-w", lab)
    row = _json("ls", "--limit", "1", "-w", lab)["episodes"][0]
    assert row["operator"] is None
    refused = _complaint("operator", "privacy", "managed", "--purpose", "training", "-w", lab)
    assert "--notice, --human-review, --objection" in refused
    with open_workspace(lab) as workspace:
        show_people(workspace.database)
    listed = _json("operator", "list", "-w", lab)
    assert listed["operators"][0]["experience"]["episodes"] == 40
    assert listed["unknown"] == ["op02"]
    assert _json("ls", "operator = op01", "-w", lab)["total"] == 40


def test_training_is_begun_shown_and_refused_in_words(lab: Path) -> None:
    with open_workspace(lab) as workspace:
        show_people(workspace.database)
    _good("operator", "add", "op01", "-w", lab)
    assert "standard@1.0.0" in _good("operator", "begin", "op01", "reach", "practice", "-w", lab)
    said = _json("operator", "show", "op01", "-w", lab)
    assert [each["state"] for each in said["training"][0]["phases"]] == [
        "under way", "not begun", "not begun",
    ]  # fmt: skip
    assert "practice: under way" in _good("operator", "show", "op01", "-w", lab)
    assert "does not suffice" in _complaint("operator", "certify", "op01", "reach", "-w", lab)
    assert "phase" in _complaint("operator", "begin", "op01", "reach", "dancing", "-w", lab)
    assert "op09" in _complaint("operator", "show", "op09", "-w", lab)


def test_fatigue_of_few_people_is_for_those_who_may_see_them(lab: Path) -> None:
    assert "2 operators together" in _complaint("fatigue", "-w", lab)
    with open_workspace(lab) as workspace:
        show_people(workspace.database)
    said = _json("fatigue", "-w", lab)
    assert (said["people"], said["sessions"]) == (2, 2)
    assert "duration" in _good("fatigue", "--operator", "op01", "-w", lab)
