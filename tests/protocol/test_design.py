"""Designs keep every rule or name the conflict, meet every pair, and confound nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corporeal.protocol import Protocol, open_protocol
from corporeal.protocol.card import EpisodeCard, card_places, card_words, prohibitions
from corporeal.protocol.coverage import (
    ContinuousFactor,
    DesignRules,
    Factor,
    ObjectPlace,
    RequiredCombination,
)
from corporeal.protocol.design import (
    DesignError,
    Scene,
    choose_next,
    count_changes,
    design_space,
    draw_conditions,
    draw_designs,
    judge,
    make_design,
    replan,
)

SIZES = {"object": 6, "pose": 5, "lighting": 3, "surface": 4, "operator": 4, "approach": 2,
         "environment": 3}  # fmt: skip


def protocol(factors: list[Factor], **rules: Any) -> Protocol:
    """Pick and place with other factors and rules."""
    ready = open_protocol("pick_place")
    return ready.model_copy(update={"factors": tuple(factors), "design": DesignRules(**rules)})


def levelled(name: str, count: int, **more: Any) -> Factor:
    return Factor(name=name, levels=tuple(f"{name}{at}" for at in range(count)), **more)


KITCHEN = [levelled(name, count) for name, count in SIZES.items()]


def test_a_balanced_design_meets_every_pair_evenly_with_nothing_confounded() -> None:
    told = make_design(protocol(KITCHEN), episodes=36, seed=3).judgement
    assert told.pairs == 307
    assert not told.missing
    worst, off = told.worst_relation, told.worst_balance
    assert worst is not None
    assert worst.cramers_v <= 0.2
    assert off is not None
    assert off.off <= 0.12
    assert not told.few_operators


def test_the_full_design_is_everything_that_is_allowed() -> None:
    rules = protocol([levelled("a", 3), levelled("b", 4)], forbidden=[{"a": "a0", "b": "b1"}])
    made = make_design(rules, "full")
    assert len(made.rows) == 11
    assert made.judgement.pairs == 11
    assert not made.judgement.missing


def test_a_pairwise_design_needs_no_more_than_the_two_largest_factors_take() -> None:
    made = make_design(protocol([levelled("a", 4), levelled("b", 4), levelled("c", 2)]), "pairwise")
    assert not made.judgement.missing
    assert len(made.rows) == 16


def test_repeats_ask_for_every_pair_so_often() -> None:
    made = make_design(protocol([levelled("a", 3), levelled("b", 2)], repeats=3), "balanced")
    assert len(made.rows) == 18
    assert not made.judgement.missing


def test_a_d_optimal_design_beats_a_random_one_of_its_size() -> None:
    rules = protocol(KITCHEN)
    made = make_design(rules, "d-optimal", seed=1)
    rng = np.random.default_rng(1)
    drawn = np.stack([rng.integers(size, size=len(made.rows)) for size in SIZES.values()], axis=1)
    assert made.judgement.d_efficiency > 0.85
    assert made.judgement.d_efficiency > judge(design_space(rules), drawn).d_efficiency + 0.1


def test_the_same_seed_is_the_same_plan() -> None:
    rules = protocol([levelled("a", 3), levelled("b", 4), levelled("c", 2)])
    one, same, other = (make_design(rules, seed=seed).rows for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_quotas_required_and_forbidden_combinations_hold_together() -> None:
    factors = [levelled("a", 3, at_least={"a0": 9}, at_most={"a2": 4}), levelled("b", 3),
               levelled("c", 2)]  # fmt: skip
    rules = protocol(
        factors,
        forbidden=[{"a": "a0", "b": ["b0", "b1"]}],
        required=[RequiredCombination(levels={"b": "b2", "c": "c1"}, episodes=6)],
    )
    episodes = make_design(rules, episodes=24).episodes

    def count(**levels: str) -> int:
        return sum(levels.items() <= each.items() for each in episodes)

    assert len(episodes) == 24
    assert count(a="a0") >= 9
    assert 1 <= count(a="a2") <= 4
    assert count(a="a0", b="b0") == count(a="a0", b="b1") == 0
    assert count(b="b2", c="c1") >= 6


@pytest.mark.parametrize(
    ("factors", "rules", "words"),
    [
        (
            [levelled("a", 2, at_least={"a0": 20}), levelled("b", 2)],
            {"episodes": 10},
            "a a0 needs 20 at least",
        ),
        (
            [levelled("a", 2, at_most={"a0": 2, "a1": 3}), levelled("b", 2)],
            {"episodes": 10},
            "a a0 may have 2 at most and a a1 may have 3 at most|"
            "a a0 may have 2 at most; a a1 may have 3 at most",
        ),
        (
            [levelled("a", 2), levelled("b", 2)],
            {"episodes": 10, "forbidden": [{"a": "a0", "b": ["b0", "b1"]}]},
            "a a0 with b b0 or b1 is forbidden and a a0 is a level",
        ),
        (
            [levelled("a", 2), levelled("b", 2)],
            {
                "episodes": 10,
                "forbidden": [{"a": "a0", "b": "b0"}],
                "required": [{"levels": {"a": "a0", "b": "b0"}, "episodes": 2}],
            },
            "a a0 with b b0 is forbidden and a a0 with b b0 needs 2 episodes",
        ),
        ([levelled("operator", 3), levelled("b", 2)], {}, "3 operators at 30 % at most"),
    ],
)
def test_a_conflict_is_named_in_words(
    factors: list[Factor], rules: dict[str, Any], words: str
) -> None:
    with pytest.raises(DesignError, match=words):
        make_design(protocol(factors, **rules))


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_every_rule_holds_or_the_conflict_is_named(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(2, 4), min_size=2, max_size=4))
    names = "abcd"[: len(sizes)]

    def level(at: int) -> str:
        return f"{names[at]}{data.draw(st.integers(0, sizes[at] - 1))}"

    total = data.draw(st.integers(4, 30))
    factors = []
    for at, size in enumerate(sizes):
        quotas: dict[str, Any] = {}
        for what in ("at_least", "at_most"):
            if data.draw(st.booleans()):
                quotas[what] = {level(at): data.draw(st.integers(0, total))}
        factors.append(levelled(names[at], size, **quotas))
    pairs = st.tuples(st.just(0), st.integers(1, len(sizes) - 1))
    forbidden = [{names[a]: level(a), names[b]: level(b)}
                 for a, b in data.draw(st.lists(pairs, max_size=3))]  # fmt: skip
    required = [RequiredCombination(levels={names[a]: level(a), names[b]: level(b)},
                                    episodes=data.draw(st.integers(1, 5)))
                for a, b in data.draw(st.lists(pairs, max_size=2))]  # fmt: skip
    rules = protocol(factors, forbidden=forbidden, required=required)
    try:
        episodes = make_design(rules, episodes=total).episodes
    except DesignError as error:
        conflict = str(error)
        episodes = ()
    else:
        conflict = ""
    if conflict:
        assert "contradict each other: " in conflict
        return
    assert len(episodes) == total

    def has(levels: Mapping[str, Any]) -> int:
        return sum(levels.items() <= each.items() for each in episodes)

    assert not any(has(each) for each in forbidden)
    assert all(has(each.levels) >= each.episodes for each in required)
    for factor in factors:
        counts = {name: has({factor.name: name}) for name in factor.levels}
        assert all(counts[name] >= least for name, least in (factor.at_least or {}).items())
        assert all(counts[name] <= most for name, most in (factor.at_most or {}).items())


def test_no_operator_gets_more_than_the_share_and_every_level_three_people() -> None:
    made = make_design(protocol([levelled("operator", 5), levelled("b", 3)]), episodes=20)
    counts = np.bincount(made.rows[:, 0])
    assert counts.max() <= math.floor(0.3 * 20)
    assert not made.judgement.few_operators


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_after_a_part_done_in_any_order_with_failures_the_rest_is_as_good(seed: int) -> None:
    rules = protocol(KITCHEN)
    made = make_design(rules, episodes=36, seed=seed)
    rng = np.random.default_rng(seed)
    tried = rng.permutation(made.rows)[:14]
    done = tried[rng.random(14) > 0.2]
    space = made.space.without([made.rows[-1]])
    everything = np.concatenate([done, replan(space, done, 36, seed=seed)])
    told = judge(design_space(rules), everything)
    assert len(everything) == 36
    assert not told.missing
    worst, off = told.worst_relation, told.worst_balance
    assert worst is not None
    assert worst.cramers_v <= 0.2
    assert off is not None
    assert off.off <= 0.12
    assert not any(space.is_refused(row) for row in everything[len(done) :])


def test_what_is_hard_to_change_changes_once_for_each_level_and_shift() -> None:
    factors = [levelled("object", 6), levelled("surface", 4, change_min=3),
               levelled("environment", 3, change_min=30)]  # fmt: skip
    made = make_design(protocol(factors, per_shift=24), episodes=72)
    for shift in range(3):
        rows = made.rows[24 * shift : 24 * shift + 24]
        assert count_changes(rows, 2) <= 4
        assert len(set(rows[:, 2].tolist())) == 3


def test_the_next_episode_is_a_rare_one_and_not_always_with_the_same_person() -> None:
    space = design_space(protocol([levelled("object", 3), levelled("approach", 2)]))
    left = np.array([[0, 0], [1, 0], [1, 1], [2, 1]])
    done = np.array([[0, 0], [1, 0], [0, 1]])
    assert choose_next(space, left, done, Scene()) == 3
    # This person has shown approach 1 so far: approach 0 is what is missing with her.
    hers = np.array([[0, 1], [2, 1], [1, 1], [0, 1], [2, 1], [1, 1]])
    assert left[choose_next(space, left, done, Scene(context=[hers])), 1] == 0


def test_a_protocol_without_factors_says_what_to_write() -> None:
    with pytest.raises(DesignError, match="has no factors; expected one or more"):
        make_design(protocol([]))


def test_designs_are_drawn_with_every_level_named() -> None:
    rules = protocol([levelled("object", 3), levelled("approach", 2)])
    figure = draw_designs([make_design(rules, "full"), make_design(rules, "pairwise")], "Two")
    words = {text.get_text() for axes in figure.axes for text in axes.texts}
    assert "full: 6 episodes" in words
    assert any(word.startswith("confounded") for word in words)


def test_numbers_are_spread_as_far_apart_as_can_be() -> None:
    where = ContinuousFactor(
        name="where", axes={"x_m": (0.2, 0.4), "y_m": (-0.2, 0.2)}, places_object=True
    )
    rules = open_protocol("pick_place").model_copy(update={"continuous": (where,)})
    rng = np.random.default_rng(0)
    done: list[dict[str, Any]] = []
    for _ in range(16):
        drawn = draw_conditions(rules, {}, done, rng)
        done.append(dict(drawn.values))
        assert drawn.asked is not None
        x, y, _ = drawn.asked["object_xyz"]
        assert (x, y) == (drawn.values["where"]["x_m"], drawn.values["where"]["y_m"])
        assert 0.2 <= x <= 0.4
    points = np.array([[each["where"]["x_m"] / 0.2, each["where"]["y_m"] / 0.4] for each in done])
    away = np.linalg.norm(points[:, None] - points[None], axis=2) + 9 * np.eye(16)
    drawn_blindly = np.random.default_rng(0).random((16, 2))
    by_chance = np.linalg.norm(drawn_blindly[:, None] - drawn_blindly[None], axis=2)
    assert away.min() > 2 * (by_chance + 9 * np.eye(16)).min()


def test_the_object_is_asked_to_lie_in_the_place_of_its_level() -> None:
    place = ObjectPlace(xyz=(0.3, 0.1, 0.8), radius_m=0.03, yaw_rad=1.0, yaw_range_rad=0.2)
    pose = Factor(name="pose", levels=("near", "far"), places={"near": place})
    rules = protocol([pose])
    for seed in range(20):
        asked = draw_conditions(rules, {"pose": "near"}, [], np.random.default_rng(seed)).asked
        assert asked is not None
        assert math.dist(asked["object_xyz"][:2], (0.3, 0.1)) <= 0.031
        assert abs(asked["object_yaw_rad"] - 1.0) <= 0.2
    assert draw_conditions(rules, {"pose": "far"}, [], np.random.default_rng(0)).asked is None
    assert [each.level for each in card_places(rules)] == ["near"]


def test_a_card_puts_every_level_where_its_factor_has_it() -> None:
    factors = [Factor(name="hand", levels=("left",), field="variation.hand"), levelled("colour", 2),
               levelled("shape", 2)]  # fmt: skip
    rules = protocol(factors)
    levels = {"hand": "left", "colour": "colour0", "shape": "shape1"}
    words = card_words(rules, levels)
    assert words == "Pick up the colour0 shape1 with your left hand and put it on the mark."
    facts = EpisodeCard("k1", "autumn", 3, 24, levels, words).facts(rules)
    assert facts["variation"]["hand"] == "left"
    assert facts["colour"] == "colour0"
    assert facts["card"] == {"id": "k1", "campaign": "autumn", "levels": levels}
    assert "the hand hits the table or an obstacle" in prohibitions(rules)
