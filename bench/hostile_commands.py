"""Commands that nobody sane gives: what `bench.adversary` throws at the safety filter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from corporeal.geometry import Array
from corporeal.teleoperation.hand_objective import HandGoal, HandObjective, JointObjective
from corporeal.teleoperation.operator_input import OperatorInput
from corporeal.teleoperation.safety_filter import ArmCommand, Objective, SafetyFilter
from corporeal.teleoperation.session import BodyState, TeleoperationSession

DT_S, TICK_NS = 0.01, 10_000_000
# So many commands of one kind at a time.
STRETCH = 50


def commands(
    limb: SafetyFilter, count: int, seed: int, capture: tuple[OperatorInput, ...]
) -> Iterator[tuple[Objective | None, ArmCommand, str]]:
    """Objectives, what the filter made of them and of what kind they are."""
    rng = np.random.default_rng(seed)
    made = 0
    if capture:
        for objective, command in _replayed(limb, capture, rng):
            made += 1
            yield objective, command, "capture"
    while made < count:
        kind = str(rng.choice(list(_KINDS)))
        for objective in _KINDS[kind](limb, rng):
            made += 1
            yield objective, limb.step(objective, DT_S), kind


def _replayed(
    limb: SafetyFilter, capture: tuple[OperatorInput, ...], rng: np.random.Generator
) -> Iterator[tuple[Objective | None, ArmCommand]]:
    """A real headset's recording, enlarged, some of its messages lost, as a session plays it."""
    session = TeleoperationSession(limb, scale=float(rng.uniform(0.5, 3.0)))
    body = BodyState(0, limb.arms.body, limb.arms.base)
    offset_ns = 1_000_000_000 - capture[0].times.received_ns
    now_ns, number, lost = 1_000_000_000, 0, float(rng.uniform(0, 0.3))
    while number < len(capture):
        now_ns += TICK_NS
        while (number < len(capture)
               and capture[number].times.received_ns + offset_ns <= now_ns):  # fmt: skip
            times = capture[number].times
            moved = replace(times, received_ns=times.received_ns + offset_ns)
            if rng.uniform() >= lost:
                session.receive(replace(capture[number], times=moved))
            number += 1
        if session.state in ("inert", "hold"):
            session.ask("engage", now_ns)
        tick = session.tick(now_ns, body)
        yield None, tick.arms


def _hands(limb: SafetyFilter, goals: dict[Any, Array], speed: Array | None = None) -> Objective:
    turn = limb.arms.base_rotation
    zero = np.zeros(3) if speed is None else speed
    made = {side: HandGoal(goal, turn, zero) for side, goal in goals.items()}
    return HandObjective(made, limb.arms.body[limb.arms.columns])


def _far_joints(limb: SafetyFilter, rng: np.random.Generator) -> Iterator[Objective]:
    joints = rng.uniform(limb.arms.lower - 1, limb.arms.upper + 1)
    for _ in range(STRETCH):
        yield JointObjective(joints, rng.normal(0, 20, len(joints)))


def _noise(limb: SafetyFilter, rng: np.random.Generator) -> Iterator[Objective]:
    count = len(limb.positions)
    for _ in range(STRETCH):
        yield JointObjective(rng.normal(0, 3, count), np.zeros(count))


def _anywhere(limb: SafetyFilter, rng: np.random.Generator) -> Iterator[Objective]:
    goals = {side: rng.normal((0.2, 0.0, 1.0), (0.4, 0.4, 0.4)) for side in limb.arms.hands}
    for _ in range(2 * STRETCH):
        yield _hands(limb, goals)


def _leaps(limb: SafetyFilter, rng: np.random.Generator) -> Iterator[Objective]:
    """Goals that leap 10 m at a time, at speeds that they do not have."""
    for _ in range(STRETCH):
        goals = {side: rng.normal(0, 10, 3) for side in limb.arms.hands}
        yield _hands(limb, goals, rng.normal(0, 50, 3))


def _cross(limb: SafetyFilter, rng: np.random.Generator) -> Iterator[Objective]:
    ahead, height = rng.uniform(0.15, 0.4), rng.uniform(0.8, 1.2)
    wide, pace = rng.uniform(0.1, 0.4), rng.uniform(0.02, 0.3)
    for step in range(2 * STRETCH):
        across = wide * np.sin(pace * step)
        yield _hands(limb, {"left": np.array([ahead, -across, height]),
                            "right": np.array([ahead, across, height])})  # fmt: skip


def _into_itself(limb: SafetyFilter, rng: np.random.Generator) -> Iterator[Objective]:
    """Chest, belly, head, thighs: wherever the robot itself is."""
    goals = {side: rng.normal((0.02, 0.0, 0.9), (0.05, 0.1, 0.25)) for side in limb.arms.hands}
    for _ in range(2 * STRETCH):
        yield _hands(limb, goals)


def _below(limb: SafetyFilter, rng: np.random.Generator) -> Iterator[Objective]:
    """Into the table, under it, and through the floor."""
    goals = {side: rng.uniform((0.1, -0.6, -1.0), (0.7, 0.6, 0.7)) for side in limb.arms.hands}
    for _ in range(2 * STRETCH):
        yield _hands(limb, goals)


def _out_of_reach(limb: SafetyFilter, rng: np.random.Generator) -> Iterator[Objective]:
    way = rng.normal(0, 1, 3)
    goal = np.array([0.0, 0.0, 1.0]) + 3.0 * way / np.linalg.norm(way)
    for _ in range(STRETCH):
        yield _hands(limb, dict.fromkeys(limb.arms.hands, goal))


def _jumps(limb: SafetyFilter, rng: np.random.Generator) -> Iterator[Objective]:
    """33 cm to and fro, ten times a second."""
    middle = {side: rng.normal((0.3, 0.0, 1.0), 0.15) for side in limb.arms.hands}
    way = rng.normal(0, 1, 3)
    way *= 0.33 / np.linalg.norm(way)
    for step in range(STRETCH):
        yield _hands(limb, {side: goal + way * (step // 10 % 2) for side, goal in middle.items()})


def _walk(limb: SafetyFilter, rng: np.random.Generator) -> Iterator[Objective]:
    goals = {side: limb.arms.hand(side)[0] for side in limb.arms.hands}
    for _ in range(2 * STRETCH):
        goals = {side: goal + rng.normal(0, 0.03, 3) for side, goal in goals.items()}
        yield _hands(limb, goals)


def _no_numbers(limb: SafetyFilter, rng: np.random.Generator) -> Iterator[Objective]:
    """NaN and infinity, in some places of what is otherwise sane, or everywhere."""
    count = len(limb.positions)
    for step in range(STRETCH):
        wrong = rng.choice([np.nan, np.inf, -np.inf, 1e100])
        if step % 2:
            joints = rng.uniform(limb.arms.lower, limb.arms.upper)
            joints[rng.uniform(size=count) < 0.3] = wrong
            yield JointObjective(joints, np.zeros(count))
        else:
            goals = {side: rng.normal((0.2, 0.0, 1.0), 0.3) for side in limb.arms.hands}
            goals["left"][int(rng.integers(3))] = wrong
            yield _hands(limb, goals, np.full(3, wrong if step % 4 else 0.0))


def _stops(limb: SafetyFilter, rng: np.random.Generator) -> Iterator[Objective | None]:
    """As fast as it goes, then nothing at all."""
    joints = rng.uniform(limb.arms.lower, limb.arms.upper)
    for step in range(STRETCH):
        yield None if step % 17 > 11 else JointObjective(joints, np.full(len(joints), 4.0))


_KINDS: dict[str, Any] = {
    "far joints": _far_joints, "noise": _noise, "anywhere": _anywhere, "leaps": _leaps,
    "hands cross": _cross, "into itself": _into_itself, "table and floor": _below,
    "out of reach": _out_of_reach, "33 cm jumps": _jumps, "random walk": _walk,
    "NaN and inf": _no_numbers, "sudden rest": _stops,
}  # fmt: skip
