"""Copies are found however they were made; honest repeats are none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.curation.pools import cut, g1_names, pool_of, reach, stretched

from corporeal.curation.copies import find_copies
from corporeal.curation.method import find_method
from corporeal.curation.pool import Demonstration
from corporeal.embodiment import open_robot
from corporeal.embodiment.joints import find_mirror

GOAL = np.array([0.6, -0.4, 0.9, 0.2])


def repeats(count: int) -> list[Demonstration]:
    """Honest repeats of one script: the same goal, other noise."""
    return [reach(seed, goal=GOAL) for seed in range(count)]


def hows(*episodes: Demonstration) -> list[str]:
    return [pair.how for pair in find_copies(pool_of(*episodes))]


def test_repeats_of_one_script_are_no_copies() -> None:
    assert hows(*repeats(12)) == []


def test_the_same_numbers_under_another_name_are_an_exact_copy() -> None:
    first = reach(1)
    assert hows(first, replace(first, id="other"), *repeats(4)) == ["an exact copy"]


def test_a_recording_cut_elsewhere_is_a_shifted_copy() -> None:
    first = reach(1)
    assert hows(first, cut(first, 11, 4), *repeats(6)) == ["a shifted copy"]


@pytest.mark.parametrize("factor", [0.85, 1.1, 1.2])
def test_a_recording_played_at_another_speed_is_a_stretched_copy(factor: float) -> None:
    first = reach(1, seconds=6.0)
    assert hows(first, stretched(first, factor), *repeats(6)) == ["a stretched copy"]


def test_a_copy_with_its_last_digits_rounded_is_a_copy() -> None:
    first = reach(1)
    rounded = replace(first, id="rounded", digest="f" * 16,
                      fine=np.round(first.fine, 3).astype(np.float32))  # fmt: skip
    assert hows(first, rounded, *repeats(6)) == ["a copy"]


def test_a_robot_seen_in_a_mirror_is_a_mirrored_copy() -> None:
    robot = open_robot("g1")
    mirror = find_mirror(robot)
    assert mirror is not None
    episodes = [replace(reach(seed, names=g1_names()), robot=robot) for seed in range(8)]
    first = episodes[0]
    turned = replace(first, id="mirrored", digest="0" * 16,
                     fine=mirror.mirror(np.asarray(first.fine, np.float64)).astype(np.float32),
                     path=mirror.mirror(first.path))  # fmt: skip
    assert hows(*episodes, turned) == ["a mirrored copy"]
    assert hows(*episodes) == []


def test_the_best_of_a_group_is_kept_and_the_others_name_it() -> None:
    first = replace(reach(1), total=0.4)
    better = replace(cut(first, 10, 0), total=0.9)
    pool = pool_of(first, better, *repeats(4))
    scores = find_method("duplicates").judge(pool, 0)
    (number,) = scores.dropped
    assert pool.episodes[number].id == first.id
    assert better.source in scores.dropped[number]
    assert len(scores.groups) == 1
