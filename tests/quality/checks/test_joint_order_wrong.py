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
from corporeal.quality.evidence.arm_order import PREFIX, UNNATURAL
from corporeal.quality.synopsis import synopsis

Edit = Callable[[np.ndarray], None]
WORDS = {"a": "a with b are exchanged", "b": "c has its sign turned round"}
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


def _brief(index: int, unnatural: float, **gains: float) -> Synopsis:
    """An episode of which only the measures of its arms are known, by the first letter."""
    named = {PREFIX + WORDS[letter]: gain for letter, gain in gains.items()}
    return Synopsis(
        index=index, id=str(index), source=Path("set"), task=None, metadata={}, duration_s=1.0,
        frames=10, digest=b"", path=None, moments={}, measures={UNNATURAL: unnatural, **named},
    )  # fmt: skip


def _said(*episodes: Synopsis) -> list[Finding]:
    return list(CHECK.find(Batch(episodes)))


def test_several_that_are_odd_in_the_same_way_are_found_where_one_is_not() -> None:
    natural = [_brief(index, 0.0, a=0.1) for index in range(4)]
    odd = _brief(7, 0.5, a=0.9, b=0.3), _brief(9, 0.9, a=1.1)
    (finding,) = _said(*natural, *odd)
    assert finding.episodes == (7, 9)
    assert f"in episodes 7 and 9 alike: {WORDS['a']}" in finding.message
    assert _said(*natural, odd[0]) == []
    assert _said(*natural, odd[0], _brief(9, 0.9, a=0.2, b=1.1)) == [], "each in its own way"
    assert _said(*natural[:2], *odd) == [], "too few natural ones to compare with"


def test_natural_arms_are_wrong_where_every_episode_agrees() -> None:
    agreed = [_brief(index, 0.0, a=gain, b=0.1) for index, gain in enumerate((0.5, 0.5, 0.6, 3.0))]
    (finding,) = _said(*agreed)
    assert finding.episodes == (0, 1, 2, 3)
    assert _said(*agreed[:3]) == [], "too little on average"
    assert _said(*agreed, _brief(4, 0.0, b=0.4, a=0.2)) == [], "one thinks otherwise"


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
