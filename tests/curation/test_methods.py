"""What each method says of pools with a known answer, and how it refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import digamma
from tests.curation.pools import pool_of, reach, with_outcome

from corporeal.curation.gradients import GradientTable, influence, read_gradients
from corporeal.curation.kernel import path_kernel, vendi
from corporeal.curation.method import MethodRefusedError, find_method, find_methods
from corporeal.curation.methods.deminf import information_of
from corporeal.curation.pool import DemonstrationPool
from corporeal.errors import EpisodeError


def judged(name: str, pool: DemonstrationPool, seed: int = 0) -> dict[str, float]:
    scores = find_method(name).judge(pool, seed)
    return {each.id: float(score) for each, score in zip(pool.episodes, scores.score, strict=True)}


def test_every_method_says_of_every_episode_a_score_a_sigma_and_a_reason() -> None:
    pool = pool_of(*(
        replace(with_outcome(reach(seed), success=seed % 3 > 0), verdict="accepted", total=0.5)
        for seed in range(16)
    ))  # fmt: skip
    asked = [name for name, each in find_methods().items() if not each.needs or name == "success"]
    for name in asked:
        scores = find_method(name).judge(pool, 0)
        assert len(scores.score) == len(scores.uncertainty) == len(scores.reasons) == 16, name
        assert all(scores.reasons), name


@pytest.mark.parametrize("name", ["quality", "success", "smoothness", "demo_score", "influence",
                                  "qoq"])  # fmt: skip
def test_a_method_that_lacks_what_it_needs_refuses_in_a_sentence(name: str) -> None:
    with pytest.raises(MethodRefusedError, match=r"expected .+\."):
        find_method(name).judge(pool_of(*(reach(seed) for seed in range(6))), 0)


def test_held_episodes_are_dropped_by_quality_with_what_was_found() -> None:
    bad = replace(reach(1), verdict="quarantined", findings=("Robot fell, pelvis at 20 %",))
    pool = pool_of(bad, *(replace(reach(n), verdict="accepted", total=n / 10) for n in range(2, 8)))
    scores = find_method("quality").judge(pool, 0)
    assert list(scores.dropped.values()) == ["quarantined: Robot fell, pelvis at 20 %"]


def test_actions_that_do_not_follow_states_are_last_by_mutual_information() -> None:
    good = [reach(seed, seconds=8.0) for seed in range(10)]
    bad = [reach(seed, seconds=8.0, noisy_action=0.5) for seed in range(10, 13)]
    scores = judged("deminf", pool_of(*good, *bad))
    worst = sorted(scores, key=lambda name: scores[name])[:5]
    assert {each.id for each in bad} <= set(worst)


def test_mutual_information_is_counted_as_by_hand() -> None:
    draw = np.random.default_rng(3)
    states = draw.normal(size=(40, 2))
    actions = states[:, :1] + 0.1 * draw.normal(size=(40, 1))
    expected = np.zeros(40)
    for n in range(40):
        away_s = [np.linalg.norm(states[n] - states[m]) for m in range(40) if m != n]
        away_a = [abs(actions[n, 0] - actions[m, 0]) for m in range(40) if m != n]
        for k in (5, 6, 7):
            radius = sorted(map(max, away_s, away_a))[k - 1]
            expected[n] -= digamma(sum(a < radius for a in away_s) + 1) / 3
            expected[n] -= digamma(sum(a < radius for a in away_a) + 1) / 3
    assert information_of(states, actions) == pytest.approx(expected)


def test_who_does_something_else_in_like_states_is_last_by_consistency() -> None:
    goal = np.array([0.5, 0.5, -0.5, 0.2])
    odd = reach(50, goal=goal)
    odd = replace(odd, action=odd.action + np.float32(0.4))
    pool = pool_of(odd, *(reach(seed, goal=goal) for seed in range(8)))
    scores = judged("consistency", pool)
    assert min(scores, key=lambda name: scores[name]) == odd.id


def test_two_ways_of_doing_it_are_both_consistent() -> None:
    goal = np.array([0.5, 0.5, -0.5, 0.2])
    one = [reach(seed, goal=goal) for seed in range(6)]
    shift = np.float32(0.4)
    other = [
        replace(each, id=f"b{n}", action=each.action + shift)
        for n, each in enumerate(reach(seed, goal=goal) for seed in range(6, 12))
    ]
    scores = judged("consistency", pool_of(*one, *other))
    lowest, highest = min(scores.values()), max(scores.values())
    assert highest - lowest < 0.5 * abs(lowest)


def test_the_first_by_diversity_are_of_different_kinds() -> None:
    goals = np.eye(4) * 2
    kinds = {f"{kind}{seed}": reach(10 * kind + seed, goal=goals[kind])
             for kind in range(4) for seed in range(5)}  # fmt: skip
    pool = pool_of(*(replace(each, id=name) for name, each in kinds.items()))
    scores = judged("diversity", pool)
    first = sorted(scores, key=lambda name: -scores[name])[:4]
    assert {name[0] for name in first} == set("0123")


@pytest.mark.parametrize("order", [0.5, 1.0, 2.0])
def test_the_vendi_score_counts_what_is_different(order: float) -> None:
    assert vendi(np.eye(7), order) == pytest.approx(7)
    assert vendi(np.ones((7, 7)), order) == pytest.approx(1)
    two = np.zeros((6, 6))
    two[:3, :3] = two[3:, 3:] = 1.0
    assert vendi(two, order) == pytest.approx(2)


def test_the_kernel_is_one_on_its_diagonal_and_says_its_bandwidth() -> None:
    likeness, width = path_kernel(np.array([[0.0], [1.0], [2.0]]))
    assert np.diag(likeness) == pytest.approx(1)
    assert width == 1.0


def test_states_of_rollouts_that_fail_are_last_by_demo_score() -> None:
    up, down = np.full(4, 1.0), np.full(4, -1.0)
    rollouts = [with_outcome(reach(seed, goal=up if seed % 2 else down), success=bool(seed % 2))
                for seed in range(100, 140)]  # fmt: skip
    good, bad = [reach(n, goal=up) for n in range(4)], [reach(n, goal=down) for n in range(4, 8)]
    scores = judged("demo_score", pool_of(*good, *bad, rollouts=rollouts))
    assert min(scores[each.id] for each in good) > 0.6
    assert max(scores[each.id] for each in bad) < 0.4


def table_of(pool: DemonstrationPool, *, good: int) -> GradientTable:
    """Gradients of which those of the first demonstrations point where successes do."""
    draw = np.random.default_rng(5)
    owners = tuple(each.id for each in pool.episodes for _ in range(4))
    way = np.zeros(6)
    way[0] = 1.0
    signs = [1.0 if number < good else -1.0 for number in range(len(pool)) for _ in range(4)]
    rows = np.outer(signs, way) + 0.3 * draw.normal(size=(len(owners), 6))
    success = np.arange(80) % 2 == 0
    rollout = np.repeat(np.arange(80), 3)
    rolled = np.outer(np.where(success[rollout], 1.0, -1.0), way) + draw.normal(size=(240, 6))
    return GradientTable(rows, owners, rolled, rollout, success, trusted=np.tile(way, (3, 1)))


@pytest.mark.parametrize("name", ["influence", "qoq"])
def test_what_successes_owe_to_a_demonstration_is_told_from_gradients(name: str) -> None:
    pool = pool_of(*(reach(seed) for seed in range(8)))
    pool = replace(pool, gradients=table_of(pool, good=4))
    scores = find_method(name).judge(pool, 0).score
    assert scores[:4].min() > scores[4:].max()


def test_influence_is_that_of_leaving_a_step_out_of_a_linear_policy() -> None:
    draw = np.random.default_rng(1)
    rows, rolled = draw.normal(size=(200, 5)), draw.normal(size=(3, 5))
    owed = influence(GradientTable(rows, ("a",) * 200, rolled))
    wanted = rolled @ np.linalg.inv(rows.T @ rows) @ rows.T
    assert owed == pytest.approx(wanted, rel=0.02, abs=1e-4)


def test_a_table_of_gradients_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "gradients.npz"
    np.savez(path, demonstrations=np.zeros((3, 2)), episode=np.array(["a", "b"]))
    with pytest.raises(EpisodeError, match="2 names in 'episode' for 3 rows"):
        read_gradients(path)
    np.savez(path, demonstrations=np.zeros((1, 2)), episode=np.array(["a"]),
             rollouts=np.zeros((2, 2)), rollout=np.array([0, 7]),
             success=np.array([1, 0]))  # fmt: skip
    with pytest.raises(EpisodeError, match="counts to 7"):
        read_gradients(path)
