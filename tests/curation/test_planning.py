"""The law of growth: the truth inside its bounds, refusals where the data cannot say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from corporeal.cli.program import program
from corporeal.curation.planning import EvaluationCount, best_purchase, fit_growth
from corporeal.errors import CorporealError


def truth(environments: int) -> float:
    return float(1 - 0.05 - 0.95 * 0.8 * environments**-0.5)


def evaluations(*environments: int, each: int = 4, trials: int = 200) -> list[EvaluationCount]:
    draw = np.random.default_rng(2)
    return [
        EvaluationCount(count, int(draw.binomial(trials, truth(count))), trials)
        for count in environments
        for _ in range(each)
    ]


def test_the_truth_lies_inside_the_bounds_and_more_environments_add_less() -> None:
    fit = fit_growth(evaluations(2, 4, 8, 16, 32))
    assert not fit.refusal
    for count in (64, 128):
        forecast = fit.forecast(count)
        assert forecast.low <= truth(count) <= forecast.high
        assert forecast.high - forecast.low < 0.2
    first = best_purchase(fit, 4, environment_cost=10.0)
    later = best_purchase(fit, 32, environment_cost=10.0)
    assert first["gain_per_cost"] > later["gain_per_cost"] > 0


def test_a_target_above_the_floor_may_be_out_of_reach_and_that_is_said() -> None:
    fit = fit_growth(evaluations(2, 4, 8, 16, 32))
    low, middle, high, unreachable = fit.needed(0.8)
    assert low <= 1 / ((1 - 0.8 - 0.05) / (0.95 * 0.8)) ** 2 <= high
    assert unreachable < 0.05
    assert middle < high
    assert fit.needed(0.99)[3] > 0.5


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        (evaluations(2, 4, 8), "3 different numbers"),
        (evaluations(2, 4, 8, 16, each=2), "fewer than 3 trainings with 2"),
        (evaluations(2, 3, 4, 5, each=3, trials=8), "the slope is anything"),
    ],
)
def test_what_cannot_carry_a_forecast_is_refused(counts: list[EvaluationCount], why: str) -> None:
    assert why in fit_growth(counts).refusal


def test_counts_that_cannot_be_are_refused() -> None:
    with pytest.raises(CorporealError, match="9 of 8"):
        fit_growth([EvaluationCount(2, 9, 8)])


def test_the_command_says_what_a_target_takes_or_what_is_missing(tmp_path: Path) -> None:
    table = tmp_path / "evaluations.csv"
    rows = [f"{each.environments},{each.successes},{each.trials}"
            for each in evaluations(2, 4, 8, 16, 32)]  # fmt: skip
    table.write_text("environments,successes,trials\n" + "\n".join(rows))
    done = CliRunner().invoke(program(), ["plan", str(table), "--target", "0.8", "--json"])
    assert done.exit_code == 0, done.output
    values = json.loads(done.stdout)
    assert [each["environments"] for each in values["forecasts"]] == [32, 64, 128]
    assert values["needed"]["low"] < values["needed"]["middle"]
    plain = CliRunner().invoke(program(), ["plan", str(table), "--target", "0.8", "--cost", "50"])
    assert "environments (" in plain.stdout
    table.write_text("environments,successes,trials\n" + "\n".join(rows[:8]))
    short = CliRunner().invoke(program(), ["plan", str(table)])
    assert short.exit_code == 1
    table.write_text("environments,successes\n1,2\n")
    wrong = CliRunner().invoke(program(), ["plan", str(table)])
    assert "no column 'trials'" in str(wrong.exception)
