"""`corporeal stations` as a lead calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.operations.monitoring.test_station_offsets import fill
from typer.testing import CliRunner

from corporeal.catalog.workspace import make_workspace
from corporeal.cli.program import program
from corporeal.errors import CorporealError


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    with make_workspace(tmp_path / "lab") as workspace:
        fill(workspace.database)
    return tmp_path / "lab"


def test_stations_are_listed_and_the_one_that_is_off_ends_with_1(lab: Path) -> None:
    result = CliRunner().invoke(program(), ["stations", "-w", str(lab)])
    assert result.exit_code == 1, result.output
    assert "s1: head has serial B7 since 2026-11-1" in result.stdout
    assert "s2 +" in result.stdout
    assert "from the median station" in result.stdout
    assert "3 operators who changed places" in result.stdout


def test_json_has_register_and_offsets(lab: Path) -> None:
    result = CliRunner().invoke(program(), ["stations", "station != s2", "-w", str(lab), "--json"])
    told = json.loads(result.stdout)
    assert [station["name"] for station in told["stations"]] == ["s1", "s3"]
    assert told["stations"][0]["exchanges"][0]["after"] == "B7"
    duration = next(each for each in told["offsets"] if each["measure"] == "duration")
    assert not any(station["chance"] < 0.05 for station in duration["stations"])
    assert result.exit_code == 0


def test_a_query_that_names_a_person_is_refused_where_people_are_not_shown(lab: Path) -> None:
    result = CliRunner().invoke(program(), ["stations", "operator = anna", "-w", str(lab)])
    assert isinstance(result.exception, CorporealError)
    assert "data-only" in str(result.exception)


def test_a_workspace_without_stations_says_what_to_do(tmp_path: Path) -> None:
    with make_workspace(tmp_path / "empty"):
        pass
    result = CliRunner().invoke(program(), ["stations", "-w", str(tmp_path / "empty")])
    assert "say --station when you record" in result.stdout
    assert result.exit_code == 0
