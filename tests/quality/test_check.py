"""Checks: explained, their limits, the default policy; findings: verdicts, JSON."""

from __future__ import annotations

import math
from pathlib import Path
from typing import get_args

import pytest

from corporeal.episode.recording import DefectCheck
from corporeal.errors import UnknownNameError
from corporeal.quality.check import (
    Finding,
    checks,
    default_document,
    explain,
    find_check,
    index,
    page,
    present_name,
    verdict,
)

SOURCE = Path(__file__).resolve().parents[2] / "src" / "corporeal" / "quality"
PAGES = Path(__file__).resolve().parents[2] / "docs" / "checks"


@pytest.mark.parametrize("name", checks())
def test_a_check_says_what_why_and_how_to_fix(name: str) -> None:
    told = explain(name)
    assert told.good.endswith(".")
    assert "\n" not in told.good
    assert told.what.endswith(".")
    assert told.why.endswith(".")
    assert told.fix.endswith(".")


@pytest.mark.parametrize("name", checks())
def test_a_name_reads_as_a_title_of_two_to_four_words(name: str) -> None:
    words = name.split("_")
    assert 2 <= len(words) <= 4
    assert explain(name).title.lower().split() == words


def test_a_title_is_the_name_in_words() -> None:
    assert explain("robot_fell").title == "Robot fell"
    assert explain("imu_late").title == "IMU late"


def test_a_former_name_belongs_to_one_check_and_is_no_name_of_today() -> None:
    former = [name for check in checks().values() for name in check.formerly]
    assert len(former) == len(set(former)) > 100
    assert not set(former) & set(checks())


@pytest.mark.parametrize("name", checks())
def test_a_check_is_found_by_every_name_that_it_ever_had(name: str) -> None:
    for known in (name, *checks()[name].formerly):
        assert present_name(known) == name
        assert find_check(known) == (name, checks()[name])


def test_a_name_that_no_check_ever_had_stays() -> None:
    assert present_name("of_somebody_else") == "of_somebody_else"
    with pytest.raises(UnknownNameError, match="robot_fell"):
        find_check("robot_fel")


@pytest.mark.parametrize("name", checks())
def test_limits_are_plain_values_with_a_default(name: str) -> None:
    for limit, value in checks()[name].limits.items():
        plain = value is None or isinstance(value, bool | int | float | str | tuple)
        assert plain, f"{limit} of {name}"


@pytest.mark.parametrize("name", checks())
def test_a_check_has_tests_of_its_own(name: str) -> None:
    assert (Path(__file__).parent / "checks" / f"test_{name}.py").is_file()


@pytest.mark.parametrize("name", get_args(DefectCheck))
def test_what_a_reader_reports_has_a_check(name: str) -> None:
    assert name in checks()


def test_the_default_policy_states_every_number() -> None:
    written = (SOURCE / "policies" / "default.yaml").read_text("utf-8")
    assert written == default_document(), "write it anew: python tools/write_check_pages.py"


@pytest.mark.parametrize("name", checks())
def test_the_page_of_a_check_is_up_to_date(name: str) -> None:
    assert (PAGES / f"{name}.md").read_text("utf-8") == page(name)


def test_the_list_of_checks_is_up_to_date_and_nothing_else_lies_there() -> None:
    assert (PAGES / "README.md").read_text("utf-8") == index()
    assert {path.stem for path in PAGES.glob("*.md")} == {*checks(), "README"}


def test_the_worst_finding_decides() -> None:
    note, look, bad = (Finding("x", severity=each) for each in ("note", "quarantine", "fail"))
    assert verdict(()) == verdict((note,)) == "accepted"
    assert verdict((note, look)) == "quarantined"
    assert verdict((look, bad)) == "failed"


def test_json_has_the_fields_of_the_contract_and_no_nan() -> None:
    finding = Finding(
        "late", "camera", ((3, 5),), math.inf, 0.05, severity="fail", check="gap_in_stream"
    )
    assert finding.to_json() == {
        "check": "gap_in_stream",
        "severity": "fail",
        "stream": "camera",
        "frames": [[3, 5]],
        "value": None,
        "limit": 0.05,
        "message": "late",
    }


def test_a_finding_of_a_batch_names_its_episodes() -> None:
    assert Finding("same", episodes=(1, 4)).to_json()["episodes"] == [1, 4]
