"""The calibration was valid at the start and at the end."""

from __future__ import annotations

from typing import Any

import pytest
from tests.quality.demonstrations import demonstration, told

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.calibration_invalid import find

GOOD = {"id": "c1", "position_error_m": 0.001, "rotation_error_rad": 0.003, "passed": True}


def _subject(start: Any, end: Any) -> Subject:
    return Subject(told(demonstration(), calibration={"start": start, "end": end}))


def test_passes_when_both_verifications_are_good() -> None:
    assert not list(find(_subject(GOOD, GOOD)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"position_error_m": 0.005}, "0.005 m at the end"),
        ({"rotation_error_rad": 0.03}, "0.03 rad at the end"),
        ({"passed": False}, "did not pass"),
        ({"id": "c2"}, "changed during the episode: c1 and c2"),
    ],
)
def test_finds_what_went_off(change: dict[str, Any], words: str) -> None:
    (found,) = find(_subject(GOOD, GOOD | change))
    assert words in found.message


def test_a_missing_verification_at_the_end_is_a_note() -> None:
    (found,) = find(_subject(GOOD, None))
    assert found.severity == "note"


@pytest.mark.parametrize("said", [None, "exact", {}])
def test_without_verifications_it_is_not_assessed(said: Any) -> None:
    with pytest.raises(NotAssessed):
        list(find(Subject(told(demonstration(), calibration=said))))
