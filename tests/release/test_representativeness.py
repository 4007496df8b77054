"""Splits are called alike, different, or unknown, each only when that is true."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from corporeal.release.representativeness import Representativeness, compare_splits, cramers_v, holm

RNG = np.random.default_rng(0)


def _splits(train: int, validation: int) -> list[str]:
    return ["train"] * train + ["validation"] * validation


def _judgement(report: Representativeness, name: str) -> str:
    return next(each.judgement for each in report.properties if each.property == name)


def test_a_random_split_of_enough_episodes_is_alike() -> None:
    tasks = RNG.choice(["a", "b", "c"], 2000).tolist()
    report = compare_splits(
        _splits(1800, 200), {"task": tasks}, {"score": RNG.random(2000).tolist()}
    )
    assert report.judgement == "alike"
    assert "alike in everything" in report.words


def test_a_split_by_task_is_found_and_named() -> None:
    tasks = ["pick"] * 900 + ["place"] * 100
    report = compare_splits(_splits(900, 100), {"task": tasks}, {})
    assert report.judgement == "different"
    assert "The splits differ in task." in report.words
    assert "0.0% of train" in report.properties[0].words


def test_a_shifted_score_is_found() -> None:
    scores = [*RNG.normal(0.5, 0.1, 300), *RNG.normal(0.7, 0.1, 60)]
    report = compare_splits(_splits(300, 60), {}, {"score": scores})
    assert _judgement(report, "score") == "different"


def test_a_huge_set_is_not_flagged_for_a_difference_that_does_not_matter() -> None:
    tasks = (["a"] * 51 + ["b"] * 49) * 2000 + (["a"] * 50 + ["b"] * 50) * 2000
    report = compare_splits(_splits(200_000, 200_000), {"task": tasks}, {})
    assert report.properties[0].p is not None
    assert report.properties[0].p < 0.01
    assert report.judgement == "alike"
    assert "too little to matter" in report.properties[0].words


def test_a_small_set_is_not_passed_for_want_of_power() -> None:
    tasks = ["a", "b"] * 10
    report = compare_splits(_splits(16, 4), {"task": tasks}, {"score": RNG.random(20).tolist()})
    assert report.judgement == "cannot tell"
    assert "too few episodes to tell" in report.properties[0].words


def test_small_counts_are_tested_exactly() -> None:
    table = np.array([[8, 1], [1, 9]])
    splits, values = [], []
    for row, name in enumerate(("train", "validation")):
        for column, kind in enumerate("xy"):
            splits += [name] * int(table[row, column])
            values += [kind] * int(table[row, column])
    found = compare_splits(splits, {"task": values}, {}).properties[0]
    assert found.test == "Fisher's exact test"
    assert found.p == pytest.approx(stats.fisher_exact(table).pvalue)


def test_many_rare_values_are_tested_by_permutation_and_repeatably() -> None:
    objects = [f"o{number % 40}" for number in range(200)]
    first, second = (compare_splits(_splits(180, 20), {"object": objects}, {}) for _ in range(2))
    assert first.properties[0].test == "chi-square by permutation"
    assert first == second


def test_many_properties_do_not_make_a_false_alarm() -> None:
    alarms = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        columns = {f"p{at}": rng.choice(["a", "b", "c"], 400).tolist() for at in range(10)}
        alarms += compare_splits(_splits(320, 80), columns, {}).judgement == "different"
    assert alarms <= 5


def test_what_the_splits_were_parted_by_is_not_held_against_them() -> None:
    sessions = ["s1"] * 90 + ["s2"] * 10
    report = compare_splits(_splits(90, 10), {"session": sessions}, {}, by_design=["session"])
    assert _judgement(report, "session") == "by design"
    assert report.judgement == "nothing to compare"


def test_nothing_stated_is_nothing_to_compare() -> None:
    report = compare_splits(_splits(90, 10), {"task": [None] * 100}, {"score": [None] * 100})
    assert {each.judgement for each in report.properties} == {"nothing to compare"}
    assert compare_splits(["train"] * 5, {"task": list("abcde")}, {}).judgement == (
        "nothing to compare"
    )


def test_figures_for_the_manifest_name_nobody() -> None:
    operators = ["anna"] * 90 + ["bert"] * 10
    report = compare_splits(_splits(90, 10), {"operator": operators}, {})
    assert "anna" in str(report.to_json())
    assert "anna" not in str(report.figures())


def test_holm_corrects_step_by_step() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_the_effect_of_chance_is_about_nothing_and_of_identity_one() -> None:
    assert cramers_v(np.array([[50, 50], [50, 50]])) == 0
    assert cramers_v(np.array([[500, 0], [0, 500]])) == pytest.approx(1, abs=0.01)
