"""Every command of every source passes here: no bound is broken, and the way to rest is known.

A step is taken only if the robot could come to rest after it without breaking a bound: within
the ends of its joints, and along the straight way on which it would brake at a clearance from
itself, table and floor. So there is always one step that is safe, the one of braking.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from corporeal.errors import MissingExtraError
from corporeal.geometry import Array
from corporeal.teleoperation.arm_model import ArmModel
from corporeal.teleoperation.clearance import Clearance, Nearness
from corporeal.teleoperation.limits import CommandLimits

# How fast what is left of a clearance may be used up, 1/s, and what is left for the solve.
_APPROACH_HZ, _ROOM_M = 8.0, 0.003
# Shares of a wanted step that are tried before it is left for braking.
_SHARES = (1.0, 0.5, 0.25, 0.1)
# A brake that is planned is a little softer than the bound, which leaves room for rounding.
_BRAKE_SHARE = 0.9
# Speed at which a link that came too near, because the body moved, goes away again, m/s.
_ESCAPE_M_S = 0.05


class Objective(Protocol):
    """What is wanted of one step: a cost of joint speeds, half v H v + f v."""

    def cost(self, arms: ArmModel, rates: Array) -> tuple[Array, Array]:
        """H (n, n) and f (n,) at the arms' present configuration; `rates` (n,) are those now."""


@dataclass(frozen=True, eq=False)
class ArmCommand:
    """One step: joints (n,) and their speeds, and what held them back.

    `limits` are joints at an end or at their greatest speed, `near` the nearest pairs of links
    with their distance, `held_back` says that not all that was wanted could be done safely.
    """

    positions: Array
    rates: Array
    held_back: bool
    limits: tuple[str, ...]
    near: tuple[tuple[str, str, float], ...]
    clearance_m: float


@dataclass(eq=False)
class SafetyFilter:
    """Turns what is wanted into commands, one step after the other; see the module.

    `positions` and `rates` (n,) are the last command, whatever the robot has done with it.
    """

    arms: ArmModel
    clearance: Clearance
    limits: CommandLimits = field(default_factory=CommandLimits)

    def __post_init__(self) -> None:
        arms, limits = self.arms, self.limits
        self._solve = _import_daqp()
        count = len(arms.columns)
        self.positions = arms.body[arms.columns].copy()
        self.rates, self.accelerations = np.zeros(count), np.zeros(count)
        room = np.minimum(limits.position_margin_rad, 0.25 * (arms.upper - arms.lower))
        self.lower, self.upper = arms.lower + room, arms.upper - room
        self.speed = np.minimum(arms.speed, limits.speed_rad_s)
        self.acceleration = np.full(count, limits.acceleration_rad_s2)
        self.effort = arms.effort * limits.torque_share
        self._corners = np.array([limits.lowest_m, limits.highest_m])
        self._outside, self._torque = 0.0, np.zeros(count)
        self._needed = self.clearance.margins_m
        self.start_at(self.positions)

    def start_at(self, positions: Array) -> None:
        """Begin at rest where the joints (n,) are; out of bounds is where they may come from."""
        self.positions = np.asarray(positions, np.float64).copy()
        self.rates = np.zeros(len(self.positions))
        self.accelerations = np.zeros(len(self.positions))
        self.lower = np.minimum(self.lower, self.positions)
        self.upper = np.maximum(self.upper, self.positions)

    def step(self, objective: Objective | None, dt_s: float) -> ArmCommand:
        """The next command; without an objective the joints come to rest."""
        arms = self.arms
        arms.place(self.positions)
        near = self.clearance.near()
        least = float(near.distance_m.min(initial=np.inf))
        self._needed = np.minimum(self.clearance.margins_m, self.clearance.bound_m)
        self._outside = self._beyond_space() + 1e-9
        self._torque = np.abs(arms.efforts(self.rates, np.zeros(len(self.rates))))
        braked = self._braked(dt_s)
        lowest, highest = self._speed_bounds(dt_s)
        wanted = braked
        if objective is not None or (near.room_m < 0).any():
            wanted = self._wanted(objective, near, lowest, highest, dt_s)
        rates, whole = self._safe(wanted, braked, dt_s)
        self.accelerations = (rates - self.rates) / dt_s
        self.positions = self.positions + rates * dt_s
        self.rates = rates
        order = np.argsort(near.distance_m)[:4]
        pairs = tuple(
            (*self.clearance.links[near.pairs[row]], float(near.distance_m[row])) for row in order
        )
        return ArmCommand(
            self.positions.copy(),
            rates.copy(),
            not whole,
            self._names_at_limits(),
            pairs,
            least,
        )

    def _wanted(
        self,
        objective: Objective | None,
        near: Nearness,
        lowest: Array,
        highest: Array,
        dt_s: float,
    ) -> Array:
        """The speeds (n,) that cost least within speeds and approaches that are allowed."""
        count = len(self.positions)
        if objective is None:
            hessian, gradient = np.eye(count), np.zeros(count)
        else:
            hessian, gradient = objective.cost(self.arms, self.rates)
        if not (np.isfinite(hessian).all() and np.isfinite(gradient).all()):
            return self._braked(dt_s)
        room = near.room_m - _ROOM_M
        least = np.where(room >= 0, -_APPROACH_HZ * room, np.minimum(-room / dt_s, _ESCAPE_M_S))
        upper = np.concatenate([highest, np.full(len(least), 1e30)])
        lower = np.concatenate([lowest, least])
        sense = np.zeros(len(upper), np.int32)
        sense[count:] = 8  # soft: what cannot be kept is held by the check that follows
        solution, _, flag, _ = self._solve(
            np.ascontiguousarray(hessian),
            gradient,
            np.ascontiguousarray(near.slope),
            upper,
            lower,
            sense,
        )
        if flag < 1 or not np.isfinite(solution).all():
            return self._braked(dt_s)
        return np.asarray(np.clip(solution, lowest, highest))

    def _safe(self, wanted: Array, braked: Array, dt_s: float) -> tuple[Array, bool]:
        """The most of a wanted step that is safe; braking always is."""
        arms, columns = self.arms, self.arms.names
        for share in _SHARES:
            rates = self._within_ends(braked + share * (wanted - braked), dt_s)
            if self._is_safe(rates, dt_s):
                return rates, share == 1.0
        # One arm may be free where the other is not.
        for side in ("left", "right"):
            own = np.array([name.startswith(side) for name in columns])
            rates = self._within_ends(np.where(own, wanted, braked), dt_s)
            if own.any() and self._is_safe(rates, dt_s):
                return rates, False
        arms.place(self.positions)
        return braked, False

    def _is_safe(self, rates: Array, dt_s: float) -> bool:
        """Whether a step and the braking after it, which lie on one straight way, break nothing."""
        arms = self.arms
        way = rates * (dt_s + 0.5 * self._braking_time(rates))
        rest = self.positions + way
        if (rest > self.upper + 1e-9).any() or (rest < self.lower - 1e-9).any():
            return False
        if not self.clearance.is_way_clear(self.positions, way, self._needed):
            return False
        if self._beyond_space() > self._outside:
            return False
        # A straight way of the joints is a bow of the hand, which may leave its space in between.
        arms.place(self.positions + 0.5 * way)
        if self._beyond_space() > self._outside:
            return False
        arms.place(self.positions + rates * dt_s)
        if self._beyond_space() > self._outside:
            return False
        torque = arms.efforts(rates, (rates - self.rates) / dt_s)
        return bool((np.abs(torque) <= np.maximum(self.effort, self._torque)).all())

    def _within_ends(self, rates: Array, dt_s: float) -> Array:
        """The speeds (n,), less where braking with all others would pass a joint's end."""
        until_rest_s = dt_s + 0.5 * self._braking_time(rates)
        most = self.acceleration * dt_s
        down = (self.lower - self.positions) / until_rest_s
        up = (self.upper - self.positions) / until_rest_s
        return np.asarray(
            np.clip(rates, np.minimum(down, self.rates + most), np.maximum(up, self.rates - most))
        )

    def _braking_time(self, rates: Array) -> float:
        """Seconds until all joints rest, every one slowed down by the same share at a time."""
        return float((np.abs(rates) / (_BRAKE_SHARE * self.acceleration)).max(initial=0.0))

    def _braked(self, dt_s: float) -> Array:
        """Speeds (n,) one step further on the straight way to rest."""
        longest = self._braking_time(self.rates)
        if longest <= dt_s:
            return np.zeros(len(self.rates))
        return self.rates * (1.0 - dt_s / longest)

    def _speed_bounds(self, dt_s: float) -> tuple[Array, Array]:
        """The lowest and highest speeds (n,) from which the ends can still be kept."""
        gain = self.acceleration
        soft = _BRAKE_SHARE * gain
        below, above = self.positions - self.lower, self.upper - self.positions
        down = soft * (np.sqrt(dt_s**2 + 2 * np.maximum(below, 0.0) / soft) - dt_s)
        rise = soft * (np.sqrt(dt_s**2 + 2 * np.maximum(above, 0.0) / soft) - dt_s)
        lowest = np.maximum.reduce([-self.speed, self.rates - gain * dt_s, -down])
        highest = np.minimum.reduce([self.speed, self.rates + gain * dt_s, rise])
        middle = self._braked(dt_s)
        lowest, highest = np.minimum(lowest, middle), np.maximum(highest, middle)
        # Smoothly where that leaves a choice: a bound counts for more than a jerk.
        jump = self.limits.jerk_rad_s3 * dt_s
        softly = self.rates + (self.accelerations - jump) * dt_s
        sharply = self.rates + (self.accelerations + jump) * dt_s
        return np.clip(softly, lowest, highest), np.clip(sharply, lowest, highest)

    def _beyond_space(self) -> float:
        """How far (m) the farthest hand is out of its space at the arms' configuration."""
        out = 0.0
        for side in self.arms.hands:
            place = self.arms.base_rotation.T @ (self.arms.hand(side)[0] - self.arms.base[:3])
            out = max(out, float((self._corners[0] - place).max()))
            out = max(out, float((place - self._corners[1]).max()))
        return out

    def _names_at_limits(self) -> tuple[str, ...]:
        names = []
        for number, name in enumerate(self.arms.names):
            at_end = min(
                self.positions[number] - self.lower[number],
                self.upper[number] - self.positions[number],
            )
            if at_end < 0.01 or abs(self.rates[number]) > 0.99 * self.speed[number]:
                names.append(name)
        return tuple(names)


def _import_daqp() -> Callable[..., Any]:
    try:
        import daqp
    except ModuleNotFoundError:
        raise MissingExtraError("daqp", "robot") from None
    solve: Callable[..., Any] = daqp.solve
    return solve
