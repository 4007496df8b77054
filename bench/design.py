"""Designed collection: what plans need and leave, planning anew, rules, and unplanned work.

`python -m bench.design`; for the peers `pip install allpairspy covertable` first.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.protocol import Protocol, open_protocol
from corporeal.protocol.coverage import DesignRules, Factor, RequiredCombination
from corporeal.protocol.design import (
    DesignError,
    DesignSpace,
    Rows,
    Scene,
    choose_next,
    count_changes,
    design_space,
    judge,
    least_episodes,
    make_design,
    replan,
)

SIZES = {"object": 6, "pose": 5, "lighting": 3, "surface": 4, "operator": 4, "approach": 2,
         "environment": 3}  # fmt: skip
MINUTES = {"environment": 30.0, "surface": 3.0, "lighting": 1.0}
OUT = Path("out/bench/design.json")


@dataclass(frozen=True)
class Row:
    """One plan, or one way to collect: its figures, by name."""

    part: str
    name: str
    figures: dict[str, float | str]


def kitchen(*, is_hard: bool = False, **rules: Any) -> Protocol:
    """The seven factors of the targets: 8,640 combinations, 307 pairs of levels."""
    factors = tuple(
        Factor(name=name, levels=tuple(f"{name}{at}" for at in range(size)),
               change_min=MINUTES.get(name) if is_hard else None)
        for name, size in SIZES.items()
    )  # fmt: skip
    ready = open_protocol("pick_place")
    return ready.model_copy(update={"factors": factors, "design": DesignRules(**rules)})


def figures(space: DesignSpace, rows: Rows) -> dict[str, float | str]:
    """What a set of episodes leaves unknown."""
    told = judge(space, rows)
    off, worst = told.worst_balance, told.worst_relation
    return {
        "episodes": len(rows),
        "pairs": told.pairs - len(told.missing),
        "triples": round(told.triples or 0.0, 2),
        "imbalance": round(off.off if off else 0.0, 3),
        "cramers_v": round(worst.cramers_v if worst else 0.0, 3),
        "d_efficiency": round(told.d_efficiency, 3),
    }


def plans(seeds: int) -> Iterator[Row]:
    """P-a, first half: our plans beside covering arrays of libraries and beside chance."""
    space = design_space(kitchen())
    for episodes in (least_episodes(space), 36, 72):
        made = []
        for seed in range(seeds):
            began = time.process_time()
            rows = make_design(kitchen(), episodes=episodes, seed=seed).rows
            made.append({**figures(space, rows), "cpu_s": round(time.process_time() - began, 2)})
        yield Row("plan", f"ours, {episodes}", _worst(made))
    for name, cover in (("allpairspy", _allpairspy), ("covertable", _covertable)):
        began = time.process_time()
        covered = cover(list(SIZES.values()))
        if covered is not None:
            seconds = time.process_time() - began
            yield Row("plan", name, {**figures(space, covered), "cpu_s": round(seconds, 3)})
    rng = np.random.default_rng(0)
    for episodes in (36, 150):
        drawn = [figures(space, _draw(rng, episodes)) for _ in range(20)]
        yield Row("plan", f"drawn at random, {episodes}", _worst(drawn))


def collecting(seeds: int) -> Iterator[Row]:
    """P-a, second half: proposals one by one, a fifth fails, some are refused, orders are mixed."""
    begun, tried, slowest = [], [], 0.0
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        space = design_space(kitchen())
        plan = make_design(kitchen(), episodes=36, seed=seed).rows
        first = rng.permutation(plan)[:14]
        done, refused = first[rng.random(len(first)) > 0.2], plan[-1:]
        began = time.process_time()
        left = replan(space.without(refused.tolist()), done, 36, seed=seed)
        slowest = max(slowest, time.process_time() - began)
        attempts = len(first)
        while len(left):
            last = done[-1] if len(done) else None
            at = choose_next(space, left, done, Scene(last))
            attempts += 1
            if rng.random() > 0.2:
                done = np.concatenate([done, left[at : at + 1]])
                left = np.delete(left, at, axis=0)
        begun.append(figures(space, done))
        tried.append(attempts)
    yield Row("collected", "planned anew after 30 %", {
        **_worst(begun), "attempts": round(float(np.mean(tried)), 1), "cpu_s": round(slowest, 2),
    })  # fmt: skip


def unplanned(seeds: int) -> Iterator[Row]:
    """How many accepted episodes it takes to meet every pair, with a plan and without."""
    space = design_space(kitchen())
    for name, habit in (("at random", 0.0), ("by habit", 0.5)):
        counts = [_until_all(space, np.random.default_rng(seed), habit) for seed in range(seeds)]
        yield Row("all pairs", name, {
            "episodes": round(float(np.median(counts)), 0),
            "ratio to 36": round(float(np.median(counts)) / 36, 2),
        })  # fmt: skip


def shifts(seeds: int) -> Iterator[Row]:
    """P-b: changes of environment in each shift, and what the order costs in D-efficiency."""
    changes, losses = [], []
    for seed in range(seeds):
        hard = make_design(kitchen(is_hard=True, per_shift=24), episodes=72, seed=seed)
        for shift in range(3):
            changes.append(count_changes(hard.rows[24 * shift : 24 * shift + 24], 6))
        best = make_design(kitchen(), "d-optimal", episodes=72, seed=seed)
        with_shift = Factor(name="shift", levels=("one", "two", "three"))
        space = DesignSpace((*hard.space.factors, with_shift))
        blocks = np.repeat(np.arange(3), 24)[:, None]
        ours = judge(space, np.hstack([hard.rows, blocks])).d_efficiency
        losses.append(1 - ours / best.judgement.d_efficiency)
    yield Row("shifts of 24", "environment, 3 levels", {
        "most changes": max(changes), "loss of D": round(max(losses), 3),
    })  # fmt: skip


def rules(count: int) -> Iterator[Row]:
    """P-c: random rules are all kept, or the conflict is named."""
    kept = named = broken = 0
    rng = np.random.default_rng(3)
    for _ in range(count):
        outcome = _random_rules(rng)
        kept += outcome == "kept"
        named += outcome == "named"
        broken += outcome == "broken"
    yield Row("rules", f"{count} random sets", {"kept": kept, "named": named, "broken": broken})


def _random_rules(rng: np.random.Generator) -> str:
    total = int(rng.integers(6, 30))
    names = "abcd"[: int(rng.integers(2, 5))]
    sizes = [int(size) for size in rng.integers(2, 5, len(names))]

    def level(at: int) -> str:
        return f"{names[at]}{rng.integers(sizes[at])}"

    factors = []
    for at, size in enumerate(sizes):
        quotas: dict[str, Any] = {}
        for what in ("at_least", "at_most"):
            if rng.random() < 0.4:
                quotas[what] = {level(at): int(rng.integers(0, total))}
        levels = tuple(f"{names[at]}{place}" for place in range(size))
        factors.append(Factor(name=names[at], levels=levels, **quotas))
    forbidden = [{names[0]: level(0), names[1]: level(1)} for _ in range(int(rng.integers(0, 4)))]
    required = [
        RequiredCombination(levels={names[0]: level(0), names[-1]: level(len(names) - 1)},
                            episodes=int(rng.integers(1, 6)))
        for _ in range(int(rng.integers(0, 3)))
    ]  # fmt: skip
    protocol = open_protocol("pick_place").model_copy(update={
        "factors": tuple(factors),
        "design": DesignRules(forbidden=tuple(forbidden), required=tuple(required)),
    })  # fmt: skip
    try:
        episodes = make_design(protocol, episodes=total).episodes
    except DesignError as error:
        return "named" if "contradict each other: " in str(error) else "broken"

    def has(levels: Any) -> int:
        return sum(dict(levels).items() <= each.items() for each in episodes)

    fine = not any(has(each) for each in forbidden)
    fine &= all(has(each.levels) >= each.episodes for each in required)
    for factor in factors:
        for name, least in (factor.at_least or {}).items():
            fine &= has({factor.name: name}) >= least
        for name, most in (factor.at_most or {}).items():
            fine &= has({factor.name: name}) <= most
    return "kept" if fine and len(episodes) == total else "broken"


def _until_all(space: DesignSpace, rng: np.random.Generator, habit: float) -> int:
    """Episodes until every pair was met; with a habit the last scene is often shown again."""
    rows = _draw(rng, 1)
    while judge(space, rows).missing:
        new = _draw(rng, 4)
        for at in range(len(new)):
            before = rows[-1] if at == 0 else new[at - 1]
            keep = rng.random(len(SIZES)) < habit
            new[at, keep] = before[keep]
        rows = np.concatenate([rows, new])
    return len(rows)


def _draw(rng: np.random.Generator, count: int) -> Rows:
    return np.stack([rng.integers(size, size=count) for size in SIZES.values()], axis=1)


def _worst(made: list[dict[str, Any]]) -> dict[str, float | str]:
    """The worst of several runs, figure by figure."""
    least = ("pairs", "triples", "d_efficiency")
    return {
        name: round(float((min if name in least else max)(each[name] for each in made)), 3)
        for name in made[0]
    }


def _allpairspy(sizes: list[int]) -> Rows | None:
    try:
        library = import_module("allpairspy")
    except ImportError:
        return None
    return np.array([list(row) for row in library.AllPairs([list(range(n)) for n in sizes])])


def _covertable(sizes: list[int]) -> Rows | None:
    try:
        library = import_module("covertable")
    except ImportError:
        return None
    return np.array([list(row) for row in library.make([list(range(n)) for n in sizes])])


def main() -> None:
    """Measure, print a table for each part and write the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rules", type=int, default=200)
    chosen = parser.parse_args()
    parts: list[Callable[[], Iterator[Row]]] = [
        lambda: plans(chosen.seeds),
        lambda: collecting(chosen.seeds),
        lambda: unplanned(chosen.seeds),
        lambda: shifts(min(3, chosen.seeds)),
        lambda: rules(chosen.rules),
    ]
    rows = []
    for part in parts:
        for row in part():
            rows.append(row)
            words = ", ".join(f"{name} {value}" for name, value in row.figures.items())
            print(f"{row.part:12} {row.name:28} {words}", flush=True)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps([vars(row) for row in rows], indent=1))
    print(f"wrote {OUT}")


if __name__ == "__main__":
    main()
