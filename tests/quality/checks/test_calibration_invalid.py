"""The calibration was valid at the start and at the end."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.calibration.marker_pictures import station
from tests.calibration.test_standing import MARKER
from tests.quality.demonstrations import demonstration, told

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
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


def _known_to(**sigma: Any) -> Subject:
    camera = {"name": "head_left", "frame": "world", "xyz": [0.0, 0.0, 1.0], **sigma}
    made = told(demonstration(), calibration={"start": GOOD, "end": GOOD})
    return Subject(replace(made, documents={"calibration": station(cameras=[camera]).canonical()}))


def test_a_calibration_that_says_it_is_unsure_is_found() -> None:
    vague = {"position_sigma_m": [0.038, 0.0, 0.0]}
    (found,) = find(_known_to(**vague))
    assert found.message == "the place of head_left is known to 38 mm only"
    assert found.limit == 0.005
    assert not list(find(_known_to(**vague), max_position_sigma_m=0.04))
    many = find(_known_to(uncertainty_px=3.0, rotation_sigma_rad=[0.0, 0.05, 0.0]))
    assert [each.message.rpartition(" known ")[2] for each in many] == [
        "to 3 px only", "to 2.9 degrees only",
    ]  # fmt: skip


MEASURED = "2026-03-02T08:00:00+00:00"


def _recorded(minutes: float, said: Any = None, *, plan: bool = True, measured: str = MEASURED,
              epoch: bool = True) -> Subject:  # fmt: skip
    """An episode so long after its calibration was measured; `said` is of the calibration."""
    changes: dict[str, Any] = {"measured": measured}
    if plan:
        changes["verification"] = {"markers": [MARKER], "every_min": 45, "grace_min": 15}
    began = datetime.fromisoformat(MEASURED) + timedelta(minutes=minutes)
    made = told(demonstration(), calibration=said)
    return Subject(
        replace(made, documents={"calibration": station(**changes).canonical()},
                epoch_ns=round(began.timestamp()) * 1_000_000_000 if epoch else 0)
    )  # fmt: skip


def _start(minutes: float, **more: Any) -> dict[str, Any]:
    at = datetime.fromisoformat(MEASURED) + timedelta(minutes=minutes)
    return {"start": {**GOOD, "at": at.isoformat(), **more}}


@pytest.mark.parametrize("measured", [MEASURED, "2026-03-02T08:00"])
def test_an_episode_is_not_older_than_its_calibration(measured: str) -> None:
    # A time without a zone may be up to 14 hours off.
    (found, *_) = find(_recorded(-15 * 60, GOOD | _start(-15 * 60), measured=measured))
    assert "before calibration cell@1.0.0 was measured" in found.message


def test_a_day_without_a_zone_is_the_first_on_earth() -> None:
    said = {"start": GOOD, "end": GOOD}
    assert not list(find(_recorded(-20 * 60, said, plan=False, measured="2026-03-02")))
    (found,) = find(_recorded(-23 * 60, said, plan=False, measured="2026-03-02"))
    assert "before calibration" in found.message


@pytest.mark.parametrize(
    ("minutes", "said", "words"),
    [
        (59, _start(0), None),
        (61, _start(0), "61 min after the last verification; the document asks for one every 45"),
        (61, {**_start(0), "check": {"state": "good"}}, None),
        (61, {**_start(0), "end": GOOD}, None),
        (61, None, "no verification is known since the calibration was measured"),
    ],
)
def test_an_episode_does_not_begin_after_the_next_verification_was_due(
    minutes: float, said: Any, words: str | None
) -> None:
    told_of = [each.message for each in find(_recorded(minutes, said)) if _is_of_time(each)]
    assert len(told_of) == (words is not None)
    assert words is None or words in told_of[0]
    if said is not None:
        assert not any(_is_of_time(each) for each in find(_recorded(minutes, said, plan=False)))


def _is_of_time(finding: Finding) -> bool:
    return "asks for one every" in finding.message


def test_without_a_time_of_day_only_verifications_count() -> None:
    for unsaid in (_recorded(-9000, epoch=False), _recorded(9000, plan=False), _recorded(59)):
        with pytest.raises(NotAssessed):
            list(find(unsaid))
    (found,) = find(_recorded(9000, _start(0), epoch=False))
    assert found.severity == "note"


def test_a_document_that_cannot_be_read_says_nothing_of_time() -> None:
    made = replace(demonstration(), documents={"calibration": "{"}, epoch_ns=10**18)
    with pytest.raises(NotAssessed):
        list(find(Subject(made)))
