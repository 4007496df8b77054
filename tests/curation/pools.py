"""Made-up demonstrations: reaches with noise of their own, some spoilt on purpose."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np

from corporeal.curation.pool import Demonstration, DemonstrationPool, make_pool
from corporeal.embodiment import open_robot
from corporeal.signal.track import Array

RATE_HZ = 30.0
NAMES = ("a", "b", "c", "d")


def reach(
    seed: int, *, seconds: float = 4.0, noise: float = 0.003, goal: Array | None = None,
    names: tuple[str, ...] = NAMES, noisy_action: float = 0.0,
) -> Demonstration:  # fmt: skip
    """A smooth way from rest to a goal, measured with noise; the action is where it is wanted."""
    draw = np.random.default_rng(seed)
    wanted = draw.normal(size=len(names)) if goal is None else goal
    share = np.clip(np.linspace(-0.1, 1.1, round(seconds * RATE_HZ)), 0, 1)
    rise = (share**3 * (10 - 15 * share + 6 * share**2))[:, None]
    meant = rise * wanted
    state = meant + draw.normal(size=meant.shape) * noise
    action = meant + draw.normal(size=meant.shape) * noisy_action
    return demonstration(state, action, name=f"episode_{seed:04d}", names=names)


def demonstration(
    state: Array, action: Array, *, name: str, names: tuple[str, ...] = NAMES
) -> Demonstration:
    step = round(RATE_HZ / 10.0)
    digest = hashlib.blake2b(state.tobytes(), digest_size=8).hexdigest()
    evenly = np.linspace(0, len(state) - 1, 64).astype(int)
    return Demonstration(
        index=0, id=name, source=f"{name}.h5", digest=digest,
        state=state[::step].astype(np.float32), action=action[::step].astype(np.float32),
        fine=state.astype(np.float32), path=state[evenly], names=names,
        robot=None, duration_s=len(state) / RATE_HZ, task="reach",
    )  # fmt: skip


def cut(episode: Demonstration, first: int, last: int) -> Demonstration:
    """The same recording, cut elsewhere."""
    fine = np.asarray(episode.fine, np.float64)[first : len(episode.fine) - last]
    return demonstration(fine, fine, name=f"{episode.id}_cut", names=episode.names)


def stretched(episode: Demonstration, factor: float) -> Demonstration:
    """The same recording, played slower by a factor."""
    fine = np.asarray(episode.fine, np.float64)
    times = np.arange(0, len(fine) - 1, 1 / factor)
    left = times.astype(int)
    share = (times - left)[:, None]
    slow = fine[left] * (1 - share) + fine[left + 1] * share
    return demonstration(slow, slow, name=f"{episode.id}_slow", names=episode.names)


def pool_of(*episodes: Demonstration, **more: Any) -> DemonstrationPool:
    return make_pool(episodes, **more)


def with_outcome(episode: Demonstration, *, success: bool) -> Demonstration:
    return replace(episode, success=success)


def g1_names() -> tuple[str, ...]:
    return open_robot("g1").joint_names
