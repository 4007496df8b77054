"""Planning: do bounds that promise 90 % hold in simulated laboratories, beyond the data.

Each laboratory has a true law, trains three policies on 2, 4, 8, 16 and 32 environments and tries
each 100 times; asked is the success at 64 and 128. Beside it: a straight line
through logarithms with bounds by redrawn rows, as most people fit it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from corporeal.curation.planning import EvaluationCount, fit_growth

_ENVIRONMENTS, _TRAININGS, _TRIALS, _ASKED = (2, 4, 8, 16, 32), 3, 100, (64, 128)


def laboratory(draw: np.random.Generator) -> tuple[list[EvaluationCount], dict[int, float]]:
    """Evaluations, and the true success at what is asked."""
    floor, scale = draw.beta(1, 9), draw.uniform(0.5, 1.0)
    slope, spread = draw.uniform(0.2, 1.0), draw.beta(1, 20)
    truth = {count: 1 - floor - (1 - floor) * scale * count**-slope
             for count in (*_ENVIRONMENTS, *_ASKED)}  # fmt: skip
    weight = (1 - spread) / spread
    counts = [
        EvaluationCount(
            count,
            int(draw.binomial(_TRIALS, draw.beta(truth[count] * weight,
                                                 (1 - truth[count]) * weight))),
            _TRIALS,
        )
        for count in _ENVIRONMENTS
        for _ in range(_TRAININGS)
    ]  # fmt: skip
    return counts, {count: truth[count] for count in _ASKED}


def line_bounds(
    counts: list[EvaluationCount], asked: int, draw: np.random.Generator
) -> tuple[float, float]:
    """90 % of success by a line through logarithms of failure, rows drawn again."""
    ends = []
    for _ in range(200):
        rows = [counts[number] for number in draw.integers(len(counts), size=len(counts))]
        x = np.log([each.environments for each in rows])
        y = np.log([max(each.trials - each.successes, 0.5) / each.trials for each in rows])
        if np.ptp(x) > 0:
            slope, level = np.polyfit(x, y, 1)
            ends.append(1 - np.exp(level + slope * np.log(asked)))
    low, high = np.quantile(ends, (0.05, 0.95))
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--laboratories", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out/bench_planning.json"))
    asked = parser.parse_args()
    draw = np.random.default_rng(asked.seed)
    covered = {count: [0, 0] for count in _ASKED}
    refused = 0
    for number in range(asked.laboratories):
        counts, truth = laboratory(draw)
        fit = fit_growth(counts, seed=number)
        refused += bool(fit.refusal)
        for count in _ASKED:
            forecast = fit.forecast(count)
            covered[count][0] += forecast.low <= truth[count] <= forecast.high
            low, high = line_bounds(counts, count, draw)
            covered[count][1] += low <= truth[count] <= high
    total = asked.laboratories
    result = {
        "laboratories": total, "refused": refused,
        "coverage": {count: {"law": good / total, "line": line / total}
                     for count, (good, line) in covered.items()},
    }  # fmt: skip
    print(json.dumps(result))
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(result, indent=1), "utf-8")


if __name__ == "__main__":
    main()
