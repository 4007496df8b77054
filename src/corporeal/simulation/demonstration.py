"""One demonstration from a task's name and a seed: build the world, perform, judge."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from corporeal.errors import CorporealError, UnknownNameError
from corporeal.geometry import Array
from corporeal.simulation.balance import Balance, standing_start
from corporeal.simulation.demonstrator import Demonstrator, FallenError
from corporeal.simulation.physics import TICK_S, Physics
from corporeal.simulation.run import RunOutcome, SimulatedRun
from corporeal.simulation.task import SimulatedTask, instruction, tasks
from corporeal.simulation.trace import Trace, events, trace
from corporeal.simulation.variation import FIXED, Ranges, SceneWish, Variation, vary
from corporeal.simulation.walking import WalkingPolicy
from corporeal.simulation.world import build_world

# Stillness before and after, so that a recorder's pre-roll and post-roll are really there.
BEFORE_S, AFTER_S = 1.2, 2.2
# How long a fall is watched.
FALL_S = 1.0


def simulate(
    task: str,
    *,
    seed: int,
    style: str | None = None,
    fault: str | None = None,
    randomise: bool | Ranges = True,
    policy: Path | None = None,
    wish: SceneWish | None = None,
) -> SimulatedRun:
    """Perform a task once in physics; the same arguments give the same run.

    `style` names how the operator moves (drawn when None), `fault` what is made to go wrong.
    `randomise` is True for the mild default ranges, False for none, or your own. `wish` names the
    hand, the approach or where the object lies, in place of what would be drawn. A walking
    task needs `policy`, an ONNX file. The outcome is judged from the simulator's state: a run
    with a fault may succeed, and one without may fail.
    """
    known = tasks()
    if task not in known:
        raise UnknownNameError("task", task, known)
    plan = known[task]
    if fault is not None and fault not in plan.faults:
        raise UnknownNameError(f"fault of task {task!r}", fault, plan.faults)
    ranges = randomise if isinstance(randomise, Ranges) else Ranges() if randomise else FIXED
    variation = vary(plan.layout, seed, style=style, fault=fault, ranges=ranges, wish=wish)
    return perform(task, plan, variation, policy=policy)


def perform(
    name: str, task: SimulatedTask, variation: Variation, *, policy: Path | None = None
) -> SimulatedRun:
    """Perform a task in the world of a variation."""
    if task.needs_policy and policy is None:
        raise CorporealError(
            f"task {name!r}, got no walking policy; expected an ONNX file. "
            "Name one with policy=PATH."
        )
    world = build_world(variation)
    rng = np.random.default_rng([variation.seed, 3])
    physics = Physics(world, standing_start(world))
    walker = WalkingPolicy(world, policy) if task.needs_policy and policy is not None else None
    operator = Demonstrator(physics, Balance(world), rng, walker=walker)
    if variation.push_ns != (0.0, 0.0):
        operator.pushes.append((variation.push_time_s, *variation.push_ns))
    end_s = _carry_out(task, operator)
    course = trace(world, physics.log, start_s=BEFORE_S, end_s=end_s)
    outcome = task.judge(course)
    if outcome.success and not end_s - BEFORE_S <= task.duration_s[1]:
        outcome = RunOutcome(False, "timeout", outcome.measures)
    return _run(name, instruction(task, variation, variation.seed), physics, outcome, course)


def _carry_out(task: SimulatedTask, operator: Demonstrator) -> float:
    physics = operator.physics
    try:
        operator.hold(BEFORE_S)
        task.perform(operator)
        end_s = physics.time_s
        operator.hold(AFTER_S)
    except FallenError:
        end_s = physics.time_s
        # The motors go limp but for their damping, as a robot's do when it notices the fall.
        still = np.asarray(physics.data.qpos[physics.world.joint_qpos], np.float64).copy()
        for _ in range(round(FALL_S / TICK_S)):
            physics.push(np.zeros(3))
            physics.act(still, operator.openings.copy())
    return end_s


def _run(
    name: str, text: str, physics: Physics, outcome: RunOutcome, course: Trace
) -> SimulatedRun:
    log, world = physics.log, physics.world
    qpos = np.array(log.qpos)
    openings: Array = 2.0 * qpos[:, world.gripper_qpos]
    return SimulatedRun(
        world=world,
        task=name,
        instruction=text,
        time_s=np.array(log.time_s),
        qpos=qpos,
        qvel=np.array(log.qvel),
        qacc=np.array(log.qacc),
        sensordata=np.array(log.sensordata),
        target_rad=np.array(log.target),
        torque_nm=np.array(log.torque),
        gripper_target=np.array(log.gripper_target),
        gripper=openings,
        base_velocity_target=np.array(log.base_velocity),
        touch=log.touch(),
        events=events(course),
        outcome=outcome,
        variation=world.variation.as_dict(),
    )
