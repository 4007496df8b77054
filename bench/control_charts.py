"""Control charts: how long until a false alarm, and until a shift is told of, by simulation.

Run: python -m bench.control_charts --out out/bench_control_charts.json     # two minutes

`theory` solves the integral equations of the run length (Crowder 1987 for the EWMA with steady
limits, Page 1954 for the CUSUM) by Gauss-Legendre quadrature; `published` are the figures that
textbooks print (Lucas and Saccucci 1990 for the EWMA; Montgomery for the CUSUM).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import stats

from corporeal.operations.monitoring.control_chart import (
    MOST_IN_SUMS,
    ChartRules,
    ControlChart,
    chart,
    cusum,
    ewma,
    ewma_spread,
)

Array = NDArray[np.float64]
_BLOCK = 500
PUBLISHED = {
    ("ewma 0.2, 2.962", 0.0): 500.0,
    ("ewma 0.2, 2.962", 1.0): 10.5,
    ("cusum 0.5, 5", 0.0): 465.0,
    ("cusum 0.5, 5", 0.5): 38.0,
    ("cusum 0.5, 5", 1.0): 10.4,
    ("cusum 0.5, 5", 2.0): 4.01,
    ("cusum 0.5, 4", 0.0): 168.0,
    ("cusum 0.5, 4", 1.0): 8.38,
    ("shewhart 3", 0.0): 370.4,
    ("shewhart 3", 1.0): 43.9,
}
SHIFTS = (0.0, 0.5, 1.0, 2.0)


def ewma_theory(weight: float, limit: float, shift: float, nodes: int = 120) -> float:
    """Mean run length of a two-sided EWMA that starts at 0, limits steady."""
    reach = limit * float(np.sqrt(weight / (2 - weight)))
    at, mass = np.polynomial.legendre.leggauss(nodes)
    at, mass = at * reach, mass * reach
    to = (at[None] - (1 - weight) * at[:, None]) / weight - shift
    kernel = stats.norm.pdf(to) / weight * mass[None]
    length = np.linalg.solve(np.eye(nodes) - kernel, np.ones(nodes))
    return float(1 + (stats.norm.pdf(at / weight - shift) / weight * mass) @ length)


def cusum_theory(slack: float, limit: float, shift: float) -> float:
    """Mean run length of the two-sided CUSUM that starts at 0."""
    ways = [_one_sided(slack, limit, shift), _one_sided(slack, limit, -shift)]
    return 1 / sum(1 / way for way in ways)


def _one_sided(slack: float, limit: float, shift: float, nodes: int = 120) -> float:
    at, mass = np.polynomial.legendre.leggauss(nodes)
    at, mass = (at + 1) * limit / 2, mass * limit / 2
    start = np.concatenate([[0.0], at])
    kernel = np.empty((nodes + 1, nodes + 1))
    kernel[:, 0] = stats.norm.cdf(slack - start - shift)
    kernel[:, 1:] = stats.norm.pdf(at[None] + slack - start[:, None] - shift) * mass[None]
    return float(np.linalg.solve(np.eye(nodes + 1) - kernel, np.ones(nodes + 1))[0])


def run_length(
    called: Callable[[Array], NDArray[np.bool_]], shift: float, *, runs: int, steps: int, seed: int
) -> tuple[float, float]:
    """The mean number of batches until a call, and its standard error.

    Runs are cut off at `steps`: time under watch over calls is the mean for a constant hazard.
    """
    rng = np.random.default_rng(seed)
    watched = calls = 0
    for first in range(0, runs, _BLOCK):
        z = rng.normal(shift, 1.0, (steps, min(_BLOCK, runs - first)))
        out = called(z)
        hit = out.any(axis=0)
        watched += int(np.where(hit, out.argmax(axis=0) + 1, steps).sum())
        calls += int(hit.sum())
    mean = watched / max(calls, 1)
    return mean, mean / float(np.sqrt(max(calls, 1)))


def _ewma_calls(weight: float, limit: float) -> Callable[[Array], NDArray[np.bool_]]:
    steady = limit * float(np.sqrt(weight / (2 - weight)))
    return lambda z: np.abs(ewma(z, weight)) > steady


def _cusum_calls(slack: float, limit: float) -> Callable[[Array], NDArray[np.bool_]]:
    def calls(z: Array) -> NDArray[np.bool_]:
        high, low = cusum(z, slack, limit)
        return np.asarray((high > limit) | (low < -limit))

    return calls


def _all_calls(rules: ChartRules) -> Callable[[Array], NDArray[np.bool_]]:
    """All three charts together, as `chart` uses them, the target known."""

    def calls(z: Array) -> NDArray[np.bool_]:
        tamed = np.clip(z, -MOST_IN_SUMS, MOST_IN_SUMS)
        high, low = cusum(tamed, rules.cusum_slack, rules.cusum_limit)
        reach = rules.ewma_limit * ewma_spread(len(z), rules.ewma_weight)[:, None]
        far = np.abs(ewma(tamed, rules.ewma_weight)) > reach
        beyond = (high > rules.cusum_limit) | (low < -rules.cusum_limit)
        return np.asarray(far | beyond | (np.abs(z) > rules.shewhart_limit))

    return calls


def known_target(runs: int) -> list[dict[str, Any]]:
    """Each chart alone against theory and print, and all three together."""
    rules = ChartRules()
    contestants: dict[str, tuple[Any, Callable[[float], float] | None]] = {
        "shewhart 3": (lambda z: np.abs(z) > 3, lambda d: 1 / _outside(3, d)),
        "ewma 0.2, 2.86": (_ewma_calls(0.2, 2.86), lambda d: ewma_theory(0.2, 2.86, d)),
        "ewma 0.2, 2.962": (_ewma_calls(0.2, 2.962), lambda d: ewma_theory(0.2, 2.962, d)),
        "cusum 0.5, 4": (_cusum_calls(0.5, 4), lambda d: cusum_theory(0.5, 4, d)),
        "cusum 0.5, 5": (_cusum_calls(0.5, 5), lambda d: cusum_theory(0.5, 5, d)),
        "all three": (_all_calls(rules), None),
    }
    rows = []
    for name, (calls, theory) in contestants.items():
        for shift in SHIFTS:
            mean, error = run_length(calls, shift, runs=runs, steps=1500, seed=7)
            rows.append({
                "chart": name, "shift": shift, "mean": mean, "error": error,
                "theory": theory(shift) if theory else None,
                "published": PUBLISHED.get((name, shift)),
            })  # fmt: skip
    return rows


def _outside(limit: float, shift: float) -> float:
    return float(stats.norm.sf(limit - shift) + stats.norm.cdf(-limit - shift))


CASES = (
    ("value", 8, 1), ("value", 20, 1), ("value", 50, 1),
    ("rate", 8, 40), ("rate", 20, 40), ("rate", 50, 40),
    ("count", 20, 40),
)  # fmt: skip


def estimated_target(
    series: int, *, cases: Sequence[tuple[str, int, int]] = CASES, later: int = 100, seed: int = 11
) -> list[dict[str, Any]]:
    """`chart` itself, its reference taken from the series: what people will see."""
    rows = []
    for kind, batches, size in cases:
        for shift in (0.0, 1.0, 2.0):
            rng = np.random.default_rng([seed, batches, size])
            rows.append(_watch(kind, batches, size, shift, series, later, rng))
    return rows


def _watch(
    kind: Any, batches: int, size: int, shift: float, series: int, later: int,
    rng: np.random.Generator,
) -> dict[str, Any]:  # fmt: skip
    watched = calls = soon = 0
    for _ in range(series):
        values, sizes = _series(kind, batches, later, size, shift, rng)
        result = chart(
            values, kind=kind, sizes=sizes, rules=ChartRules(first=batches, least=batches)
        )
        assert isinstance(result, ControlChart)
        out = result.signal[batches:] != 0
        watched += int(out.argmax()) + 1 if out.any() else later
        calls += bool(out.any())
        soon += bool(out[:20].any())
    return {"kind": kind, "reference": batches, "shift": shift,
            "mean": watched / max(calls, 1), "within 20": soon / series}  # fmt: skip


def _series(
    kind: str, batches: int, later: int, size: int, shift: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """A figure that moves by `shift` deviations after the reference; sizes differ threefold."""
    moved = np.arange(batches + later) >= batches
    sizes = rng.integers(max(1, size // 2), size * 3 // 2 + 1, batches + later).astype(float)
    if kind == "value":
        return rng.normal(0.8, 0.05, len(sizes)) + shift * 0.05 * moved, sizes
    if kind == "rate":
        lower = shift * np.sqrt(0.85 * 0.15 / size) * moved
        return rng.binomial(sizes.astype(int), 0.85 - lower) / sizes, sizes
    more = shift * np.sqrt(0.2 / size) * moved
    return rng.poisson(sizes * (0.2 + more)) / sizes, sizes


def _shown(value: Any) -> str:
    return "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10000)
    parser.add_argument("--series", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    results = {
        "batches until a call, target known": known_target(options.runs),
        "batches until a call, all three charts, reference taken from the series": (
            estimated_target(options.series)
        ),
    }
    console = Console()
    for title, rows in results.items():
        table = Table(*rows[0], title=title)
        for row in rows:
            table.add_row(*(_shown(value) for value in row.values()))
        console.print(table)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
