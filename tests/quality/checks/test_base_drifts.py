"""A base that drifts away from standing feet is found."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.standing import altered, standing, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.base_drifts import CHECK


def found(subject: Subject) -> list[Finding]:
    return list(CHECK.find(subject))


def test_a_robot_that_stands_and_sways_passes() -> None:
    assert found(Subject(standing())) == []


def test_a_drift_of_six_centimetres_is_found() -> None:
    def drift(values: np.ndarray) -> None:
        values[:, 1] += 0.06 * np.clip((np.arange(len(values)) - 200) / 400, 0, 1)

    (finding,) = found(altered("debug/base_pose", drift))
    assert finding.stream == "debug/base_pose"
    assert 350 < finding.frames[0][0] < 500
    assert finding.value == pytest.approx(0.06, abs=0.005)


def test_a_recording_without_a_base_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no base_pose"):
        found(without("base_pose"))
