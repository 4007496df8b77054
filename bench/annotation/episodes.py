"""Simulated episodes with a camera's clock, and the true phases that the simulator knows of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import mujoco
import numpy as np
from numpy.typing import NDArray

from bench.simulated import recording as simulated
from corporeal.embodiment import open_robot
from corporeal.episode.recording import ArraySignal, Recording
from corporeal.schema import Stream, open_schema
from corporeal.simulation import demonstration
from corporeal.simulation.demonstrator import Demonstrator
from corporeal.simulation.gripper import SIDES
from corporeal.simulation.physics import TICK_S

REFERENCE = "observations/head_left"
FRAME_S = 1 / 30
ON_PURPOSE_M_S = 0.01
"""A hand that is meant to go faster than this moves; slower, nobody could date it to a frame."""
PAUSE_S, WALKS_M_S, LETS_GO_S = 1.0, 0.08, 0.15

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Boundary:
    """The moment at which a phase truly begins."""

    label: str
    time_ns: int


@dataclass(frozen=True, eq=False)
class TrueEpisode:
    """A recording, the boundaries that the simulator's own state gives, and how it ended.

    `marks` are the operator's: when the script began and ended, which nothing need show.
    """

    name: str
    task: str
    style: str
    fault: str | None
    recording: Recording
    boundaries: tuple[Boundary, ...]
    marks: dict[str, int]
    success: bool
    failure: str | None
    hand: str | None
    """The hand that works; both, or None where each has its turn."""


@dataclass(frozen=True, eq=False)
class _Watch:
    """What the script wanted and where the body was, tick by tick; no tremor is in it."""

    time_s: list[float]
    goals: list[Array]
    base: list[Array]
    hands: list[Array]
    thing: list[Array]
    openings: list[Array]

    def look(self, operator: Demonstrator) -> None:
        physics = operator.physics
        nowhere = np.full(3, np.nan)
        goals = (operator.goals[side] for side in SIDES)
        self.time_s.append(physics.time_s)
        self.goals.append(np.array([nowhere if goal is None else goal.position for goal in goals]))
        where = physics.world.base_qpos
        self.base.append(np.array(physics.data.qpos[where : where + 3]))
        self.hands.append(np.array([operator.hand(side).position for side in SIDES]))
        body = mujoco.mj_name2id(physics.world.model, mujoco.mjtObj.mjOBJ_BODY, "object")
        self.thing.append(operator.object_position() if body >= 0 else nowhere)
        self.openings.append(operator.openings.copy())


def true_episode(
    task: str, *, seed: int, style: str, fault: str | None = None, policy: Path | None = None
) -> TrueEpisode:
    """One demonstration with its truth; the detectors see nothing of `boundaries`."""
    watch = _Watch([], [], [], [], [], [])

    class Watched(Demonstrator):
        def tick(self) -> None:
            watch.look(self)
            super().tick()

    with patch.object(demonstration, "Demonstrator", Watched):
        made = simulated(task, seed=seed, style=style, fault=fault, policy=policy)
    marks = {
        event["name"]: round(event["time_s"] * 1e9)
        for event in made.metadata["events"]
        if event["name"] in ("start", "end")
    }
    truth = tuple(_boundaries(task, made.metadata["events"], watch))
    outcome = made.metadata["outcome"]
    hidden = replace(
        made,
        signals={**made.signals, REFERENCE: _camera(made, seed)},
        metadata={"task": task, "instruction": made.metadata["instruction"]},
    )
    return TrueEpisode(
        made.id, task, style, fault, hidden, truth, marks, outcome["success"], outcome["failure"],
        _hand(task, made.metadata["variation"]),
    )  # fmt: skip


def _hand(task: str, variation: Mapping[str, Any]) -> str | None:
    if task == "bimanual_lift":
        return "both"
    return str(variation["hand"]) if task in ("pick_place", "reach", "walk_carry") else None


def without_debug(recording: Recording) -> Recording:
    """The same as a real robot would give it: nobody tracks the object or the base."""
    signals = {
        label: signal for label, signal in recording.signals.items() if signal.spec.group != "debug"
    }
    return replace(recording, signals=signals)


def _camera(made: Recording, seed: int) -> ArraySignal:
    """Stamps at 30 Hz with a phase of their own; nobody looks at the pictures."""
    last = max(int(signal.time_ns[-1]) for signal in made.signals.values())
    phase = np.random.default_rng(seed).uniform(0.0, FRAME_S)
    stamps = np.arange(phase, last / 1e9, FRAME_S)
    return ArraySignal(_camera_spec(), np.round(stamps * 1e9).astype(np.int64), None)


@cache
def _camera_spec() -> Stream:
    schema = open_robot("g1").resolve(open_schema("simulated_humanoid"))
    return next(stream for stream in schema.streams if stream.path == REFERENCE)


def _boundaries(task: str, events: list[dict[str, Any]], watch: _Watch) -> Iterator[Boundary]:
    """The taxonomy's rules applied to the simulator's state: once through the task, in order."""
    found: list[tuple[float, str]] = []
    fall = next((e["time_s"] for e in events if e["name"] == "fall"), np.inf)
    moves = _spans(watch.time_s, _intended_speed(watch) > ON_PURPOSE_M_S, PAUSE_S)
    holds = _holds(events)
    if task == "walk":
        moves = []
    if moves:
        found.append((moves[0][0], "approach"))
        found.append((moves[-1][1], "rest"))
    if task == "reach" and len(moves) > 1:
        found += [(moves[0][1], "hold"), (moves[-1][0], "retract")]
    if holds:
        found.append((holds[0][0], "grasp"))
        lifts = [e["time_s"] for e in events if e["name"] == "lift"][:1]
        found += [(when, "lift") for when in lifts]
        found += _around(events, holds, lifts, watch)
        if np.isfinite(holds[-1][1]):
            found.append((holds[-1][1], "retract"))
    if task == "handover":
        found += _exchange(events)
    if task in ("walk", "walk_carry"):
        ground = np.gradient(np.array(watch.base)[:, :2], TICK_S, axis=0)
        speed = _smooth(np.linalg.norm(ground, axis=1), 5)
        for begin, stop in _spans(watch.time_s, speed > WALKS_M_S, 0.6)[:1]:
            found = [each for each in found
                     if each[1] not in ("rest", "place", "release", "retract")]  # fmt: skip
            found += [(begin, "walk"), (stop, "rest")]
    found = [(time_s, label) for time_s, label in found if time_s < fall - 1e-6]
    if np.isfinite(fall):
        found = [each for each in found if each[1] != "rest"] + [(fall, "fall")]
    for time_s, label in sorted(found):
        if np.isfinite(time_s):
            yield Boundary(label, round(time_s * 1e9))


def _around(
    events: list[dict[str, Any]],
    holds: list[tuple[float, float]],
    lifts: list[float],
    watch: _Watch,
) -> Iterator[tuple[float, str]]:
    """When the hand truly is near, the object is carried aside and set down, the fingers open."""
    time_s, (begin, stop) = np.array(watch.time_s), (holds[0][0], holds[-1][1])
    sides = [e for e in events if e["name"] in ("grasp", "release")]
    hand = np.array(watch.hands)[:, SIDES.index(sides[0]["detail"])]
    thing = np.array(watch.thing)
    first, last = np.searchsorted(time_s, (begin, min(stop, time_s[-1])))
    near = _last_beyond(hand[:first], hand[first])
    if near is not None:
        yield time_s[near], "pre_grasp"
    way = np.linalg.norm(thing[:, :2] - thing[first, :2], axis=1) > NEAR_M
    aside = np.flatnonzero(way & (time_s >= (lifts[0] if lifts else np.inf)) & (time_s < stop))
    if len(aside):
        yield time_s[aside[0]], "transport"
    if not np.isfinite(stop):
        return
    width = np.array(watch.openings)[:, SIDES.index(sides[-1]["detail"])]
    still = np.flatnonzero(np.diff(width[: last + 1]) <= 0)
    opens = int(still[-1]) + 1 if len(still) else 0
    is_meant = 0 < opens < last and time_s[last] - time_s[opens] < OPENS_S
    if is_meant:
        yield time_s[opens], "release"
    near = _last_beyond(thing[first:last], thing[last])
    calm = np.linalg.norm(hand[last] - hand[max(0, last - 5)]) / (5 * TICK_S) < CALM_M_S
    after = np.searchsorted(time_s, time_s[last] + FALLS_S)
    falls = thing[last, 2] - thing[min(after, len(thing) - 1), 2] > FALLS_M
    if is_meant and calm and near is not None and lifts and not falls:
        yield time_s[first + near], "place"


def _last_beyond(points: Array, there: Array) -> int | None:
    """The first of the last points that stay near; None where all do."""
    far = np.flatnonzero(np.linalg.norm(points - there, axis=1) > NEAR_M)
    return int(far[-1]) + 1 if len(far) and far[-1] + 1 < len(points) else None


NEAR_M, OPENS_S, CALM_M_S = 0.05, 1.5, 0.25
FALLS_M, FALLS_S = 0.03, 0.5


def _intended_speed(watch: _Watch) -> Array:
    """How fast the faster hand is meant to go (T,)."""
    goals = np.array(watch.goals)
    step = np.linalg.norm(np.diff(goals, axis=0, prepend=goals[:1]), axis=2) / TICK_S
    # A hand that had no goal begins where it is: the first difference is no number, so nought.
    speed: Array = np.nan_to_num(step).max(axis=1)
    return speed


def _holds(events: list[dict[str, Any]]) -> list[tuple[float, float]]:
    """While any hand has the object between its fingers; a quiver of the pads ends nothing."""
    held: set[str] = set()
    found: list[list[float]] = []
    for event in events:
        if event["name"] == "grasp":
            if not held:
                if found and event["time_s"] - found[-1][1] < LETS_GO_S:
                    found[-1][1] = np.inf
                else:
                    found.append([event["time_s"], np.inf])
            held.add(event["detail"])
        elif event["name"] == "release":
            held.discard(event["detail"])
            if not held and found:
                found[-1][1] = event["time_s"]
    return [(begin, stop) for begin, stop in found]


def _exchange(events: list[dict[str, Any]]) -> list[tuple[float, str]]:
    """From the moment the second hand takes hold to the moment the first has let go."""
    sides = [e for e in events if e["name"] in ("grasp", "release")]
    giver = next((e["detail"] for e in sides if e["name"] == "grasp"), None)
    taken = [e["time_s"] for e in sides if e["name"] == "grasp" and e["detail"] != giver]
    if not taken:
        return []
    let_go = [e for e in sides if e["name"] == "release"]
    left = [e["time_s"] for e in let_go if e["detail"] == giver and e["time_s"] > taken[0]]
    dropped = [e["time_s"] for e in let_go if e["detail"] != giver]
    if not left or (dropped and dropped[0] <= left[0]):
        return [(taken[0], "exchange")]
    return [(taken[0], "exchange"), (left[0], "transport")]


def _spans(time_s: list[float], on: NDArray[np.bool_], join_s: float) -> list[tuple[float, float]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(np.int8)))
    found: list[tuple[float, float]] = []
    for first, stop in edges.reshape(-1, 2).tolist():
        begin, end = time_s[first], time_s[min(stop, len(time_s) - 1)]
        if found and begin - found[-1][1] < join_s:
            found[-1] = (found[-1][0], end)
        else:
            found.append((begin, end))
    return found


def _smooth(values: Array, width: int) -> Array:
    return np.asarray(np.convolve(values, np.ones(width) / width, "same"), np.float64)
