"""Curation: are planted copies found in real sets, are others left alone, what does it cost.

Every set of `../shared/data` that reads as demonstrations gets copies of a third of its episodes:
cut elsewhere, played at another speed, rounded, and mirrored where the robot has two sides. What is
found beside those is a false pair. The cost is that of 1,000 demonstrations made of the first set.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.curation.choice import curate
from corporeal.curation.copies import find_copies
from corporeal.curation.method import find_methods
from corporeal.curation.pool import Demonstration, make_pool, read_demonstration
from corporeal.curation.summary import summarise
from corporeal.embodiment.joints import find_mirror
from corporeal.errors import CorporealError
from corporeal.interface import open_dataset
from corporeal.quality import Subject

SETS = (
    "lerobot/g1_inspire_v21_part", "lerobot/gr1_picknplace_v20", "lerobot/so101_v30",
    "hdf5_rlds", "mocap", "retarget",
)  # fmt: skip
_COST_METHODS = ("duplicates", "consistency", "deminf", "diversity", "shortest")


def read_set(path: Path) -> list[Demonstration]:
    """Every demonstration that has a state; others are left out."""
    episodes: list[Demonstration] = []
    try:
        dataset = open_dataset(path)
    except CorporealError:
        return episodes
    for number in dataset.episodes:
        try:
            episodes.append(read_demonstration(Subject(dataset.open(number))))
        except (CorporealError, OSError):
            continue
    return episodes


def sets_below(root: Path) -> Iterator[tuple[str, list[Demonstration]]]:
    """The sets by name; a folder that is none is looked into."""
    for name in SETS:
        folder = root / name
        whole = read_set(folder)
        if len(whole) >= 3:
            yield name, whole
            continue
        for path in sorted(folder.glob("*")) if folder.is_dir() else []:
            part = read_set(path)
            if len(part) >= 3:
                yield f"{name}/{path.name}", part


def plant(episodes: list[Demonstration], draw: np.random.Generator) -> list[tuple[str, Any]]:
    """Copies of a third of them, one way after the other: how, and the copy."""
    robot = episodes[0].robot
    mirror = find_mirror(robot) if robot is not None else None
    has_joints = robot is not None and set(episodes[0].names) == set(robot.joint_names)
    ways = ["cut", "faster", "slower", "rounded", *(["mirrored"] if mirror and has_joints else [])]
    planted = []
    for place, number in enumerate(draw.permutation(len(episodes))[: max(3, len(episodes) // 3)]):
        planted.append((ways[place % len(ways)], copied(episodes[number], ways[place % len(ways)],
                                                        draw, mirror)))  # fmt: skip
    return planted


def copied(
    episode: Demonstration, way: str, draw: np.random.Generator, mirror: Any
) -> Demonstration:
    """The episode once more, changed as who copies a set by accident or on purpose does."""
    fine = np.asarray(episode.fine, np.float64)
    if way == "cut":
        fine = fine[draw.integers(1, max(2, len(fine) // 5)) :]
    elif way in ("faster", "slower"):
        factor = draw.uniform(1.05, 1.2)
        step = factor if way == "faster" else 1 / factor
        times = np.arange(0, len(fine) - 1, step)
        left = times.astype(int)
        fine = fine[left] + (times - left)[:, None] * (fine[left + 1] - fine[left])
    elif way == "rounded":
        fine = np.round(fine, 3)
    else:
        names = episode.robot.joint_names if episode.robot is not None else ()
        order = [episode.names.index(name) for name in names]
        fine = mirror.mirror(fine[:, order])[:, np.argsort(order)]
    times = np.linspace(0, len(fine) - 1, len(episode.path))
    left = np.minimum(times.astype(int), len(fine) - 2)
    path = fine[left] + (times - left)[:, None] * (fine[left + 1] - fine[left])
    return replace(episode, id=f"{episode.id} {way}", digest=f"{draw.integers(1 << 62):016x}",
                   fine=fine.astype(np.float32), path=path)  # fmt: skip


def measure_copies(name: str, episodes: list[Demonstration], seed: int) -> dict[str, Any]:
    """How many planted copies were found, and pairs that nobody planted."""
    draw = np.random.default_rng(seed)
    planted = plant(episodes, draw)
    pool = make_pool([*episodes, *(copy for _, copy in planted)])
    pairs = [(pool.episodes[pair.first].id, pool.episodes[pair.second].id)
             for pair in find_copies(pool)]  # fmt: skip
    wanted = {copy.id: copy.id.rsplit(" ", 1)[0] for _, copy in planted}
    hits = {how: [0, 0] for how, _ in planted}
    for how, copy in planted:
        hits[how][1] += 1
        hits[how][0] += any({copy.id, wanted[copy.id]} == set(pair) for pair in pairs)
    root = [tuple(wanted.get(each, each) for each in pair) for pair in pairs]
    false = sum(first != second for first, second in root)
    count = len(pool)
    return {"set": name, "episodes": len(episodes), "planted": len(planted),
            "found": sum(good for good, _ in hits.values()), "by_way": hits, "false_pairs": false,
            "pairs": count * (count - 1) // 2}  # fmt: skip


def measure_cost(episodes: list[Demonstration], count: int) -> dict[str, float]:
    """CPU seconds of every method and of the summary on so many, made of these with noise."""
    draw = np.random.default_rng(0)
    many = []
    for number in range(count):
        base = episodes[number % len(episodes)]
        shift = draw.normal(size=base.state.shape[1]) * 0.05
        many.append(replace(
            base, id=f"{number}", digest=f"{number:08x}", path=base.path + shift,
            state=(base.state + shift).astype(np.float32), task="one",
            fine=(base.fine + shift + draw.normal(size=base.fine.shape) * 0.003).astype(np.float32),
        ))  # fmt: skip
    pool = make_pool(many)
    cost = {}
    for name in _COST_METHODS:
        begun = time.process_time()
        find_methods()[name].judge(pool, 0)
        cost[name] = time.process_time() - begun
    choice = curate(pool, ["shortest"], keep=0.33)
    begun = time.process_time()
    summarise(choice)
    cost["summary"] = time.process_time() - begun
    return cost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder of real data")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000, help="demonstrations of the cost")
    parser.add_argument("--out", type=Path, default=Path("out/bench_curation.json"))
    asked = parser.parse_args()
    rows: list[dict[str, Any]] = []
    first: list[Demonstration] | None = None
    for name, episodes in sets_below(asked.data):
        usual = list(make_pool(episodes).episodes)
        first = first or usual
        row = measure_copies(name, usual, asked.seed)
        rows.append(row)
        print(
            f"{name:36} {row['episodes']:4} episodes, {row['found']} of {row['planted']} copies "
            f"found {row['by_way']}, {row['false_pairs']} of {row['pairs']} pairs false"
        )
    cost = measure_cost(first, asked.count) if first else {}
    print("CPU s for", asked.count, {name: round(seconds, 1) for name, seconds in cost.items()})
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps({"copies": rows, "cost_cpu_s": cost}, indent=1), "utf-8")


if __name__ == "__main__":
    main()
