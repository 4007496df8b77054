"""Degrees are found: in one stream or both, in one column or all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.reaching import POSITION, TARGET, altered, changed, column, reaching, table

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.angles_in_degrees import CHECK

ROLES = {"joint_position": POSITION, "joint_position_target": TARGET}


def all_degrees(values: np.ndarray) -> None:
    values *= 180 / np.pi


def one_degree(values: np.ndarray) -> None:
    values[:, column("right_elbow")] *= 180 / np.pi


def test_radians_pass() -> None:
    assert list(CHECK.find(Subject(reaching()))) == []
    assert list(CHECK.find(Subject(table()))) == []


@pytest.mark.parametrize("edit", [all_degrees, one_degree])
@pytest.mark.parametrize("roles", [("joint_position",), ("joint_position_target",), tuple(ROLES)])
def test_degrees_are_found_in_their_stream(roles: tuple[str, ...], edit: object) -> None:
    findings = list(CHECK.find(altered(**dict.fromkeys(roles, edit))))  # type: ignore[arg-type]
    named = [label for each in findings for label in (each.stream, *each.siblings)]
    assert sorted(map(str, named)) == sorted(ROLES[role] for role in roles)
    if edit is one_degree:
        assert all("right_elbow_joint" in finding.message for finding in findings)


def test_the_same_degrees_in_state_and_action_are_one_finding() -> None:
    (finding,) = CHECK.find(altered(**dict.fromkeys(ROLES, one_degree)))
    assert finding.columns == ("right_elbow_joint",)


def test_degrees_of_an_unknown_robot_are_told_by_the_action() -> None:
    spoilt = replace(changed(table(), joint_position=all_degrees), embodiment=None)
    (finding,) = CHECK.find(Subject(spoilt))
    assert finding.stream == "observation.state"


def test_an_unknown_robot_without_an_action_is_not_assessed() -> None:
    signals = {"observation.state": table().signals["observation.state"]}
    with pytest.raises(NotAssessed):
        list(CHECK.find(Subject(replace(table(), signals=signals, embodiment=None))))
