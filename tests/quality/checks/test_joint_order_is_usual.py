"""An episode whose columns mean something else than in the rest of the set is found."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.quality.reaching import changed, exchange, table, turn

from corporeal.episode.recording import Recording
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.checks.joint_order_is_usual import CHECK
from corporeal.quality.finding import NotAssessed
from corporeal.quality.subject import Subject
from corporeal.quality.synopsis import synopsis

ODD = 3


@cache
def episodes() -> tuple[Synopsis, ...]:
    return tuple(synopsis(Subject(episode(seed)), pictures=False) for seed in range(8))


def episode(seed: int) -> Recording:
    """One motion, done a little differently each time."""

    def vary(values: np.ndarray) -> None:
        dice = np.random.default_rng(seed)
        values *= dice.uniform(0.9, 1.1)
        values += dice.normal(0, 0.01, values.shape[1])

    recording = changed(table(), joint_position=vary, joint_position_target=vary)
    return replace(recording, index=seed)


def with_odd(edit: object) -> Batch:
    recording = changed(episode(ODD), joint_position=edit, joint_position_target=edit)  # type: ignore[arg-type]
    members = list(episodes())
    members[ODD] = synopsis(Subject(recording), pictures=False)
    return Batch(tuple(members))


def test_episodes_of_one_kind_pass() -> None:
    assert list(CHECK.find(Batch(episodes()))) == []


def test_columns_exchanged_in_state_and_action_of_one_episode_are_found() -> None:
    findings = list(CHECK.find(with_odd(exchange(3, 5))))
    assert {finding.stream for finding in findings} == {"observation.state", "action"}
    assert all(finding.episodes == (ODD,) for finding in findings)
    assert "left_elbow_joint with left_wrist_pitch_joint are exchanged" in findings[0].message


def test_two_arms_exchanged_in_one_episode_are_found() -> None:
    def sides(values: np.ndarray) -> None:
        values[:, :14] = values[:, [*range(7, 14), *range(7)]]

    findings = list(CHECK.find(with_odd(sides)))
    assert {finding.episodes for finding in findings} == {(ODD,)}
    assert "left_elbow_joint with right_elbow_joint" in findings[0].message


def test_a_sign_turned_round_in_one_episode_is_found() -> None:
    findings = list(CHECK.find(with_odd(turn(3))))
    assert {finding.episodes for finding in findings} == {(ODD,)}
    assert "left_elbow_joint has its sign turned round" in findings[0].message


def test_degrees_in_one_episode_are_found() -> None:
    def degrees(values: np.ndarray) -> None:
        values[:, :14] *= 180 / np.pi

    findings = list(CHECK.find(with_odd(degrees)))
    assert {finding.episodes for finding in findings} == {(ODD,)}
    assert "degrees" in findings[0].message


def test_three_episodes_are_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="fewer than 4"):
        list(CHECK.find(Batch(episodes()[:3])))
