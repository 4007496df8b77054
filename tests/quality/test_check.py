"""Every check: explained, with limits that a document can hold, listed in the default policy."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from corporeal.episode.defect import DefectCheck
from corporeal.quality.check import checks, explain
from corporeal.quality.check_pages import default_document, index, page

SOURCE = Path(__file__).resolve().parents[2] / "src" / "corporeal" / "quality"
PAGES = Path(__file__).resolve().parents[2] / "docs" / "checks"


@pytest.mark.parametrize("name", checks())
def test_a_check_says_what_why_and_how_to_fix(name: str) -> None:
    told = explain(name)
    assert told.title.endswith(".")
    assert "\n" not in told.title
    assert told.what.endswith(".")
    assert told.why.endswith(".")
    assert told.fix.endswith(".")


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
    written = (SOURCE / "default_policy.yaml").read_text("utf-8")
    assert written == default_document(), "write it anew: python tools/write_check_pages.py"


@pytest.mark.parametrize("name", checks())
def test_the_page_of_a_check_is_up_to_date(name: str) -> None:
    assert (PAGES / f"{name}.md").read_text("utf-8") == page(name)


def test_the_list_of_checks_is_up_to_date_and_nothing_else_lies_there() -> None:
    assert (PAGES / "README.md").read_text("utf-8") == index()
    assert {path.stem for path in PAGES.glob("*.md")} == {*checks(), "README"}
