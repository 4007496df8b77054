"""A robot that follows its operator late is found, by what both do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.quality.moving import G1, POSE, POSITION, SERVO_S, TARGET, angles, moving

from corporeal.embodiment.kinematics import Kinematics
from corporeal.episode.recording import ArraySignal, Recording
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.teleoperation_late import CHECK
from corporeal.quality.evidence.operator_lag import operator_lag
from corporeal.schema import Stream

ARMS = tuple(G1.joint_names[15:])
NAME = "operator_right_hand"


def _signal(name: str, time_s: Any, values: Any, columns: tuple[str, ...]) -> ArraySignal:
    stream = Stream(name=name, group="debug", shape=(len(columns),), components=columns)
    return ArraySignal(stream, np.round(time_s * 1e9).astype(np.int64), np.asarray(values))


def _driven(late_s: float, *, input_s: float = 0.0, leader: bool = False) -> Recording:
    """An operator who faces another way, in a room of their own, and a robot told so much later."""
    recording = moving()
    time_s = np.arange(0.0, 11.0, 1 / 72)
    latency = _signal("operator_latency", time_s, np.tile([input_s, 0.002], (len(time_s), 1)),
                      ("input", "command"))  # fmt: skip
    added = {"debug/operator_latency": latency}
    ahead = time_s + SERVO_S + late_s
    if leader:
        added["debug/joint_goal"] = _signal("joint_goal", time_s, angles(ahead)[:, 15:], ARMS)
    else:
        hand = Kinematics(G1).end_effectors(angles(ahead)).position("right_hand")
        turned = hand @ np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        turns = np.tile([1.0, 0.0, 0.0, 0.0], (len(time_s), 1))
        person = np.hstack([1.4 * turned + [3.0, 1.0, 0.4], turns])
        added[f"debug/{NAME}"] = _signal(NAME, time_s, person, POSE)
        goal = np.hstack([hand, turns])
        added["debug/right_hand_goal"] = _signal("right_hand_goal", time_s, goal, POSE)
    return replace(recording, signals={**recording.signals, **added})


@pytest.mark.parametrize("late_s", [0.0, 0.025, 0.06, 0.12, 0.25])
def test_a_planted_delay_is_recovered_within_two_milliseconds(late_s: float) -> None:
    found = operator_lag(Subject(_driven(late_s, input_s=0.003)))
    assert found.interface == "tracked hands"
    assert found.command_s == pytest.approx(late_s + 0.003, abs=0.002)


@pytest.mark.parametrize("late_s", [0.0, 0.06, 0.25])
def test_so_is_that_of_a_leader_arm(late_s: float) -> None:
    found = operator_lag(Subject(_driven(late_s, leader=True)))
    assert found.interface == "a leader arm"
    assert found.command_s == pytest.approx(late_s, abs=0.002)


def test_what_the_interface_allows_passes() -> None:
    assert list(CHECK.find(Subject(_driven(0.03)))) == []
    assert list(CHECK.find(Subject(_driven(0.0, leader=True)))) == []


def test_a_late_command_is_found_with_what_it_was_held_against() -> None:
    (finding,) = CHECK.find(Subject(_driven(0.2)))
    assert finding.value == pytest.approx(0.2, abs=0.003)
    assert finding.limit == 0.04
    assert "200 ms after the operator (tracked hands, the right hand)" in finding.message
    (finding,) = CHECK.find(Subject(_driven(0.09, leader=True)))
    assert finding.limit == 0.005


def test_messages_that_take_long_count() -> None:
    (finding,) = CHECK.find(Subject(_driven(0.0, input_s=0.2)))
    assert finding.value == pytest.approx(0.2, abs=0.003)


def test_a_robot_that_moves_late_after_a_command_in_time_is_found() -> None:
    recording = _driven(0.0)
    slow = recording.signals[POSITION]
    time_s = slow.time_ns / 1e9
    signals = {**recording.signals, POSITION: replace(slow, values=angles(time_s + SERVO_S - 0.3))}  # type: ignore[type-var]
    (finding,) = CHECK.find(Subject(replace(recording, signals=signals)))
    assert "the robot moves 300 ms after" in finding.message
    assert finding.limit == 0.15


def test_nobody_who_drove_and_nobody_who_moved_are_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no operator drove"):
        list(CHECK.find(Subject(moving())))
    still = _driven(0.0)
    hand = still.signals[f"debug/{NAME}"]
    values = np.tile(np.asarray(hand[:])[:1], (len(hand), 1))
    signals = {**still.signals, f"debug/{NAME}": replace(hand, values=values)}  # type: ignore[type-var]
    with pytest.raises(NotAssessed, match="too little"):
        list(CHECK.find(Subject(replace(still, signals=signals))))
    assert TARGET in still.signals
