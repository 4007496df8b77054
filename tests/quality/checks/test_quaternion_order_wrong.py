"""A quaternion in another order is found by feet and gyro."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.quality.standing import altered, standing, without

from corporeal.episode.recording import ArraySignal
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.quaternion_order_wrong import CHECK


def found(subject: Subject) -> list[Finding]:
    return list(CHECK.find(subject))


def test_a_robot_that_stands_and_sways_passes() -> None:
    assert found(Subject(standing())) == []


@pytest.mark.parametrize(
    ("order", "really"), [([4, 5, 6, 3], "x y z w"), ([6, 3, 4, 5], "w x y z")]
)
def test_exchanged_columns_are_found_and_named(order: list[int], really: str) -> None:
    subject = altered("debug/base_pose", lambda values: values[:, [0, 1, 2, *order]])
    (finding,) = found(subject)
    assert finding.stream == "debug/base_pose"
    assert f"is in the order {really}" in finding.message


def test_real_motions_in_the_wrong_order_are_found(shared_data: Path) -> None:
    values = np.loadtxt(shared_data / "retarget/g1_csv_wxyz/output_dance.csv", delimiter=",")
    stamps = (np.arange(len(values)) / 30 * 1e9).astype(np.int64)
    signals = {
        label: ArraySignal(standing().signals[label].spec, stamps, part)
        for label, part in (
            ("debug/base_pose", values[:, :7]),
            ("observations/joint_position", values[:, 7:]),
        )
    }
    right = replace(standing(), signals=signals)
    assert found(Subject(right)) == []
    subject = altered("debug/base_pose", lambda base: base[:, [0, 1, 2, 4, 5, 6, 3]], right)
    assert len(found(subject)) == 1


def test_a_recording_without_a_base_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no base_pose"):
        found(without("base_pose"))
