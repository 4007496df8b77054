"""Legs and waist that are wrong in all takes alike are told by the ground and by momentum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.quality.standing import G1, column, standing

from corporeal.episode.recording import ArraySignal, Recording
from corporeal.errors import NotAssessed
from corporeal.exchange.opening import open_dataset
from corporeal.quality import Subject
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.check import Finding
from corporeal.quality.checks.leg_order_wrong import CHECK
from corporeal.quality.evidence.leg_order import AS_IS, LEGS, WAIST, leg_order_measures

Edit = Callable[[np.ndarray], None]
JOINTS, TAKES = "joint_position", 4
LEG = ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")


@cache
def _takes(path: Path) -> tuple[Recording, ...]:
    """A real dance, cut into takes."""
    dance = open_dataset(path, robot=G1).open(0)
    return tuple(_part(dance, number) for number in range(TAKES))


def _part(dance: Recording, number: int) -> Recording:
    signals = {}
    for label, signal in dance.signals.items():
        assert isinstance(signal, ArraySignal)
        rows = slice(number * len(signal) // TAKES, (number + 1) * len(signal) // TAKES)
        signals[label] = replace(
            signal, time_ns=signal.time_ns[rows], values=np.array(signal[:])[rows]
        )
    return replace(dance, index=number, signals=signals)


@pytest.fixture
def dance(shared_data: Path) -> tuple[Recording, ...]:
    (path,) = (shared_data / "retarget" / "g1_csv_xyzw").glob("*/*.csv")
    return _takes(path)


def _found(recordings: tuple[Recording, ...], edit: Edit | None = None) -> list[Finding]:
    return list(CHECK.find(Batch(tuple(_brief(each, edit) for each in recordings))))


def _brief(recording: Recording, edit: Edit | None) -> Synopsis:
    (label,) = (label for label in recording.signals if label.endswith(JOINTS))
    signal = recording.signals[label]
    assert isinstance(signal, ArraySignal)
    values = np.array(signal[:])
    if edit is not None:
        edit(values)
    spoilt = replace(recording, signals={**recording.signals,
                                         label: replace(signal, values=values)})  # fmt: skip
    measures = leg_order_measures(Subject(spoilt))
    return _synopsis(recording.index, measures)


def _synopsis(index: int, measures: dict[str, float]) -> Synopsis:
    names = tuple(f"{side}_{joint}_joint" for side in ("left", "right") for joint in LEG)
    return Synopsis(index, "", Path(), None, {}, 0.0, 0, b"", None, {}, names=names,
                    measures=measures)  # fmt: skip


def _turn(joint: str) -> Edit:
    def edit(values: np.ndarray) -> None:
        values[:, column(joint)] *= -1

    return edit


def _exchange(*pairs: tuple[str, str]) -> Edit:
    one, other = ([column(joint) for joint in side] for side in zip(*pairs, strict=True))

    def edit(values: np.ndarray) -> None:
        values[:, one + other] = values[:, other + one]

    return edit


def test_a_real_dance_passes_whole_and_in_takes(dance: tuple[Recording, ...]) -> None:
    assert _found(dance) == []
    assert _found(dance[1:2]) == []


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (_turn("left_knee_joint"), "left_knee_joint has its sign turned round"),
        (_turn("left_hip_pitch_joint"), "left_hip_pitch_joint has its sign turned round"),
        (_turn("right_ankle_pitch_joint"), "right_ankle_pitch_joint has its sign turned round"),
        (
            _exchange(("left_hip_pitch_joint", "left_hip_roll_joint")),
            "left_hip_pitch_joint with left_hip_roll_joint are exchanged",
        ),
        (
            _exchange(*((f"left_{joint}_joint", f"right_{joint}_joint") for joint in LEG)),
            "the left and the right leg are exchanged",
        ),
        (_turn("waist_yaw_joint"), "waist_yaw_joint has its sign turned round"),
        (
            _exchange(("waist_yaw_joint", "waist_roll_joint")),
            "waist_yaw_joint with waist_roll_joint are exchanged",
        ),
    ],
)
def test_what_is_wrong_in_all_takes_alike_is_named(
    dance: tuple[Recording, ...], edit: Edit, words: str
) -> None:
    (finding,) = _found(dance, edit)
    assert words in finding.message
    assert len(finding.episodes) >= TAKES - 1


def test_a_single_take_needs_a_clearer_sign(dance: tuple[Recording, ...]) -> None:
    (finding,) = _found(dance[1:2], _turn("left_knee_joint"))
    assert finding.episodes == (1,)
    assert finding.columns == ("left_knee_joint",)
    assert not _found(dance[1:2], _turn("right_ankle_roll_joint"))


def test_a_robot_that_stands_tells_of_no_joint_that_is_near_zero() -> None:
    robots = tuple(replace(standing(), index=number) for number in range(3))
    assert _found(robots) == []
    assert _found(robots, _turn("left_hip_yaw_joint")) == []
    (finding,) = _found(robots, _turn("left_knee_joint"))
    assert finding.columns == ("left_knee_joint",)


def test_an_exchange_of_legs_names_all_their_columns_and_what_rivals_it() -> None:
    gains = {
        LEGS + AS_IS: 3.0,
        f"{LEGS}the left and the right leg are exchanged": 0.5,
        f"{LEGS}left_knee_joint has its sign turned round": 0.45,
    }
    (finding,) = CHECK.find(Batch((_synopsis(0, gains),)))
    assert len(finding.columns) == 2 * len(LEG)
    assert "it may also be that left_knee_joint has its sign" in finding.message


def test_a_wrong_leg_is_not_told_of_the_waist_as_well() -> None:
    knee, yaw = "left_knee_joint has its sign turned round", "waist_yaw_joint has its sign turned"
    gains = {LEGS + AS_IS: 3.0, WAIST + AS_IS: 0.0, f"{LEGS}{knee}": 0.5, f"{WAIST}{yaw}": 2.0}
    (finding,) = CHECK.find(Batch((_synopsis(0, gains),)))
    assert knee in finding.message


def test_without_the_pose_of_a_base_it_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="upright base"):
        list(CHECK.find(Batch((_synopsis(0, {}),))))
