"""Joints that are exchanged or turned round in all episodes alike are found from the body alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.quality.reaching import changed

from corporeal.episode.facts import RETARGETED_MOCAP
from corporeal.episode.recording import Recording
from corporeal.errors import NotAssessed
from corporeal.exchange.opening import open_dataset
from corporeal.quality import Subject
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.check import Finding
from corporeal.quality.checks.joint_order_wrong import CHECK
from corporeal.quality.synopsis import synopsis

Edit = Callable[[np.ndarray], None]
PITCH, ROLL, ELBOW, WRIST_PITCH, RIGHT = 0, 1, 3, 5, 7


@cache
def _g1(folder: Path) -> tuple[Recording, ...]:
    dataset = open_dataset(folder)
    return tuple(dataset.open(number) for number in dataset.episodes[:6])


@pytest.fixture
def real(shared_data: Path) -> tuple[Recording, ...]:
    """Six episodes of a real G1: 14 columns of the arms, then the fingers."""
    return _g1(shared_data / "lerobot" / "g1_inspire_v21_part")


def _found(recordings: tuple[Recording, ...], edit: Edit | None = None) -> list[Finding]:
    spoilt = recordings
    if edit is not None:
        spoilt = tuple(
            changed(each, joint_position=edit, joint_position_target=edit) for each in recordings
        )
    brief: tuple[Synopsis, ...] = tuple(synopsis(Subject(each), pictures=False) for each in spoilt)
    return list(CHECK.find(Batch(brief)))


def _turn(*columns: int) -> Edit:
    def edit(values: np.ndarray) -> None:
        values[:, list(columns)] *= -1

    return edit


def _exchange(one: int, other: int) -> Edit:
    def edit(values: np.ndarray) -> None:
        values[:, [one, other]] = values[:, [other, one]]

    return edit


def _exchange_arms(values: np.ndarray) -> None:
    values[:, :14] = values[:, [*range(7, 14), *range(7)]]


def test_a_real_set_passes(real: tuple[Recording, ...]) -> None:
    assert _found(real) == []


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (_exchange_arms, "the left and the right arm are exchanged"),
        (_turn(ROLL), "left_shoulder_roll_joint has its sign turned round"),
        (_turn(ELBOW, RIGHT + ELBOW), "left_elbow_joint and right_elbow_joint have their signs"),
        (_exchange(PITCH, ROLL), "left_shoulder_pitch_joint with left_shoulder_roll_joint"),
        (_exchange(ELBOW, WRIST_PITCH), "left_elbow_joint with left_wrist_pitch_joint"),
    ],
)
def test_what_is_wrong_in_all_episodes_alike_is_named(
    real: tuple[Recording, ...], edit: Edit, words: str
) -> None:
    (finding,) = _found(real, edit)
    assert f"wrong in the whole set: {words}" in finding.message
    assert len(finding.episodes) == len(real)


def test_a_single_episode_among_natural_ones_asks_a_human(real: tuple[Recording, ...]) -> None:
    edit = _turn(ELBOW, RIGHT + ELBOW)
    odd = changed(real[2], joint_position=edit, joint_position_target=edit)
    (finding,) = _found((*real[:2], odd, *real[3:]))
    assert finding.episodes == (real[2].index,)
    assert CHECK.severity == "quarantine"
    assert "left_elbow_joint and right_elbow_joint have their signs" in finding.message


def test_motions_of_people_are_not_assessed(real: tuple[Recording, ...]) -> None:
    with pytest.raises(NotAssessed, match="of 0 episodes"):
        _found(
            tuple(
                replace(each, metadata={**each.metadata, "mode": RETARGETED_MOCAP}) for each in real
            )
        )


def test_two_episodes_are_not_assessed(real: tuple[Recording, ...]) -> None:
    with pytest.raises(NotAssessed, match="of 2 episodes"):
        _found(real[:2])


def test_a_set_in_degrees_has_no_wrong_order(real: tuple[Recording, ...]) -> None:
    def degrees(values: np.ndarray) -> None:
        values *= 180 / np.pi

    with pytest.raises(NotAssessed):
        _found(real, degrees)
