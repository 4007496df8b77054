"""The scripted operator: moves the hands in its own style while something keeps the robot up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from corporeal.geometry import Array, rotation_angle
from corporeal.simulation.arm_motion import (
    RATE_LIMIT,
    ArmSolver,
    HandPose,
    between,
    minimum_jerk,
)
from corporeal.simulation.gripper import OPENING_M, SIDES
from corporeal.simulation.physics import TICK_S, Physics
from corporeal.simulation.walking import WalkingPolicy

# Metres per second that the eye takes out of a steady error of the hand, and its limit.
CORRECTION_HZ, CORRECTION_LIMIT_M = 2.0, 0.04
# How fast the operator takes in where the body has gone, 1/s.
LOOK_HZ = 2.0
PUSH_S, RAMP_S = 0.1, 0.4
# The robot has fallen when its pelvis is this low.
FALLEN_M = 0.5
# Newtons between robot and furniture, over and above which it has run into something.
BUMP_N = 25.0


class Legs(Protocol):
    """What keeps the robot up: the standing controller or a walking policy."""

    def targets(self, data: Any, dt_s: float) -> Array:
        """Angles (J,) for every joint."""

    def support_torque(self, data: Any) -> Array:
        """Torques (J,) that the servos add."""

    def base_velocity(self) -> Array:
        """The asked velocity (3,): forward and left in m/s, turning in rad/s."""


class FallenError(Exception):
    """The robot lies on the floor: the script cannot go on."""


@dataclass(eq=False)
class Demonstrator:
    """Carries out motions tick by tick; `goals` are where the hands are held."""

    physics: Physics
    legs: Legs
    rng: np.random.Generator
    goals: dict[str, HandPose | None] = field(default_factory=dict)
    pushes: list[tuple[float, float, float]] = field(default_factory=list)
    walker: WalkingPolicy | None = None

    def __post_init__(self) -> None:
        world = self.physics.world
        self.style = world.variation.operator
        self.solvers = {side: ArmSolver(world, side) for side in SIDES}
        start = self.physics.data.qpos[world.joint_qpos]
        self.arms = {side: start[solver.columns].copy() for side, solver in self.solvers.items()}
        self._seen = np.asarray(self.physics.data.qpos, np.float64).copy()
        self.openings = np.full(2, OPENING_M)
        self.held: dict[str, bool] = dict.fromkeys(SIDES, True)
        self._correction = {side: np.zeros(3) for side in SIDES}
        self._tremor = (self.rng.uniform(5.0, 9.0, (2, 3)), self.rng.uniform(0, 6.3, (2, 3)))
        for side in SIDES:
            self.goals.setdefault(side, None)

    @property
    def speed(self) -> float:
        """How fast this operator is today, against the script."""
        return self.style.speed * self.physics.world.variation.speed

    def hand(self, side: str) -> HandPose:
        """Where the hand really is."""
        data, site = self.physics.data, self.solvers[side].site
        rotation = data.site_xmat[site].reshape(3, 3).copy()
        return HandPose(data.site_xpos[site].copy(), rotation)

    def object_position(self, name: str = "object") -> Array:
        """Where an object really is (3,)."""
        return np.asarray(self.physics.data.body(name).xpos, np.float64).copy()

    def move(
        self,
        goals: Mapping[str, HandPose],
        *,
        speed_m_s: float = 0.22,
        free: bool = True,
        until_bump: bool = False,
    ) -> None:
        """Bring hands to poses on straight paths; a `free` motion shows the operator's style.

        With `until_bump` it ends where the robot runs into something.
        """
        if free and self.rng.uniform() < self.style.pause:
            self.hold(float(self.rng.uniform(0.2, 0.7)))
        starts = {side: self.goals[side] or self.hand(side) for side in goals}
        aimed = {
            side: goal.moved(self.rng.normal(0.0, self.style.aim_m, 3)) if free else goal
            for side, goal in goals.items()
        }
        long = max(_length(starts[side], goal) for side, goal in aimed.items())
        ticks = max(int(long / (speed_m_s * self.speed) / TICK_S), 15)
        far = 1.0 + (self.style.overshoot if free and long > 0.1 else 0.0)
        for tick in range(1, ticks + 1):
            part = far * minimum_jerk(tick / ticks, abruptness=self.style.jerk if free else 0.0)
            for side, goal in aimed.items():
                self.goals[side] = between(starts[side], goal, part)
            self.tick()
            if until_bump and self.physics.log.contacts[-1].bump_n > BUMP_N:
                return
        back = 12 if far > 1.0 else 0
        for tick in range(1, back + 1):
            for side, goal in aimed.items():
                part = far - (far - 1.0) * minimum_jerk(tick / back)
                self.goals[side] = between(starts[side], goal, part)
            self.tick()

    def grip(self, *sides: str, opening_m: float, seconds: float = 0.5) -> None:
        """Open or close grippers to an opening at an even speed."""
        rows = [SIDES.index(side) for side in sides]
        start = self.openings[rows]
        ticks = max(round(seconds / self.speed / TICK_S), 5)
        for tick in range(1, ticks + 1):
            self.openings[rows] = start + (opening_m - start) * tick / ticks
            self.tick()

    def hold(self, seconds: float) -> None:
        """Keep everything as it is for a while."""
        for _ in range(max(round(seconds / TICK_S), 1)):
            self.tick()

    def start_walking(self, *, arms: bool) -> None:
        """Let the policy take the legs, and with `arms` the arms too."""
        assert self.walker is not None, "only a task that needs a policy walks"
        self.walker.take_over(self.physics, arms=arms)
        self.legs = self.walker
        for side in SIDES:
            self.held[side] = not arms
            self.goals[side] = None

    def walk(self, command: tuple[float, float, float], seconds: float) -> None:
        """Ask the policy for a velocity (forward, left, turn) for a while, after a short ramp."""
        assert self.walker is not None, "only a task that needs a policy walks"
        before = self.walker.command.copy()
        for tick in range(max(round(seconds / TICK_S), 1)):
            part = min((tick + 1) * TICK_S / RAMP_S, 1.0)
            self.walker.command = before + part * (np.array(command) - before)
            self.tick()

    def tick(self) -> None:
        """One control period of 20 ms; raises FallenError once the robot is down."""
        data = self.physics.data
        target = self.legs.targets(data, TICK_S).copy()
        self._look()
        for side, solver in self.solvers.items():
            goal = self.goals[side]
            if goal is not None:
                self.arms[side] = self._arm_step(side, solver, goal)
            if self.held[side]:
                target[solver.columns] = self.arms[side]
            else:
                self.arms[side] = target[solver.columns].copy()
        self.physics.push(self._push_now())
        self.physics.act(
            target,
            self.openings.copy(),
            torque=self.legs.support_torque(data),
            base_velocity=self.legs.base_velocity(),
        )
        if data.qpos[self.physics.world.base_qpos + 2] < FALLEN_M:
            raise FallenError

    def _arm_step(self, side: str, solver: ArmSolver, goal: HandPose) -> Array:
        # An operator watches the hand, not the joints: what is steadily off is put right.
        off = goal.position - self.hand(side).position
        change = CORRECTION_HZ * TICK_S * np.clip(off, -0.02, 0.02)
        self._correction[side] = np.clip(
            self._correction[side] + change, -CORRECTION_LIMIT_M, CORRECTION_LIMIT_M
        )
        shaken = goal.moved(self._correction[side] + self._shake(side))
        limit = RATE_LIMIT * TICK_S
        return solver.step(self._seen, self.arms[side], shaken, limit_rad=limit)

    def _look(self) -> None:
        # The body gives way to every motion of the arms: following it at once would feed back.
        world, qpos = self.physics.world, self.physics.data.qpos
        base = slice(world.base_qpos, world.base_qpos + 7)
        before = self._seen[base].copy()
        self._seen[:] = qpos
        self._seen[base] = before + LOOK_HZ * TICK_S * (qpos[base] - before)
        self._seen[world.joint_qpos] = self.physics.last

    def _shake(self, side: str) -> Array:
        rates, phases = self._tremor
        row = SIDES.index(side)
        wave = np.sin(2 * np.pi * rates[row] * self.physics.time_s + phases[row])
        return np.asarray(self.style.tremor_m * wave, np.float64)

    def _push_now(self) -> Array:
        now = self.physics.time_s
        force = np.zeros(3)
        for start, x, y in self.pushes:
            if start <= now < start + PUSH_S:
                force[:2] += (x / PUSH_S, y / PUSH_S)
        return force


def _length(start: HandPose, goal: HandPose) -> float:
    turn = float(rotation_angle(start.rotation, goal.rotation))
    return float(np.linalg.norm(goal.position - start.position)) + 0.12 * turn
