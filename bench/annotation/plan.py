"""Which simulated episodes are judged: every task, every style of operator, every planted fault."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench.annotation import episodes
from bench.annotation.episodes import TrueEpisode, true_episode
from corporeal.simulation.task import tasks
from corporeal.simulation.variation import STYLES

TASKS = ("pick_place", "handover", "bimanual_lift", "reach", "stand")
ON_FOOT = ("walk", "walk_carry")
CACHE = Path(".cache/annotation")
# The limits of the detectors were set on seeds below 5000, and those of 8000 were looked at once.
FIRST_SEED = 9000
_FAULT_STYLES = ("steady", "hesitant", "jerky")


@dataclass(frozen=True)
class Planned:
    """One demonstration to be made."""

    task: str
    seed: int
    style: str
    fault: str | None
    policy: Path | None = None


def planned(*, seeds: int, policy: Path | None, first: int = FIRST_SEED) -> Iterator[Planned]:
    """`seeds` clean episodes of each task and style, and each fault in three styles."""
    seed = first
    for task in (*TASKS, *(ON_FOOT if policy else ())):
        own = policy if task in ON_FOOT else None
        for style in STYLES:
            for _ in range(seeds):
                yield Planned(task, seed := seed + 1, style, None, own)
        for fault in tasks()[task].faults:
            if task in ON_FOOT and fault == "fall":
                continue
            for style in _FAULT_STYLES:
                yield Planned(task, seed := seed + 1, style, fault, own)


def made(plan: list[Planned], *, workers: int = 2) -> Iterator[TrueEpisode]:
    """The planned episodes in order, from the cache where they are in it."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(workers) as pool:
        for path in pool.map(_stored, plan):
            with path.open("rb") as file:
                yield pickle.load(file)


def _stored(each: Planned) -> Path:
    # The truth is in the file too: it is made anew when its rules change.
    rules = int(Path(episodes.__file__).stat().st_mtime)
    name = f"{each.task}-{each.seed}-{each.style}-{each.fault}-{rules}.pickle"
    path = CACHE / name
    if not path.exists():
        episode = true_episode(
            each.task, seed=each.seed, style=each.style, fault=each.fault, policy=each.policy
        )
        partial = path.with_suffix(".partial")
        partial.write_bytes(pickle.dumps(episode))
        partial.rename(path)
    return path
