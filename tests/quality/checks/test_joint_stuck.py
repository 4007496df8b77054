"""Joints that stay where they are while they are told to move are found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.quality.reaching import G1, POSITION, altered, changed, column, reaching, table, without

from corporeal.errors import NotAssessed
from corporeal.exchange.opening import open_dataset
from corporeal.quality import Subject
from corporeal.quality.checks.joint_stuck import CHECK


def freeze(first: int, stop: int, number: int) -> object:
    def edit(values: np.ndarray) -> None:
        values[first:stop, number] = values[first, number]

    return edit


def test_joints_that_follow_pass() -> None:
    assert list(CHECK.find(Subject(reaching()))) == []
    assert list(CHECK.find(Subject(table()))) == []


@pytest.mark.parametrize("stop", [360, 500, 800])
def test_a_frozen_joint_is_found_with_its_frames(stop: int) -> None:
    elbow = column("right_elbow")
    (finding,) = CHECK.find(altered(joint_position=freeze(300, stop, elbow)))  # type: ignore[arg-type]
    assert finding.stream == POSITION
    assert "right_elbow_joint" in finding.message
    assert abs(finding.frames[0][0] - 300) <= 2
    assert abs(finding.frames[0][1] - stop) <= 2


def test_a_joint_frozen_all_the_time_is_found_in_a_table() -> None:
    spoilt = changed(table(), joint_position=freeze(0, 360, 3))  # type: ignore[arg-type]
    (finding,) = CHECK.find(Subject(spoilt))
    assert finding.frames == ((0, 360),)


def test_a_joint_that_is_not_told_to_move_may_stand() -> None:
    elbow = column("right_elbow")
    hold = freeze(0, 800, elbow)
    calm = altered(joint_position=hold, joint_position_target=hold, joint_velocity=turn_off(elbow))  # type: ignore[arg-type]
    assert list(CHECK.find(calm)) == []


def turn_off(number: int) -> object:
    def edit(values: np.ndarray) -> None:
        values[:, number] = 0.0

    return edit


def test_a_finger_that_is_held_by_what_it_grasps_passes() -> None:
    def held(values: np.ndarray) -> None:
        values[:, -1] = np.minimum(values[:, -1], 0.6)

    assert list(CHECK.find(Subject(changed(table(), joint_position=held)))) == []


def in_motor_units(values: np.ndarray) -> None:
    values[:, -1] = np.where(values[:, -1] > 0.5, 3.0, -3.0)


def tracking(values: np.ndarray) -> None:
    """A finger that runs after its command and never stands still."""
    place = 0.05 * np.sin(np.arange(len(values)) / 4.0) + values[:, -1]
    values[:, -1] = place


def test_a_finger_that_freezes_is_found_though_its_command_is_in_another_unit() -> None:
    good = changed(table(), joint_position=tracking, joint_position_target=in_motor_units)
    assert list(CHECK.find(Subject(good))) == []
    spoilt = changed(good, joint_position=freeze(60, 90, -1))  # type: ignore[arg-type]
    (finding,) = CHECK.find(Subject(spoilt))
    assert finding.stream == "observation.state"
    assert "kRightHandIndex" in finding.message
    assert finding.frames == ((60, 90),)


def test_a_finger_that_often_rests_may_stand_while_its_command_moves() -> None:
    def resting(values: np.ndarray) -> None:
        values[:, -1] = np.round(values[:, -1], 1)

    calm = changed(table(), joint_position=resting, joint_position_target=in_motor_units)
    assert list(CHECK.find(Subject(calm))) == []


def test_stamps_in_bursts_are_not_assessed() -> None:
    recording = table()
    signals = {}
    for label, signal in recording.signals.items():
        number = np.arange(len(signal))
        stamps = np.asarray(signal.time_ns)[number // 5 * 5] + number % 5 * 50_000
        signals[label] = replace(signal, time_ns=stamps)  # type: ignore[type-var]
    with pytest.raises(NotAssessed, match="unevenly"):
        list(CHECK.find(Subject(replace(recording, signals=signals))))


def test_a_recording_without_an_action_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="joint_position_target"):
        list(CHECK.find(without(reaching(), "joint_position_target")))


def test_a_motor_without_power_that_trembles_in_place_asks_for_a_human() -> None:
    elbow = column("right_elbow")
    noise = np.random.default_rng(3).normal(0, 2e-4, 250)

    def let_go(values: np.ndarray) -> None:
        values[300:550, elbow] = values[300, elbow] + noise

    (finding,) = CHECK.find(altered(joint_position=let_go, joint_velocity=turn_off(elbow)))  # type: ignore[arg-type]
    assert finding.severity == "quarantine"
    assert "right_elbow_joint" in finding.message
    assert abs(finding.frames[0][0] - 300) <= 60


def test_a_joint_at_its_limit_may_stay_there() -> None:
    elbow = column("right_elbow")
    limit = next(j.upper for j in G1.actuated if j.name == "right_elbow_joint") or 0.0

    def stop(values: np.ndarray) -> None:
        values[300:550, elbow] = limit

    def ask(values: np.ndarray) -> None:
        values[150:275, elbow] = limit + 0.5 * np.sin(np.linspace(0, 3.1, 125)) + 0.2

    spoilt = altered(joint_position=stop, joint_position_target=ask, joint_velocity=turn_off(elbow))  # type: ignore[arg-type]
    assert not [each for each in CHECK.find(spoilt) if each.severity == "quarantine"]


def test_a_hand_whose_bus_died_before_it_closed_is_found() -> None:
    dice = np.random.default_rng(4)

    def tremble(values: np.ndarray) -> None:
        values[:, -1] += np.round(dice.normal(0, 1, len(values))) * 1e-4
        values[90:, -1] = values[90, -1]

    found = list(CHECK.find(Subject(changed(table(), joint_position=tremble))))
    assert [each.frames[0][1] for each in found] == [360]
    assert abs(found[0].frames[0][0] - 90) <= 2


def test_a_hand_that_is_held_for_some_rows_all_along_is_not_stuck(shared_data: Path) -> None:
    dataset = open_dataset(shared_data / "lerobot" / "g1_inspire_v21_part")
    recording = dataset.open(6)
    (names,) = [s.spec.names for k, s in recording.signals.items() if k == "observation.state"]
    assert names is not None
    hands = [number for number, name in enumerate(names) if "Hand" in name]

    def hold(values: np.ndarray) -> None:
        values[:, hands] = values[np.arange(len(values)) // 3 * 3][:, hands]

    assert list(CHECK.find(Subject(changed(recording, joint_position=hold)))) == []
