"""Edge cases are dealt with as the protocol says."""

from __future__ import annotations

import pytest
from tests.quality.ruled import judge, marked

from corporeal.errors import NotAssessed

NAME = "edge_case_off_protocol"


def test_passes_a_case_in_which_one_goes_on() -> None:
    case = "The object falls over but stays on the table"
    assert not list(judge(NAME, marked(edge_case=case)))


def test_passes_a_failure_that_is_labelled_one() -> None:
    lost = marked(edge_case="The object leaves the table", outcome={"success": False})
    assert not list(judge(NAME, lost))


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("The object leaves the table", "keeps it as a failure"),
        ("Someone walks through the picture", "throws such an episode away"),
        ("The operator's view freezes", "starts it again"),
        ("A cat sits on it", "none of the protocol's"),
    ],
)
def test_finds_cases_that_were_dealt_with_otherwise(case: str, words: str) -> None:
    (found,) = judge(NAME, marked(edge_case=case))
    assert words in found.message


def test_without_a_case_it_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(judge(NAME, marked()))
