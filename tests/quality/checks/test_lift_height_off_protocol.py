"""The object is lifted high enough."""

from __future__ import annotations

import pytest
from tests.quality.demonstrations import OBJECT, demonstration, told, without
from tests.quality.ruled import judge

from corporeal.errors import NotAssessed

NAME = "lift_height_off_protocol"


def test_passes_at_fifteen_centimetres() -> None:
    assert not list(judge(NAME, demonstration()))


def test_finds_an_object_that_is_lifted_too_little() -> None:
    (found,) = judge(NAME, demonstration(), lift_clearance_m=0.25)
    assert found.stream == OBJECT
    assert "18 cm; the protocol asks for 25 cm" in found.message


def test_without_an_object_a_rule_or_a_success_it_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no object_pose"):
        list(judge(NAME, without(demonstration(), OBJECT)))
    with pytest.raises(NotAssessed, match="no clearance"):
        list(judge(NAME, demonstration(), lift_clearance_m=None))
    with pytest.raises(NotAssessed, match="failure"):
        list(judge(NAME, told(demonstration(), outcome={"success": False})))
