"""Names that contradict the robot or the values are found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.reaching import G1, NAMES, POSITION, altered, column, reaching, without

from corporeal.embodiment import open_robot
from corporeal.episode.recording import ArraySignal
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.joint_names_wrong import CHECK


def renamed(*names: str) -> Subject:
    signal = reaching().signals[POSITION]
    assert isinstance(signal, ArraySignal)
    spec = signal.spec.model_copy(update={"components": names, "shape": (len(names),)})
    values = signal.values[:, : len(names)]
    signals = {POSITION: replace(signal, spec=spec, values=values)}
    return Subject(replace(reaching(), signals=signals))


def test_the_robots_own_names_pass() -> None:
    assert list(CHECK.find(Subject(reaching()))) == []


def test_a_name_that_is_there_twice_is_found() -> None:
    (finding,) = CHECK.find(renamed(*NAMES[:-1], NAMES[3]))
    assert finding.stream == POSITION
    assert NAMES[3] in finding.message


def test_another_robots_names_are_found() -> None:
    (finding,) = CHECK.find(renamed(*open_robot("aloha").joint_names))
    assert "names of aloha" in finding.message


def test_columns_in_breadth_first_order_are_found() -> None:
    depth = {G1.base: 0}
    for joint in G1.joints:
        depth[joint.child] = depth[joint.parent] + 1
    order = sorted(range(len(NAMES)), key=lambda n: depth[G1.actuated[n].child])

    def bend(values: np.ndarray) -> None:
        values[:, column("left_knee")] = values[:, column("right_knee")] = 1.4
        values[:, column("left_hip_pitch")] = values[:, column("right_hip_pitch")] = -1.6
        values[:] = values[:, order]

    (finding,) = CHECK.find(altered(joint_position=bend))
    assert "breadth first" in finding.message


def test_a_recording_without_joints_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(CHECK.find(without(reaching(), "joint_position", "joint_position_target")))
