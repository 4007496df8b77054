"""An episode whose columns mean something else than in the rest of the set is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.quality.reaching import changed, exchange, table, turn

from corporeal.episode.facts import RETARGETED_MOCAP, EpisodeFacts
from corporeal.episode.recording import Recording
from corporeal.errors import NotAssessed
from corporeal.exchange.opening import open_dataset
from corporeal.quality import Subject
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.causes import join_with_batch
from corporeal.quality.check import Finding
from corporeal.quality.checks.columns_unusual import CHECK
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
    (finding,) = CHECK.find(with_odd(exchange(3, 5)))
    assert {finding.stream, *finding.siblings} == {"observation.state", "action"}
    assert finding.episodes == (ODD,)
    assert set(finding.columns) == {"left_elbow_joint", "left_wrist_pitch_joint"}
    assert "left_elbow_joint with left_wrist_pitch_joint are exchanged" in finding.message


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
    assert "are in degrees" in findings[0].message


def test_one_pair_among_many_columns_that_hardly_move_is_found() -> None:
    findings = list(CHECK.find(wide_batch(spoil=lambda path: path[:, [1, 0, *range(2, 40)]])))
    assert [finding.episodes for finding in findings] == [(ODD,)]
    assert "c0 with c1 are exchanged" in findings[0].message


def test_an_arm_that_only_one_episode_uses_is_not_in_degrees() -> None:
    def lift(path: np.ndarray) -> np.ndarray:
        path[:, 30] = np.sin(np.linspace(0, np.pi, len(path)))
        return path

    assert list(CHECK.find(wide_batch(spoil=lift))) == []


def test_columns_with_the_same_range_give_no_evidence() -> None:
    assert (
        list(CHECK.find(wide_batch(spoil=lambda path: path[:, [0, 1, 3, 2, *range(4, 40)]]))) == []
    )


def wide_batch(spoil: Callable[[np.ndarray], np.ndarray]) -> Batch:
    """Forty columns: two rest apart, the others wander about zero each time in another way."""
    members = []
    for seed in range(10):
        dice = np.random.default_rng(seed)
        path = dice.normal(0, 0.3, 40) * np.sin(np.linspace(0, 3, 64))[:, None]
        path += dice.normal(0, 0.3, 40)
        path[:, 30] *= 0.001
        path[:, 0] = 0.15 + 0.05 * path[:, 0]
        path[:, 1] = -0.1 + 0.05 * path[:, 1]
        path = spoil(path) if seed == ODD else path
        names = tuple(f"c{column}" for column in range(40))
        members.append(
            replace(episodes()[0], index=seed, path=path, names=names, moments={}, task="wander")
        )
    return Batch(tuple(members))


def test_three_episodes_are_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="fewer than 4"):
        list(CHECK.find(Batch(episodes()[:3])))


def test_motions_of_people_each_another_are_not_held_against_each_other() -> None:
    odd = with_odd(exchange(3, 5)).episodes
    apart = [replace(each, task=f"clip {each.index}") for each in odd]
    assert list(CHECK.find(Batch(tuple(apart)))), "many tasks of one robot share their rest pose"
    computed = [replace(each, facts=EpisodeFacts(mode=RETARGETED_MOCAP)) for each in apart]
    with pytest.raises(NotAssessed):
        list(CHECK.find(Batch(tuple(computed))))


def test_poses_of_a_teleoperated_hand_are_no_joints(shared_data: Path) -> None:
    dataset = open_dataset(shared_data / "hdf5_rlds" / "rlds_bridge" / "bridge_dataset")
    briefs = [
        synopsis(Subject(dataset.open(number)), pictures=False) for number in dataset.episodes
    ]
    assert list(CHECK.find(Batch(tuple(briefs)))) == []


def test_two_arms_exchanged_in_half_of_the_episodes_are_found_in_these(shared_data: Path) -> None:
    def sides(values: np.ndarray) -> None:
        values[:, :14] = values[:, [*range(7, 14), *range(7)]]

    dataset = open_dataset(shared_data / "lerobot" / "g1_inspire_v21_part")
    recordings = [dataset.open(number) for number in dataset.episodes[:10]]
    for place in range(5):
        recordings[place] = changed(
            recordings[place], joint_position=sides, joint_position_target=sides
        )
    briefs = tuple(synopsis(Subject(each), pictures=False) for each in recordings)
    named = {each for finding in CHECK.find(Batch(briefs)) for each in finding.episodes}
    assert named == set(dataset.episodes[:5])


def test_what_the_body_tells_of_the_same_episode_is_told_with_it() -> None:
    unlike = Finding("unlike the others", check="columns_unusual", severity="fail",
                     columns=("left_elbow_joint", "left_wrist_pitch_joint"))  # fmt: skip
    by_body = Finding("unnatural", check="joint_order_wrong", severity="quarantine",
                      columns=("left_shoulder_roll_joint",))  # fmt: skip
    (told,), own = join_with_batch((unlike, by_body), ())
    assert (told.check, told.consequences, own) == ("columns_unusual", ("joint_order_wrong",), ())
